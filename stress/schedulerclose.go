package stress

import (
	"fmt"
	"runtime"
	"sync/atomic"
)

// schedPlugged is a scheduler about to be closed: tasks hold its workers until
// the gate opens, so that there is something queued when Close comes.
type schedPlugged struct {
	*schedRun
	closer  Closer
	gate    chan struct{}
	unrun   int
	waiting atomic.Int64 // Waits that have not ended
}

// plug returns nil when the scheduler cannot be closed.
func plug(r *lawRun, k SchedulerKind, tasks int) *schedPlugged {
	r.t.Helper()
	run := newSchedRun(r, k, tasks)
	c, ok := run.s.(Closer)
	if !ok {
		run.without("Close")
		return nil
	}
	return &schedPlugged{schedRun: run, closer: c, gate: make(chan struct{})}
}

// close closes the scheduler, and opens the gate when that is known to refuse.
func (p *schedPlugged) close() bool {
	p.r.t.Helper()
	done := lawStart(func() { p.unrun = p.closer.Close() }, func() {
		for !p.r.over() && p.probe() {
			runtime.Gosched()
		}
		close(p.gate)
	})
	return p.r.ends(done, func() string {
		return fmt.Sprintf("Close has not ended: %d tasks were accepted and %d have run, %d Waits have not ended",
			p.accepted.Load(), p.ran.Load(), p.waiting.Load())
	})
}

// probe schedules a task of no account and reports whether it was accepted.
func (p *schedPlugged) probe() bool {
	ok := p.s.Schedule(func(Worker) { p.ran.Add(1) })
	if ok {
		p.accepted.Add(1)
	}
	return ok
}

func schedClose(r *lawRun, k SchedulerKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		p := plug(r, k, operations)
		if p == nil {
			return
		}
		start := lawStart(append(p.callers(operations/2), func() { p.plugs(operations/2, operations) })...)
		if !p.ends("Schedule", start) || !p.close() {
			return
		}
		for range 100 {
			runtime.Gosched() // what runs now runs too late
		}
		accepted, ran := int(p.accepted.Load()), int(p.ran.Load())
		if ran+p.unrun != accepted {
			r.failf("%d tasks were accepted, %d ran, and Close returned %d as not run", accepted, ran, p.unrun)
		}
		if p.probe() {
			r.failf("a task was accepted after Close")
		}
		p.checkOnce()
		p.checkRefused()
	})
}

// plugs schedules a task for each worker, which schedules its part of the tasks of
// [lo, hi), holds the worker, and then tries to schedule one more.
func (p *schedPlugged) plugs(lo, hi int) {
	schedEach(lo, hi, p.workers, func(lo, hi int) {
		ok := p.s.Schedule(func(w Worker) {
			p.ran.Add(1)
			for ; lo < hi; lo++ {
				p.offer(w.Schedule, lo, lo+1)
			}
			p.r.hold(p.gate)
			if w.Schedule(func(Worker) { p.ran.Add(1) }) {
				p.accepted.Add(1)
			}
		})
		if ok {
			p.accepted.Add(1)
		}
	})
}

// schedClosing closes a scheduler that goroutines and tasks wait in.
func schedClosing(r *lawRun, k SchedulerKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		for range max(1, operations/500) {
			p := plug(r, k, 0)
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

// closeWaits closes the scheduler under goroutines that wait for tasks that wait
// for tasks.
func (p *schedPlugged) closeWaits(g Grouper) bool {
	p.r.t.Helper()
	wait := func(group Group, w Worker) {
		p.waiting.Add(1)
		group.Wait(w)
		p.waiting.Add(-1)
	}
	var fns []func()
	for range p.r.between(1, 2*p.workers) {
		group := g.NewGroup()
		fns = append(fns, func() {
			for range 1 + p.workers {
				group.Schedule(nil, func(w Worker) {
					inner := g.NewGroup()
					inner.Schedule(w, func(Worker) { p.r.hold(p.gate) })
					wait(inner, w)
				})
			}
			wait(group, nil)
		})
	}
	waits := lawStart(fns...)
	return p.close() && p.r.ends(waits, func() string {
		return fmt.Sprintf("%d Waits have not ended after Close", p.waiting.Load())
	})
}
