package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/runqueue"
	"github.com/lanewright/lanewright/sched"
)

// smallSizes returns sizes with which every benchmark takes milliseconds.
func smallSizes() sizes {
	const size = 20_000
	return sizes{
		flood: 5000, batch: 64, tree: 1<<10 - 1, yield: 5000, chain: 5000,
		efficiency: 500, hot: 500, trips: 500, cold: 40, pause: 300 * time.Microsecond,
		burst: 1000, idle: 20 * time.Millisecond, queued: 50_000, queuedGoroutines: 5000,
		beside: besideSizes{arrivals: 4, compute: 100 * time.Microsecond, fibN: 10},
		sort:   size, parts: workload.Parts(size),
		fibN: 15, treeDepth: 10, queens: 6, entries: 20, ramps: 2,
		loop: 5000, numbers: 5000,
		lane: laneSizes{
			trips: 500, calls: 2000, polls: 5000, small: 500, large: 100,
			lanes256: 16, lanes1024: 32, lanes4096: 64,
			inSetting: 200, pools: 10, detached: 20, waiters: 5,
			short: 10 * time.Microsecond, long: time.Millisecond, request: 100 * time.Microsecond, answers: 100,
		},
		process: processSizes{
			trips: 300, calls: 2000, echoes1KiB: 100, echoes64KiB: 20, echoes1MiB: 4, short: time.Microsecond, long: 100 * time.Microsecond,
			firsts: 5, quiet: 10, spawns: 2, lanes64: 3, settle: time.Millisecond,
		},
	}
}

// call runs the command in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	table := cli.Table{{Name: "bench", Help: Help, Run: Run}}
	code = table.Main(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// TestList checks that bench -list prints the names that BENCHMARKS.md shows: the first
// cells in backquotes of its tables.
func TestList(t *testing.T) {
	code, stdout, stderr := call(t, "bench", "-list")
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	listed := strings.Fields(stdout)
	if len(listed) != len(benchmarks(fullSizes)) || strings.Count(stdout, "\n") != len(listed) {
		t.Errorf("%d names, want %d, one a line:\n%s", len(listed), len(benchmarks(fullSizes)), stdout)
	}
	for i, b := range benchmarks(fullSizes) {
		if listed[i] != b.Name {
			t.Errorf("name %d = %s, want %s", i, listed[i], b.Name)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "BENCHMARKS.md"))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, m := range regexp.MustCompile("(?m)^\\| *`([a-z-]+/[a-zA-Z0-9-]+)`").FindAllSubmatch(page, -1) {
		shown = append(shown, string(m[1]))
	}
	slices.Sort(shown)
	slices.Sort(listed)
	if shown = slices.Compact(shown); !slices.Equal(shown, listed) {
		t.Errorf("BENCHMARKS.md shows\n%s\nbench -list prints\n%s", strings.Join(shown, "\n"), strings.Join(listed, "\n"))
	}
	if _, stdout, _ := call(t, "bench", "-list", "-only", "sched/wake, sched/chain,sched/wake"); stdout != "sched/wake\nsched/chain\n" {
		t.Errorf("-only prints %q", stdout)
	}
}

// TestCommands checks that bench accepts the flags and the names of each command that
// BENCHMARKS.md shows for its figures. Z-099.
func TestCommands(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "BENCHMARKS.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("lanewright (bench[^#>`\n]*)").FindAllSubmatch(page, -1)
	if len(commands) == 0 {
		t.Fatal("found no command")
	}
	for _, m := range commands {
		args := append(strings.Fields(string(m[1])), "-list") // so that it measures nothing
		if code, stdout, stderr := call(t, args...); code != cli.ExitOK || stdout == "" {
			t.Errorf("%s: exit code %d, %d bytes, stderr %q", m[1], code, len(stdout), stderr)
		}
	}
}

// TestSuite checks the row of every benchmark at small sizes, with fewer and with more
// workers than most machines have processors. Each benchmark checks its result. Z-101.
func TestSuite(t *testing.T) {
	z := smallSizes()
	for _, b := range benchmarks(z) {
		for _, workers := range []int{1, 2, 5} {
			t.Run(b.Name+"/"+string(rune('0'+workers)), func(t *testing.T) {
				if workers < b.MinWorkers {
					t.Skip("this benchmark needs more workers")
				}
				if strings.HasSuffix(b.Name, "idle-cpu") && (runtime.GOOS == "js" || runtime.GOOS == "wasip1" || runtime.GOOS == "plan9") {
					t.Skip("the processor time of a process is not known on this system")
				}
				if isProcess(b) {
					proctest.Need(t)
					if testing.Short() && workers != 2 {
						t.Skip("its processes take the processors from the other tests")
					}
				}
				res, err := b.Measure(t.Context(), workers, 2, nil)
				if isProcess(b) && errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				r := res.Row
				if r.Bench != b.Name || r.Impl != "lanewright" || r.Workers != workers || r.Runs != 2 || r.Unit != b.Unit {
					t.Errorf("row = %+v", r)
				}
				if math.IsNaN(r.Value) || r.Value < 0 || r.Min > r.Value || r.Value > r.Max {
					t.Errorf("value, min, max = %v, %v, %v", r.Value, r.Min, r.Max)
				}
				latency := strings.Contains(b.Name, "roundtrip") || strings.Contains(b.Name, "-beside-") || b.Name == "sched/wake" || strings.Contains(b.Name, "ramp") || b.Name == "lane/call" || b.Name == "lane/call-remote" || b.Name == "lane/web" || isProcess(b) && b.Unit == bench.NsPerOp && b.Name != "process/fair"
				if (r.P99 != nil) != latency {
					t.Errorf("p99 = %v, want one: %t", r.P99, latency)
				}
				if latency && *r.P99 < r.Value {
					t.Errorf("p99 = %v is less than the p50 %v", *r.P99, r.Value)
				}
				if counted := b.Name == "lane/web"; (r.RefusedPerOp != nil) != counted {
					t.Errorf("refused_per_op = %v, want one: %t", r.RefusedPerOp, counted)
				}
				// Stacks that shrink during the measurement reduce the figure a little.
				if size := float64(unsafe.Sizeof(sched.Task{})); b.Name == "sched/queued-memory" && r.Value < size*3/4 {
					t.Errorf("a queued task takes %v bytes, want at least three quarters of its own %v", r.Value, size)
				}
				want := referencesOf(b.Name)
				var names []string
				for _, ref := range res.References {
					names = append(names, ref.Name)
				}
				slices.Sort(names)
				if !slices.Equal(names, want) {
					t.Errorf("references = %v, want %v", names, want)
				}
				better := "less"
				if strings.Contains(b.Name, "efficiency") || b.Unit == bench.OpsPerSecond || b.Unit == bench.MBPerSecond {
					better = "more"
				}
				if r.Better != better {
					t.Errorf("better = %s, want %s", r.Better, better)
				}
			})
		}
	}
}

// isProcess reports whether b starts processes.
func isProcess(b *bench.Benchmark) bool { return strings.HasPrefix(b.Name, "process/") }

// referencesOf returns the names of the references of a benchmark, in order.
func referencesOf(name string) []string {
	switch {
	case name == "sched/yield":
		return []string{"gosched"}
	case strings.Contains(name, "efficiency"):
		return []string{"goroutines", "ideal"}
	case strings.HasPrefix(name, "sched/do-places-"):
		return []string{"sched/roundtrip-hot"}
	case name == "sched/go-wait-1024", name == "sched/go-wait-16383":
		return []string{"sched/go-wait-2"}
	case name == "sched/quicksort":
		return []string{"channel", "goroutines", "sequential"}
	case name == "lane/payload-64KiB-move", name == "lane/call-concurrency-16":
		return []string{"lane/call"}
	case name == "lane/call-pools-500":
		return []string{"lane/call-cancel"}
	case strings.HasPrefix(name, "lane/call-") && name != "lane/call-remote":
		return []string{"lane/call-remote"}
	case name == "lane/lease-1024":
		return []string{"lane/lease-1"}
	case name == "lane/fair":
		return []string{"concurrency", "ideal"}
	case name == "lane/abort-poll":
		return []string{"loop"}
	case name == "lane/inline":
		return []string{"sequential"}
	case name == "lane/callers-64", name == "lane/allocs":
		return []string{"goroutines"}
	case name == "process/call":
		return []string{"socket", "spin-limit"}
	case name == "process/pipeline-32-3us":
		return []string{"ideal"}
	case strings.HasPrefix(name, "process/first-of-8"):
		return []string{"handler"}
	case name == "process/fair":
		return []string{"lane/fair"}
	case name == "process/wake-64", name == "process/spawn", strings.HasPrefix(name, "process/idle-"), strings.HasPrefix(name, "process/memory"):
		return nil
	case strings.HasPrefix(name, "process/"):
		return []string{"socket"}
	case strings.HasPrefix(name, "lane/") && !strings.HasSuffix(name, "idle-cpu"):
		return []string{"channel"}
	case strings.HasPrefix(name, "sched/"), strings.Contains(name, "ramp"), strings.HasSuffix(name, "idle-cpu"):
		return []string{"goroutines"}
	}
	return []string{"goroutines", "sequential"}
}

// TestNoAllocations checks that no benchmark allocates for each task. Z-002.
func TestNoAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	z := smallSizes()
	z.flood, z.tree, z.yield, z.chain, z.hot = 50_000, 1<<15-1, 50_000, 50_000, 5000
	z.sort = 300_000
	z.parts = workload.Parts(z.sort)
	z.loop, z.numbers = 100_000, 100_000
	z.fibN, z.treeDepth, z.queens, z.entries = 22, 15, 9, 100
	z.lane.trips, z.lane.calls, z.lane.small, z.lane.large, z.lane.inSetting = 5000, 20_000, 5000, 1000, 5000
	for _, b := range benchmarks(z) {
		switch b.Name {
		case "sched/quicksort-join":
			if runqueue.Capacity < 256 {
				continue // in the build for models: a waiting task finds few tasks in so short a ring, and parks
			}
		case "sched/external-beside-do-10ms", "sched/external-beside-forks":
			continue // the computations allocate their tasks
		case "sched/idle-cpu", "sched/roundtrip-cold", "sched/wake", "sched/efficiency-10us",
			"fork-join/idle-cpu", "fork-join/ramp", "fork-join/ramp-warm", "lane/idle-cpu":
			continue // too few operations: the allocations of the runtime dominate
		case "fork-join/closure", "fork-join/closure-void":
			continue // allocate the closures
		case "lane/pipeline-32", "lane/fair", "lane/call-detached-1000":
			continue // allocates the futures that it returns
		case "lane/call-timeout", "lane/lease-1", "lane/lease-1024", "lane/web":
			continue // allocates for each call
		case "sched/go-wait-2", "sched/go-wait-1024", "sched/go-wait-16383":
			continue // Go allocates the task and a closure
		case "sched/group-one":
			continue // allocates the group
		}
		if isProcess(b) {
			continue // a call of another process allocates
		}
		if strings.HasPrefix(b.Name, "lane/") && invariant.Enabled {
			continue // under the race detector sync.Pool drops objects
		}
		t.Run(b.Name, func(t *testing.T) {
			res, err := b.Measure(t.Context(), 2, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Row.AllocsPerOp; got > 0.2 { // a starting or parking worker allocates a little
				t.Errorf("allocs_per_op = %v, want 0", got)
			}
		})
	}
}

// fake returns a benchmark whose run is run, or nothing when run is nil.
func fake(name string, run func(m *bench.Meter) error) *bench.Benchmark {
	nothing := func(m *bench.Meter) error {
		m.Start()
		m.Stop(1)
		m.Report(2)
		return nil
	}
	if run == nil {
		run = nothing
	}
	return &bench.Benchmark{Name: name, Unit: bench.BytesPerTask, Setup: func(int) (*bench.Instance, error) {
		return &bench.Instance{Run: run, References: []bench.Reference{{Name: "goroutines", Run: nothing}}}, nil
	}}
}

// callSuite runs the command with another list of benchmarks.
func callSuite(ctx context.Context, all []*bench.Benchmark, args ...string) (stdout, stderr string, err error) {
	var out, errs strings.Builder
	err = run(ctx, cli.NewConsole(&out, &errs), args, all)
	return out.String(), errs.String(), err
}

// TestJSON checks that -json prints only rows, and the calibration on the standard error.
func TestJSON(t *testing.T) {
	z := smallSizes()
	stdout, stderr, err := callSuite(t.Context(), benchmarks(z), "-json", "-runs", "1", "-workers", "2,1",
		"-only", "sched/yield,sched/roundtrip-hot,sched/efficiency-1us")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(stdout) {
		d := json.NewDecoder(bytes.NewReader([]byte(line)))
		d.DisallowUnknownFields()
		var r bench.Row
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, r.Bench+"/"+string(rune('0'+r.Workers)))
		for _, field := range []string{`"bench":`, `"impl":"lanewright"`, `"unit":`, `"better":`, `"ratios":{`, `"allocs_per_op":`} {
			if !strings.Contains(line, field) {
				t.Errorf("no %s in %s", field, line)
			}
		}
	}
	want := []string{
		"sched/yield/2", "sched/yield/1", "sched/roundtrip-hot/2", "sched/roundtrip-hot/1",
		"sched/efficiency-1us/2", "sched/efficiency-1us/1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows = %v, want %v", got, want)
	}
	if !strings.Contains(stderr, "calibration: ") {
		t.Errorf("no calibration on stderr: %q", stderr)
	}
}

// TestBenchTable checks that the table has every benchmark and its reference.
func TestBenchTable(t *testing.T) {
	stdout, stderr, err := callSuite(t.Context(), []*bench.Benchmark{fake("x/one", nil), fake("x/two", nil)}, "-runs", "1", "-workers", "1")
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	for _, want := range []string{"calibration: ", "benchmark", "x/one", "x/two", "2.00 B", "goroutines 1 (2.00 B)"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

// TestBenchFailure checks that the command reports a failed benchmark, runs the others,
// and fails.
func TestBenchFailure(t *testing.T) {
	wrong := fake("x/wrong", func(*bench.Meter) error { return errors.New("99 tasks were run, want 100") })
	stdout, stderr, err := callSuite(t.Context(), []*bench.Benchmark{wrong, fake("x/right", nil)}, "-runs", "1", "-workers", "1")
	if err == nil || err.Error() != "1 of 2 measurements failed" {
		t.Errorf("error = %v", err)
	}
	if want := "failed: x/wrong with 1 workers: lanewright: 99 tasks were run, want 100\n"; stderr != want {
		t.Errorf("stderr = %q, want %q", stderr, want)
	}
	if !strings.Contains(stdout, "x/right") || strings.Contains(stdout, "x/wrong") {
		t.Errorf("stdout:\n%s", stdout)
	}
}

// TestFolder checks that a name that ends in a slash chooses all benchmarks below it, once and in their order, and that
// the program of the peers gets their names.
func TestFolder(t *testing.T) {
	all := []*bench.Benchmark{fake("x/one", nil), fake("xy/two", nil), fake("x/three", nil), fake("y/x/four", nil)}
	for _, tc := range []struct {
		name, only, want string // want is empty: an error
	}{
		{"folder", "x/", "x/one,x/three"},
		{"folder and name", "x/three, x/", "x/three,x/one"},
		{"two folders", "y/,xy/", "y/x/four,xy/two"},
		{"inner folder", "y/x/", "y/x/four"},
		{"no slash", "x", ""},
		{"part of a name", "x/t", ""},
		{"empty folder", "z/", ""},
		{"slash", "/", ""},
		{"one of two", "x/,z/", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := Parse([]string{"-only", tc.only}, all)
			if (err != nil) != (tc.want == "") {
				t.Fatalf("error = %v, want one: %t", err, tc.want == "")
			}
			if got := o.request().Only; err == nil && got != tc.want {
				t.Errorf("-only %s chooses %s, want %s", tc.only, got, tc.want)
			}
		})
	}
	if code, stdout, _ := call(t, "bench", "-list", "-only", "process/"); code != cli.ExitOK ||
		strings.Count(stdout, "process/") != 22 || strings.Count(stdout, "\n") != 22 {
		t.Errorf("-only process/ chooses, with code %d:\n%s", code, stdout)
	}
	if !strings.Contains(Help, "ends in a slash") {
		t.Error("the help does not explain a name that ends in a slash")
	}
}

// TestSkipped checks that a benchmark that the system cannot have is one line and no failure.
func TestSkipped(t *testing.T) {
	no := fake("x/no", func(*bench.Meter) error { return fmt.Errorf("no processes: %w", errors.ErrUnsupported) })
	for _, args := range [][]string{{}, {"-json"}} {
		stdout, stderr, err := callSuite(t.Context(), []*bench.Benchmark{no, fake("x/right", nil)}, append(args, "-runs", "1", "-workers", "1")...)
		if err != nil || strings.Contains(stdout, "x/no") || !strings.Contains(stdout, "x/right") {
			t.Errorf("%q: %v, stdout:\n%s", args, err, stdout)
		}
		if want := "skipped: x/no with 1 workers: "; !strings.Contains(stderr, want) || strings.Count(stderr, "x/no") != 1 {
			t.Errorf("%q: stderr = %q, want one line with %q", args, stderr, want)
		}
	}
}

// TestBenchInterrupted checks that the table shows the benchmarks that ended before Ctrl-C.
func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	long := fake("x/long", func(m *bench.Meter) error {
		m.Start()
		cancel(stop)
		<-m.Context().Done()
		m.Stop(1)
		return nil
	})
	stdout, _, err := callSuite(ctx, []*bench.Benchmark{fake("x/first", nil), long, fake("x/last", nil)}, "-runs", "1", "-workers", "1")
	if !errors.Is(err, stop) {
		t.Errorf("error = %v, want %v", err, stop)
	}
	if !strings.Contains(stdout, "x/first") || strings.Contains(stdout, "x/last") {
		t.Errorf("stdout:\n%s", stdout)
	}
}
