package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/traffic"
	"github.com/lanewright/lanewright/pool"
)

// refConcurrency is the name of a reference that makes the same calls on one lane with as many
// calls at once.
const refConcurrency = "concurrency"

// fairSetup measures the time until all of 410 calls have ended, a few of which are long. One
// goroutine makes them without a pause. They come in three orders, and the worst one counts,
// because a rule that suits one order may fail in another. The handlers wait and do not
// compute, so the processors limit no variant.
//
// The reference concurrency has one queue for its four runners, so no call waits beside a free
// runner. The ideal has a goroutine for each of four equal shares. It waits with the same
// timers, so their delays cancel out.
func (z sizes) fairSetup(int) (*bench.Instance, error) {
	four, err := newSleeper(pool.Config{Lanes: traffic.MixedWorkers})
	if err != nil {
		return nil, err
	}
	one, err := newSleeper(pool.Config{Lanes: 1, Concurrency: traffic.MixedWorkers})
	if err != nil {
		return nil, errors.Join(err, endPool(four.Pool))
	}
	orders := traffic.Orders(z.lane.short, z.lane.long)
	return &bench.Instance{
		Run: checked(four.Pool, len(orders)*traffic.MixedCalls, nil, worst(orders, four.all)),
		References: []bench.Reference{
			{Name: refConcurrency, Run: checked(one.Pool, len(orders)*traffic.MixedCalls, nil, worst(orders, one.all))},
			{Name: refIdeal, Run: worst(orders, func(calls []time.Duration) error {
				var all sync.WaitGroup
				for _, share := range traffic.Shares(calls, traffic.MixedWorkers) {
					all.Go(func() {
						for _, d := range share {
							time.Sleep(d)
						}
					})
				}
				all.Wait()
				return nil
			})},
		},
		Close: func() error { return errors.Join(endPool(four.Pool), endPool(one.Pool)) },
	}, nil
}

// worst measures all orders. Its value is the time of the slowest one.
func worst(orders [][]time.Duration, run func(calls []time.Duration) error) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		var longest int64
		m.Start()
		for _, calls := range orders {
			began := bench.Now()
			if err := run(calls); err != nil {
				return err
			}
			longest = max(longest, bench.Now()-began)
		}
		m.Stop(len(orders))
		m.Report(float64(longest))
		return m.Context().Err()
	}
}

// sleeper is a pool whose handlers wait for the time that they get.
type sleeper struct {
	*pool.Pool
	sleep   *pool.Func[time.Duration, time.Duration]
	futures []*pool.Future[time.Duration]
}

func newSleeper(c pool.Config) (*sleeper, error) {
	var h pool.Handlers
	s := &sleeper{sleep: pool.Register(&h, "sleep", func(_ context.Context, d time.Duration) (time.Duration, error) {
		time.Sleep(d)
		return d, nil
	})}
	var err error
	s.Pool, err = pool.New(&h, c)
	return s, err
}

// all makes the calls and waits for all of them.
func (s *sleeper) all(calls []time.Duration) error {
	s.futures = s.futures[:0]
	for _, d := range calls {
		s.futures = append(s.futures, s.sleep.Go(context.Background(), d))
	}
	for i, f := range s.futures {
		got, err := f.Wait(context.Background())
		if err == nil && got != calls[i] {
			err = fmt.Errorf("call %d answers %v, want %v", i, got, calls[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// webSetup measures a server under more load than it can bear: a pool of two lanes that lets
// four calls wait and refuses others, and 40 clients that try again a little later. A latency
// is that of an answered call. The refusals belong to the figure, because a pool that
// refuses less lets more calls wait.
//
// The reference has two goroutines that receive calls from a channel with four elements. A
// client that finds the channel full is refused. This is the same server without a library.
func (z sizes) webSetup(int) (*bench.Instance, error) {
	p, err := newSleeper(pool.Config{Lanes: traffic.WebWorkers, Backlog: traffic.WebBacklog, Overflow: pool.Fail})
	if err != nil {
		return nil, err
	}
	ns := make([]int64, z.lane.answers)
	clients := traffic.Clients{Number: traffic.WebClients, Retry: z.lane.request / 4}
	variant := func(call func(client int) (bool, error)) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			refused, err := clients.Run(m.Context(), ns, call)
			m.Stop(len(ns))
			m.Latencies(ns, 1)
			m.Refused(refused)
			return err
		}
	}
	ref := newWebServer(z.lane.request)
	return &bench.Instance{
		Run: variant(func(int) (bool, error) {
			got, err := p.sleep.Call(context.Background(), z.lane.request)
			switch {
			case errors.Is(err, pool.ErrBacklogFull):
				return false, nil
			case err == nil && got != z.lane.request:
				return false, workload.CheckAnswers(1)
			}
			return true, err
		}),
		References: []bench.Reference{{Name: refChannel, Run: variant(ref.call)}},
		Close: func() error {
			ref.end()
			return endPool(p.Pool)
		},
	}, nil
}

// webServer answers calls on two goroutines and lets four calls wait.
type webServer struct {
	requests chan chan struct{} // each with the channel for its answer
	answers  [traffic.WebClients]chan struct{}
	running  sync.WaitGroup
}

func newWebServer(request time.Duration) *webServer {
	s := &webServer{requests: make(chan chan struct{}, traffic.WebBacklog)}
	for i := range s.answers {
		s.answers[i] = make(chan struct{}, 1)
	}
	for range traffic.WebWorkers {
		s.running.Go(func() {
			for answer := range s.requests {
				time.Sleep(request)
				answer <- struct{}{}
			}
		})
	}
	return s
}

func (s *webServer) call(client int) (answered bool, err error) {
	select {
	case s.requests <- s.answers[client]:
		<-s.answers[client]
		return true, nil
	default:
		return false, nil
	}
}

// end ends the goroutines and waits for them.
func (s *webServer) end() {
	close(s.requests)
	s.running.Wait()
}
