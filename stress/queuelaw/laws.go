package queuelaw

import (
	"runtime"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// Laws returns the laws of queues.
func Laws() []Law {
	return []Law{
		{"once", "A value that Pop or Close returns was accepted, and is returned once.", lawAfterUse((*trial).checkOnce)},
		{"lost", "Every accepted value is returned.", lawAfterUse((*trial).checkLost)},
		{"order", "Each consumer pops the values of each producer in the order of their pushes, if the queue promises that.", lawOrder},
		{"list", "With one goroutine, a queue is a list: it accepts a push when it has room, and a pop returns a queued value.", lawList},
		{"capacity", "An empty queue accepts as many values as its capacity and refuses the next; without a capacity it accepts all.", lawCapacity},
		{"refused", "A refused value is not queued, and the queued values stay.", lawRefused},
		{"close", "A closed queue refuses values, and every accepted value is popped or returned by Close.", lawClose},
	}
}

// lawAfterUse returns a law that checks a queue after many goroutines have used it.
func lawAfterUse(check func(*trial)) func(*harness.Run, Kind) {
	return func(r *harness.Run, k Kind) {
		r.T.Helper()
		r.EachShape(func(operations int) {
			r.T.Helper()
			run := newTrial(r, k, operations)
			if run.useConcurrently() {
				check(run)
			}
		})
	}
}

// lawOrder checks the order of the values, which needs a queue that promises one.
func lawOrder(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.FIFO {
		r.Skipf("the queue promises no order")
		return
	}
	lawAfterUse((*trial).checkOrder)(r, k)
}

// lawRefused fills the queue before the first pop and then uses it from many
// goroutines.
func lawRefused(r *harness.Run, k Kind) {
	r.T.Helper()
	if k.Capacity == 0 {
		r.Skipf("the queue has no capacity")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations+4*k.Capacity)
		if run.await(harness.Start(run.fill)) && run.useConcurrently() {
			run.checkOnce()
			run.checkLost()
		}
	})
}

// lawCapacity fills the queue without a pop.
func lawCapacity(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations+4*k.Capacity)
		if !run.await(harness.Start(run.fill)) {
			return
		}
		switch got := int(run.accepted.Load()); {
		case k.Capacity == 0 && got < run.total():
			r.Failf("a queue without a capacity refused a value after %d", got)
		case k.Capacity > 0 && got != k.Capacity:
			r.Failf("an empty queue of capacity %d accepted %d values", k.Capacity, got)
		}
	})
}

// lawClose closes the queue while goroutines use it, or when values are queued and no
// goroutine does.
func lawClose(r *harness.Run, k Kind) {
	r.T.Helper()
	if _, ok := k.New(Shape{1, 1}).(Closer); !ok {
		r.Skipf("the queue is no Closer")
		return
	}
	full := false
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations)
		closeQueue := func() {
			run.returned = run.q.(Closer).Close()
			run.closed.Store(true)
		}
		var ok bool
		if full = !full; full { // every second time values are queued for certain
			ok = run.await(harness.Start(func() { run.fill(); closeQueue() })) && run.useConcurrently()
		} else {
			after := int64(r.Between(0, operations/2))
			ok = run.useConcurrently(func() {
				for run.accepted.Load() < after && run.producing.Load() > 0 && !r.IsExpired() {
					runtime.Gosched()
				}
				closeQueue()
			})
		}
		if ok {
			run.checkOnce()
			run.checkLost()
			run.checkRefuses()
		}
	})
}

// lawList compares the queue with a model. Every second time it uses one producer and
// one consumer, because the model then knows the order as well.
func lawList(r *harness.Run, k Kind) {
	r.T.Helper()
	all, one := k, false
	r.EachShape(func(operations int) {
		r.T.Helper()
		if one = !one; one {
			k.MaxProducers, k.MaxConsumers = 1, 1
		} else {
			k.MaxProducers, k.MaxConsumers = all.MaxProducers, all.MaxConsumers
		}
		run := newTrial(r, k, operations)
		m := model{run: run, k: k, in: make(map[uint64]bool), next: make([]int, run.shape.Producers)}
		run.await(harness.Start(m.use))
	})
}
