package peers

import (
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/internal/bench"
)

const (
	laneDepth   = 32 // outstanding calls of one goroutine
	laneCallers = 64 // goroutines that call at once
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

// calls makes calls one after another.
func (z Sizes) calls(p *Pool) *bench.Instance {
	per := 1 // calls for each reading of the clock, as in roundtrip
	if bench.ClockStep() > 30 {
		per = 16
	}
	ns := make([]int64, z.hot/per)
	a := newCallers(1)[0]
	return &bench.Instance{Run: func(m *bench.Meter) error {
		ok := true
		m.Start()
		last := bench.Now()
		for i := range ns {
			for k := range per {
				a.send(p, i*per+k)
				ok = a.receive(i*per+k) && ok
			}
			now := bench.Now()
			ns[i] = now - last
			last = now
		}
		m.Stop(len(ns) * per)
		m.Latencies(ns, per)
		return errUnless(ok)
	}}
}

// pipeline makes calls from one goroutine with 32 of them outstanding. The goroutine waits
// for the oldest call before it makes the next.
func (z Sizes) pipeline(p *Pool) *bench.Instance {
	callers := newCallers(laneDepth)
	ok := true
	return &bench.Instance{Run: timed(z.flood, func() {
		ok = true
		for i := range z.flood + laneDepth {
			a := callers[i%laneDepth]
			if i >= laneDepth {
				ok = a.receive(i-laneDepth) && ok
			}
			if i < z.flood {
				a.send(p, i)
			}
		}
	}, func() error { return errUnless(ok) })}
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
