package queuelaw

import (
	"runtime"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// Laws returns the laws of queues.
func Laws() []Law {
	return []Law{
		{"once", "A value that comes out was accepted, and comes out once.", lawAfterUse((*trial).checkOnce)},
		{"lost", "Every accepted value comes out.", lawAfterUse((*trial).checkLost)},
		{"order", "Each consumer gets the values of each producer in the order of their pushes, where that is promised.", lawOrder},
		{"list", "Used by one goroutine, a queue is a list: a push is accepted when there is room, and a pop finds what was pushed.", lawList},
		{"capacity", "An empty queue takes as many values as its capacity says and refuses the next; one without a capacity takes all.", lawCapacity},
		{"refused", "A refused value stays out, and those that were in are still there.", lawRefused},
		{"close", "A closed queue refuses; what it accepted is popped or handed back.", lawClose},
	}
}

// lawAfterUse is a law about a queue that many goroutines have used.
func lawAfterUse(check func(*trial)) func(*harness.Run, Kind) {
	return func(r *harness.Run, k Kind) {
		r.T.Helper()
		r.EachShape(func(operations int) {
			r.T.Helper()
			run := newTrial(r, k, operations)
			if run.concur() {
				check(run)
			}
		})
	}
}

func lawOrder(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.FIFO {
		r.Skipf("no order is promised")
		return
	}
	lawAfterUse((*trial).checkOrder)(r, k)
}

// lawRefused fills the queue before anybody pops, and goes on from there.
func lawRefused(r *harness.Run, k Kind) {
	r.T.Helper()
	if k.Capacity == 0 {
		r.Skipf("the queue has no bound")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations+4*k.Capacity)
		if run.ends(harness.Start(run.fill)) && run.concur() {
			run.checkOnce()
			run.checkLost()
		}
	})
}

// lawCapacity fills the queue.
func lawCapacity(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations+4*k.Capacity)
		if !run.ends(harness.Start(run.fill)) {
			return
		}
		switch got := int(run.accepted.Load()); {
		case k.Capacity == 0 && got < run.todo():
			r.Failf("a queue without a bound refused a value after %d", got)
		case k.Capacity > 0 && got != k.Capacity:
			r.Failf("an empty queue of capacity %d took %d values", k.Capacity, got)
		}
	})
}

// lawClose closes the queue while it is in use.
func lawClose(r *harness.Run, k Kind) {
	r.T.Helper()
	if _, ok := k.New(Shape{1, 1}).(Closer); !ok {
		r.Skipf("there is no Close")
		return
	}
	full := false
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations)
		shut := func() {
			run.returned = run.q.(Closer).Close()
			run.closed.Store(true)
		}
		var ok bool
		if full = !full; full { // for sure there is something queued
			ok = run.ends(harness.Start(func() { run.fill(); shut() })) && run.concur()
		} else {
			after := int64(r.Between(0, operations/2))
			ok = run.concur(func() {
				for run.accepted.Load() < after && run.producing.Load() > 0 && !r.IsExpired() {
					runtime.Gosched()
				}
				shut()
			})
		}
		if ok {
			run.checkOnce()
			run.checkLost()
			run.checkRefuses()
		}
	})
}

// lawList compares the queue with the values that are in it.
func lawList(r *harness.Run, k Kind) {
	r.T.Helper()
	most, one := k, false
	r.EachShape(func(operations int) {
		r.T.Helper()
		if one = !one; one { // then the order is known, too
			k.MaxProducers, k.MaxConsumers = 1, 1
		} else {
			k.MaxProducers, k.MaxConsumers = most.MaxProducers, most.MaxConsumers
		}
		run := newTrial(r, k, operations)
		l := model{run: run, k: k, in: make(map[uint64]bool), first: make([]int, run.shape.Producers)}
		run.ends(harness.Start(l.use))
	})
}
