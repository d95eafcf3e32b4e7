package lint_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// badInputs is the number of bad inputs in docs/VERIFICATION.md, from V-01 on. A number
// with several inputs has a row for each, with a letter: V-05a, V-05b.
const badInputs = 17

var (
	inputRow  = regexp.MustCompile(`^\| (V-\d\d[a-z]?) \| (.+) \| (.+) \| (.+) \|$`)
	inputID   = regexp.MustCompile(`\bV-\d\d[a-z]?\b`)
	notTested = []string{"with the lanes", "with processes"}
)

// badInputRows checks the rows of the table. Each number has a row, the rows are in
// order, and each test of a row exists and cites the row in its comment or its cases.
// cites holds the IDs that each test cites.
func badInputRows(text string, cites map[string]map[string]bool) []string {
	var bad, ids []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := inputRow.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "| V-") {
				bad = append(bad, fmt.Sprintf("want `| ID | input | behaviour | tests |`, got %.60s", line))
			}
			continue
		}
		id, tests := m[1], m[4]
		ids = append(ids, id)
		if slices.Contains(notTested, tests) {
			continue
		}
		for name := range strings.SplitSeq(tests, ", ") {
			switch ids, exists := cites[name]; {
			case !testName.MatchString(name):
				bad = append(bad, fmt.Sprintf("%s: %q is no name of a test", id, name))
			case !exists:
				bad = append(bad, fmt.Sprintf("%s: no _test.go file declares %s", id, name))
			case !ids[id]:
				bad = append(bad, fmt.Sprintf("%s: %s does not cite it", id, name))
			}
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		bad = append(bad, fmt.Sprintf("the rows are out of order or repeated: %q", ids))
	}
	for n := 1; n <= badInputs; n++ {
		if want := fmt.Sprintf("V-%02d", n); !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, want) }) {
			bad = append(bad, want+" is missing")
		}
	}
	return bad
}

// TestBadInputs checks that each bad input in docs/VERIFICATION.md has the tests that
// its row names.
func TestBadInputs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "VERIFICATION.md"))
	if err != nil {
		t.Fatal(err)
	}
	cites := map[string]map[string]bool{}
	for name, sources := range testFuncs(t) {
		cites[name] = map[string]bool{}
		for _, s := range sources {
			for _, id := range inputID.FindAllString(funcText(s, name), -1) {
				cites[name][id] = true
			}
		}
	}
	for _, b := range badInputRows(string(text), cites) {
		t.Errorf("docs/VERIFICATION.md: %s", b)
	}
}

// funcText returns the lines of a function with its comment.
func funcText(s *source, name string) string {
	for _, decl := range s.ast.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != name {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		return strings.Join(s.lines[s.fset.Position(from).Line-1:s.fset.Position(f.End()).Line], "\n")
	}
	return ""
}

// TestBadInputsRule tries the rule on tables with one fault each.
func TestBadInputsRule(t *testing.T) {
	var good strings.Builder
	for n := 1; n <= badInputs; n++ {
		fmt.Fprintf(&good, "| V-%02d | nil | an error | with the lanes |\n", n)
	}
	cites := map[string]map[string]bool{"TestA": {"V-01": true, "V-01a": true}, "TestB": {}}
	first, rest, _ := strings.Cut(good.String(), "\n")
	tests := func(list string) string {
		return strings.Replace(first, "with the lanes", list, 1) + "\n" + rest
	}
	for _, tc := range []struct {
		name string
		text string
		want int
	}{
		{"good", good.String(), 0},
		{"tested", tests("TestA"), 0},
		{"with a letter", strings.Replace(tests("TestA"), "V-01", "V-01a", 1), 0},
		{"not cited", tests("TestB"), 1},
		{"one of two not cited", tests("TestA, TestB"), 1},
		{"no such test", tests("TestC"), 1},
		{"not a test", tests("soon"), 1},
		{"cites another", strings.Replace(tests("TestA"), "V-01", "V-01b", 1), 1},
		{"missing", rest, 1},
		{"twice", first + "\n" + good.String(), 1},
		{"out of order", rest + first + "\n", 1},
		{"broken row", good.String() + "| V-99 is broken\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := badInputRows(tc.text, cites); len(got) != tc.want {
				t.Errorf("got %d findings %q, want %d", len(got), got, tc.want)
			}
		})
	}
}

// mayBeCopied lists types whose comment forbids copies and that hold no NoCopy, and why.
var mayBeCopied = map[string]string{
	"mpsc.Node":        "a node in no queue may be copied, with the value that embeds it",
	"interleave.Sema":  "interleave imports no package of this module; a new one may be copied",
	"interleave.Mutex": "go vet finds its copies by its methods Lock and Unlock",
	"interleave.Pool":  "go vet finds its copies by the sync.Pool in it",
}

var notToCopy = regexp.MustCompile(`must\s+not\s+be\s+copied`)

// badCopies checks that a type whose comment forbids copies has a NoCopy field. go vet
// finds copies by that field.
func badCopies(s *source) []string {
	if s.test {
		return nil
	}
	var bad []string
	for _, decl := range s.ast.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			sp, ok := spec.(*ast.TypeSpec)
			if !ok || sp.Name.Name == "NoCopy" || mayBeCopied[s.ast.Name.Name+"."+sp.Name.Name] != "" {
				continue
			}
			x, ok := sp.Type.(*ast.StructType)
			if ok && notToCopy.MatchString(d.Doc.Text()+sp.Doc.Text()) && !slices.ContainsFunc(x.Fields.List, isNoCopy) {
				bad = append(bad, s.line(sp)+": "+sp.Name.Name+" must not be copied and has no field of type lfsync.NoCopy")
			}
		}
	}
	return bad
}

// isNoCopy reports whether f is a blank field of the type NoCopy.
func isNoCopy(f *ast.Field) bool {
	if len(f.Names) != 1 || f.Names[0].Name != "_" {
		return false
	}
	e := f.Type
	if sel, ok := e.(*ast.SelectorExpr); ok {
		e = sel.Sel
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "NoCopy"
}

// TestNoCopyFields checks that go vet finds copies of each type that forbids them: V-04a.
func TestNoCopyFields(t *testing.T) {
	for _, s := range files(t) {
		if public(s.dir) {
			report(t, badCopies(s))
		}
	}
	const doc = "package sched\n\n// T is it. It must not be\n// copied.\ntype T struct {"
	try(t, badCopies, []broken{
		{"good", "sched/a.go", doc + "_ lfsync.NoCopy; n int }", 0},
		{"in sync", "sched/a.go", doc + "_ NoCopy; n int }", 0},
		{"none", "sched/a.go", doc + "n int }", 1},
		{"another blank field", "sched/a.go", doc + "_ lfsync.Pad }", 1},
		{"may be copied", "sched/a.go", "package sched\n\n// T is it.\ntype T struct { n int }", 0},
		{"test", "sched/a_test.go", doc + "n int }", 0},
	})
}

// monotonic lists files that compare two readings of the monotonic clock, which does not jump.
// Those of sched check whether the goroutine has the clock of a bubble, give the age of a state in
// Stats, and state when Inspect has found a callback. No task or wait depends on them.
var monotonic = []string{"internal/cpu/ticks_generic.go", "sched/inspect.go", "sched/scheduler.go", "sched/stats.go"}

// ticking lists files that compare two readings of the cycle counter: when a Do yields its place, when
// fork-join requests a fork, and how long a Yielder waits. A jump of the counter makes one of these
// too early or too late.
var ticking = []string{"sched/do.go", "sched/fork_demand.go", "sched/fork_task.go", "internal/park/yielder.go"}

// badClock checks that a file reads neither the clock nor the cycle counter.
func badClock(s *source) []string {
	if s.test {
		return nil
	}
	var bad []string
	s.selectors(module+"/internal/cpu", func(sel *ast.SelectorExpr) {
		if sel.Sel.Name == "Ticks" && !slices.Contains(ticking, s.path) {
			bad = append(bad, s.line(sel)+": cpu.Ticks reads a counter that can jump; use a timer")
		}
	})
	if slices.Contains(monotonic, s.path) {
		return bad
	}
	s.selectors("time", func(sel *ast.SelectorExpr) {
		if slices.Contains([]string{"Now", "Since", "Until", "Unix", "UnixMilli", "Date"}, sel.Sel.Name) {
			bad = append(bad, s.line(sel)+": time."+sel.Sel.Name+" reads a clock that can jump; use a timer")
		}
	})
	return bad
}

// TestNoClock checks that no code that schedules or waits reads the clock, and none but that of ticking
// the cycle counter: V-17b. Timers run on the monotonic clock, so that a jump of the system clock has
// no effect.
func TestNoClock(t *testing.T) {
	for _, s := range files(t, "sync", "mpsc", "runqueue", "sched", "internal/park", "internal/atomix", "internal/cpu") {
		report(t, badClock(s))
	}
	try(t, badClock, []broken{
		{"now", "sched/a.go", `package sched; import "time"; var t = time.Now()`, 1},
		{"ticks", "sched/a.go", `package sched; import "github.com/lanewright/lanewright/internal/cpu"; var t = cpu.Ticks()`, 1},
		{"ticks of a Do", "sched/do.go", `package sched; import "github.com/lanewright/lanewright/internal/cpu"; var t = cpu.Ticks()`, 0},
		{"ticks where the clock is allowed", "sched/stats.go", `package sched; import "github.com/lanewright/lanewright/internal/cpu"; var t = cpu.Ticks()`, 1},
		{"timer", "sched/a.go", `package sched; import "time"; var t = time.NewTimer(time.Second)`, 0},
		{"test", "sched/a_test.go", `package sched; import "time"; var t = time.Now()`, 0},
	})
}
