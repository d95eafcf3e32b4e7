package stress

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// TestMain runs the tasks of the scenario "process" in a worker process. An emulator cannot start one, so the tests do
// without the scenario there.
func TestMain(m *testing.M) {
	if os.Getenv(proctest.Emulated) == "" {
		WorkerMain()
	}
	os.Exit(m.Run())
}

// needProcesses skips a test where no worker process can be started.
func needProcesses(t *testing.T) {
	t.Helper()
	proctest.Need(t)
	p, err := pool.New(newProcessTasks(nil).handlers, pool.Config{Lanes: 1, Process: &pool.Process{Env: []string{journalVariable + "=" + filepath.Join(t.TempDir(), "journal")}}})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestProcessFaultsAreInjected checks that the scenario kills processes, and that calls are lost and
// sent again for that.
func TestProcessFaultsAreInjected(t *testing.T) {
	if testing.Short() {
		t.Skip("a short round kills too few processes")
	}
	needProcesses(t)
	r, err := Run(t.Context(), Config{Rounds: 2, Seed: *seed, HangTimeout: 2 * time.Minute, Only: []string{processScenario}})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Faults
	for name, n := range map[string]uint64{
		"calls": r.Calls, "worker deaths": r.Deaths, "lost": r.Lost, "sent again": r.Resent, "kills": f.Kills, "floods": f.Floods, "blocks": f.Blocks,
		"cancels": f.Cancels, "aborts": f.Aborts, "timeouts": f.Timeouts, "pauses": f.Pauses, "resizes": f.Resizes, "leases": f.Leases,
	} {
		if n == 0 {
			t.Errorf("%s: 0\n%v", name, r)
		}
	}
	if r.Doubles != 0 {
		t.Errorf("%d doubles without a violation", r.Doubles)
	}
}

// TestProcessNeedsWorkerMain checks that a program without WorkerMain has no scenario with worker
// processes, because these would run the program itself.
func TestProcessNeedsWorkerMain(t *testing.T) {
	defer hasWorkerMain.Store(hasWorkerMain.Swap(false))
	if _, err := Run(t.Context(), Config{Rounds: 1, Only: []string{processScenario}}); err == nil || !strings.Contains(err.Error(), "stress.WorkerMain") {
		t.Errorf("err = %v, want one that names WorkerMain", err)
	}
	is := func(sc scenario) bool { return sc.name == processScenario }
	if all, err := chooseScenarios(nil); err != nil || slices.ContainsFunc(all, is) || len(all) != len(Scenarios())-1 {
		t.Errorf("%d scenarios, %v", len(all), err)
	}
}

// newTestSoak returns a soak without a pool, with a call of each action.
func newTestSoak() *processSoak {
	k := &processSoak{r: newRound(processScenario, 1, Config{HangTimeout: 2 * time.Millisecond}), calls: make([]processRecord, processActions)}
	for i := range k.calls {
		k.calls[i].call = processCall{ID: uint64(i), Action: processAction(i), Amount: 2}
	}
	k.next.Store(int64(len(k.calls)))
	return k
}

// TestProcessSoakChecks checks that the scenario finds each kind of wrong outcome, and accepts the
// right ones.
func TestProcessSoakChecks(t *testing.T) {
	lost, notStarted := error(pool.ExitError{Code: 3}), errors.Join(pool.ErrLaneDiscarded, pool.ErrNotStarted)
	failure := func(id uint64) error {
		return &pool.RemoteError{Message: processCall{ID: id}.failure().Error()}
	}
	for _, tc := range []struct {
		name   string
		action processAction
		value  uint64
		err    error
		counts [events]int
		want   string // in the violation; "": there is none
	}{
		{"result", processReturns, soakAnswer(0), nil, [events]int{1}, ""},
		{"wrong result", processReturns, 7, nil, [events]int{1}, "has the result 7"},
		{"result of a handler that fails", processFails, soakAnswer(uint64(processFails)), nil, [events]int{1}, "has the result"},
		{"result without an entry", processReturns, soakAnswer(0), nil, [events]int{0}, "was not entered"},
		{"two entries", processReturns, soakAnswer(0), nil, [events]int{2}, "was entered 2 times"},
		{"two entries of a lost call", processReturns, 0, lost, [events]int{2}, "was entered 2 times"},
		{"lost", processReturns, 0, lost, [events]int{1}, ""},
		{"lost before its entry", processReturns, 0, lost, [events]int{0}, ""},
		{"lost after its answer", processDiesSettled, 0, lost, [events]int{1, 1}, "the answer of call 13 was published"},
		{"answered before its death", processDiesSettled, soakAnswer(uint64(processDiesSettled)), nil, [events]int{1, 1}, ""},
		{"lost and not started", processReturns, 0, errors.Join(lost, pool.ErrNotStarted), [events]int{0}, "is lost and has not started"},
		{"not started", processReturns, 0, notStarted, [events]int{0}, ""},
		{"not started and entered", processReturns, 0, notStarted, [events]int{1}, "was entered, and the call ended with"},
		{"closed", processReturns, 0, pool.ErrThreadClosed, [events]int{1}, "ended with Thread closed"},
		{"error of another call", processFails, 0, failure(99), [events]int{1}, "ended with the error of a handler"},
		{"error of a handler that returns", processReturns, 0, failure(0), [events]int{1}, "ended with the error of a handler"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newTestSoak()
			rec := &k.calls[tc.action]
			k.check(rec.call, tc.value, tc.err)
			k.checkCounts(rec, tc.counts)
			got := strings.Join(k.r.failures, "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("violations %q, want %q", got, tc.want)
			}
		})
	}
	k := newTestSoak()
	k.checkCounts(&k.calls[0], [events]int{1})
	k.note(k.calls[1].call, nil)
	k.note(k.calls[1].call, nil)
	k.checkCounts(&k.calls[1], [events]int{1})
	if got := strings.Join(k.r.failures, "\n"); !strings.Contains(got, "call 0, 0, has 0 outcomes") || !strings.Contains(got, "call 1, 1, has 2 outcomes") {
		t.Errorf("violations %q", got)
	}
}

// TestProcessOutput checks that lines of output are counted, and that a missing one is found unless the
// pool says that it was dropped.
func TestProcessOutput(t *testing.T) {
	const id = processFloods // whose handler writes two lines
	line := func(n string) []byte { return []byte("flood 6 line " + n + " " + floodFill) }
	for _, tc := range []struct {
		name  string
		lines [][]byte
		want  string
	}{
		{"both", [][]byte{line("0"), []byte("goroutine 1 [running]:"), line("1")}, ""},
		{"behind the begin of a crash", [][]byte{line("0"), append([]byte("panic: "), line("1")...)}, ""},
		{"one", [][]byte{line("0"), line("1")[:30]}, "1 lines of output have not come, and 0 were dropped"},
		{"one and a dropped one", [][]byte{line("0"), []byte("child: 1 lines of the output were dropped")}, ""},
		{"three", [][]byte{line("0"), line("1"), line("1")}, "has written 2 lines of output, and 3 have come"},
		{"another call", [][]byte{line("0"), line("1"), []byte("flood 99 line 0 " + floodFill)}, "a line of the output of call 99"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newTestSoak()
			for _, l := range tc.lines {
				k.output(0, l, false)
			}
			counts := make([][events]int, len(k.calls))
			counts[id][eventFlooded] = 1
			k.checkFloods(counts)
			got := strings.Join(k.r.failures, "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("violations %q, want %q", got, tc.want)
			}
		})
	}
}

// TestJournal checks that a journal counts what was recorded, and refuses what was not.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	a, errA := openJournal(path)
	b, errB := openJournal(path)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(a.file.Close(), b.file.Close()) }()
	a.record(2, eventEntered)
	b.record(2, eventEntered)
	a.record(0, eventFlooded)
	got, err := readJournal(path, 3)
	if want := [][events]int{{0, 0, 1}, {}, {2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := readJournal(path, 2); err == nil || !strings.Contains(err.Error(), "call 2") {
		t.Errorf("a record of a call that was not made: %v", err)
	}
	if _, err := a.file.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := readJournal(path, 3); err == nil {
		t.Error("a part of a record is accepted")
	}
}

// TestBlob checks that a blob has the number and the size that it was made with, and that each changed
// byte is found.
func TestBlob(t *testing.T) {
	for _, size := range []int{blobHead, blobHead + 1, blobHead + blobPeriod, 5000} {
		b := newBlob(7, 9, size)
		if id, answer, err := readBlob(b); err != nil || id != 7 || answer != 9 || len(b) != size {
			t.Errorf("%d bytes: %d, %d, %v", size, id, answer, err)
		}
		for _, i := range []int{blobHead, size / 2, size - 1} {
			if i < blobHead || i >= size {
				continue
			}
			b[i]++
			if _, _, err := readBlob(b); err == nil {
				t.Errorf("%d bytes: a change of byte %d is not found", size, i)
			}
			b[i]--
		}
		if size > 2*blobPeriod {
			copy(b[blobHead+256:], b[blobHead:]) // a block at a wrong position
			if _, _, err := readBlob(b); err == nil {
				t.Errorf("%d bytes: a moved block is not found", size)
			}
		}
	}
	if _, _, err := readBlob(binary.LittleEndian.AppendUint64(nil, 1)); err == nil {
		t.Error("eight bytes are a blob")
	}
}

// TestHandles checks that a goroutine counts as in a handler until the function that publishes its
// answer has returned.
func TestHandles(t *testing.T) {
	const stacks = "goroutine 1 [running]:\nmain.f()\n\ngoroutine 12 [select]:\nx/pool.(*worker).run(0x1)\n\ngoroutine 120 [select]:\nmain.g()"
	for name, want := range map[string]bool{"goroutine 1 ": false, "goroutine 12 ": true, "goroutine 120 ": false, "goroutine 7 ": true} {
		if got := handles(stacks, name); got != want {
			t.Errorf("handles(%q) = %t, want %t", name, got, want)
		}
	}
}
