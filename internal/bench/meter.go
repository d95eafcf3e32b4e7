package bench

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/rusage"
)

// Meter is what a run reports to. It is for the goroutine of the run only.
type Meter struct {
	ctx       context.Context
	clockCost int64

	running  bool
	began    int64
	cpuBegan time.Duration
	mallocs  uint64
	stats    runtime.MemStats

	ops     int
	elapsed time.Duration
	cpu     time.Duration
	cpuOK   bool
	allocs  uint64

	value    float64 // NaN: the time per operation
	p50, p99 float64 // NaN: no latencies
}

func newMeter(ctx context.Context, clockCost int64) *Meter {
	nan := math.NaN()
	return &Meter{ctx: ctx, clockCost: clockCost, value: nan, p50: nan, p99: nan}
}

// Context ends when the measurement is to stop. A run that takes longer than a
// second looks at it.
func (m *Meter) Context() context.Context { return m.ctx }

// Start begins the measured part.
func (m *Meter) Start() {
	m.running = true
	runtime.ReadMemStats(&m.stats)
	m.mallocs = m.stats.Mallocs
	m.cpuBegan, m.cpuOK = rusage.CPU()
	m.began = now()
}

// Stop ends the measured part, in which ops operations were done.
func (m *Meter) Stop(ops int) {
	m.elapsed = time.Duration(now() - m.began)
	if cpu, ok := rusage.CPU(); ok {
		m.cpu = cpu - m.cpuBegan
	}
	runtime.ReadMemStats(&m.stats)
	m.allocs = m.stats.Mallocs - m.mallocs
	m.ops = ops
	m.running = false
}

// CPU returns the processor time of the measured part, and false where the
// system does not tell.
func (m *Meter) CPU() (time.Duration, bool) { return m.cpu, m.cpuOK }

// Report sets the value of the run, in the unit of the benchmark, in place of
// the time per operation.
func (m *Meter) Report(value float64) { m.value = value }

// Latencies makes the run one of latencies, given in nanoseconds as differences
// between two readings of the clock with one reading in each. per operations lie
// in each difference. The cost of the reading is taken off. It sorts ns.
func (m *Meter) Latencies(ns []int64, per int) {
	slices.Sort(ns)
	at := func(q float64) float64 { return float64(max(Quantile(ns, q)-m.clockCost, 0)) / float64(per) }
	m.p50, m.p99 = at(0.5), at(0.99)
}

// Sleep waits for d, or until the measurement is to stop, and returns why. The
// timer is t, which the caller made outside the measured part.
func (m *Meter) Sleep(t *time.Timer, d time.Duration) error {
	t.Reset(d)
	select {
	case <-t.C:
		return nil
	case <-m.ctx.Done():
		t.Stop()
		return context.Cause(m.ctx)
	}
}

// cost is what ratios are made of.
func (m *Meter) cost() float64 {
	switch {
	case !math.IsNaN(m.value):
		return m.value
	case !math.IsNaN(m.p50):
		return m.p50
	default:
		return float64(m.elapsed) / float64(m.ops)
	}
}
