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

// A fakeTest takes what Check says.
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

// check runs Check on a fake test and returns what it printed.
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

// setFlag sets a flag for the time of a test.
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

func TestCheckGood(t *testing.T) {
	for _, tc := range []struct {
		o    interleave.Options
		line string
	}{
		{all, "model good-one executions=29 pruned=0 preemptions=all complete=true\n"},
		{sleep, "model good-one executions=4 pruned=3 preemptions=all complete=true\n"},
		{bound1, "model good-one executions=7 pruned=0 preemptions=1 complete=true\n"},
		{interleave.Options{Strategy: interleave.PCT, Executions: 7}, "model good-one executions=7 pruned=0 preemptions=all complete=false\n"},
	} {
		f, r, out := check(t, "good-one", tc.o, mpscProgram(mpscBugs{}, 1))
		if len(f.errors) != 0 || r.Failure != nil {
			t.Errorf("failed: %v", f.errors)
		}
		if out != tc.line {
			t.Errorf("printed %q, want %q", out, tc.line)
		}
	}
	mustPanic(t, "spaces", func() { interleave.Check(&fakeTest{}, "two words", all, nil) })
}

func TestCheckBad(t *testing.T) {
	prog := stackProgram(true)
	f, r, out := check(t, "bad-one", bound1, prog)
	if want := "model bad-one executions=2 pruned=0 preemptions=1 complete=false\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if len(f.errors) != 1 || r.Failure == nil {
		t.Fatalf("got the errors %q", f.errors)
	}
	for _, text := range []string{
		"model bad-one: interleave: tasks ran",
		"execution 2, schedule " + r.Failure.Schedule,
		"CompareAndSwap(p",
		"programs_test.go:",
		" -run '^TestFake$/^a b$' ./interleave -interleave.replay=bad-one:" + r.Failure.Schedule,
	} {
		if !strings.Contains(f.errors[0], text) {
			t.Errorf("the report has no %q:\n%s", text, f.errors[0])
		}
	}

	setFlag(t, "interleave.replay", "bad-one:"+r.Failure.Schedule)
	f, again, _ := check(t, "bad-one", bound1, prog)
	if len(f.errors) != 1 || again.Executions != 1 || again.Failure == nil || again.Failure.Message != r.Failure.Message {
		t.Errorf("the replay gave %+v and %q", again, f.errors)
	}
	f, again, _ = check(t, "other", bound1, stackProgram(false))
	if len(f.errors) != 0 || !again.Complete {
		t.Errorf("the schedule of another model was run: %+v, %q", again, f.errors)
	}

	setFlag(t, "interleave.replay", "-")
	f, again, _ = check(t, "bad-one", bound1, stackProgram(false))
	if len(f.errors) != 0 || len(f.logs) != 1 || again.Executions != 1 || !strings.Contains(f.logs[0], "Load() = p") {
		t.Errorf("a good replay gave %+v, the errors %q and the logs %q", again, f.errors, f.logs)
	}
}

func TestCheckMisuse(t *testing.T) {
	f, _, _ := check(t, "misused", interleave.Options{Depth: -1}, func(*interleave.M) {})
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "Depth") || strings.Contains(f.errors[0], "run it again") {
		t.Errorf("got the errors %q", f.errors)
	}
}

func TestCheckFlags(t *testing.T) {
	setFlag(t, "interleave.preemptions", "2")
	for _, tc := range []struct{ given, used int }{{0, 2}, {1, 2}, {2, 2}, {3, 3}, {interleave.All, interleave.All}} {
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
			var got [2][5]int32 // of each thread: they share nothing but x
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
		t.Error("the seed of the flag was not used")
	}
}
