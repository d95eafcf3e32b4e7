package suite

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/sched"
)

// roundtripSetup measures Do of one empty task after a pause, or back to back when pause
// is 0. The reference starts a goroutine and waits for it.
func roundtripSetup(workers int, pause time.Duration, trips int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	task := []*sched.Task{{Fn: func(*sched.Worker, *sched.Task) {}}}
	// A coarse clock does not resolve single trips without a pause between them. Then
	// a figure is the mean of several trips.
	per := 1 // trips for each reading of the clock
	if pause == 0 && bench.ClockStep() > 30 {
		per = 16
	}
	ns := make([]int64, trips/per)
	variant := func(trip func() error) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			last := bench.Now()
			for i := range ns {
				if pause > 0 {
					time.Sleep(pause)
					last = bench.Now()
				}
				for range per {
					if err := trip(); err != nil {
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
	run := variant(func() error { return s.Do(task...) })
	return &bench.Instance{
		Run: func(m *bench.Meter) error {
			before := s.Stats().Executed
			return errors.Join(run(m), executed(s, before, len(ns)*per))
		},
		References: []bench.Reference{{Name: refGoroutines, Run: variant(func() error {
			go answer()
			<-refSignal
			return nil
		})}},
		Close: func() error { return workload.Shutdown(s) },
	}, nil
}

// answer reports that its goroutine runs.
func answer() { refSignal <- struct{}{} }

// wakeSetup measures the time from the call of Schedule to the first instruction of the
// task. The caller sleeps before the call, so that all workers are parked. Afterwards
// it waits for the task, as the caller in an idle program does.
func (z sizes) wakeSetup(workers int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	type stamp struct{ started int64 }
	done := make(chan struct{}, 1)
	task := &sched.Job[stamp]{Fn: func(_ *sched.Worker, j *sched.Job[stamp]) {
		j.Value.started = bench.Now()
		done <- struct{}{}
	}}
	ns := make([]int64, z.cold)
	variant := func(start func() (started int64, err error)) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			for i := range ns {
				time.Sleep(z.pause)
				called := bench.Now()
				started, err := start()
				if err != nil {
					return err
				}
				ns[i] = started - called
			}
			m.Stop(len(ns))
			m.Latencies(ns, 1)
			return m.Context().Err()
		}
	}
	run := variant(func() (int64, error) {
		if err := s.Schedule(task.Task()); err != nil {
			return 0, err
		}
		<-done
		return task.Value.started, nil
	})
	return &bench.Instance{
		Run: func(m *bench.Meter) error {
			before := s.Stats()
			if err := errors.Join(run(m), executed(s, before.Executed, len(ns))); err != nil {
				return err
			}
			// The first task starts a worker, and each later task wakes one. On a busy
			// machine a worker sometimes parks too late, so half of them are enough.
			after := s.Stats()
			if woken := after.Wakes + after.Spawns - before.Wakes - before.Spawns; woken < uint64(len(ns)/2) {
				return fmt.Errorf("only %d of %d tasks found all workers parked", woken, len(ns))
			}
			return nil
		},
		References: []bench.Reference{{Name: refGoroutines, Run: variant(func() (int64, error) {
			go noteStart()
			<-refSignal
			return refStarted, nil
		})}},
		Close: func() error { return workload.Shutdown(s) },
	}, nil
}

// noteStart records when its goroutine started.
func noteStart() {
	refStarted = bench.Now()
	refSignal <- struct{}{}
}

// idleSetup measures the processor time of the whole process after a burst of tasks,
// while there is no work.
func (z sizes) idleSetup(workers int) (*bench.Instance, error) {
	f := flood{workers: workers, tasks: z.burst, callers: 1, batch: 1}
	o, err := f.start(func(*sched.Worker, *sched.Task) {})
	if err != nil {
		return nil, err
	}
	return &bench.Instance{
		Run: z.afterBurst(func() error { return errors.Join(o.scheduleAll(), o.g.Wait()) }),
		References: []bench.Reference{{Name: refGoroutines, Run: z.afterBurst(func() error {
			refDone.Add(z.burst)
			for range z.burst {
				go finish()
			}
			refDone.Wait()
			return nil
		})}},
		Close: func() error { return workload.Shutdown(o.s) },
	}, nil
}

// afterBurst returns a run that measures the processor time after a burst.
func (z sizes) afterBurst(burst func() error) func(*bench.Meter) error {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return func(m *bench.Meter) error {
		// Without this the runtime returns the memory of earlier runs to the system
		// during the measurement.
		debug.FreeOSMemory()
		if err := burst(); err != nil {
			return err
		}
		m.Start()
		err := m.Sleep(timer, z.idle)
		m.Stop(1)
		if err != nil {
			return err
		}
		used, ok := m.CPU()
		if !ok {
			return errors.New("the processor time of a process is not known on this system")
		}
		m.Report(used.Seconds() * 1e3)
		return nil
	}
}
