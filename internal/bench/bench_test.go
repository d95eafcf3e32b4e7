package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []float64
		want float64
	}{
		{"one", []float64{3}, 3},
		{"odd", []float64{9, 1, 5}, 5},
		{"even", []float64{4, 1, 2, 100}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := slices.Clone(tc.in)
			if got := bench.Median(in); got != tc.want {
				t.Errorf("Median(%v) = %v, want %v", tc.in, got, tc.want)
			}
			if !slices.Equal(in, tc.in) {
				t.Errorf("Median changed its argument to %v", in)
			}
		})
	}
	if got := bench.Median(nil); !math.IsNaN(got) {
		t.Errorf("Median(nil) = %v, want NaN", got)
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	for _, tc := range []struct {
		name string
		in   []int64
		q    float64
		want int64
	}{
		{"p50", hundred, 0.5, 50},
		{"p99", hundred, 0.99, 99},
		{"max", hundred, 1, 100},
		{"one", []int64{7}, 0.99, 7},
		{"two", []int64{1, 2}, 0.5, 1},
		{"small", []int64{1, 2, 3}, 0.99, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := bench.Quantile(tc.in, tc.q); got != tc.want {
				t.Errorf("Quantile(%v) = %d, want %d", tc.q, got, tc.want)
			}
		})
	}
}

// scripted returns a run that reports these values, one in each call.
func scripted(order *[]string, name string, values ...float64) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		*order = append(*order, name)
		m.Start()
		v := values[0]
		values = values[1:]
		m.Stop(1000)
		m.Report(v)
		return nil
	}
}

// TestMeasure: Measure reports medians and takes ratios lap by lap. It does not count the
// first lap, and reverses the order of the variants after each lap.
func TestMeasure(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var order []string
	closed, steps, inside := 0, 0, 0
	b := &bench.Benchmark{
		Name: "test/scripted", Unit: bench.BytesPerTask,
		Setup: func(workers int) (*bench.Instance, error) {
			inside = runtime.GOMAXPROCS(0)
			return &bench.Instance{
				Run:        scripted(&order, "a", 1e9, 1, 20, 3),
				References: []bench.Reference{{Name: "other", Run: scripted(&order, "b", 1, 10, 100, 4)}},
				Close:      func() error { closed++; return nil },
			}, nil
		},
	}
	res, err := b.Measure(t.Context(), before+1, 3, func() { steps++ })
	if err != nil {
		t.Fatal(err)
	}
	r := res.Row
	if r.Value != 3 || r.Min != 1 || r.Max != 20 || r.Runs != 3 {
		t.Errorf("value, min, max, runs = %v, %v, %v, %d, want 3, 1, 20, 3", r.Value, r.Min, r.Max, r.Runs)
	}
	// The ratios of the laps are 0.1, 0.2, 0.75. The ratio of the medians is 0.3.
	if got := r.Ratios["other"]; got != 0.2 {
		t.Errorf("ratio = %v, want 0.2", got)
	}
	if got, want := strings.Join(order, ""), "abbaabba"; got != want {
		t.Errorf("order = %s, want %s", got, want)
	}
	if res.References[0].Value != 10 {
		t.Errorf("reference = %v, want its median 10", res.References[0].Value)
	}
	if closed != 1 || steps != 4 || inside != before+1 {
		t.Errorf("closed, steps, GOMAXPROCS = %d, %d, %d, want 1, 4, %d", closed, steps, inside, before+1)
	}
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("GOMAXPROCS = %d afterwards, want %d", got, before)
	}
}

// TestShare: the value of a benchmark with ShareOf is the time of that reference divided by
// ours.
func TestShare(t *testing.T) {
	var order []string
	b := &bench.Benchmark{
		Name: "test/share", Unit: bench.Share, ShareOf: "ideal",
		Setup: func(int) (*bench.Instance, error) {
			return &bench.Instance{
				Run: scripted(&order, "a", 9, 20, 25),
				References: []bench.Reference{
					{Name: "ideal", Run: scripted(&order, "i", 1, 10, 20)},
					{Name: "goroutines", Run: scripted(&order, "g", 1, 40, 50)},
				},
			}, nil
		},
	}
	res, err := b.Measure(t.Context(), 1, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := res.Row
	if r.Value != 0.65 || r.Min != 0.5 || r.Max != 0.8 || r.Better != "more" {
		t.Errorf("value, min, max, better = %v, %v, %v, %s, want 0.65, 0.5, 0.8, more", r.Value, r.Min, r.Max, r.Better)
	}
	if r.Ratios["ideal"] != 1.625 || r.Ratios["goroutines"] != 0.5 {
		t.Errorf("ratios = %v, want ideal 1.625 and goroutines 0.5: our time divided by theirs", r.Ratios)
	}
}

// TestRates: more is better for a rate. Its ratio is one of times, so less is better.
func TestRates(t *testing.T) {
	for _, tc := range []struct {
		unit       string
		ours, ref  float64
		least, top float64
	}{
		{bench.OpsPerSecond, 0.75e8, 0.375e8, 0.5e8, 1e8},
		{bench.MBPerSecond, 75_000, 37_500, 50_000, 100_000},
	} {
		t.Run(tc.unit, func(t *testing.T) {
			var order []string
			b := &bench.Benchmark{
				Name: "test/rate", Unit: tc.unit, Bytes: 1000,
				Setup: func(int) (*bench.Instance, error) {
					return &bench.Instance{
						Run:        scripted(&order, "a", 1, 10, 20),
						References: []bench.Reference{{Name: "other", Run: scripted(&order, "b", 1, 20, 40)}},
					}, nil
				},
			}
			res, err := b.Measure(t.Context(), 1, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := res.Row
			if r.Value != tc.ours || r.Min != tc.least || r.Max != tc.top || r.Better != "more" || r.Ratios["other"] != 0.5 {
				t.Errorf("row = %+v, want value %v, min %v, max %v, more, ratio 0.5", r, tc.ours, tc.least, tc.top)
			}
			if got := res.References[0].Value; got != tc.ref {
				t.Errorf("reference = %v, want %v", got, tc.ref)
			}
		})
	}
}

// TestLatencies: latencies give a median and a p99, and a ratio for each.
func TestLatencies(t *testing.T) {
	run := func(scale int64) func(m *bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			ns := make([]int64, 1000)
			for i := range ns {
				ns[i] = int64(1000-i) * scale * 1e6
			}
			m.Stop(len(ns))
			m.Latencies(ns, 1)
			return nil
		}
	}
	b := &bench.Benchmark{
		Name: "test/latency", Unit: bench.NsPerOp,
		Setup: func(int) (*bench.Instance, error) {
			return &bench.Instance{Run: run(1), References: []bench.Reference{{Name: "other", Run: run(2)}}}, nil
		},
	}
	res, err := b.Measure(t.Context(), 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < want/1000 } // the cost of the clock is subtracted
	r := res.Row
	if !near(r.Value, 500e6) || r.P99 == nil || !near(*r.P99, 990e6) {
		t.Errorf("p50, p99 = %v, %v, want 500e6, 990e6", r.Value, r.P99)
	}
	if !near(r.Ratios["other"], 0.5) || !near(r.RatiosP99["other"], 0.5) {
		t.Errorf("ratios = %v, %v, want 0.5", r.Ratios, r.RatiosP99)
	}
}

// TestRefused: a row has the refusals for each operation if its runs count them.
func TestRefused(t *testing.T) {
	run := func(refused ...int) func(m *bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			bench.NewWork(time.Microsecond)
			m.Stop(10)
			if len(refused) > 0 {
				m.Refused(refused[0])
				refused = refused[1:]
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name      string
		ours, ref []int
		want      float64 // NaN: none
		wantRef   float64
	}{
		{"counted", []int{0, 10, 20, 90}, []int{0, 5, 5, 5}, 2, 0.5},
		{"not counted", nil, nil, math.NaN(), math.NaN()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &bench.Benchmark{Name: "test/refused", Unit: bench.NsPerOp, Setup: func(int) (*bench.Instance, error) {
				return &bench.Instance{Run: run(tc.ours...), References: []bench.Reference{{Name: "other", Run: run(tc.ref...)}}}, nil
			}}
			res, err := b.Measure(t.Context(), 1, 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := math.NaN()
			if res.Row.RefusedPerOp != nil {
				got = *res.Row.RefusedPerOp
			}
			same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
			if !same(got, tc.want) || !same(res.References[0].RefusedPerOp, tc.wantRef) {
				t.Errorf("refused = %v and %v, want %v and %v", got, res.References[0].RefusedPerOp, tc.want, tc.wantRef)
			}
			var table strings.Builder
			if err := bench.WriteTable(&table, []bench.Result{res}); err != nil {
				t.Fatal(err)
			}
			if want := "refused 2 for each (0.5)"; strings.Contains(table.String(), want) != !math.IsNaN(tc.want) {
				t.Errorf("the table has %q: %t", want, math.IsNaN(tc.want))
			}
		})
	}
}

// TestMeasureFails: an error of a run, of Setup or of the context ends the measurement, and
// the instance is closed.
func TestMeasureFails(t *testing.T) {
	boom := errors.New("boom")
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(boom)
	good := func(m *bench.Meter) error { m.Start(); bench.NewWork(time.Microsecond); m.Stop(1); return nil }
	for _, tc := range []struct {
		name string
		ctx  context.Context
		run  func(*bench.Meter) error
		set  error
		want string
	}{
		{"run", t.Context(), func(*bench.Meter) error { return boom }, nil, "test/x with 1 workers: lanewright: boom"},
		{"setup", t.Context(), good, boom, "test/x with 1 workers: boom"},
		{"nothing", t.Context(), func(*bench.Meter) error { return nil }, nil, "nothing was measured"},
		{"not stopped", t.Context(), func(m *bench.Meter) error { m.Start(); return nil }, nil, "nothing was measured"},
		{"context", ended, good, nil, "boom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			closed := false
			b := &bench.Benchmark{Name: "test/x", Unit: bench.NsPerOp, Setup: func(int) (*bench.Instance, error) {
				if tc.set != nil {
					return nil, tc.set
				}
				return &bench.Instance{Run: tc.run, Close: func() error { closed = true; return nil }}, nil
			}}
			_, err := b.Measure(tc.ctx, 1, 2, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one with %q", err, tc.want)
			}
			if closed != (tc.set == nil) {
				t.Errorf("closed = %t", closed)
			}
		})
	}
}

// sink makes allocations of tests escape.
var sink []*[64]byte

func TestMeterCountsAllocations(t *testing.T) {
	b := &bench.Benchmark{Name: "test/allocs", Unit: bench.NsPerOp, Setup: func(int) (*bench.Instance, error) {
		return &bench.Instance{Run: func(m *bench.Meter) error {
			sink = make([]*[64]byte, 1000)
			m.Start()
			for i := range sink {
				sink[i] = new([64]byte)
				_ = new([64]byte)
			}
			m.Stop(len(sink))
			return nil
		}}, nil
	}}
	res, err := b.Measure(t.Context(), 1, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Row.AllocsPerOp; got < 1 || got > 1.5 {
		t.Errorf("allocs_per_op = %v, want 1", got)
	}
}

// TestRowJSON: the format of recorded results does not change.
func TestRowJSON(t *testing.T) {
	cpu, p99, refused := 4.0, 9.0, 1.5
	for _, tc := range []struct {
		name string
		row  bench.Row
		want string
	}{
		{
			"plain",
			bench.Row{
				Bench: "fork-join/fib", Impl: "lanewright", Workers: 2, Value: 2, Unit: "ns/op", Better: "less", Min: 1.9, Max: 2.2, Runs: 9,
				Ratios: map[string]float64{"goroutines": 0.003, "sequential": 0.78}, CPUNsPerOp: &cpu,
			},
			`{"bench":"fork-join/fib","impl":"lanewright","workers":2,"value":2,"unit":"ns/op","better":"less","min":1.9,"max":2.2,"runs":9,"ratios":{"goroutines":0.003,"sequential":0.78},"allocs_per_op":0,"cpu_ns_per_op":4}`,
		},
		{
			"latency",
			bench.Row{Bench: "sched/wake", Ratios: map[string]float64{"goroutines": 1}, P99: &p99, RatiosP99: map[string]float64{"goroutines": 0.5}},
			`{"bench":"sched/wake","impl":"","workers":0,"value":0,"unit":"","better":"","min":0,"max":0,"runs":0,"ratios":{"goroutines":1},"allocs_per_op":0,"p99":9,"ratios_p99":{"goroutines":0.5}}`,
		},
		{
			"refusals",
			bench.Row{Bench: "lane/web", Ratios: map[string]float64{}, RefusedPerOp: &refused},
			`{"bench":"lane/web","impl":"","workers":0,"value":0,"unit":"","better":"","min":0,"max":0,"runs":0,"ratios":{},"allocs_per_op":0,"refused_per_op":1.5}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := tc.row.WriteJSON(&buf); err != nil {
				t.Fatal(err)
			}
			if got := buf.String(); got != tc.want+"\n" {
				t.Errorf("got  %swant %s", got, tc.want)
			}
			if !json.Valid(buf.Bytes()) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		value float64
		unit  string
		want  string
	}{
		{14.23, bench.NsPerOp, "14.2 ns"},
		{0.5, bench.NsPerOp, "0.5 ns"},
		{480, bench.NsPerOp, "480 ns"},
		{12_345, bench.NsPerOp, "12.3 µs"},
		{1_234_000_000, bench.NsPerOp, "1.23 s"},
		{3_000_000, bench.NsPerOp, "3.00 ms"},
		{0.951, bench.Share, "0.951"},
		{24, bench.BytesPerTask, "24.0 B"},
		{2742, bench.BytesPerTask, "2742 B"},
		{47_104, bench.BytesPerLane, "47104 B"},
		{2, bench.Threads, "2 threads"},
		{0.05, bench.MsCPU, "0.050 ms"},
		{5, bench.OpsPerSecond, "5.00 op/s"},
		{12_345_678, bench.OpsPerSecond, "12.3 M op/s"},
		{3000, bench.MBPerSecond, "3000 MB/s"},
		{math.NaN(), bench.NsPerOp, "-"},
	} {
		if got := bench.Format(tc.value, tc.unit); got != tc.want {
			t.Errorf("Format(%v, %q) = %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	cpu, p99 := 9.0, 30.0
	var buf bytes.Buffer
	err := bench.WriteTable(&buf, []bench.Result{
		{
			Row:        bench.Row{Bench: "x/y", Workers: 2, Value: 12.5, Unit: bench.NsPerOp, Min: 11, Max: 14, Ratios: map[string]float64{"goroutines": 0.05}, CPUNsPerOp: &cpu},
			References: []bench.Absolute{{Name: "goroutines", Value: 250, P99: math.NaN()}},
		},
		{
			Row: bench.Row{
				Bench: "x/z", Workers: 1, Value: 20, Unit: bench.NsPerOp, Ratios: map[string]float64{"goroutines": 0.5},
				P99: &p99, RatiosP99: map[string]float64{"goroutines": 0.25},
			},
			References: []bench.Absolute{{Name: "goroutines", Value: 40, P99: 120}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), &buf)
	}
	for i, want := range [][]string{
		{"benchmark", "workers", "median", "p99", "allocs/op", "CPU/op"},
		{"x/y", "12.5 ns", "11 ns .. 14 ns", "goroutines 0.05 (250 ns)", "9 ns"},
		{"x/z", "30 ns", "goroutines 0.5, p99 0.25 (40 ns, p99 120 ns)"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d does not contain %q: %s", i, part, lines[i])
			}
		}
	}
}

// TestChain: the steps of a Work have one result wherever they are done, and other steps another one.
func TestChain(t *testing.T) {
	w := bench.NewWork(10 * time.Microsecond)
	if got, want := bench.Chain(w.Steps()), bench.Chain(w.Steps()); got != want || got == bench.Chain(w.Steps()+1) {
		t.Errorf("Chain(%d) = %d and %d", w.Steps(), got, want)
	}
	if !w.Do() || bench.NewWork(100*time.Microsecond).Steps() <= w.Steps() {
		t.Errorf("the work of 10 µs has %d steps", w.Steps())
	}
}

func TestWork(t *testing.T) {
	short, long := bench.NewWork(time.Microsecond), bench.NewWork(100*time.Microsecond)
	if !short.Do() || !long.Do() {
		t.Error("the result of the work is wrong")
	}
	if short == long || short == (bench.Work{}) {
		t.Errorf("1 µs and 100 µs of work are %+v and %+v", short, long)
	}
}

func TestCalibration(t *testing.T) {
	c := bench.Check(t.Context())
	if c.One <= 0 || c.Two <= 0 || c.Ratio <= 0 || c.CPUs != runtime.NumCPU() {
		t.Errorf("calibration = %+v", c)
	}
	for _, tc := range []struct {
		name string
		c    bench.Calibration
		free bool
		want string
	}{
		{"free", bench.Calibration{CPUs: 2, Ratio: 1.02}, true, "(ratio 1.02; 1 is ideal)"},
		{"busy", bench.Calibration{CPUs: 2, Ratio: 1.6}, false, "the second processor was not free"},
		{"one", bench.Calibration{CPUs: 1, Ratio: 2}, false, "this machine has one processor"},
		{"none", bench.Calibration{CPUs: 2}, false, "not free"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.c.Free(); got != tc.free {
				t.Errorf("Free = %t, want %t", got, tc.free)
			}
			if got := tc.c.String(); !strings.Contains(got, tc.want) || tc.free != strings.HasSuffix(got, "ideal)") {
				t.Errorf("String = %q, want one with %q", got, tc.want)
			}
		})
	}
}

func TestClock(t *testing.T) {
	if step := bench.ClockStep(); step <= 0 || step > int64(20*time.Millisecond) {
		t.Errorf("ClockStep = %d ns", step)
	}
	if cost := bench.ClockCost(); cost < 0 || cost > int64(20*time.Millisecond) {
		t.Errorf("ClockCost = %d ns", cost)
	}
	a := bench.Now()
	if b := bench.Now(); b < a {
		t.Errorf("the clock went backwards from %d to %d", a, b)
	}
}
