package crash_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/crash"
)

// atTheStep is a use of the package. It is nothing but a return in a normal build.
func atTheStep(b []byte) error {
	crash.At(crash.Claimed)            //gcassert:inline
	crash.Half(crash.HeaderHalf, b, 8) //gcassert:inline
	return crash.Fail(crash.Fork)      //gcassert:inline
}

// TestStepsHaveNames: each step has a name of its own, and a side, but for Fork.
func TestStepsHaveNames(t *testing.T) {
	seen, count := map[string]crash.Step{}, 0
	for _, ofHost := range []bool{false, true} {
		for _, s := range crash.Steps(ofHost) {
			name := s.String()
			if other, ok := seen[name]; name == "" || ok && other != s {
				t.Errorf("step %d and step %d have the name %q", other, s, name)
			}
			seen[name] = s
		}
	}
	for s := crash.Executed; s <= crash.Fork; s++ {
		if _, ok := seen[s.String()]; !ok && s != crash.Fork {
			t.Errorf("step %v is that of no side", s)
		}
		count++
	}
	if len(seen) != count-1 {
		t.Errorf("the sides have %d steps, want %d", len(seen), count-1)
	}
	if got := crash.Step(200).String(); got != "Step(200)" {
		t.Errorf("an unknown step is %q", got)
	}
}

// TestStepsArePlaced: the code has each step, so that a sweep waits for none in vain. Handler is in a test.
func TestStepsArePlaced(t *testing.T) {
	source, err := os.ReadFile("step.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	_, list, _ := strings.Cut(string(source), "const (\n\tExecuted")
	list, _, _ = strings.Cut("Executed"+list, "endOfSteps")
	for line := range strings.Lines(list) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" {
			names = append(names, name)
		}
	}
	if len(names) != int(crash.Fork) {
		t.Fatalf("%d constants, want %d: %q", len(names), crash.Fork, names)
	}
	code := ""
	for _, pattern := range []string{"../../transport/*.go", "../../pool/*.go", "../child/*.go", "../process/*.go", "../shm/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.go") || strings.HasSuffix(f, "kill_sweep_test.go") {
				code += string(b)
			}
		}
	}
	for _, name := range names {
		if n := strings.Count(code, "(crash."+name+")") + strings.Count(code, "(crash."+name+","); n == 0 {
			t.Errorf("no code has the step %s", name)
		}
	}
}

// TestOff: without the tag, nothing happens at a step.
func TestOff(t *testing.T) {
	if crash.Enabled {
		t.Skip("the tag crash is set")
	}
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if err := atTheStep(b); err != nil || b[7] != 8 {
		t.Errorf("%v, %v", b, err)
	}
}
