package interleave_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// A fakeTest records what Check logs.
type fakeTest struct {
	logs, errors []string
}

func (f *fakeTest) Helper()      {}
func (f *fakeTest) Name() string { return "TestFake/a b" }

func (f *fakeTest) Logf(format string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

func (f *fakeTest) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// check runs Check on a fake test. out is the text on the standard output.
func check(t *testing.T, name string, o interleave.Options, body func(m *interleave.M)) (f *fakeTest, r interleave.Result, out string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	f = &fakeTest{}
	func() {
		defer func() { os.Stdout = stdout }()
		r = interleave.Check(f, name, o, body)
	}()
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	return f, r, string(b)
}

// setFlag sets a flag until the end of the test.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(name, old); err != nil {
			t.Error(err)
		}
	})
}

// TestCheckPrintsOneLine: Check prints one line with the counts of the exploration,
// and it panics when the name of the model contains a space.
func TestCheckPrintsOneLine(t *testing.T) {
	for _, tc := range []struct {
		o    interleave.Options
		line string
	}{
		{all, "model passing executions=29 pruned=0 preemptions=all complete=true\n"},
		{sleep, "model passing executions=4 pruned=0 preemptions=all complete=true reduce=on\n"},
		{bound1, "model passing executions=7 pruned=0 preemptions=1 complete=true\n"},
		{interleave.Options{Strategy: interleave.PCT, Executions: 7}, "model passing executions=7 pruned=0 preemptions=all complete=false strategy=pct\n"},
	} {
		f, r, out := check(t, "passing", tc.o, mpscProgram(mpscBugs{}, 1))
		if len(f.errors) != 0 || r.Failure != nil {
			t.Errorf("failed: %v", f.errors)
		}
		if out != tc.line {
			t.Errorf("printed %q, want %q", out, tc.line)
		}
	}
	mustPanic(t, "spaces", func() { interleave.Check(&fakeTest{}, "two words", all, nil) })
}

// TestCheckReportsFailureAndReplay: the report of a failure has the steps, the
// schedule and the command that runs it again. The flag of that command runs this
// execution for the named model only, and logs its steps when it does not fail.
func TestCheckReportsFailureAndReplay(t *testing.T) {
	prog := stackProgram(true)
	f, r, out := check(t, "failing", bound1, prog)
	if want := "model failing executions=2 pruned=0 preemptions=1 complete=false\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if len(f.errors) != 1 || r.Failure == nil {
		t.Fatalf("got the errors %q", f.errors)
	}
	for _, text := range []string{
		"model failing: interleave: tasks ran",
		"execution 2, 1 preemption, schedule " + r.Failure.Schedule,
		"CompareAndSwap(p",
		"programs_test.go:",
		" -run '^TestFake$/^a b$' ./interleave -interleave.replay=failing:" + r.Failure.Schedule,
	} {
		if !strings.Contains(f.errors[0], text) {
			t.Errorf("the report has no %q:\n%s", text, f.errors[0])
		}
	}

	setFlag(t, "interleave.replay", "failing:"+r.Failure.Schedule)
	f, again, _ := check(t, "failing", bound1, prog)
	if len(f.errors) != 1 || again.Executions != 1 || again.Failure == nil || again.Failure.Message != r.Failure.Message {
		t.Errorf("the replay gave %+v and %q", again, f.errors)
	}
	f, again, _ = check(t, "other", bound1, stackProgram(false))
	if len(f.errors) != 0 || !again.Complete {
		t.Errorf("Check has run the schedule of another model: %+v, %q", again, f.errors)
	}

	setFlag(t, "interleave.replay", "-")
	f, again, _ = check(t, "failing", bound1, stackProgram(false))
	if len(f.errors) != 0 || len(f.logs) != 1 || again.Executions != 1 || !strings.Contains(f.logs[0], "Load() = p") {
		t.Errorf("the replay without a failure gave %+v, the errors %q and the logs %q", again, f.errors, f.logs)
	}
}

// TestCheckPrintsNoReplayForMisuse: the report of a misuse contains no command.
func TestCheckPrintsNoReplayForMisuse(t *testing.T) {
	f, _, _ := check(t, "misused", interleave.Options{Depth: -1}, func(*interleave.M) {})
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "Depth") || strings.Contains(f.errors[0], "run it again") {
		t.Errorf("got the errors %q", f.errors)
	}
}

// TestFlagsOverrideOptions: -interleave.preemptions raises a bound,
// -interleave.budget limits DFS and extends PCT and Random, and -interleave.seed
// replaces the seed.
func TestFlagsOverrideOptions(t *testing.T) {
	setFlag(t, "interleave.preemptions", "2")
	for _, tc := range []struct{ given, used int }{{interleave.None, 2}, {1, 2}, {2, 2}, {3, 3}, {interleave.All, interleave.All}} {
		_, r, _ := check(t, "bounded", interleave.Options{Preemptions: tc.given}, mpscProgram(mpscBugs{}, 1))
		if r.Preemptions != tc.used {
			t.Errorf("the bound %d became %d, want %d", tc.given, r.Preemptions, tc.used)
		}
	}
	setFlag(t, "interleave.budget", "1ms")
	_, r, _ := check(t, "large", all, throttleProgram(throttleBugs{}, 3, 3, 0))
	if r.Complete || r.Executions == 0 {
		t.Errorf("with a budget got %+v", r)
	}
	start := time.Now()
	_, r, _ = check(t, "small", interleave.Options{Strategy: interleave.Random, Executions: 1}, mpscProgram(mpscBugs{}, 1))
	if r.Executions < 2 || time.Since(start) < time.Millisecond {
		t.Errorf("a random exploration did not use its budget: %+v", r)
	}
	setFlag(t, "interleave.budget", "0")

	first := func() string {
		order := ""
		check(t, "seeded", interleave.Options{Strategy: interleave.Random, Executions: 5, Seed: 1}, func(m *interleave.M) {
			var x interleave.Int32
			var got [2][5]int32 // one row for each thread: the threads share x only
			for i := range got {
				m.Go("t", func() {
					for j := range got[i] {
						got[i][j] = x.Add(1)
					}
				})
			}
			m.Final(func() { order += fmt.Sprint(got) })
		})
		return order
	}
	one := first()
	setFlag(t, "interleave.seed", "2")
	if first() == one {
		t.Error("the flag -interleave.seed has no effect")
	}
}
