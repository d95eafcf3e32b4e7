package stress

import (
	"runtime"
)

// QueueLaws returns the laws of queues.
func QueueLaws() []QueueLaw {
	return []QueueLaw{
		{"once", "A value that comes out was accepted, and comes out once.", queueUsed((*queueRun).checkOnce)},
		{"lost", "Every accepted value comes out.", queueUsed((*queueRun).checkLost)},
		{"order", "Each consumer gets the values of each producer in the order of their pushes, where that is promised.", queueOrder},
		{"list", "Used by one goroutine, a queue is a list: a push is accepted when there is room, and a pop finds what was pushed.", queueList},
		{"capacity", "An empty queue takes as many values as its capacity says and refuses the next; one without a capacity takes all.", queueCapacity},
		{"refused", "A refused value stays out, and those that were in are still there.", queueRefused},
		{"close", "A closed queue refuses; what it accepted is popped or handed back.", queueClose},
	}
}

// queueUsed is a law about a queue that many goroutines have used.
func queueUsed(check func(*queueRun)) func(*lawRun, QueueKind) {
	return func(r *lawRun, k QueueKind) {
		r.t.Helper()
		r.shapes(func(operations int) {
			r.t.Helper()
			run := newQueueRun(r, k, operations)
			if run.concur() {
				check(run)
			}
		})
	}
}

func queueOrder(r *lawRun, k QueueKind) {
	r.t.Helper()
	if !k.FIFO {
		r.skipf("no order is promised")
		return
	}
	queueUsed((*queueRun).checkOrder)(r, k)
}

// queueRefused fills the queue before anybody pops, and goes on from there.
func queueRefused(r *lawRun, k QueueKind) {
	r.t.Helper()
	if k.Capacity == 0 {
		r.skipf("the queue has no bound")
		return
	}
	r.shapes(func(operations int) {
		r.t.Helper()
		run := newQueueRun(r, k, operations+4*k.Capacity)
		if run.ends(lawStart(run.fill)) && run.concur() {
			run.checkOnce()
			run.checkLost()
		}
	})
}

// queueCapacity fills the queue.
func queueCapacity(r *lawRun, k QueueKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		run := newQueueRun(r, k, operations+4*k.Capacity)
		if !run.ends(lawStart(run.fill)) {
			return
		}
		switch got := int(run.accepted.Load()); {
		case k.Capacity == 0 && got < run.todo():
			r.failf("a queue without a bound refused a value after %d", got)
		case k.Capacity > 0 && got != k.Capacity:
			r.failf("an empty queue of capacity %d took %d values", k.Capacity, got)
		}
	})
}

// queueClose closes the queue while it is in use.
func queueClose(r *lawRun, k QueueKind) {
	r.t.Helper()
	if _, ok := k.New(QueueShape{1, 1}).(QueueCloser); !ok {
		r.skipf("there is no Close")
		return
	}
	full := false
	r.shapes(func(operations int) {
		r.t.Helper()
		run := newQueueRun(r, k, operations)
		shut := func() {
			run.returned = run.q.(QueueCloser).Close()
			run.closed.Store(true)
		}
		var ok bool
		if full = !full; full { // for sure there is something queued
			ok = run.ends(lawStart(func() { run.fill(); shut() })) && run.concur()
		} else {
			after := int64(r.between(0, operations/2))
			ok = run.concur(func() {
				for run.accepted.Load() < after && run.producing.Load() > 0 && !r.over() {
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

// queueList compares the queue with the values that are in it.
func queueList(r *lawRun, k QueueKind) {
	r.t.Helper()
	most, one := k, false
	r.shapes(func(operations int) {
		r.t.Helper()
		if one = !one; one { // then the order is known, too
			k.MaxProducers, k.MaxConsumers = 1, 1
		} else {
			k.MaxProducers, k.MaxConsumers = most.MaxProducers, most.MaxConsumers
		}
		run := newQueueRun(r, k, operations)
		l := queueModel{run: run, k: k, in: make(map[uint64]bool), first: make([]int, run.shape.Producers)}
		run.ends(lawStart(l.use))
	})
}
