package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary a fake of a binary with models as well. The fake prints
// the lines of interleave.Check, depending on its flags.
func TestMain(m *testing.M) {
	if name := os.Getenv("MODELS_TEST_FAKE"); name != "" {
		fakeModels(name, strings.Join(os.Args[1:], " "))
	}
	os.Exit(m.Run())
}

func fakeModels(name, args string) {
	bound, complete := "1", true
	if m := regexp.MustCompile(`-interleave\.preemptions=(\d+)`).FindStringSubmatch(args); m != nil {
		bound, complete = m[1], m[1] == "3"
	}
	fmt.Println("something else")
	switch {
	case strings.Contains(args, "TestModelBroken"):
		fmt.Printf("model %s-broken executions=7 pruned=0 preemptions=%s complete=false\nit broke\n", name, bound)
		os.Exit(1)
	case strings.Contains(args, "TestModelLarge"):
		fmt.Printf("model %s-large executions=%d pruned=0 preemptions=%s complete=true\n", name, maxExecutions+1, bound)
	case strings.Contains(args, "TestModelAll"):
		fmt.Printf("model %s-all executions=10 pruned=5 preemptions=all complete=true\n", name)
	default:
		fmt.Printf("model %s-bound executions=100 pruned=0 preemptions=%s complete=%t\n", name, bound, complete)
		fmt.Printf("model %s-bound-2 executions=1 pruned=0 preemptions=%s complete=%t rounds=1\n", name, bound, complete)
	}
	os.Exit(0)
}

// newSoak returns a soak of fake tests with these names, and its output.
func newSoak(t *testing.T, names ...string) (*soak, *bytes.Buffer) {
	t.Helper()
	t.Setenv("MODELS_TEST_FAKE", "fake")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := new(bytes.Buffer)
	s := &soak{jobs: 2, out: out}
	for _, name := range names {
		s.tests = append(s.tests, &test{dir: ".", binary: self, name: name})
	}
	return s, out
}

// TestOwnBounds: without a budget, each test runs once with its own bound.
func TestOwnBounds(t *testing.T) {
	s, out := newSoak(t, "TestModelAll", "TestModelBound")
	if !s.explore(context.Background()) {
		t.Errorf("failed:\n%s", out)
	}
	for _, test := range s.tests {
		if test.used <= 0 {
			t.Errorf("%s has used %v of processor time", test.name, test.used)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines)
	want := []string{
		"model fake-all executions=10 pruned=5 preemptions=all complete=true",
		"model fake-bound executions=100 pruned=0 preemptions=1 complete=true",
		"model fake-bound-2 executions=1 pruned=0 preemptions=1 complete=true rounds=1",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("printed\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	const sum = "3 models (1 complete at 1 preemptions, 1 complete at 1 preemptions rounds=1, 1 complete without a bound), 111 executions and 5 pruned"
	if got := s.total.String(); got != sum {
		t.Errorf("total = %q, want %q", got, sum)
	}
}

// TestFailure: the output of a test that fails is printed.
func TestFailure(t *testing.T) {
	s, out := newSoak(t, "TestModelAll", "TestModelBroken")
	s.end = time.Now().Add(time.Hour)
	if s.explore(context.Background()) {
		t.Error("reported success")
	}
	for _, want := range []string{"FAILED . TestModelBroken", "it broke", "model fake-broken executions=7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestLargeModel: a model with too many executions within its own bound is a failure. In the
// rounds of a soak it is not.
func TestLargeModel(t *testing.T) {
	s, out := newSoak(t, "TestModelAll", "TestModelLarge")
	if s.explore(context.Background()) || !strings.Contains(out.String(), "TestModelLarge: fake-large has more than 1500000 executions") {
		t.Errorf("a large model is no failure:\n%s", out)
	}
	s, out = newSoak(t, "TestModelLarge")
	s.ok, s.end = true, time.Now().Add(time.Hour)
	s.round(t.Context(), s.tests, firstBound)
	if !s.ok {
		t.Errorf("the round failed:\n%s", out)
	}
}

// TestRounds: a soak raises the bound of bounded models only, until its end.
func TestRounds(t *testing.T) {
	s, out := newSoak(t, "TestModelAll", "TestModelBound")
	ctx, cancel := context.WithCancel(context.Background())
	s.end = time.Now().Add(time.Hour)
	s.out = writerFunc(func(p []byte) (int, error) {
		if strings.HasPrefix(string(p), "round of 5") {
			cancel()
		}
		return out.Write(p)
	})
	s.explore(ctx)
	if n := strings.Count(out.String(), "fake-all"); n != 1 {
		t.Errorf("a model without a bound ran %d times:\n%s", n, out)
	}
	const sum = "3 models (1 complete at 3 preemptions, 1 complete at 3 preemptions rounds=1, 1 complete without a bound), 313 executions and 5 pruned"
	if got := s.total.String(); got != sum {
		t.Errorf("total = %q, want %q\n%s", got, sum, out)
	}
}

// TestLongest: the table has the tests with the most processor time, the longest one first.
func TestLongest(t *testing.T) {
	s := &soak{tests: []*test{
		{dir: "./a", name: "TestModelShort", used: time.Second},
		{dir: "./b", name: "TestModelLong", used: 90 * time.Second},
		{dir: "./c", name: "TestModelMiddle", used: 2500 * time.Millisecond},
	}}
	const want = "   90.0 s  ./b TestModelLong\n    2.5 s  ./c TestModelMiddle\n"
	if got := s.longest(2); got != want {
		t.Errorf("table\n%swant\n%s", got, want)
	}
	if got := s.longest(10); strings.Count(got, "\n") != 3 {
		t.Errorf("table of three tests\n%s", got)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestShare: the shares of a round add up to the remaining time.
func TestShare(t *testing.T) {
	s := &soak{jobs: 2, end: time.Now().Add(10 * time.Minute)}
	two := &test{models: make([]model, 2)}
	for _, tc := range []struct {
		waiting int
		t       *test
		want    time.Duration
	}{
		{10, &test{}, 2 * time.Minute},
		{10, two, time.Minute},
		{1, &test{}, 10 * time.Minute}, // the other processor is idle
	} {
		if got := s.share(tc.t, tc.waiting); got > tc.want || got < tc.want-10*time.Second {
			t.Errorf("share of one of %d tests with %d models = %v, want %v", tc.waiting, len(tc.t.models), got, tc.want)
		}
	}
	s.end = time.Now().Add(-time.Minute)
	if got := s.share(two, 5); got != time.Second {
		t.Errorf("share after the end = %v", got)
	}
}

// TestFind: the model tests of a package are found. A package that does not build, and a
// search without a result, are errors.
func TestFind(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test binary")
	}
	tmp := t.TempDir()
	tests, err := find(t.Context(), tmp, []string{"../park"}, regexp.MustCompile("Sema"))
	if err != nil {
		t.Fatal(err)
	}
	if len(tests) == 0 || !strings.HasPrefix(tests[0].name, "TestModel") {
		t.Errorf("found %d tests", len(tests))
	}
	if _, err := find(t.Context(), tmp, []string{"../nothing"}, regexp.MustCompile("")); err == nil {
		t.Error("found tests in a directory that does not exist")
	}
	if _, err := find(t.Context(), tmp, []string{"../park"}, regexp.MustCompile("^None$")); err == nil {
		t.Error("a search without a result is no error")
	}
}

// TestModelDirs: a directory with files of model tests is found once, and hidden
// directories are not searched.
func TestModelDirs(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/x_model_test.go", "a/y_model_test.go", "b/x_test.go", ".c/x_model_test.go"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	got, err := modelDirs(".")
	if want := []string{"./a"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("modelDirs = %q, %v, want %q", got, err, want)
	}
}

// TestArguments: bad arguments are refused.
func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-j", "0"}, {"-budget", "-1s"}, {"-none"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("run %q = %d, printed %q and %q", args, code, &out, &errs)
		}
	}
}
