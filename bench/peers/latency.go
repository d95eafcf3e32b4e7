package peers

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
)

// roundtrip hands over one task and waits for it, each time after a pause, or back
// to back when pause is 0.
func roundtrip(p *Pool, pause time.Duration, trips int) *bench.Instance {
	// A clock of coarse steps cannot tell single trips apart when there is no pause
	// between them: then a figure is the mean of some.
	per := 1
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
				p.hand(task)
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

// wake measures from handing over a task to its first instruction, each time after
// a pause in which the workers fall asleep.
func (z Sizes) wake(p *Pool) *bench.Instance {
	ns := make([]int64, z.cold)
	started := make(chan int64, 1)
	task := func() { started <- bench.Now() }
	return &bench.Instance{Run: func(m *bench.Meter) error {
		m.Start()
		for i := range ns {
			time.Sleep(z.asleep)
			called := bench.Now()
			p.hand(task)
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

// idling measures the processor time of the whole process while nothing is to be done,
// from the moment that a burst has ended.
func idling(d time.Duration, burst func() error) *bench.Instance {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &bench.Instance{Run: func(m *bench.Meter) error {
		debug.FreeOSMemory() // what earlier runs left; the runtime would do it in the idle time
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
			return errors.New("this system does not tell the processor time of a process")
		}
		m.Report(used.Seconds() * 1e3)
		return nil
	}}
}
