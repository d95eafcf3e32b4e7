package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/bench/peers"
	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

// asProgram is the environment variable that makes the test binary the program, for the
// children that measure.
const asProgram = "LANEWRIGHT_PEERS_PROGRAM"

// These first arguments make the program compute for ever, or print a line every 100 ms for
// 3 s.
const (
	spin  = "spin"
	lines = "lines"
)

func TestMain(m *testing.M) {
	remote.Main()
	if os.Getenv(asProgram) != "" {
		switch os.Args[1] {
		case spin:
			for n := 0; ; n++ {
				runtime.KeepAlive(n)
			}
		case lines:
			tick := time.NewTicker(100 * time.Millisecond)
			for range 30 {
				fmt.Println(0)
				<-tick.C
			}
			os.Exit(0)
		}
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// call runs the program in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// self is the test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tiny returns the task that measures a workload at tiny sizes.
func tiny(t *testing.T, workload, peer string, workers int) task {
	t.Helper()
	w, p := peers.Pick(peers.Suite(peers.Tiny()), workload), peers.Find(peer)
	if w == nil || p == nil {
		t.Fatalf("no workload %s or no peer %s", workload, peer)
	}
	return task{w, p, workers, 2, "tiny"}
}

// long is a limit that no run of these tests reaches.
const long = 2 * time.Minute

// TestDeadlock checks that forks deadlock on every peer that may hang, and that the row has
// a note and no value. A peer that does not deadlock must not count as one that may hang.
func TestDeadlock(t *testing.T) {
	for _, p := range peers.All() {
		tk := tiny(t, "fork-join/fib", p.Name, 2)
		if !tk.workload.MayHang(p) || tk.workload.Cannot(p) != "" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			row, err := measured(t.Context(), self(t), tk, 1500*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if row.HasValue() || row.Note != "deadlock: not done after 1.5 s" || row.Impl != p.Name || row.Workers != 2 {
				t.Errorf("row = %+v, want a deadlock", row)
			}
			line, err := json.Marshal(row)
			if err != nil || strings.Contains(string(line), "value") || strings.Contains(string(line), "min") {
				t.Errorf("the row has figures: %s, %v", line, err)
			}
		})
	}
}

// TestNoDeadlock checks that forks do not deadlock with more workers than waiting tasks, nor
// on peers that run any number of tasks.
func TestNoDeadlock(t *testing.T) {
	for _, tc := range []struct {
		name string
		task task
	}{
		{"unlimited", tiny(t, "fork-join/fib", "ants-unlimited", 2)},
		{"goroutines", tiny(t, "fork-join/tree", "goroutines", 2)},
		{"enough workers", tiny(t, "fork-join/fib", "pond", 500)},
		{"own queue", tiny(t, "sched/local-tree", "pond", 1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			row, err := measured(t.Context(), self(t), tc.task, long)
			if err != nil {
				t.Fatal(err)
			}
			if !row.HasValue() || row.Runs != 2 || row.Value <= 0 || row.Impl != tc.task.peer.Name || row.Note != tc.task.workload.Note {
				t.Errorf("row = %+v", row)
			}
		})
	}
}

// TestLate checks that a late run that computes is not a deadlock, that the limit holds for
// each run by itself, and that a late run of a workload that cannot hang is an error.
func TestLate(t *testing.T) {
	if got, want := note(true, 6*time.Second), "not done after 6 s"; got != want {
		t.Errorf("note = %q, want %q", got, want)
	}
	if got, want := note(false, 6*time.Second), "deadlock: not done after 6 s"; got != want {
		t.Errorf("note = %q, want %q", got, want)
	}
	got, err := follow(t.Context(), 3*time.Second, self(t), spin)
	if err != nil || !got.late || !got.busy {
		t.Errorf("outcome = %+v, %v, want a late and busy one", got, err)
	}
	if got, err := follow(t.Context(), 2*time.Second, self(t), lines); err != nil || got.late {
		t.Errorf("outcome = %+v, %v: the limit must hold for each run by itself", got, err)
	}
	slow := tiny(t, "sched/idle-cpu", "goroutines", 1)
	slow.sizes = "full" // with 5 s of idle time
	if row, err := measured(t.Context(), self(t), slow, 1500*time.Millisecond); err == nil {
		t.Errorf("row = %+v, want an error", row)
	}
}

// TestChildFails checks that follow returns the error of a child.
func TestChildFails(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"full"},
		{"huge", "sched/yield", "ants", "1", "1"},
		{"tiny", "none", "ants", "1", "1"},
		{"tiny", "sched/yield", "none", "1", "1"},
		{"tiny", "sched/yield", "ants", "x", "1"},
	} {
		_, err := follow(t.Context(), long, self(t), append([]string{child}, args...)...)
		if err == nil || !strings.Contains(err.Error(), "measure wants sizes, workload, peer") {
			t.Errorf("%q: error = %v", args, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := follow(ctx, long, self(t), child); err == nil {
		t.Error("no error after the end of the context")
	}
}

// TestUsage checks that a wrong command line has one line of error and exit code 2.
func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"-runs", "0"}, "-runs is 0"},
		{[]string{"-workers", "1,x"}, `-workers holds "x"`},
		{[]string{"-workers", "0"}, `-workers holds "0"`},
		{[]string{"-list", "-only", "none"}, `-only names "none"`},
		{[]string{"-list", "-only", "none/"}, `-only names "none/"`},
		{[]string{"-list", "-only", "/"}, `-only names "/"`},
		{[]string{"-peers", "none"}, `-peers names "none"`},
		{[]string{"-in", "x"}, "need a file for the charts"},
		{[]string{"file"}, `unexpected argument "file"`},
		{[]string{"-what"}, "not defined"},
	} {
		code, stdout, stderr := call(t, tc.args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: code %d, stdout %q, stderr %q, want 2 and one line with %q", tc.args, code, stdout, stderr, tc.want)
		}
	}
	if code, stdout, stderr := call(t, "-h"); code != 0 || stdout != help || stderr != "" {
		t.Errorf("-h: code %d, stderr %q", code, stderr)
	}
}

// TestList checks the output of -list.
func TestList(t *testing.T) {
	code, stdout, stderr := call(t, "-list")
	if code != 0 || stderr != "" {
		t.Fatalf("code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{
		"sched/batch-1024: goroutines, pond\n",
		"    not errgroup-limit, conc-limit, ants: it has no queue",
		"    may hang, 6s a run: errgroup-limit,",
		"    size: fib(25)\n",
		"pond            alitto/pond",
		"process/call: socket, pipe, net-rpc, grpc, grpc-stream, go-plugin, go-plugin-grpc\n",
		"    size: 20000 calls\n",
		"net-rpc         net/rpc with gob",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	_, stdout, _ = call(t, "-list", "-only", "process/,process/call,sched/wake", "-peers", "pipe,ants")
	if got, want := regexp.MustCompile(`(?m)^\S+: \w+$`).FindAllString(stdout, -1), []string{
		"process/call: pipe", "process/pipeline-32: pipe", "process/echo-1KiB: pipe", "process/echo-64KiB: pipe", "process/echo-1MiB: pipe", "sched/wake: ants",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q in\n%s", got, want, stdout)
	}
	_, stdout, _ = call(t, "-list", "-only", "sched/chain, sched/wake", "-peers", "lanewright,ants")
	want := "sched/chain: ants\n    may hang, 6s a run: ants\nsched/wake: ants\n\nants            panjf2000/ants: a pool of workers\n"
	if stdout != want {
		t.Errorf("got\n%swant\n%s", stdout, want)
	}
}

// TestDraw checks the page and the charts of rows that are read from files.
func TestDraw(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")}
	text := []string{
		`{"bench":"fork-join/fib","impl":"lanewright","workers":2,"value":2,"unit":"ns/op","better":"less","min":1.9,"max":2.2,"runs":6,"ratios":{"sequential":0.8},"allocs_per_op":0}`,
		`{"bench":"fork-join/fib","impl":"pond","workers":2,"unit":"ns/op","better":"less","note":"deadlock: not done after 6 s"}` + "\n" +
			`{"bench":"other/thing","impl":"rayon","workers":2,"value":2,"unit":"ns/op","better":"less","min":1.9,"max":2.2,"runs":6,"ratios":{},"allocs_per_op":0}`,
	}
	for i, name := range files {
		if err := os.WriteFile(name, []byte(text[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	html, svg := filepath.Join(dir, "x.html"), filepath.Join(dir, "charts")
	if code, stdout, stderr := call(t, "-in", files[0], files[1], "-html", html, "-svg", svg); code != 0 || stdout+stderr != "" {
		t.Fatalf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	page := read(t, html)
	for _, want := range []string{"lanewright", "deadlock: not done after 6 s", "rayon", "other/thing"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if got := read(t, filepath.Join(svg, "fork-join-fib.svg")); !strings.HasPrefix(got, "<svg") {
		t.Errorf("the chart is %.40q", got)
	}
	read(t, filepath.Join(svg, "other-thing.svg"))
	for _, only := range []string{"other/thing", "other/"} {
		if code, _, stderr := call(t, "-in", files[0], "-in", files[1], "-only", only, "-html", html); code != 0 {
			t.Fatalf("code %d, stderr %q", code, stderr)
		}
		if page := read(t, html); strings.Contains(page, "fork-join/fib") || !strings.Contains(page, "other/thing") {
			t.Errorf("-only %s leaves other rows on the page, or not its own", only)
		}
	}
	if code, _, stderr := call(t, "-in", files[0], "-only", "none", "-html", html); code != exitFailed || !strings.Contains(stderr, "no row to draw") {
		t.Errorf("no rows: code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := call(t, "-in", filepath.Join(dir, "none"), "-html", html); code != exitFailed || !strings.Contains(stderr, "none") {
		t.Errorf("a missing file: code %d, stderr %q", code, stderr)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMeasure checks that a measured row is printed and drawn.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	html, with := filepath.Join(dir, "x.html"), filepath.Join(dir, "with.jsonl")
	row := `{"bench":"fork-join/tree-small","impl":"lanewright","workers":2,"value":2,"unit":"ns/op","better":"less","min":2,"max":2,"runs":6,"ratios":{},"allocs_per_op":0}`
	if err := os.WriteFile(with, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-only", "fork-join/tree-small", "-peers", "goroutines", "-workers", "2", "-runs", "1"}
	code, stdout, stderr := call(t, append(args, "-json", "-html", html, "-with", with)...)
	if code != 0 || !strings.Contains(stderr, "calibration: ") {
		t.Fatalf("code %d, stderr %q", code, stderr)
	}
	got, err := rows.Read(strings.NewReader(stdout))
	if err != nil || len(got) != 1 || got[0].Impl != "goroutines" || got[0].Workers != 2 || got[0].Note != "200 entries" || got[0].Ratios["sequential"] <= 0 {
		t.Errorf("rows = %+v, %v", got, err)
	}
	for _, want := range []string{"<td>goroutines</td>", "<td>lanewright</td>"} {
		if !strings.Contains(read(t, html), want) {
			t.Errorf("no %s on the page", want)
		}
	}
}

// TestLanewright checks the rows of lanewright, whose program is built from the checkout, and
// of a peer.
func TestLanewright(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	code, stdout, stderr := call(t, "-only", "sched/chain,process/echo-1KiB,fork-join/fib-join2", "-peers", "goroutines,socket,lanewright", "-workers", "2", "-runs", "1", "-json")
	if code != 0 {
		t.Fatalf("code %d, stderr %q", code, stderr)
	}
	got, err := rows.Read(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, r.Bench+" "+r.Impl)
	}
	if got, want := strings.Join(names, ", "), "sched/chain lanewright, sched/chain goroutines, process/echo-1KiB lanewright, process/echo-1KiB socket, fork-join/fib-join2 lanewright"; got != want {
		t.Errorf("rows = %s, want %s", got, want)
	}
}

// TestUnmatched checks the names of -only without a workload of the peers: lanewright must
// have them.
func TestUnmatched(t *testing.T) {
	var notes bytes.Buffer
	m := &measuring{options: options{unmatched: []string{"fork-join/ramp"}}, stderr: &notes}
	if err := m.checkUnmatched(); err != nil || notes.String() != "note: no peer does fork-join/ramp\n" {
		t.Errorf("without lanewright: error %v, note %q", err, notes.String())
	}
	m.program = &lanewright{names: []string{"fork-join/ramp"}}
	if err := m.checkUnmatched(); err != nil {
		t.Error(err)
	}
	m.unmatched = []string{"none"}
	if err := m.checkUnmatched(); err == nil || !strings.Contains(err.Error(), `-only names "none"`) {
		t.Errorf("error = %v, want one for the name none", err)
	}
	code, stdout, stderr := call(t, "-only", "fork-join/ramp", "-ours=false")
	if code != 0 || stdout != "" || !strings.Contains(stderr, "note: no peer does fork-join/ramp\n") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestLine checks the text of a row with a value and of a row without one.
func TestLine(t *testing.T) {
	r := rows.Row{Row: bench.Row{
		Bench: "a/b", Impl: "ants", Workers: 2, Value: 12.5, Unit: bench.NsPerOp, Min: 11, Max: 14, Runs: 3, Ratios: map[string]float64{"ideal": 2},
	}, Note: "small"}
	if got, want := strings.Fields(line(r)), "a/b ants 2 12.5 ns 11 ns .. 14 ns ideal 2 small"; strings.Join(got, " ") != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	refused := 1.5
	r.RefusedPerOp = &refused
	if got, want := line(r), "refused 1.5 for each"; !strings.Contains(got, want) {
		t.Errorf("line = %q, want one with %q", got, want)
	}
	r.Runs = 0
	if got, want := strings.Join(strings.Fields(line(r)), " "), "a/b ants 2 small"; got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
}
