package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
)

// Units of values.
const (
	NsPerOp      = "ns/op"
	BytesPerTask = "B/task"
	BytesPerLane = "B/lane"
	MsCPU        = "ms CPU"
	Share        = "ratio"
	OpsPerSecond = "op/s"
	MBPerSecond  = "MB/s" // of 1,000,000 bytes
	Threads      = "threads"
)

// The values of Row.Better.
const (
	Less = "less"
	More = "more"
)

// Benchmark is one entry of the list of benchmarks.
type Benchmark struct {
	Name  string // unique and without abbreviations: "sched/external-1"
	About string // the work, in one line
	Unit  string // of the value: one of the constants above
	Bytes int    // per operation, for MBPerSecond

	// ShareOf names a reference. If it is set, the value is the time of that reference
	// divided by ours, and more is better. If it is empty, the value is our own figure, and
	// less is better unless the figure is a rate.
	ShareOf string

	// MinWorkers is the smallest number of workers for which the benchmark is meaningful.
	MinWorkers int

	// Setup prepares the variants for a number of workers. GOMAXPROCS is that number.
	Setup func(workers int) (*Instance, error)
}

// Instance is a benchmark that is set up.
type Instance struct {
	Run        func(*Meter) error // our variant, once
	References []Reference        // empty for a figure that has a bound of its own
	Close      func() error       // frees the resources; may be nil
}

// Reference does the same work in another way.
type Reference struct {
	Name string
	Run  func(*Meter) error
}

// Result is the result of [Benchmark.Measure].
type Result struct {
	Row        Row
	References []Absolute // the references, in their order
}

// Absolute is the median of the figures of a reference. Its unit is that of the benchmark,
// or ns/op if the benchmark reports a ratio.
type Absolute struct {
	Name  string
	Value float64
	P99   float64 // NaN if there are no latencies

	RefusedPerOp float64 // NaN if the benchmark does not count refusals
}

// Lanewright is the name of this library in the rows of its own benchmarks.
const Lanewright = "lanewright"

var (
	errNothing = errors.New("nothing was measured")
	errZero    = errors.New("the measured time is zero")
)

// Measure sets b up for workers and measures runs laps after one lap to warm up. It returns
// the medians. It calls step, which may be nil, after each lap, the first one included.
// GOMAXPROCS is workers during the call.
func (b *Benchmark) Measure(ctx context.Context, workers, runs int, step func()) (Result, error) {
	prev := runtime.GOMAXPROCS(workers)
	defer runtime.GOMAXPROCS(prev)
	fail := func(err error) (Result, error) {
		return Result{}, fmt.Errorf("%s with %d workers: %w", b.Name, workers, err)
	}
	inst, err := b.Setup(workers)
	if err != nil {
		return fail(err)
	}
	s, err := b.laps(ctx, inst, runs, step)
	if inst.Close != nil {
		err = errors.Join(err, inst.Close())
	}
	if err != nil {
		return fail(err)
	}
	return b.result(s, workers, inst), nil
}

// series has the meters of the counted laps by variant. Variant 0 is Lanewright.
type series [][]*Meter

func (b *Benchmark) laps(ctx context.Context, inst *Instance, runs int, step func()) (series, error) {
	variants := []Reference{{Lanewright, inst.Run}}
	variants = append(variants, inst.References...)
	clockCost := ClockCost()
	s := make(series, len(variants))
	order := make([]int, len(variants))
	for i := range order {
		order[i] = i
	}
	for lap := range runs + 1 {
		for _, v := range order {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			runtime.GC()
			m := newMeter(ctx, clockCost)
			err := variants[v].Run(m)
			if err == nil {
				err = m.check()
			}
			if err != nil {
				if cause := context.Cause(ctx); cause != nil {
					return nil, cause
				}
				return nil, fmt.Errorf("%s: %w", variants[v].Name, err)
			}
			if lap > 0 {
				s[v] = append(s[v], m)
			}
		}
		slices.Reverse(order)
		if step != nil {
			step()
		}
	}
	return s, nil
}

// check returns an error for a run that measured nothing.
func (m *Meter) check() error {
	switch {
	case m.ops <= 0 || m.running:
		return errNothing
	case m.elapsed <= 0:
		return errZero
	default:
		return nil
	}
}

func (b *Benchmark) result(s series, workers int, inst *Instance) Result {
	ours := s[0]
	row := Row{
		Bench: b.Name, Impl: Lanewright, Workers: workers, Unit: b.Unit, Better: Less, Runs: len(ours),
		Ratios: map[string]float64{},
	}
	values := each(ours, b.value)
	if b.Unit == OpsPerSecond || b.Unit == MBPerSecond {
		row.Better = More
	}
	p99s := each(ours, func(m *Meter) float64 { return m.p99 })
	var refs []Absolute
	for i, ref := range inst.References {
		theirs := s[i+1]
		costs := each(theirs, (*Meter).cost)
		refs = append(refs, Absolute{
			Name:  ref.Name,
			Value: Median(each(theirs, b.value)),
			P99:   Median(each(theirs, func(m *Meter) float64 { return m.p99 })),

			RefusedPerOp: Median(each(theirs, (*Meter).refusedPerOp)),
		})
		if r, ok := pairwise(each(ours, (*Meter).cost), costs); ok {
			row.Ratios[ref.Name] = round4(r)
		}
		if ref.Name == b.ShareOf {
			row.Better = More
			for k := range values {
				values[k] = costs[k] / values[k]
			}
		}
		if r, ok := pairwise(p99s, each(theirs, func(m *Meter) float64 { return m.p99 })); ok {
			if row.RatiosP99 == nil {
				row.RatiosP99 = map[string]float64{}
			}
			row.RatiosP99[ref.Name] = round4(r)
		}
	}
	row.Value, row.Min, row.Max = round4(Median(values)), round4(slices.Min(values)), round4(slices.Max(values))
	if p99 := Median(p99s); !math.IsNaN(p99) {
		p99 = round4(p99)
		row.P99 = &p99
	}
	if refused := Median(each(ours, (*Meter).refusedPerOp)); !math.IsNaN(refused) {
		refused = round4(refused)
		row.RefusedPerOp = &refused
	}
	// The runtime sometimes allocates for itself. The median is rounded down to drop these
	// allocations, as in testing.AllocsPerRun, but it keeps three decimal places.
	allocs := Median(each(ours, func(m *Meter) float64 { return float64(m.allocs) / float64(m.ops) }))
	row.AllocsPerOp = math.Floor(allocs*1000) / 1000
	if ours[0].cpuOK {
		cpu := round4(Median(each(ours, func(m *Meter) float64 { return float64(m.cpu) / float64(m.ops) })))
		row.CPUNsPerOp = &cpu
	}
	return Result{Row: row, References: refs}
}

// value returns the figure of a run in the unit of the benchmark.
func (b *Benchmark) value(m *Meter) float64 {
	switch b.Unit {
	case OpsPerSecond:
		return 1e9 / m.cost()
	case MBPerSecond:
		return 1e3 * float64(b.Bytes) / m.cost()
	default:
		return m.cost()
	}
}

// each returns f of each meter.
func each(ms []*Meter, f func(*Meter) float64) []float64 {
	v := make([]float64, len(ms))
	for i, m := range ms {
		v[i] = f(m)
	}
	return v
}

// pairwise returns the median of ours[i]/theirs[i]. It returns false if a pair has no
// ratio.
func pairwise(ours, theirs []float64) (float64, bool) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
		if math.IsNaN(ratios[i]) || math.IsInf(ratios[i], 0) {
			return 0, false
		}
	}
	r := Median(ratios)
	return r, !math.IsNaN(r)
}
