package suite

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/sched"
)

// besideSizes are the sizes of the benchmarks of a task beside computations.
type besideSizes struct {
	arrivals int           // of tasks from outside
	compute  time.Duration // the time of one call of Do
	fibN     int           // the problem of one call of ForkJoin
}

// besideCallers is the number of goroutines that compute.
const besideCallers = 2

// The time from the start of a task to the arrival of the next one is random within these
// bounds. The bounds span a time slice of the Go runtime, so that the arrivals do not keep
// one distance to the slices. They are chosen.
const (
	arrivalMin = time.Millisecond
	arrivalMax = 12 * time.Millisecond
)

// computation is a computation that goroutines repeat without a pause.
type computation struct {
	scheduled func(*sched.Scheduler) error // as a call of the scheduler
	plain     func() error                 // on the goroutine that calls it
}

// doComputation is a call of Do that computes for some milliseconds.
func (z sizes) doComputation() computation {
	work := bench.NewWork(z.beside.compute)
	do := func() error {
		if !work.Do() {
			return errors.New("a task computed a wrong result")
		}
		return nil
	}
	return computation{
		scheduled: func(s *sched.Scheduler) error {
			var err error
			return errors.Join(s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { err = do() }}), err)
		},
		plain: do,
	}
}

// forkComputation is a call of ForkJoin that computes for some milliseconds with forks.
func (z sizes) forkComputation() computation {
	n := z.beside.fibN
	return computation{
		scheduled: func(s *sched.Scheduler) error { return wanted(sched.ForkJoin(s, forkFib, n), fibValue(n)) },
		plain:     func() error { return wanted(kernel.Fib(n), fibValue(n)) },
	}
}

// besideSetup measures a task from outside while two goroutines compute without a pause. A
// latency is the time from the arrival of the task to its first instruction. The arrival is
// a moment that the external caller has chosen before it sleeps. So a latency includes the
// wait of that caller for a processor, as it does for a request from a network.
//
// The computing goroutines call the scheduler, which has w workers. Those of the reference
// start a goroutine for each computation and wait for it, and the task is a goroutine as
// well. The computations of the reference have no forks, because both processors are taken
// already: in a scheduler, too, few of these forks become tasks. The goroutine of the
// reference never waits behind other goroutines, because the go statement puts it first. The
// reference waits for a processor only in its caller.
func (z sizes) besideSetup(workers int, c computation) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	var started int64
	done := make(chan struct{}, 1)
	note := func() {
		started = bench.Now()
		done <- struct{}{}
	}
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { note() }}
	ns := make([]int64, z.beside.arrivals)
	variant := func(compute, start func() error) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			end, err := computing(compute)
			if err != nil {
				return errors.Join(err, end())
			}
			random := rand.New(rand.NewPCG(1, 2)) // the same arrivals in each run
			m.Start()
			for i := range ns {
				arrival := bench.Now() + int64(arrivalMin) + random.Int64N(int64(arrivalMax-arrivalMin))
				time.Sleep(time.Duration(arrival - bench.Now()))
				if err := start(); err != nil {
					return errors.Join(err, end())
				}
				<-done
				ns[i] = started - arrival
			}
			m.Stop(len(ns))
			m.Latencies(ns, 1)
			return errors.Join(end(), m.Context().Err())
		}
	}
	return &bench.Instance{
		Run: variant(
			func() error { return c.scheduled(s) },
			func() error { return s.Schedule(task) }),
		References: []bench.Reference{{Name: refGoroutines, Run: variant(
			func() error {
				ended := make(chan error, 1)
				go func() { ended <- c.plain() }()
				return <-ended
			},
			func() error {
				go note()
				return nil
			})}},
		Close: func() error { return workload.Shutdown(s) },
	}, nil
}

// computing starts the goroutines that repeat compute. It returns when each of them has ended
// one computation. end ends them; it returns their first error.
func computing(compute func() error) (end func() error, err error) {
	var stop atomic.Bool
	var failed workload.FirstError
	var warm, all sync.WaitGroup
	once := func() {
		if err := compute(); err != nil {
			failed.Set(err)
		}
	}
	for range besideCallers {
		warm.Add(1)
		all.Go(func() {
			once()
			warm.Done()
			for !stop.Load() && failed.Get() == nil {
				once()
			}
		})
	}
	warm.Wait()
	return func() error {
		stop.Store(true)
		all.Wait()
		return failed.Get()
	}, failed.Get()
}
