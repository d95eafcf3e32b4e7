package suite

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/pool"
)

// pollSetup measures a poll of the AbortSignal of a call that is not aborted. The handler
// of that call waits during the measurement. The reference reads a flag.
func (z sizes) pollSetup(int) (*bench.Instance, error) {
	type held struct {
		signal  chan pool.AbortSignal
		release chan struct{}
	}
	var h pool.Handlers
	hold := pool.Register(&h, "hold", func(ctx context.Context, c held) (struct{}, error) {
		c.signal <- pool.AbortSignalOf(ctx)
		<-c.release
		return struct{}{}, nil
	}, pool.TaskOptions{Abortable: true})
	p, err := pool.New(&h, pool.Config{Lanes: 1})
	if err != nil {
		return nil, err
	}
	run := func(m *bench.Meter) error {
		c := held{make(chan pool.AbortSignal), make(chan struct{})}
		defer close(c.release)
		f := hold.Go(context.Background(), c)
		signal := <-c.signal
		aborted := 0
		m.Start()
		for range z.lane.polls {
			if signal.Aborted() {
				aborted++
			}
		}
		m.Stop(z.lane.polls)
		f.Abort(nil)
		_, err := f.Wait(context.Background())
		switch {
		case aborted != 0:
			return errors.New("the signal reports an abort before the call is aborted")
		case !signal.Aborted() || !errors.Is(err, pool.ErrAborted):
			return errors.New("the signal does not report the abort")
		}
		return m.Context().Err()
	}
	var flag atomic.Bool
	return &bench.Instance{
		Run: run,
		References: []bench.Reference{{Name: refLoop, Run: func(m *bench.Meter) error {
			set := 0
			m.Start()
			for range z.lane.polls {
				if flag.Load() {
					set++
				}
			}
			m.Stop(z.lane.polls)
			return cmp.Or(m.Context().Err(), workload.CheckAnswers(set))
		}}},
		Close: func() error { return endPool(p) },
	}, nil
}

// refLoop is the name of a reference that only reads a flag.
const refLoop = "loop"

// allocsPerOp is the unit of lane/allocs.
const allocsPerOp = "allocs/op"

// order is a struct without pointers.
type order struct {
	id      uint64
	price   float64
	amounts [4]int32
}

// next is the work of the handlers of orders.
func next(o order) order {
	o.id++
	o.amounts[o.id%4]++
	return o
}

// allocsSetup counts the allocations of calls with structs. One half of the calls is
// remote. The other half runs on the goroutine of its caller when the lane is free.
// Each call of the reference has a goroutine of its own.
func (z sizes) allocsSetup(workers int) (*bench.Instance, error) {
	var h pool.Handlers
	handler := func(_ context.Context, o order) (order, error) { return next(o), nil }
	funcs := [2]*pool.Func[order, order]{
		pool.Register(&h, "call", handler),
		pool.Register(&h, "remote", handler, pool.TaskOptions{Remote: true}),
	}
	p, err := pool.New(&h, pool.Config{Lanes: workers})
	if err != nil {
		return nil, err
	}
	n := z.lane.trips
	call := func(n int) bool {
		o := order{id: uint64(n), price: 1.5}
		got, err := funcs[n%2].Call(context.Background(), o)
		return got == next(o) && err == nil
	}
	half := func(direct uint64) bool { return direct <= uint64(n-n/2) }
	return &bench.Instance{
		Run: checked(p, n, half, countAllocs(n, call)),
		References: []bench.Reference{{Name: refGoroutines, Run: countAllocs(n, func(n int) bool {
			o := order{id: uint64(n), price: 1.5}
			back := make(chan order, 1)
			go func() { back <- next(o) }()
			return <-back == next(o)
		})}},
		Close: func() error { return endPool(p) },
	}, nil
}

// countAllocs is oneByOne, but its value is the number of allocations for each call. It
// keeps three digits, because the runtime allocates a little for itself.
func countAllocs(n int, call func(n int) bool) func(*bench.Meter) error {
	run := oneByOne(n, call)
	return func(m *bench.Meter) error {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		before := s.Mallocs
		err := run(m)
		runtime.ReadMemStats(&s)
		m.Report(math.Floor(float64(s.Mallocs-before)/float64(n)*1000) / 1000)
		return err
	}
}

// idlePoolSetup measures the processor time of the process after a burst of calls.
func (z sizes) idlePoolSetup(int) (*bench.Instance, error) {
	a, err := newAdder(pool.Config{Lanes: idleLanes}, pool.TaskOptions{Remote: true})
	if err != nil {
		return nil, err
	}
	starters := make([]*starter, laneCallers)
	for i := range starters {
		starters[i] = newStarter()
	}
	return &bench.Instance{
		Run: checked(a.Pool, z.burst, func(direct uint64) bool { return direct == 0 }, z.afterBurst(func() error {
			return workload.Crowd(laneCallers, z.burst, func(_, n int) bool { return a.call(n) })
		})),
		References: []bench.Reference{{Name: refGoroutines, Run: z.afterBurst(func() error {
			return workload.Crowd(laneCallers, z.burst, func(caller, n int) bool { return starters[caller].call(n) })
		})}},
		Close: func() error { return endPool(a.Pool) },
	}, nil
}
