package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// heldTrial is a scheduler that a law closes. Tasks hold its workers until the gate
// opens, so that tasks are queued when Close is called.
type heldTrial struct {
	*trial
	closer  Closer
	gate    chan struct{}
	unrun   int
	waiting atomic.Int64 // Waits that have not returned
}

// newHeldTrial returns nil when the scheduler is no Closer.
func newHeldTrial(r *harness.Run, k Kind, tasks int) *heldTrial {
	r.T.Helper()
	run := newTrial(r, k, tasks)
	c, ok := run.s.(Closer)
	if !ok {
		run.without("Close")
		return nil
	}
	return &heldTrial{trial: run, closer: c, gate: make(chan struct{})}
}

// close closes the scheduler. It opens the gate as soon as the scheduler refuses tasks.
func (p *heldTrial) close() bool {
	p.r.T.Helper()
	done := harness.Start(func() { p.unrun = p.closer.Close() }, func() {
		for !p.r.IsExpired() && p.probe() {
			runtime.Gosched()
		}
		close(p.gate)
	})
	return p.r.Await(done, func() string {
		return fmt.Sprintf("Close has not returned: %d tasks were accepted and %d have run, %d Waits have not returned",
			p.accepted.Load(), p.ran.Load(), p.waiting.Load())
	})
}

// probe schedules a task without effect and reports whether the scheduler accepted it.
func (p *heldTrial) probe() bool {
	ok := p.s.Schedule(func(Worker) { p.ran.Add(1) })
	if ok {
		p.accepted.Add(1)
	}
	return ok
}

// lawClose closes a scheduler with queued tasks.
func lawClose(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		p := newHeldTrial(r, k, operations)
		if p == nil {
			return
		}
		start := harness.Start(append(p.callers(operations/2), func() { p.holdWorkers(operations/2, operations) })...)
		if !p.await("Schedule", start) || !p.close() {
			return
		}
		for range 100 {
			runtime.Gosched() // a task that starts here starts too late
		}
		accepted, ran := int(p.accepted.Load()), int(p.ran.Load())
		if ran+p.unrun != accepted {
			r.Failf("%d tasks were accepted, %d ran, and Close returned %d as not run", accepted, ran, p.unrun)
		}
		if p.probe() {
			r.Failf("a task was accepted after Close")
		}
		p.checkOnce()
		p.checkRefused()
	})
}

// holdWorkers schedules one task for each worker. The task schedules its part of the
// tasks [lo, hi), holds the worker until the gate opens, and then tries to schedule one
// more.
func (p *heldTrial) holdWorkers(lo, hi int) {
	harness.Divide(lo, hi, p.workers, func(lo, hi int) {
		ok := p.s.Schedule(func(w Worker) {
			p.ran.Add(1)
			for ; lo < hi; lo++ {
				p.offer(w.Schedule, lo, lo+1)
			}
			p.r.Hold(p.gate)
			if w.Schedule(func(Worker) { p.ran.Add(1) }) {
				p.accepted.Add(1)
			}
		})
		if ok {
			p.accepted.Add(1)
		}
	})
}

// lawClosing closes a scheduler while goroutines and tasks wait.
func lawClosing(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		for range max(1, operations/500) {
			p := newHeldTrial(r, k, 0)
			if p == nil {
				return
			}
			g, ok := p.s.(Grouper)
			if !ok {
				p.without("Group")
				return
			}
			if !p.closeWaits(g) {
				return
			}
		}
	})
}

// closeWaits closes the scheduler while external callers wait for tasks that themselves
// wait for tasks.
func (p *heldTrial) closeWaits(g Grouper) bool {
	p.r.T.Helper()
	wait := func(group Group, w Worker) {
		p.waiting.Add(1)
		group.Wait(w)
		p.waiting.Add(-1)
	}
	var fns []func()
	for range p.r.Between(1, 2*p.workers) {
		group := g.NewGroup()
		fns = append(fns, func() {
			for range 1 + p.workers {
				group.Schedule(nil, func(w Worker) {
					inner := g.NewGroup()
					inner.Schedule(w, func(Worker) { p.r.Hold(p.gate) })
					wait(inner, w)
				})
			}
			wait(group, nil)
		})
	}
	waits := harness.Start(fns...)
	return p.close() && p.r.Await(waits, func() string {
		return fmt.Sprintf("%d Waits have not returned after Close", p.waiting.Load())
	})
}
