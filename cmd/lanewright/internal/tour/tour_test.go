package tour

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/pool"
)

// smallTour returns a tour that takes milliseconds.
func smallTour() tour {
	const size = 30_000
	return tour{size: size, parts: workload.Parts(size), quick: 2, full: 3, calls: 20_000, remote: 4_000, open: openProcesses()}
}

func callTour(t *testing.T, bar io.Writer, args ...string) (stdout string, err error) {
	t.Helper()
	var out strings.Builder
	c := &cli.Console{Out: &out, Err: io.Discard, Bar: &cli.Bar{Out: bar}}
	err = smallTour().run(t.Context(), c, args)
	return out.String(), err
}

// sourceTree returns a directory tree with files of several sizes.
func sourceTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 40 {
		path := filepath.Join(dir, "abcd"[i%4:i%4+1], strings.Repeat("x", i+1))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte{byte(i)}, i*i*100), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTour checks the text of a tour.
func TestTour(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	out, err := callTour(t, nil, "-quick", "-dir", sourceTree(t), "-workers", "3")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 workers", "Medians of 2 rounds: lanewright took",
		"1. Quicksort of 30,000 integers", "sequential", "goroutines", "lanewright", "vs goroutines", "steals", "wakes",
		"CPU time", "Checksum", "lanewright took",
		"2. SHA-256 of every file in", "40 files, 5 directories, 2.1 MB", "MB/s", "the same root: ",
		"3. 4,000 typed calls over 2 lanes, from 64 goroutines", "lane 0", "lane 1", "they add up to 23,994,000.",
		`the caller got "enough" at once`, `the caller got "context deadline exceeded"`, `the caller got 'panic in task "fail": sold out' with the stack`,
		"200 calls waited; resumed", "2,000 calls waited, and all were finished", `the next one got "Pool is shut down"`,
		"All in all 6,205 calls, and 6,205 ended",
		"4. 4,000 calls into 2 worker processes, one of which is killed in the middle",
		"All results agree.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "could not be read") {
		t.Errorf("something could not be read:\n%s", out)
	}
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("GOMAXPROCS = %d afterwards, want %d", got, before)
	}
}

// TestTourJSON checks the rows of a tour.
func TestTourJSON(t *testing.T) {
	out, err := callTour(t, nil, "-json", "-dir", sourceTree(t), "-workers", "2")
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]map[string]bool{}
	var rows []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, `{"tour":"lanes"`) {
			checkLaneRow(t, decode[laneRow](t, line))
			rows = append(rows, "lanes")
			continue
		}
		if strings.HasPrefix(line, `{"tour":"processes"`) {
			checkProcessRow(t, decode[processRow](t, line))
			rows = append(rows, "processes")
			continue
		}
		r := decode[tourRow](t, line)
		rows = append(rows, r.Tour+" "+r.Impl)
		if results[r.Tour] == nil {
			results[r.Tour] = map[string]bool{}
		}
		results[r.Tour][r.Result] = true
		if r.Workers != 2 || r.Runs != 3 || r.Seconds <= 0 || r.Min > r.Seconds || r.Max < r.Seconds || len(r.Ratios) != 2 || r.Result == "" {
			t.Errorf("row = %+v", r)
		}
		if tasks := map[string]int64{"quicksort": int64(workload.Parts(30_000)), "merkle": 45}[r.Tour]; r.Impl != "sequential" && r.Tasks != tasks {
			t.Errorf("%s, %s: %d tasks, want %d", r.Tour, r.Impl, r.Tasks, tasks)
		}
		if r.Tour == "merkle" && (r.Files != 40 || r.Bytes == 0) {
			t.Errorf("%d files, %d bytes", r.Files, r.Bytes)
		}
	}
	want := "quicksort sequential, quicksort goroutines, quicksort lanewright, merkle sequential, merkle goroutines, merkle lanewright, lanes, processes"
	if got := strings.Join(rows, ", "); got != want {
		t.Errorf("rows = %s\nwant   %s", got, want)
	}
	for name, r := range results {
		if len(r) != 1 {
			t.Errorf("%s has %d results", name, len(r))
		}
	}
}

// decode reads a line with the fields of T and no others.
func decode[T any](t *testing.T, line string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return v
}

// checkLaneRow checks the line of the third part. The tour itself has checked the counters.
func checkLaneRow(t *testing.T, r laneRow) {
	t.Helper()
	if r.Impl != "lanewright" || r.Workers != 2 || r.Seconds <= 0 || r.Calls != 20_000 || r.Result != 599_970_000 || len(r.Lanes) != 2 {
		t.Errorf("row = %+v", r)
	}
	if r.Aborted != "enough" || r.TimedOut != "context deadline exceeded" || r.Panicked != `panic in task "fail": sold out` || r.Refused != "Pool is shut down" {
		t.Errorf("errors = %q, %q, %q, %q", r.Aborted, r.TimedOut, r.Panicked, r.Refused)
	}
	if r.Paused != 200 || r.Finished != 2000 || r.Accepted != 22_205 || r.Ended != 22_205 || r.Stale < 1 || r.Stale > 2 {
		t.Errorf("paused, finished, accepted, ended, stale = %d, %d, %d, %d, %d", r.Paused, r.Finished, r.Accepted, r.Ended, r.Stale)
	}
}

// TestCheckLanes checks that the tour fails when a counter is wrong.
func TestCheckLanes(t *testing.T) {
	good := func() []pool.LaneInfo {
		return []pool.LaneInfo{{Accepted: 5, Ended: 5, Direct: 5}, {Lane: 1, Accepted: 5, Ended: 5, Direct: 2, DrainsScheduled: 1}}
	}
	if err := checkLanes(good(), 10); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		name string
		bad  func(lanes []pool.LaneInfo)
		want string
	}{
		{"not ended", func(l []pool.LaneInfo) { l[1].Ended-- }, "not ended every call"},
		{"waiting", func(l []pool.LaneInfo) { l[0].Backlog++ }, "not ended every call"},
		{"in flight", func(l []pool.LaneInfo) { l[0].InFlight++ }, "not ended every call"},
		{"late answer", func(l []pool.LaneInfo) { l[1].StaleResponses++ }, "not ended every call"},
		{"abandoned", func(l []pool.LaneInfo) { l[1].Abandoned++ }, "not ended every call"},
		{"too many", func(l []pool.LaneInfo) { l[1].Accepted, l[1].Ended = 6, 6 }, "accepted 11 calls"},
		{"idle", func(l []pool.LaneInfo) { l[0].Accepted, l[0].Ended, l[0].Direct = 0, 0, 0 }, "accepted none of 10 calls"},
		{"too many run by callers", func(l []pool.LaneInfo) { l[0].Direct++ }, "have no runner"},
		{"no drain", func(l []pool.LaneInfo) { l[1].DrainsScheduled = 0 }, "have no runner"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lanes := good()
			tc.bad(lanes)
			if err := checkLanes(lanes, 10); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one with %q", err, tc.want)
			}
		})
	}
	if err := checkLanes(good()[:1], 5); err == nil {
		t.Error("one lane passes for two")
	}
}

// callOnWrite is a writer that calls a function at the first write with a text.
type callOnWrite struct {
	text string
	do   func()
}

func (w *callOnWrite) Write(p []byte) (int, error) {
	if w.do != nil && bytes.Contains(p, []byte(w.text)) {
		w.do()
		w.do = nil
	}
	return len(p), nil
}

// TestTourDisagrees checks that the tour fails when a file changes between two ways, so
// that the roots differ.
func TestTourDisagrees(t *testing.T) {
	dir := sourceTree(t)
	change := func() {
		if err := os.WriteFile(filepath.Join(dir, "a", "x"), []byte("changed"), 0o666); err != nil {
			t.Error(err)
		}
	}
	_, err := callTour(t, &callOnWrite{"merkle, lanewright", change}, "-quick", "-dir", dir)
	if err == nil || !strings.Contains(err.Error(), "merkle, lanewright: the hash is ") {
		t.Errorf("error = %v", err)
	}
}

// TestTourUnreadable checks that the tour lists unreadable directories and continues. No
// user can open them, because their paths are too long.
func TestTourUnreadable(t *testing.T) {
	const locked = unreadableShown + 2
	dir := sourceTree(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	// A path has at most 1024 or 4096 bytes. A Root opens one name at a time.
	name := strings.Repeat("n", 200)
	for length := len(dir); length < 3800; length += len(name) + 1 {
		if err := root.Mkdir(name, 0o777); err != nil {
			t.Skipf("no long paths here: %v", err)
		}
		below, err := root.OpenRoot(name)
		root.Close()
		if err != nil {
			t.Skipf("no long paths here: %v", err)
		}
		root = below
	}
	defer root.Close()
	for i := range locked {
		if err := root.Mkdir(string(rune('a'+i))+strings.Repeat("x", 250), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	out, err := callTour(t, nil, "-quick", "-dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" { // the number depends on the system
		if !strings.Contains(out, "could not be read and count as unreadable") {
			t.Skip("this system opens long paths")
		}
		return
	}
	for _, want := range []string{"12 could not be read", "xxx: file name too long\n", "and 2 more"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(out, "All results agree") {
		t.Error("unreadable directories failed the tour")
	}
}

// TestTourEmpty checks the hash of a directory without files.
func TestTourEmpty(t *testing.T) {
	out, err := callTour(t, nil, "-quick", "-dir", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "0 files, 1 directories") || !strings.Contains(out, "All results agree") {
		t.Errorf("stdout:\n%s", out)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1_211_202: "1,211,202", -1000: "-1,000", -100: "-100", 123_456_789: "123,456,789"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
}

// TestDefaultDir checks that the default directory is the source of Go.
func TestDefaultDir(t *testing.T) {
	o, err := smallTour().parse(t.Context(), nil)
	if err != nil {
		t.Skipf("no go command here: %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "runtime", "proc.go")); err != nil {
		t.Errorf("%s is not the source of Go: %v", o.Dir, err)
	}
	if o.Rounds != 3 || o.Workers != runtime.GOMAXPROCS(0) {
		t.Errorf("options = %+v", o)
	}
}
