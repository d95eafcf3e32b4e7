package peers

import (
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/internal/bench"
)

const (
	laneDepth   = remote.Depth // outstanding calls of one goroutine
	laneCallers = 64           // goroutines that call at once
)

// caller calls a function that adds 1, one call at a time. It schedules a task and waits
// for the answer.
type caller struct {
	sync.WaitGroup
	arg, answer int
	task        func()
	_           [128]byte // keeps the next caller off these cache lines
}

func newCallers(n int) []*caller {
	all := make([]*caller, n)
	for i := range all {
		a := new(caller)
		a.task = func() {
			a.answer = a.arg + 1
			a.Done()
		}
		all[i] = a
	}
	return all
}

// send schedules the call with n.
func (a *caller) send(p *Pool, n int) {
	a.arg = n
	a.Add(1)
	p.schedule(a.task)
}

// receive waits for the answer to n and reports whether it is right.
func (a *caller) receive(n int) bool {
	a.Wait()
	return a.answer == n+1
}

// callsPerReading returns the number of calls for each reading of the clock, as in roundtrip.
func callsPerReading() int {
	if bench.ClockStep() > 30 {
		return 16
	}
	return 1
}

// trips returns a run of calls one after another. It reads the clock after every per calls,
// and ends at the first error.
func trips(calls, per int, call func(n int) error) func(*bench.Meter) error {
	ns := make([]int64, calls/per)
	return func(m *bench.Meter) error {
		m.Start()
		last := bench.Now()
		for i := range ns {
			for k := range per {
				if err := call(i*per + k); err != nil {
					return err
				}
			}
			now := bench.Now()
			ns[i] = now - last
			last = now
		}
		m.Stop(len(ns) * per)
		m.Latencies(ns, per)
		return m.Context().Err()
	}
}

// pipelined returns a run of calls of one goroutine with 32 of them outstanding. The goroutine
// waits for the oldest call before it makes the next. The run ends at the first error.
func pipelined(calls int, send, receive func(n int) error) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		m.Start()
		for i := range calls + laneDepth {
			if i >= laneDepth {
				if err := receive(i - laneDepth); err != nil {
					return err
				}
			}
			if i < calls {
				if err := send(i); err != nil {
					return err
				}
			}
		}
		m.Stop(calls)
		return m.Context().Err()
	}
}

// calls makes calls one after another.
func (z Sizes) calls(p *Pool) *bench.Instance {
	a := newCallers(1)[0]
	return &bench.Instance{Run: trips(z.hot, callsPerReading(), func(n int) error {
		a.send(p, n)
		return errUnless(a.receive(n))
	})}
}

// pipeline makes calls from one goroutine with 32 of them outstanding.
func (z Sizes) pipeline(p *Pool) *bench.Instance {
	callers := newCallers(laneDepth)
	return &bench.Instance{Run: pipelined(z.flood, func(n int) error {
		callers[n%laneDepth].send(p, n)
		return nil
	}, func(n int) error { return errUnless(callers[n%laneDepth].receive(n)) })}
}

// callers makes calls from 64 goroutines, each of which waits for an answer before its
// next call.
func (z Sizes) callers(p *Pool) *bench.Instance {
	callers := newCallers(laneCallers)
	var wrong atomic.Int64
	return &bench.Instance{Run: timed(z.flood, func() {
		wrong.Store(0)
		var all sync.WaitGroup
		for c, a := range callers {
			all.Go(func() {
				for i := z.flood * c / laneCallers; i < z.flood*(c+1)/laneCallers; i++ {
					a.send(p, i)
					if !a.receive(i) {
						wrong.Add(1)
					}
				}
			})
		}
		all.Wait()
	}, func() error { return errUnless(wrong.Load() == 0) })}
}
