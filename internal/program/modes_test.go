//go:build interleave

package program_test

import (
	"context"
	"errors"
	"runtime"

	"github.com/lanewright/lanewright/sched"
)

// task returns the task of a twig.
func (r *run) task(tw *twig) *sched.Task {
	t := &sched.Task{Fn: func(w *sched.Worker, t *sched.Task) { r.enter(w, t, tw) }}
	r.tasks[t] = tw
	return t
}

func (r *run) tasksOf(tws []*twig) (ts []*sched.Task) {
	for _, tw := range tws {
		ts = append(ts, r.task(tw))
	}
	return ts
}

func (r *run) batch(tws []*twig) *sched.Batch {
	b := new(sched.Batch)
	for _, t := range r.tasksOf(tws) {
		r.must("Add", b.Add(t))
	}
	return b
}

// fail ends a task as the program says.
func (tw *twig) fail() error {
	switch tw.fails {
	case panics:
		panic(tw)
	case exits:
		runtime.Goexit()
	case errs:
		return errFunc
	}
	return nil
}

// enter is the callback of tw.
func (r *run) enter(w *sched.Worker, t *sched.Task, tw *twig) {
	defer r.begin(tw)()
	release := func() {}
	if id := w.ID(); id >= 0 {
		if r.holding[id] {
			r.m.Fatalf("two callbacks run with the ID %d", id)
		}
		r.holding[id] = true
		release = func() { r.holding[id] = false; release = func() {} }
		defer func() { release() }()
	}
	if tw.again && r.fates[tw.id].ran == 1 {
		r.took(true, w.Schedule(t), tw)
		return
	}
	for range tw.needs {
		r.needed.Wait()
	}
	if len(tw.kids) > 0 {
		r.runKids(w, tw, func() { release() })
	}
	_ = tw.fail()
}

// runKids runs the kids of tw in a callback. release says that it may give its
// place away from then on.
func (r *run) runKids(w *sched.Worker, tw *twig, release func()) {
	started := newSema(len(tw.kids))
	if tw.way == wayBlockingUntil || tw.way == wayHold {
		r.fates[tw.id].started = started
	}
	switch tw.way {
	case waySchedule:
		r.took(true, w.Schedule(r.tasksOf(tw.kids)...), tw.kids...)
	case wayEach:
		r.each(tw, func(t *sched.Task) error { return w.Schedule(t) })
	case wayOutside:
		r.took(true, r.s.Schedule(r.tasksOf(tw.kids)...), tw.kids...)
	case wayBatch:
		r.took(true, w.ScheduleBatch(r.batch(tw.kids)), tw.kids...)
	case wayOutsideBatch:
		r.took(true, r.s.ScheduleBatch(r.batch(tw.kids)), tw.kids...)
	case wayBlockingFirst:
		release()
		w.Blocking(func() {})
		r.each(tw, func(t *sched.Task) error { return w.Schedule(t) })
	case wayBlockingUntil:
		r.took(true, w.Schedule(r.tasksOf(tw.kids)...), tw.kids...)
		release()
		w.Blocking(func() {
			for range tw.kids {
				started.Wait()
			}
		})
	case wayHold:
		r.took(true, w.Schedule(r.tasksOf(tw.kids)...), tw.kids...)
		started.Wait()
	case wayJoin:
		g := r.fates[tw.id].group
		r.join(tw, g)
		r.each(tw, func(t *sched.Task) error { return g.Schedule(w, t) })
	case wayWait:
		var g sched.Group
		r.join(tw, &g)
		r.each(tw, func(t *sched.Task) error { return g.Schedule(w, t) })
		release()
		r.await(tw, func() error { return w.Wait(&g) })
	case wayWaitUnknown:
		g := r.s.NewGroup(sched.GroupConfig{})
		r.join(tw, g)
		r.took(true, g.ScheduleBatch(w, r.batch(tw.kids)), tw.kids...)
		release()
		r.await(tw, g.Wait)
	case wayWaitContext:
		g := r.s.NewGroup(sched.GroupConfig{AllErrors: true})
		r.join(tw, g)
		r.took(true, g.Schedule(nil, r.tasksOf(tw.kids)...), tw.kids...)
		release()
		r.await(tw, func() error { return g.WaitContext(w.Context(context.Background())) })
	case wayFuncs:
		release()
		r.functions(tw)
	case wayDo:
		release()
		r.do(tw)
	}
}

// call is a call of an outside thread.
func (r *run) call(c *twig) {
	switch c.way {
	case waySchedule:
		r.took(false, r.s.Schedule(r.tasksOf(c.kids)...), c.kids...)
	case wayEach:
		for _, k := range c.kids {
			if k.again || k.way != waySchedule || len(k.kids) > 0 {
				r.took(false, r.s.Schedule(r.task(k)), k)
				continue
			}
			r.fates[k.id].function = true
			r.took(false, r.s.Go(func() { defer r.begin(k)() }), k)
		}
	case wayBatch:
		r.took(false, r.s.ScheduleBatch(r.batch(c.kids)), c.kids...)
	case wayWait:
		g := r.s.NewGroup(sched.GroupConfig{})
		r.join(c, g)
		for _, k := range c.kids {
			r.took(false, g.Schedule(nil, r.task(k)), k)
		}
		r.await(c, g.Wait)
	case wayWaitUnknown:
		g := r.s.NewGroup(sched.GroupConfig{AllErrors: true})
		r.join(c, g)
		r.took(false, g.ScheduleBatch(nil, r.batch(c.kids)), c.kids...)
		r.await(c, g.Wait)
	case wayWaitContext:
		g := r.s.NewGroup(sched.GroupConfig{Context: r.ctx})
		r.join(c, g)
		r.took(false, g.Schedule(nil, r.tasksOf(c.kids)...), c.kids...)
		r.await(c, func() error { return g.WaitContext(r.ctx) })
	case wayFuncs:
		r.functions(c)
	case wayDo:
		r.do(c)
	case wayRun:
		r.pause()
		err := r.s.Run(r.ctx)
		r.busy++
		if !(err == nil && r.ending || errors.Is(err, context.Canceled) && r.ctx.Err() != nil) {
			r.m.Fatalf("Run = %v", err)
		}
	case wayCancel:
		r.cancel()
	}
}

// join notes the group of the kids of tw.
func (r *run) join(tw *twig, g *sched.Group) {
	for _, k := range tw.kids {
		r.fates[k.id].group = g
	}
}

// each schedules the kids of tw one by one.
func (r *run) each(tw *twig, schedule func(*sched.Task) error) {
	for _, k := range tw.kids {
		r.took(true, schedule(r.task(k)), k)
	}
}

// functions runs the kids of by as functions of a group with a limit.
func (r *run) functions(by *twig) {
	c := sched.GroupConfig{Limit: 1}
	if r.failures != 0 {
		c.Limit = 0 // a Go that waits for a permit starts no worker
	}
	g := r.s.NewGroup(c)
	for i, k := range by.kids {
		r.fates[k.id].unknown = true
		fn := func() error {
			defer r.begin(k)()
			return k.fail()
		}
		if i > 0 || !g.TryGo(fn) {
			g.Go(fn)
		}
	}
	r.await(by, g.Wait)
}

// do is a Do of the kids of by.
func (r *run) do(by *twig) {
	tasks := r.tasksOf(by.kids)
	for _, k := range by.kids {
		r.fates[k.id].unknown = true
	}
	r.await(by, func() error { return r.s.Do(tasks...) })
}
