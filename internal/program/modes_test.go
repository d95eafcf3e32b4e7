//go:build interleave

package program_test

import (
	"context"
	"errors"
	"runtime"

	"github.com/lanewright/lanewright/sched"
)

// task returns the task of a node.
func (r *run) task(nd *node) *sched.Task {
	t := &sched.Task{Fn: func(w *sched.Worker, t *sched.Task) { r.enter(w, t, nd) }}
	r.tasks[t] = nd
	return t
}

func (r *run) tasksOf(nds []*node) (ts []*sched.Task) {
	for _, nd := range nds {
		ts = append(ts, r.task(nd))
	}
	return ts
}

func (r *run) batch(nds []*node) *sched.Batch {
	b := new(sched.Batch)
	for _, t := range r.tasksOf(nds) {
		r.must("Add", b.Add(t))
	}
	return b
}

// fail ends a task as the program states.
func (nd *node) fail() error {
	switch nd.fails {
	case panics:
		panic(nd)
	case exits:
		runtime.Goexit()
	case errs:
		return errFunc
	}
	return nil
}

// enter is the callback of nd.
func (r *run) enter(w *sched.Worker, t *sched.Task, nd *node) {
	defer r.begin(nd)()
	release := func() {}
	if id := w.ID(); id >= 0 {
		if r.holding[id] {
			r.m.Fatalf("two callbacks run with the ID %d", id)
		}
		r.holding[id] = true
		release = func() { r.holding[id] = false; release = func() {} }
		defer func() { release() }()
	}
	if nd.again && r.records[nd.id].ran == 1 {
		r.noteResult(true, w.Schedule(t), nd)
		return
	}
	for range nd.needs {
		r.needed.Wait()
	}
	if len(nd.children) > 0 {
		r.runChildren(w, nd, func() { release() })
	}
	_ = nd.fail()
}

// runChildren runs the children of nd in a callback. release marks that the callback
// may release its place from then on.
func (r *run) runChildren(w *sched.Worker, nd *node, release func()) {
	started := newSema(len(nd.children))
	if nd.mode == modeBlockingUntil || nd.mode == modeHold {
		r.records[nd.id].started = started
	}
	switch nd.mode {
	case modeSchedule:
		r.noteResult(true, w.Schedule(r.tasksOf(nd.children)...), nd.children...)
	case modeEach:
		r.each(nd, func(t *sched.Task) error { return w.Schedule(t) })
	case modeExternal:
		r.noteResult(true, r.s.Schedule(r.tasksOf(nd.children)...), nd.children...)
	case modeBatch:
		r.noteResult(true, w.ScheduleBatch(r.batch(nd.children)), nd.children...)
	case modeExternalBatch:
		r.noteResult(true, r.s.ScheduleBatch(r.batch(nd.children)), nd.children...)
	case modeBlockingFirst:
		release()
		w.Blocking(func() {})
		r.each(nd, func(t *sched.Task) error { return w.Schedule(t) })
	case modeBlockingUntil:
		r.noteResult(true, w.Schedule(r.tasksOf(nd.children)...), nd.children...)
		release()
		w.Blocking(func() {
			for range nd.children {
				started.Wait()
			}
		})
	case modeHold:
		r.noteResult(true, w.Schedule(r.tasksOf(nd.children)...), nd.children...)
		started.Wait()
	case modeJoin:
		g := r.records[nd.id].group
		r.join(nd, g)
		r.each(nd, func(t *sched.Task) error { return g.Schedule(w, t) })
	case modeWait:
		var g sched.Group
		r.join(nd, &g)
		r.each(nd, func(t *sched.Task) error { return g.Schedule(w, t) })
		release()
		r.await(nd, func() error { return w.Wait(&g) })
	case modeWaitUnknown:
		g := r.s.NewGroup(sched.GroupConfig{})
		r.join(nd, g)
		r.noteResult(true, g.ScheduleBatch(w, r.batch(nd.children)), nd.children...)
		release()
		r.await(nd, g.Wait)
	case modeWaitContext:
		g := r.s.NewGroup(sched.GroupConfig{AllErrors: true})
		r.join(nd, g)
		r.noteResult(true, g.Schedule(nil, r.tasksOf(nd.children)...), nd.children...)
		release()
		r.await(nd, func() error { return g.WaitContext(w.Context(context.Background())) })
	case modeFuncs:
		release()
		r.functions(nd)
	case modeDo:
		release()
		r.do(nd)
	}
}

// call makes one call of an external caller.
func (r *run) call(c *node) {
	switch c.mode {
	case modeSchedule:
		r.noteResult(false, r.s.Schedule(r.tasksOf(c.children)...), c.children...)
	case modeEach:
		for _, k := range c.children {
			if k.again || k.mode != modeSchedule || len(k.children) > 0 {
				r.noteResult(false, r.s.Schedule(r.task(k)), k)
				continue
			}
			r.records[k.id].function = true
			r.noteResult(false, r.s.Go(func() { defer r.begin(k)() }), k)
		}
	case modeBatch:
		r.noteResult(false, r.s.ScheduleBatch(r.batch(c.children)), c.children...)
	case modeWait:
		g := r.s.NewGroup(sched.GroupConfig{})
		r.join(c, g)
		for _, k := range c.children {
			r.noteResult(false, g.Schedule(nil, r.task(k)), k)
		}
		r.await(c, g.Wait)
	case modeWaitUnknown:
		g := r.s.NewGroup(sched.GroupConfig{AllErrors: true})
		r.join(c, g)
		r.noteResult(false, g.ScheduleBatch(nil, r.batch(c.children)), c.children...)
		r.await(c, g.Wait)
	case modeWaitContext:
		g := r.s.NewGroup(sched.GroupConfig{Context: r.ctx})
		r.join(c, g)
		r.ends[g] = true
		r.noteResult(false, g.Schedule(nil, r.tasksOf(c.children)...), c.children...)
		r.await(c, func() error { return g.WaitContext(r.ctx) })
	case modeFuncs:
		r.functions(c)
	case modeDo:
		r.do(c)
	case modeRun:
		r.leaveBusy()
		err := r.s.Run(r.ctx)
		r.busy++
		if !(err == nil && r.ending || errors.Is(err, context.Canceled) && r.ctx.Err() != nil) {
			r.m.Fatalf("Run = %v", err)
		}
	case modeCancel:
		r.cancel()
	}
}

// join records the group of the children of nd.
func (r *run) join(nd *node, g *sched.Group) {
	for _, k := range nd.children {
		r.records[k.id].group = g
	}
}

// each schedules the children of nd one by one.
func (r *run) each(nd *node, schedule func(*sched.Task) error) {
	for _, k := range nd.children {
		r.noteResult(true, schedule(r.task(k)), k)
	}
}

// functions runs the children of by as functions of a group with a limit.
func (r *run) functions(by *node) {
	c := sched.GroupConfig{Limit: 1}
	if r.failures != 0 {
		c.Limit = 0 // a Go that waits for a permit starts no worker
	}
	g := r.s.NewGroup(c)
	for i, k := range by.children {
		r.records[k.id].unknown = true
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

// do runs the children of by with Do.
func (r *run) do(by *node) {
	tasks := r.tasksOf(by.children)
	for _, k := range by.children {
		r.records[k.id].unknown = true
	}
	r.await(by, func() error { return r.s.Do(tasks...) })
}
