package peers

import (
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/internal/bench"
)

const (
	laneDepth   = 32 // calls that one goroutine has outstanding
	laneCallers = 64 // goroutines that call at once
)

// asker makes one call at a time of a function that adds 1: it hands over a task and
// waits for the answer.
type asker struct {
	sync.WaitGroup
	arg, answer int
	task        func()
	_           [128]byte
}

func newAskers(n int) []*asker {
	all := make([]*asker, n)
	for i := range all {
		a := new(asker)
		a.task = func() {
			a.answer = a.arg + 1
			a.Done()
		}
		all[i] = a
	}
	return all
}

func (a *asker) send(p *Pool, n int) {
	a.arg = n
	a.Add(1)
	p.hand(a.task)
}

// receive waits for the answer to n, and reports whether it is right.
func (a *asker) receive(n int) bool {
	a.Wait()
	return a.answer == n+1
}

// calls makes calls one after another.
func (z Sizes) calls(p *Pool) *bench.Instance {
	per := 1
	if bench.ClockStep() > 30 { // as in roundtrip
		per = 16
	}
	ns := make([]int64, z.hot/per)
	a := newAskers(1)[0]
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
		return right(ok)
	}}
}

// pipeline makes calls from one goroutine, which waits for the oldest of 32 before it
// makes the next.
func (z Sizes) pipeline(p *Pool) *bench.Instance {
	askers := newAskers(laneDepth)
	ok := true
	return &bench.Instance{Run: timed(z.flood, func() {
		ok = true
		for i := range z.flood + laneDepth {
			a := askers[i%laneDepth]
			if i >= laneDepth {
				ok = a.receive(i-laneDepth) && ok
			}
			if i < z.flood {
				a.send(p, i)
			}
		}
	}, func() error { return right(ok) })}
}

// callers makes calls from 64 goroutines, each of which waits for each answer.
func (z Sizes) callers(p *Pool) *bench.Instance {
	askers := newAskers(laneCallers)
	var wrong atomic.Int64
	return &bench.Instance{Run: timed(z.flood, func() {
		wrong.Store(0)
		var all sync.WaitGroup
		for c, a := range askers {
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
	}, func() error { return right(wrong.Load() == 0) })}
}
