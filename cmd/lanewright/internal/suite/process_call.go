package suite

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/pool"
)

// callBySocket returns a function that sends a number and waits for the answer.
func callBySocket(s *helper.Answerer) func(n int) bool {
	return func(n int) bool { return s.SendNumber(n) == nil && receiveNumber(s, n) }
}

// receiveNumber receives the answer and reports whether it is that to n.
func receiveNumber(s *helper.Answerer, n int) bool {
	got, err := s.ReceiveNumber()
	return got == n+1 && err == nil
}

// numbers makes what the rows of one worker need whose calls have numbers: the pool, the reference, and beside.
func (p *parts) numbers(hog bool) (pool *processes, socket *helper.Answerer, beside func(run func(*bench.Meter) error) func(*bench.Meter) error, err error) {
	if pool, err = p.pool(1); err != nil {
		return nil, nil, nil, err
	}
	if socket, err = p.socket(helper.NumberBytes); err != nil {
		return nil, nil, nil, err
	}
	beside, err = p.beside(hog)
	return pool, socket, beside, err
}

// processCallSetup measures calls one after another. The spinner spins during its own runs only, so that it does not
// take a processor from the others.
func (z sizes) processCallSetup(hog bool) (*bench.Instance, error) {
	var all parts
	p, socket, beside, err := all.numbers(hog)
	if err != nil {
		return all.fail(err)
	}
	per := callsPerReading()
	ns := make([]int64, z.process.trips/per)
	inst := &bench.Instance{
		Run:        beside(p.checked(len(ns)*per, trips(ns, per, p.call))),
		References: []bench.Reference{{Name: refSocket, Run: beside(trips(ns, per, callBySocket(socket)))}},
		Close:      all.end,
	}
	if hog {
		return inst, nil
	}
	spinner, err := remote.StartSpinner()
	if err != nil {
		return all.fail(err)
	}
	all = append(all, spinner.Close)
	inst.References = append(inst.References, bench.Reference{Name: refSpinLimit, Run: func(m *bench.Meter) error {
		if err := spinner.Begin(len(ns) * per); err != nil {
			return err
		}
		return trips(ns, per, func(int) bool { return spinner.Call() })(m)
	}})
	return inst, nil
}

// processPipelineSetup measures calls of one goroutine with 32 of them outstanding: it waits for the oldest one before it
// makes the next. The messages of the reference are as many.
func (z sizes) processPipelineSetup(hog bool) (*bench.Instance, error) {
	var all parts
	p, socket, beside, err := all.numbers(hog)
	if err != nil {
		return all.fail(err)
	}
	n := z.process.calls
	var futures [laneDepth]*pool.Future[int]
	failed := false
	return &bench.Instance{
		Run: beside(p.checked(n, pipeline(n,
			func(i int) { futures[i%laneDepth] = p.Add.Go(context.Background(), i) },
			func(i int) bool {
				got, err := futures[i%laneDepth].Wait(context.Background())
				return got == i+1 && err == nil
			}))),
		References: []bench.Reference{{Name: refSocket, Run: beside(pipeline(n,
			func(i int) { failed = failed || socket.SendNumber(i) != nil },
			func(i int) bool { return !failed && receiveNumber(socket, i) }))}},
		Close: all.end,
	}, nil
}

// processComputeSetup measures handlers that compute for d, with 32 calls outstanding. One process runs them one after
// another, so the ideal is the same computations in one loop, in the host.
func (z sizes) processComputeSetup(d time.Duration) (*bench.Instance, error) {
	var all parts
	p, err := all.pool(1)
	if err != nil {
		return all.fail(err)
	}
	n := z.process.calls / 4
	steps := bench.NewWork(d).Steps()
	first := remote.Computation{Steps: steps}.Result()
	want := func(i int) uint64 { return first | uint64(i) }
	var futures [laneDepth]*pool.Future[uint64]
	return &bench.Instance{
		Run: p.checked(n, pipeline(n,
			func(i int) {
				futures[i%laneDepth] = p.Compute.Go(context.Background(), remote.Computation{Steps: steps, ID: uint32(i)})
			},
			func(i int) bool {
				got, err := futures[i%laneDepth].Wait(context.Background())
				return got == want(i) && err == nil
			})),
		References: []bench.Reference{{Name: refIdeal, Run: oneByOne(n, func(i int) bool {
			return remote.Computation{Steps: steps, ID: uint32(i)}.Result() == want(i)
		})}},
		Close: all.end,
	}, nil
}

// processWorkersSetup measures the calls of some goroutines together. Each calls the worker process that it has to
// itself. The reference has a process with a socket for each goroutine.
func (z sizes) processWorkersSetup(workers int, hog bool) (*bench.Instance, error) {
	var all parts
	p, err := all.pool(workers)
	if err != nil {
		return all.fail(err)
	}
	var sockets []func(n int) bool
	for range workers {
		socket, err := all.socket(helper.NumberBytes)
		if err != nil {
			return all.fail(err)
		}
		sockets = append(sockets, callBySocket(socket))
	}
	beside, err := all.beside(hog)
	if err != nil {
		return all.fail(err)
	}
	ids := p.ids()
	each := z.process.calls / 4 / workers
	together := func(call func(caller, n int) bool) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			var callers sync.WaitGroup
			wrong := make([]int, workers)
			m.Start()
			for caller := range workers {
				callers.Go(func() {
					bad := 0 // the elements of wrong share a cache line
					for n := range each {
						if !call(caller, n) {
							bad++
						}
					}
					wrong[caller] = bad
				})
			}
			callers.Wait()
			m.Stop(each * workers)
			total := 0
			for _, n := range wrong {
				total += n
			}
			return cmp.Or(m.Context().Err(), workload.CheckAnswers(total))
		}
	}
	return &bench.Instance{
		Run:        beside(p.checked(each*workers, together(func(caller, n int) bool { return p.callAt(ids[caller], n) }))),
		References: []bench.Reference{{Name: refSocket, Run: beside(together(func(caller, n int) bool { return sockets[caller](n) }))}},
		Close:      all.end,
	}, nil
}

// processEchoSetup measures n echoes one after another. With touched the host fills each payload before it is sent, and
// compares every byte of the answer.
func (z sizes) processEchoSetup(size, n int, touched bool) (*bench.Instance, error) {
	var all parts
	p, err := all.pool(1)
	if err != nil {
		return all.fail(err)
	}
	socket, err := all.socket(size)
	if err != nil {
		return all.fail(err)
	}
	ns := make([]int64, n)
	payload, answer := newPayload(size), make([]byte, size)
	write, isRight := stamp, func(b []byte, n int) bool { return stamped(b, size, n) }
	if touched {
		write, isRight = bench.Fill, func(b []byte, n int) bool { return bench.Filled(b, size, n) }
	}
	return &bench.Instance{
		Run: p.checked(len(ns), trips(ns, 1, func(n int) bool {
			write(payload, n)
			got, err := p.Echo.Call(context.Background(), payload)
			return err == nil && isRight(got, n)
		})),
		References: []bench.Reference{{Name: refSocket, Run: trips(ns, 1, func(n int) bool {
			write(payload, n)
			return errors.Join(socket.Send(payload), socket.Receive(answer)) == nil && isRight(answer, n)
		})}},
		Close: all.end,
	}, nil
}
