package lint_test

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// badEnds checks that in transport only an End has the ends of mailboxes, and that pool uses none.
func badEnds(s *source) []string {
	var bad []string
	ends := map[string]bool{"Sender": true, "Receiver": true}
	if s.test {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			fields, ok := n.Type.(*ast.StructType)
			if !ok || n.Name.Name == "End" {
				break
			}
			for _, f := range fields.Fields.List {
				t := f.Type
				if p, ok := t.(*ast.StarExpr); ok {
					t = p.X
				}
				if id, ok := t.(*ast.Ident); ok && ends[id.Name] {
					bad = append(bad, s.line(f)+": only an End has the end of a mailbox")
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "transport" && ends[strings.TrimPrefix(n.Sel.Name, "New")] {
				bad = append(bad, s.line(n)+": a lane sends and receives by the end of a link")
			}
		}
		return true
	})
	return bad
}

// TestOneTypeDrivesTheMailbox checks that one type, the End, drives both mailboxes of a link: K-069.
func TestOneTypeDrivesTheMailbox(t *testing.T) {
	for _, s := range files(t, "pool", "transport") {
		report(t, badEnds(s))
	}
	try(t, badEnds, []broken{
		{"holds", "pool/a.go", `package pool; import "github.com/lanewright/lanewright/transport"; var s transport.Sender`, 1},
		{"makes", "pool/a.go", `package pool; import "github.com/lanewright/lanewright/transport"; var s = transport.NewReceiver(a, b, 1)`, 1},
		{"another type", "transport/a.go", `package transport; type a struct { s *Sender; r Receiver }`, 2},
		{"the end", "transport/a.go", `package transport; type End struct { sender Sender; receiver Receiver }`, 0},
		{"a set", "pool/a.go", `package pool; import "github.com/lanewright/lanewright/transport"; var s *transport.AbortSet`, 0},
	})
}

// onlyIn lists calls of package pool that one function makes, or few, which are the steps of a call.
var onlyIn = map[string][]string{
	"w.claim":   {"endFrom"}, // another goroutine than the runner ends a call
	"w.finish":  {"finish"},  // the handler has returned
	"w.settle":  {"settle"},
	"c.settle":  {"endClaimed", "finish"},
	"f.fn":      {"run"}, // the handler is entered
	"body.exec": {"execute"},
}

// eachStep calls visit for each such call in s, with the name of the function that makes it.
func eachStep(s *source, visit func(step string, n ast.Node, in string)) {
	for _, d := range s.ast.Decls {
		name := ""
		if f, ok := d.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of := ""
			switch x := sel.X.(type) {
			case *ast.Ident:
				of = x.Name
			case *ast.SelectorExpr:
				of = x.Sel.Name
			}
			if step := of + "." + sel.Sel.Name; onlyIn[step] != nil {
				visit(step, n, name)
			}
			return true
		})
	}
}

// badSteps checks that the steps of a call are made in one place.
func badSteps(s *source) []string {
	var bad []string
	eachStep(s, func(step string, n ast.Node, in string) {
		if where := onlyIn[step]; !s.test && !slices.Contains(where, in) {
			bad = append(bad, s.line(n)+": "+step+" is for "+strings.Join(where, " and "))
		}
	})
	return bad
}

// TestOneStepOfEachKind checks that one function of package pool enters handlers, and that one function claims a call for
// another goroutine than its runner.
func TestOneStepOfEachKind(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range files(t, "pool") {
		report(t, badSteps(s))
		eachStep(s, func(step string, _ ast.Node, _ string) { seen[step] = true })
	}
	for step := range onlyIn {
		if !seen[step] {
			t.Errorf("no code of pool calls %s", step)
		}
	}
	try(t, badSteps, []broken{
		{"another claim", "pool/a.go", `package pool; func (c *call) drop(w callWord) { w.claim(1) }`, 1},
		{"the claim", "pool/a.go", `package pool; func (c *call) endFrom(w callWord) { w.claim(1) }`, 0},
		{"another entry", "pool/a.go", `package pool; func (f *Func) hurry() { f.fn(ctx, arg) }`, 1},
		{"another run", "pool/a.go", `package pool; func (l *lane) hurry(c *call) { c.body.exec(c) }`, 1},
	})
}

// badKinds checks that no code of package pool but that of the executors, and of what makes or shows lanes, depends on
// the kind of an executor.
func badKinds(s *source) []string {
	makes := map[string][]string{ // the functions outside of the files of the executors, and what they may name
		"newLane": {"goroutineExecutor", "newProcessExecutor"}, "New": {"newInlineExecutor"}, "Pool": {"inlineExecutor"},
		"info": {"isInline"}, "IsInline": {"isInline"}, "callOn": {"isInline"},
	}
	if strings.HasPrefix(s.path, "pool/process") { // the processes of that executor
		return nil
	}
	var bad []string
	if s.test || strings.HasPrefix(s.path, "pool/executor") {
		return nil
	}
	for _, d := range s.ast.Decls {
		var name string
		switch d := d.(type) {
		case *ast.FuncDecl:
			name = d.Name.Name
		case *ast.GenDecl:
			if t, ok := d.Specs[0].(*ast.TypeSpec); ok {
				name = t.Name.Name
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				switch n.Name {
				case "goroutineExecutor", "inlineExecutor", "newInlineExecutor", "isInline", "processExecutor", "newProcessExecutor":
					if !slices.Contains(makes[name], n.Name) {
						bad = append(bad, s.line(n)+": "+n.Name+" depends on the kind of an executor")
					}
				}
			case *ast.TypeAssertExpr: // also the one of a type switch
				if sel, ok := n.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "executor" {
					bad = append(bad, s.line(n)+": the type of an executor is asked for")
				}
			}
			return true
		})
	}
	return bad
}

// TestNoBranchOnTheExecutor checks that package pool does not depend on the kind of an executor.
func TestNoBranchOnTheExecutor(t *testing.T) {
	for _, s := range files(t, "pool") {
		report(t, badKinds(s))
	}
	try(t, badKinds, []broken{
		{"switch", "pool/a.go", `package pool; func f(l *lane) { switch l.executor.(type) { } }`, 1},
		{"assertion", "pool/a.go", `package pool; func f(l *lane) { _, _ = l.executor.(*x) }`, 1},
		{"kind", "pool/a.go", `package pool; func f(l *lane) bool { return l.executor == goroutineExecutor{l} }`, 1},
		{"inline", "pool/a.go", `package pool; func f(l *lane) bool { return l.p.isInline(l) }`, 1},
		{"executor", "pool/executor_inline.go", `package pool; func f(e *inlineExecutor) {}`, 0},
		{"shown", "pool/a.go", `package pool; func (l *lane) info() bool { return l.p.isInline(l) }`, 0},
		{"made", "pool/a.go", `package pool; func newLane() { l.executor = goroutineExecutor{l} }`, 0},
	})
}

// TestLanesBuildForWasm checks that lanes build for systems with one process and one
// processor: K-128.
func TestLanesBuildForWasm(t *testing.T) {
	if testing.Short() {
		t.Skip("builds for two systems")
	}
	for _, system := range []string{"js", "wasip1"} {
		cmd := exec.Command("go", "build", "./transport", "./pool")
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=wasm", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
}

// TestSpinIsAPause checks that a doorbell spins by cpu.Pause unless a test replaces that, and
// that Pause is made of the instruction for it: K-046.
func TestSpinIsAPause(t *testing.T) {
	for _, line := range []struct{ path, want string }{
		{"transport/doorbell.go", "d.ticks, d.pause = cpu.Ticks, pauseRound\n"},
		{"transport/doorbell.go", "func pauseRound() { cpu.Pause(1) }"},
		{"internal/cpu/pause_x86.s", "\tPAUSE\n"},
		{"internal/cpu/pause_arm64.s", "\tISB  $15\n"},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(line.path)))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), line.want) {
			t.Errorf("%s has no line %q", line.path, line.want)
		}
	}
}

// TestAbortIsDocumentedAsCooperative checks that the text of package pool says that no handler is
// killed: K-108.
func TestAbortIsDocumentedAsCooperative(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "pool", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"an Abortable one by its [AbortSignal]", "A goroutine cannot be killed"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("pool/doc.go does not hold %q", want)
		}
	}
}

// TestChoosing checks that docs/CHOOSING.md states the uses of a pool, C-046, and that
// lanes carry calls only, K-124.
func TestChoosing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "CHOOSING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a goroutine each", "`pool`", "A pool carries calls.", "no topics"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/CHOOSING.md does not hold %q", want)
		}
	}
}
