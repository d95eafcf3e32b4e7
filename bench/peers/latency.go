package peers

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
)

// roundtrip schedules one task and waits for it, after a pause or back to back when pause
// is 0.
func roundtrip(p *Pool, pause time.Duration, trips int) *bench.Instance {
	// A coarse clock does not resolve single trips without a pause between them. Then a
	// figure is the mean of several trips.
	per := 1 // trips for each reading of the clock
	if pause == 0 && bench.ClockStep() > 30 {
		per = 16
	}
	ns := make([]int64, trips/per)
	done := make(chan struct{}, 1)
	task := func() { done <- struct{}{} }
	return &bench.Instance{Run: func(m *bench.Meter) error {
		m.Start()
		last := bench.Now()
		for i := range ns {
			if pause > 0 {
				time.Sleep(pause)
				last = bench.Now()
			}
			for range per {
				p.schedule(task)
				<-done
			}
			now := bench.Now()
			ns[i] = now - last
			last = now
		}
		m.Stop(len(ns) * per)
		m.Latencies(ns, per)
		return m.Context().Err()
	}}
}

// wake measures the time from the call that schedules a task to the first instruction of
// the task. A pause before the call lets the workers block.
func (z Sizes) wake(p *Pool) *bench.Instance {
	ns := make([]int64, z.cold)
	started := make(chan int64, 1)
	task := func() { started <- bench.Now() }
	return &bench.Instance{Run: func(m *bench.Meter) error {
		m.Start()
		for i := range ns {
			time.Sleep(z.pause)
			called := bench.Now()
			p.schedule(task)
			ns[i] = <-started - called
		}
		m.Stop(len(ns))
		m.Latencies(ns, 1)
		return m.Context().Err()
	}}
}

// idleCPU measures the processor time of the process after a burst of tasks.
func (z Sizes) idleCPU(p *Pool) *bench.Instance {
	return idling(z.idle, func() error {
		p.flood(z.burst, 1, p.Done)
		return nil
	})
}

// idling measures the processor time of the whole process after a burst, while there is
// no work.
func idling(d time.Duration, burst func() error) *bench.Instance {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &bench.Instance{Run: func(m *bench.Meter) error {
		debug.FreeOSMemory() // otherwise the runtime frees the memory of earlier runs during the measurement
		if err := burst(); err != nil {
			return err
		}
		m.Start()
		err := m.Sleep(timer, d)
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
	}}
}
