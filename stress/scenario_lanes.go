package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

var laneScenarios = []scenario{
	{"lanes-calls", runLaneCalls},
	{"lanes-ends", runLaneEnds},
	{"lanes-limits", runLaneLimits},
	{"stalls", runStalls},
}

// generateLaneConfig generates the configuration of a pool.
func (r *round) generateLaneConfig() pool.Config {
	c := pool.Config{
		Lanes:         r.pick(1, 2, 3),
		Concurrency:   r.pick(1, 1, 1, 2, 4),
		Backlog:       r.pick(1, 16, pool.Unlimited, pool.NoBacklog),
		AbortCapacity: r.pick(4, 64, 258),
		MaxAbandoned:  pool.Unlimited,      // the handlers of a Discard return soon
		OnEnd:         func(pool.Ended) {}, // the panics are those of the scenario, and the log would have each of them
		Balancer:      []pool.Balancer{nil, pool.FirstFree(), pool.Random(nil), pool.FirstFreeOrRandom(rand.NewPCG(r.rng.Uint64(), 1))}[r.rng.IntN(4)],
	}
	if r.rng.IntN(4) == 0 {
		c.Inline = &pool.Inline{Position: pool.Position(r.rng.IntN(2)), BatchSize: r.pick(1, 4), DispatchThreshold: r.pick(1, 8)}
	}
	return c
}

// runLaneCalls has callers and handlers that use every kind of call, while the pool is
// paused, resized and leased.
func runLaneCalls(r *round) {
	for range r.size(16) {
		k := newLaneSoak(r, r.generateLaneConfig(), r.size(4000))
		callers, each := 1+r.rng.IntN(6), r.size(160)
		seeds := r.seeds(callers + 1)
		quit, controller := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(controller)
			r.guard("controller", func() { k.control(seeds[callers], quit) })
		}()
		r.concurrently(callers, func(i int) {
			rng := seeds[i]
			for n := 0; n < each && !r.Failed(); n++ {
				k.step(rng)
			}
		})
		close(quit)
		<-controller
		r.must("Wait", k.p.Wait(context.Background()))
		k.end(func() { r.must("Shutdown", k.p.Shutdown(context.Background())) })
		if r.Failed() {
			return
		}
	}
}

// runLaneEnds ends pools while callers and handlers make calls. Each call has to end.
func runLaneEnds(r *round) {
	for range r.size(32) {
		c := r.generateLaneConfig()
		c.DrainOnClose = r.rng.IntN(4) == 0
		k := newLaneSoak(r, c, 1000)
		k.ends = true
		callers, how, pauses := 1+r.rng.IntN(4), r.rng.IntN(4), r.rng.IntN(300)
		closers := r.pick(1, 1, 8)
		seeds := r.seeds(callers)
		end := func() {
			for range pauses {
				runtime.Gosched()
			}
			r.endPool(k.p, how, closers)
		}
		r.concurrently(callers+1, func(i int) {
			if i == callers {
				end()
				return
			}
			for n := 0; n < 40 && !r.Failed(); n++ {
				k.step(seeds[i])
			}
		})
		k.end(func() {})
		if r.Failed() {
			return
		}
	}
}

// endPool ends a pool in one of four ways, from several goroutines at once.
func (r *round) endPool(p *pool.Pool, how, closers int) {
	r.concurrently(closers, func(i int) {
		switch (how + i) % 4 {
		case 0:
			r.faults.shutdowns.Add(1)
			r.must("Shutdown", p.Shutdown(context.Background()))
		case 1:
			r.faults.closes.Add(1)
			r.must("Close", p.Close())
		case 2:
			r.faults.closes.Add(1)
			n, err := p.Terminate(context.Background())
			if r.must("Terminate", err); n != 0 {
				r.Errorf("Terminate left %d handlers", n)
			}
		case 3: // a Shutdown with a short deadline
			r.faults.shutdowns.Add(1)
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Microsecond)
			defer cancel()
			r.want("Shutdown", p.Shutdown(ctx), context.DeadlineExceeded)
		}
	})
}

// runLaneLimits has callers of pools that refuse, drop and run calls, and that continue
// without handlers over the hard limit.
func runLaneLimits(r *round) {
	for range r.size(12) {
		abandonHandlers(r)
		c := r.generateLaneConfig()
		c.Overflow = pool.Overflow(r.rng.IntN(4))
		c.Backlog = r.pick(1, 2, 16)
		c.Timeout = []time.Duration{0, time.Millisecond, time.Minute}[r.rng.IntN(3)]
		c.HardLimit = []time.Duration{0, time.Millisecond, time.Minute}[r.rng.IntN(3)]
		k := newLaneSoak(r, c, r.size(4000))
		k.limits = true
		callers, each := 2+r.rng.IntN(6), r.size(160)
		seeds := r.seeds(callers)
		r.concurrently(callers, func(i int) {
			for n := 0; n < each && !r.Failed(); n++ {
				k.step(seeds[i])
			}
		})
		r.must("Wait", k.p.Wait(context.Background()))
		k.end(func() {
			n, err := k.p.Terminate(context.Background())
			if r.must("Terminate", err); n != 0 {
				r.Errorf("Terminate left %d handlers", n)
			}
		})
		if r.Failed() {
			return
		}
	}
}

// abandonHandlers has a lane whose handlers do not return. The lane has to continue
// without them.
func abandonHandlers(r *round) {
	var h pool.Handlers
	gate := make(chan struct{})
	stuck := pool.Register(&h, "stuck", func(context.Context, int) (int, error) { <-gate; return 0, nil })
	quick := pool.Register(&h, "quick", func(context.Context, int) (int, error) { return 7, nil })
	p, err := pool.New(&h, pool.Config{Lanes: 1, Concurrency: r.pick(1, 3), HardLimit: time.Millisecond})
	if err != nil {
		panic(err) // a mistake in the scenario
	}
	var calls []*pool.Future[int]
	for range 1 + r.rng.IntN(8) {
		calls = append(calls, stuck.Go(context.Background(), 0))
	}
	for {
		v, err := quick.Call(context.Background(), 0)
		if v == 7 && err == nil {
			break
		}
		r.want("a call behind abandoned handlers", err, pool.ErrHardLimit) // on a slow machine
		if r.Failed() {
			return
		}
	}
	for _, f := range calls {
		if _, err := f.Wait(context.Background()); !errors.Is(err, pool.ErrHardLimit) || errors.Is(err, pool.ErrNotStarted) {
			r.Errorf("a call whose handler does not return ended with %v", err)
		}
		r.faults.timeouts.Add(1)
	}
	close(gate)
	n, err := p.Terminate(context.Background())
	if r.must("Terminate", err); n != 0 {
		r.Errorf("Terminate left %d handlers", n)
	}
	r.calls.Add(uint64(len(calls) + 1))
	r.did(len(calls) + 1)
}

// seeds generates n sources of random numbers, for as many goroutines.
func (r *round) seeds(n int) (list []*rand.Rand) {
	for range n {
		list = append(list, rand.New(rand.NewPCG(r.rng.Uint64(), r.rng.Uint64())))
	}
	return list
}

// runStalls has up to twelve tasks that take long outside Blocking, on at most four
// places. Tasks queued behind them have to run, because the long tasks wait for those.
// It then does the same with handlers of lanes.
func runStalls(r *round) {
	for range r.size(8) {
		workers, stalled := r.pick(1, 2, 4), 1+r.rng.IntN(12)
		s := r.open(sched.Config{MaxWorkers: workers, StallAfter: time.Duration(1+r.rng.IntN(3)) * time.Millisecond}, nil)
		quick, inside := 1+r.rng.IntN(20), r.rng.IntN(3)
		begun, ran := newLatch(stalled), newLatch(stalled*(quick+1))
		spins := r.rng.IntN(2) == 0
		for range stalled {
			r.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				begun.countDown()
				for n := range quick {
					task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.countDown() }}
					if n%3 < inside {
						r.must("Worker.Schedule", w.Schedule(task))
					} else {
						r.must("Schedule", s.Schedule(task))
					}
				}
				ran.countDown()
				r.faults.blocks.Add(1)
				if spins && stalled < 3 {
					for !ran.isOpen() {
						runtime.Gosched()
					}
				}
				<-ran.open // opens when all long tasks have begun and all tasks that they scheduled have run
				r.must("Worker.Schedule after a stall", w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
			}}))
		}
		<-begun.open
		<-ran.open
		r.did(stalled * (quick + 2))
		r.end(s, stalled*(quick+2))
		stallLanes(r)
	}
}

// stallLanes has a pool with at most two places and at least two lanes. Each handler
// waits, outside Blocking, until the handler of the next lane was entered.
func stallLanes(r *round) {
	s := r.open(sched.Config{MaxWorkers: r.pick(1, 2), StallAfter: time.Millisecond}, nil)
	lanes := 2 + r.rng.IntN(8)
	entered := make([]chan struct{}, lanes+1)
	for i := range entered {
		entered[i] = make(chan struct{})
	}
	close(entered[lanes])
	var h pool.Handlers
	task := pool.Register(&h, "task", func(_ context.Context, i int) (int, error) {
		close(entered[i])
		<-entered[i+1]
		return i, nil
	})
	p, err := pool.New(&h, pool.Config{Lanes: lanes, Scheduler: s})
	if err != nil {
		panic(err) // a mistake in the scenario
	}
	var calls []*pool.Future[int]
	for i := range lanes {
		calls = append(calls, task.Go(context.Background(), i))
	}
	for i, f := range calls {
		if v, err := f.Wait(context.Background()); v != i || err != nil {
			r.Errorf("the call of lane %d ended with %d, %v", i, v, err)
		}
	}
	r.calls.Add(uint64(lanes))
	r.did(lanes)
	r.must("Shutdown", p.Shutdown(context.Background()))
	r.end(s, -1)
}

// isOpen reports whether the latch is open.
func (l *latch) isOpen() bool {
	select {
	case <-l.open:
		return true
	default:
		return false
	}
}

// allowedEnds returns the errors that calls of a soak may end with.
func (k *laneSoak) allowedEnds() []error {
	list := []error{errSoak, errSoakAbort, pool.ErrAborted, context.Canceled, context.DeadlineExceeded, pool.ErrAbortSlotsExhausted, pool.ErrAllLeased, pool.ErrLaneDiscarded}
	if k.ends {
		list = append(list, pool.ErrThreadClosed, pool.ErrPoolShutdown)
	}
	if k.limits {
		list = append(list, pool.ErrBacklogFull, pool.ErrDropped, pool.ErrHardLimit)
	}
	return slices.Clip(list)
}

// The errors of a soak: handlers fail and panic with errSoak, and errSoakAbort is the
// cause of aborts.
var (
	errSoak      = errors.New("the handler fails")
	errSoakAbort = errors.New("the scenario aborts the call")
)

// soakAnswer returns the result of the call with that number.
func soakAnswer(id uint64) uint64 { return 3*id + 1 }
