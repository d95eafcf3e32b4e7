package suite

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/sched"
)

// mostPlaces is the highest MaxWorkers of a scheduler.
const mostPlaces = 1<<14 - 1

// trip is one operation on a scheduler that begins and ends one task.
type trip func(s *sched.Scheduler) func() error

// doTrip is Do of one empty task.
func doTrip(s *sched.Scheduler) func() error {
	task := []*sched.Task{{Fn: func(*sched.Worker, *sched.Task) {}}}
	return func() error { return s.Do(task...) }
}

// goTrip is Go of one empty function and the wait for it outside the scheduler.
func goTrip(s *sched.Scheduler) func() error {
	var done sync.WaitGroup
	end := done.Done
	return func() error {
		done.Add(1)
		err := s.Go(end)
		done.Wait()
		return err
	}
}

// groupTrip is a new group of one empty function.
func groupTrip(s *sched.Scheduler) func() error {
	return func() error {
		g := s.NewGroup(sched.GroupConfig{})
		g.Go(func() error { return nil })
		return g.Wait()
	}
}

// allPlaces returns a scheduler that has made each of its places. None is held afterwards.
func allPlaces(places int) (*sched.Scheduler, error) {
	s, err := newScheduler(places)
	if err != nil {
		return nil, err
	}
	var held, ended sync.WaitGroup
	held.Add(places)
	for range places {
		ended.Go(func() {
			err := s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				held.Done()
				held.Wait() // while it holds a place, the others must make theirs
			}})
			if err != nil {
				panic(err) // no other caller ends then
			}
		})
	}
	ended.Wait()
	if made := s.Stats().Places; made != places {
		return nil, fmt.Errorf("%d places were made, want %d", made, places)
	}
	return s, nil
}

// tripsRow is a benchmark of tripsSetup.
func tripsRow(name, about string, places, trips int, op trip, against string) *bench.Benchmark {
	return &bench.Benchmark{
		Name: name, Unit: bench.NsPerOp, About: about,
		Setup: func(workers int) (*bench.Instance, error) {
			return tripsSetup(workers, places, trips, op, against)
		},
	}
}

// tripsSetup measures a trip on a scheduler that has made that many places. With against, the
// reference of that name is the same trip on a scheduler with as many places as
// processors, or with two for a single processor.
func tripsSetup(workers, places, trips int, op trip, against string) (*bench.Instance, error) {
	s, err := allPlaces(places)
	if err != nil {
		return nil, err
	}
	variant := func(op func() error) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			for range trips {
				if err := op(); err != nil {
					return err
				}
			}
			m.Stop(trips)
			return m.Context().Err()
		}
	}
	run := variant(op(s))
	inst := &bench.Instance{
		Run: func(m *bench.Meter) error {
			before := s.Stats().Executed
			return errors.Join(run(m), executed(s, before, trips))
		},
		Close: func() error { return workload.Shutdown(s) },
	}
	if against == refGoroutines {
		inst.References = []bench.Reference{{Name: against, Run: variant(func() error {
			var done sync.WaitGroup
			done.Go(func() {})
			done.Wait()
			return nil
		})}}
		return inst, nil
	}
	few, err := allPlaces(max(workers, 2))
	if err != nil {
		return nil, err
	}
	inst.References = []bench.Reference{{Name: against, Run: variant(op(few))}}
	inst.Close = func() error { return errors.Join(workload.Shutdown(s), workload.Shutdown(few)) }
	return inst, nil
}
