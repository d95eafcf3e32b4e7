package stress

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/lanewright/lanewright/sched"
)

// run runs the program on its scheduler. It checks that each task ran once, that all
// waits return, and that no task ran after it should. drain, if not nil, makes the
// queued tasks run.
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
		nd := &p.nodes[i].Value
		if n, want := nd.ran.Load(), 1+nd.repeats; n != want {
			p.failf("task %d was entered %d times, want %d", i, n, want)
		}
	}
}

// entries returns the number of callbacks of the program.
func (p *program) entries() (n int) {
	for i := range p.size {
		n += 1 + int(p.nodes[i].Value.repeats)
	}
	return n
}

// do runs a root with Do.
func (p *program) do(root *sched.Job[taskNode]) {
	defer func() {
		if r := recover(); r != nil {
			p.failf("Do raised %v", r)
		}
	}()
	p.awaitErr("Do", p.s.Do(root.Task()), root)
}

// check records err as a violation, unless it is nil or states that the Spawner failed.
func (p *program) check(what string, err error) {
	if err != nil && !errors.Is(err, sched.ErrQueued) {
		p.failf("%s: %v", what, err)
	}
}

// awaitErr checks the error of a wait for nodes, which depends on how they may fail.
func (p *program) awaitErr(what string, err error, nds ...*sched.Job[taskNode]) {
	for _, j := range nds {
		var pe *sched.PanicError
		switch nd := &j.Value; {
		case err == nil:
			return
		case nd.mayExit() && errors.Is(err, sched.ErrGoexit):
			return
		case p.observed && nd.fails == nodePanics && errors.As(err, &pe):
			return
		}
	}
	p.check(what, err)
}

// mayExit reports whether Goexit may unwind the goroutine that runs the node.
func (nd *taskNode) mayExit() bool {
	if nd.fails == nodeExits {
		return true
	}
	return nd.mode >= modeAwaited && slices.ContainsFunc(nd.children, func(c *sched.Job[taskNode]) bool { return c.Value.mayExit() })
}

// enterNode is the callback of all nodes.
func enterNode(w *sched.Worker, j *sched.Job[taskNode]) {
	nd := &j.Value
	p := nd.p
	if nd.ran.Add(1) <= nd.repeats {
		p.check("Worker.Schedule", w.Schedule(j.Task()))
		return // the task may be running again
	}
	defer p.leave()
	if nd.entered != nil {
		nd.entered.countDown()
	}
	release := func() {}
	if id := w.ID(); id >= 0 {
		if p.holding[id].Swap(true) {
			p.failf("two callbacks run with the ID %d", id)
		}
		release = func() { p.holding[id].Store(false) }
	}
	p.runChildren(w, nd, release)
	switch nd.fails {
	case nodePanics:
		p.r.faults.panics.Add(1)
		panic(nd)
	case nodeExits:
		p.r.faults.goexits.Add(1)
		runtime.Goexit()
	}
}

// leave counts a callback that returns or unwinds.
func (p *program) leave() {
	if p.left.Add(-1) == 0 {
		select {
		case p.done <- struct{}{}:
		default: // a task ran twice, which run finds
		}
	}
}

// runChildren schedules all children of nd, and then waits for them if its mode says
// so. release marks that the callback may release its place from then on.
func (p *program) runChildren(w *sched.Worker, nd *taskNode, release func()) {
	switch nd.mode {
	case modeSchedule, modeYield:
		p.scheduleEach(w.Schedule, nd)
		release()
	case modeExternal:
		p.scheduleEach(p.s.Schedule, nd)
		release()
	case modeBatch:
		p.check("Worker.ScheduleBatch", w.ScheduleBatch(p.batch(nd)))
		release()
	case modeBlockingFirst:
		release()
		p.r.faults.blocks.Add(1)
		w.Blocking(runtime.Gosched)
		p.scheduleEach(w.Schedule, nd)
	case modeBlockingUntil:
		p.scheduleEach(w.Schedule, nd)
		nd.until.countDown()
		release()
		p.r.faults.blocks.Add(1)
		w.Blocking(func() { <-nd.until.open })
	case modeWait:
		var g sched.Group
		for _, c := range nd.children {
			p.check("Group.Schedule", g.Schedule(w, c.Task()))
		}
		p.await("Worker.Wait", nd, release, func() error { return w.Wait(&g) })
	case modeWaitUnknown:
		g := p.s.NewGroup(sched.GroupConfig{})
		p.check("Group.ScheduleBatch", g.ScheduleBatch(w, p.batch(nd)))
		p.await("Group.Wait", nd, release, g.Wait)
	case modeWaitContext:
		g := p.s.NewGroup(sched.GroupConfig{AllErrors: true})
		for _, c := range nd.children {
			p.check("Group.Schedule", g.Schedule(nil, c.Task()))
		}
		ctx := w.Context(context.Background())
		p.await("Group.WaitContext", nd, release, func() error { return g.WaitContext(ctx) })
	case modeDo:
		tasks := make([]*sched.Task, 0, 4)
		for _, c := range nd.children {
			tasks = append(tasks, c.Task())
		}
		p.await("Do", nd, release, func() error { return p.s.Do(tasks...) })
	}
}

func (p *program) scheduleEach(schedule func(...*sched.Task) error, nd *taskNode) {
	for _, c := range nd.children {
		p.check("Schedule", schedule(c.Task()))
	}
}

func (p *program) batch(nd *taskNode) *sched.Batch {
	b := new(sched.Batch)
	for _, c := range nd.children {
		p.check("Add", b.Add(c.Task()))
	}
	return b
}

// await waits for the children of nd and checks the result: their panic, an error for a
// Goexit, or nil. All children have to have run.
func (p *program) await(what string, nd *taskNode, release func(), wait func() error) {
	release()
	mayPanic := slices.ContainsFunc(nd.children, func(c *sched.Job[taskNode]) bool { return c.Value.fails == nodePanics })
	mayExit := slices.ContainsFunc(nd.children, func(c *sched.Job[taskNode]) bool { return c.Value.mayExit() })
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		from, _ := r.(*taskNode) // a Do runs a task on the goroutine of its caller
		if pe, ok := r.(*sched.PanicError); ok {
			from, _ = pe.Value.(*taskNode)
		}
		if p.observed || !slices.ContainsFunc(nd.children, func(c *sched.Job[taskNode]) bool { return &c.Value == from }) {
			p.failf("%s of task %d raised %v", what, nd.id, r)
		}
	}()
	err := wait()
	if mayPanic && !mayExit && (!p.observed || err == nil) {
		p.failf("%s of task %d did not report the panic of a child: %v", what, nd.id, err)
	}
	for _, c := range nd.children {
		if c.Value.ran.Load() != 1 {
			p.failf("%s of task %d returned before task %d ran", what, nd.id, c.Value.id)
		}
	}
	p.awaitErr(what, err, nd.children...)
}
