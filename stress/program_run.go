package stress

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/lanewright/lanewright/sched"
)

// run runs the program on its scheduler and checks that each task ran once, that
// all waits end, and that nothing ran later than it should. drain, if not nil,
// sees to it that what is queued will run.
func (p *program) run(drain func()) {
	if p.size == 0 {
		return
	}
	p.r.programs.Add(1)
	p.r.did(p.size)
	var callers sync.WaitGroup
	for i, root := range p.roots {
		switch {
		case i%2 == 0:
			p.check("Schedule", p.s.Schedule(root.Task()))
		case i == len(p.roots)-1 && !root.Value.mayExit():
			p.do(root)
		default:
			callers.Go(func() { p.do(root) })
		}
	}
	callers.Wait()
	if drain != nil {
		drain()
	}
	<-p.done
	for i := range p.size {
		tw := &p.twigs[i].Value
		if n, want := tw.ran.Load(), 1+tw.turns; n != want {
			p.failf("task %d was entered %d times, want %d", i, n, want)
		}
	}
}

// entries returns how many callbacks the program is.
func (p *program) entries() (n int) {
	for i := range p.size {
		n += 1 + int(p.twigs[i].Value.turns)
	}
	return n
}

// do runs a root on the goroutine of a caller of Do.
func (p *program) do(root *sched.Job[twig]) {
	defer func() {
		if r := recover(); r != nil {
			p.failf("Do raised %v", r)
		}
	}()
	p.awaitErr("Do", p.s.Do(root.Task()), root)
}

// check reports an error, other than that of a Spawner that failed.
func (p *program) check(what string, err error) {
	if err != nil && !errors.Is(err, sched.ErrQueued) {
		p.failf("%s: %v", what, err)
	}
}

// awaitErr checks what a wait for twigs returned, given how they may fail.
func (p *program) awaitErr(what string, err error, tws ...*sched.Job[twig]) {
	for _, j := range tws {
		var pe *sched.PanicError
		switch tw := &j.Value; {
		case err == nil:
			return
		case tw.mayExit() && errors.Is(err, sched.ErrGoexit):
			return
		case p.observed && tw.fails == twigPanics && errors.As(err, &pe):
			return
		}
	}
	p.check(what, err)
}

// mayExit reports whether the goroutine that runs the twig may unwind.
func (tw *twig) mayExit() bool {
	if tw.fails == twigExits {
		return true
	}
	return tw.way >= wayAwaited && slices.ContainsFunc(tw.children, func(c *sched.Job[twig]) bool { return c.Value.mayExit() })
}

// enterTwig is the callback of all twigs.
func enterTwig(w *sched.Worker, j *sched.Job[twig]) {
	tw := &j.Value
	p := tw.p
	if tw.ran.Add(1) <= tw.turns {
		p.check("Worker.Schedule", w.Schedule(j.Task()))
		return // the task may be running again
	}
	defer p.leave()
	if tw.enters != nil {
		tw.enters.hit()
	}
	release := func() {}
	if id := w.ID(); id >= 0 {
		if p.holding[id].Swap(true) {
			p.failf("two callbacks run with the ID %d", id)
		}
		release = func() { p.holding[id].Store(false) }
	}
	p.runChildren(w, tw, release)
	switch tw.fails {
	case twigPanics:
		p.r.faults.panics.Add(1)
		panic(tw)
	case twigExits:
		p.r.faults.goexits.Add(1)
		runtime.Goexit()
	}
}

// leave counts a callback that returns, or unwinds.
func (p *program) leave() {
	if p.left.Add(-1) == 0 {
		select {
		case p.done <- struct{}{}:
		default: // a task ran twice, which run finds
		}
	}
}

// runChildren schedules the children of tw, all of them before it waits. release
// says that the callback may give its place away from then on.
func (p *program) runChildren(w *sched.Worker, tw *twig, release func()) {
	switch tw.way {
	case waySchedule, wayYield:
		p.scheduleEach(w.Schedule, tw)
		release()
	case wayOutside:
		p.scheduleEach(p.s.Schedule, tw)
		release()
	case wayBatch:
		p.check("Worker.ScheduleBatch", w.ScheduleBatch(p.batch(tw)))
		release()
	case wayBlockingFirst:
		release()
		p.r.faults.blocks.Add(1)
		w.Blocking(runtime.Gosched)
		p.scheduleEach(w.Schedule, tw)
	case wayBlockingUntil:
		p.scheduleEach(w.Schedule, tw)
		tw.until.hit()
		release()
		p.r.faults.blocks.Add(1)
		w.Blocking(func() { <-tw.until.open })
	case wayWait:
		var g sched.Group
		for _, c := range tw.children {
			p.check("Group.Schedule", g.Schedule(w, c.Task()))
		}
		p.await("Worker.Wait", tw, release, func() error { return w.Wait(&g) })
	case wayWaitUnknown:
		g := p.s.NewGroup(sched.GroupConfig{})
		p.check("Group.ScheduleBatch", g.ScheduleBatch(w, p.batch(tw)))
		p.await("Group.Wait", tw, release, g.Wait)
	case wayWaitContext:
		g := p.s.NewGroup(sched.GroupConfig{AllErrors: true})
		for _, c := range tw.children {
			p.check("Group.Schedule", g.Schedule(nil, c.Task()))
		}
		ctx := w.Context(context.Background())
		p.await("Group.WaitContext", tw, release, func() error { return g.WaitContext(ctx) })
	case wayDo:
		tasks := make([]*sched.Task, 0, 4)
		for _, c := range tw.children {
			tasks = append(tasks, c.Task())
		}
		p.await("Do", tw, release, func() error { return p.s.Do(tasks...) })
	}
}

func (p *program) scheduleEach(schedule func(...*sched.Task) error, tw *twig) {
	for _, c := range tw.children {
		p.check("Schedule", schedule(c.Task()))
	}
}

func (p *program) batch(tw *twig) *sched.Batch {
	b := new(sched.Batch)
	for _, c := range tw.children {
		p.check("Add", b.Add(c.Task()))
	}
	return b
}

// await waits for the children of tw and checks what comes out: their panic, an
// error for a Goexit, or nothing; and that all have run by then.
func (p *program) await(what string, tw *twig, release func(), wait func() error) {
	release()
	mayPanic := slices.ContainsFunc(tw.children, func(c *sched.Job[twig]) bool { return c.Value.fails == twigPanics })
	mayExit := slices.ContainsFunc(tw.children, func(c *sched.Job[twig]) bool { return c.Value.mayExit() })
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		from, _ := r.(*twig) // a Do on the caller's goroutine
		if pe, ok := r.(*sched.PanicError); ok {
			from, _ = pe.Value.(*twig)
		}
		if p.observed || !slices.ContainsFunc(tw.children, func(c *sched.Job[twig]) bool { return &c.Value == from }) {
			p.failf("%s of task %d raised %v", what, tw.id, r)
		}
	}()
	err := wait()
	if mayPanic && !mayExit && (!p.observed || err == nil) {
		p.failf("%s of task %d did not tell of the panic of a child: %v", what, tw.id, err)
	}
	for _, c := range tw.children {
		if c.Value.ran.Load() != 1 {
			p.failf("%s of task %d returned before task %d ran", what, tw.id, c.Value.id)
		}
	}
	p.awaitErr(what, err, tw.children...)
}
