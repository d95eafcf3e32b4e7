package bench

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/rusage"
)

// Meter measures one run. It is for the goroutine of the run only.
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

	value    float64 // NaN if it is the time per operation
	p50, p99 float64 // NaN if there are no latencies
	refused  float64 // refusals; NaN if the run does not count them
}

func newMeter(ctx context.Context, clockCost int64) *Meter {
	nan := math.NaN()
	return &Meter{ctx: ctx, clockCost: clockCost, value: nan, p50: nan, p99: nan, refused: nan}
}

// Context returns a context that ends when the measurement must stop. A run of more than a
// second checks it.
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

// CPU returns the processor time of the measured part, or false where the system does not
// report it.
func (m *Meter) CPU() (time.Duration, bool) { return m.cpu, m.cpuOK }

// Report sets the value of the run in the unit of the benchmark. It replaces the time per
// operation.
func (m *Meter) Report(value float64) { m.value = value }

// Latencies sets the latencies of the run. Each element of ns is the difference between two
// readings of the clock in nanoseconds, between which per operations ran. The cost of one
// reading is subtracted. Latencies sorts ns.
func (m *Meter) Latencies(ns []int64, per int) {
	slices.Sort(ns)
	at := func(q float64) float64 { return float64(max(Quantile(ns, q)-m.clockCost, 0)) / float64(per) }
	m.p50, m.p99 = at(0.5), at(0.99)
}

// Refused sets the number of operations that were refused. They are not among the ops of Stop.
func (m *Meter) Refused(n int) { m.refused = float64(n) }

// refusedPerOp returns the refusals for each operation, or NaN.
func (m *Meter) refusedPerOp() float64 { return m.refused / float64(m.ops) }

// Sleep waits for d and returns nil. If the measurement must stop before, it returns the
// reason. It uses the timer t, which the caller has made outside the measured part.
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

// cost returns the figure of the run from which ratios are computed.
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
