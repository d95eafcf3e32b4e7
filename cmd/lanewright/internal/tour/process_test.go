package tour

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// TestMain runs the tasks of the fourth part in a worker process.
func TestMain(m *testing.M) {
	remote.Main()
	os.Exit(m.Run())
}

// openProcesses returns pool.New, or what stands for it where a test cannot start a process.
func openProcesses() func(*pool.Handlers, pool.Config) (*pool.Pool, error) {
	if os.Getenv(proctest.Emulated) != "" {
		return openNone
	}
	return pool.New
}

// openNone is pool.New of a system without worker processes.
func openNone(*pool.Handlers, pool.Config) (*pool.Pool, error) {
	return nil, fmt.Errorf("Config.Process: %w", errors.ErrUnsupported)
}

// runProcesses makes the fourth part with 4,000 calls.
func runProcesses(t *testing.T, json bool, open func(*pool.Handlers, pool.Config) (*pool.Pool, error)) (string, error) {
	t.Helper()
	var out strings.Builder
	r := &report{Console: &cli.Console{Out: &out, Err: io.Discard, Bar: &cli.Bar{}}, Options: Options{JSON: json, Workers: 2}, began: time.Now()}
	err := tourProcesses(t.Context(), r, 4_000, open)
	return out.String(), err
}

// TestTourProcesses checks the table and the sums of the fourth part.
func TestTourProcesses(t *testing.T) {
	proctest.Need(t)
	out, err := runProcesses(t, false, pool.New)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "There are no worker processes here") {
		t.Skip(out)
	}
	for _, want := range []string{"4. 4,000 calls into 2 worker processes", "answered   lost   sent again   replaced", "lane 0", "lane 1", " all ", "makes 8,002,000 in all"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestTourWithoutProcesses checks that the fourth part succeeds with one line where the system has no
// worker processes, and fails with any other error.
func TestTourWithoutProcesses(t *testing.T) {
	out, err := runProcesses(t, false, openNone)
	if want := "   There are no worker processes here: Config.Process: unsupported operation\n"; err != nil || !strings.HasSuffix(out, "in the middle\n\n"+want) {
		t.Errorf("%v, output\n%s", err, out)
	}
	out, err = runProcesses(t, true, openNone)
	if r := decode[processRow](t, out); err != nil || r.Unsupported == "" || r.Calls != 0 || r.Lanes != nil {
		t.Errorf("%v, output\n%s", err, out)
	}
	other := errors.New("no memory")
	if _, err := runProcesses(t, false, func(*pool.Handlers, pool.Config) (*pool.Pool, error) { return nil, other }); !errors.Is(err, other) {
		t.Errorf("error = %v", err)
	}
}

// checkProcessRow checks the line of the fourth part.
func checkProcessRow(t *testing.T, r processRow) {
	t.Helper()
	if r.Unsupported != "" {
		return
	}
	if r.Impl != "lanewright" || r.Workers != 2 || r.Seconds <= 0 || r.Calls != 4_000 || r.Replaced != 1 || len(r.Lanes) != 2 {
		t.Errorf("row = %+v", r)
	}
	if r.Answered+r.Lost != 4_000 || r.Result+r.Missing != 8_002_000 || r.Lost > tourProcessPermits {
		t.Errorf("row = %+v", r)
	}
}

// TestCheckProcesses checks that the fourth part fails when a count is wrong.
func TestCheckProcesses(t *testing.T) {
	good := func() *processRow {
		return &processRow{
			Calls: 10, Answered: 8, Lost: 2, Result: 50, Missing: 5, SentAgain: 3, Replaced: 1,
			Lanes: []processLaneRow{{Lane: 0, Answered: 3, Lost: 2, SentAgain: 3, Replaced: 1}, {Lane: 1, Answered: 5}},
		}
	}
	if err := good().check(); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		name string
		bad  func(r *processRow)
		want string
	}{
		{"a call is missing", func(r *processRow) { r.Answered-- }, "7 calls were answered and 2 were lost, of 10"},
		{"a call counts twice", func(r *processRow) { r.Lost++ }, "8 calls were answered and 3 were lost, of 10"},
		{"sum", func(r *processRow) { r.Result++ }, "want 55 in all"},
		{"sum of the lost calls", func(r *processRow) { r.Missing = 0 }, "want 55 in all"},
		{"one lane", func(r *processRow) { r.Lanes = r.Lanes[:1] }, "there are 1 lanes, want 2"},
		{"not replaced", func(r *processRow) { r.Lanes[0].Replaced = 0 }, "process 0 was killed"},
		{"replaced twice", func(r *processRow) { r.Lanes[0].Replaced = 2 }, "process 0 was killed"},
		{"another one is replaced", func(r *processRow) { r.Lanes[1].Replaced = 1 }, "process 0 was killed"},
		{"another one loses", func(r *processRow) { r.Lanes[1].Lost = 1 }, "process 0 was killed"},
		{"another one sends again", func(r *processRow) { r.Lanes[1].SentAgain = 1 }, "process 0 was killed"},
		{"idle", func(r *processRow) { r.Lanes[1].Answered = 0 }, "process 0 was killed"},
		{"answers of the lanes", func(r *processRow) { r.Lanes[1].Answered++ }, "the lanes 9 and 2"},
		{"losses of the lanes", func(r *processRow) { r.Lanes[0].Lost++ }, "the lanes 8 and 3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := good()
			tc.bad(r)
			if err := r.check(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one with %q", err, tc.want)
			}
		})
	}
}
