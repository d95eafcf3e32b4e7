package lint_test

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// badEnds checks that only the file of the lane uses the ends of a mailbox.
func badEnds(s *source) []string {
	var bad []string
	ast.Inspect(s.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || s.test || s.path == "pool/lane.go" {
			return true
		}
		if inner, ok := sel.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "tx" {
			bad = append(bad, s.line(sel)+": only the lane sends on its mailbox")
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "transport" && (sel.Sel.Name == "Sender" || sel.Sel.Name == "Receiver") {
			bad = append(bad, s.line(sel)+": only the lane holds an end of a mailbox")
		}
		return true
	})
	return bad
}

// TestOneTypeDrivesTheMailbox checks that in package pool only the lane sends on its
// mailbox: K-069.
func TestOneTypeDrivesTheMailbox(t *testing.T) {
	for _, s := range files(t, "pool") {
		report(t, badEnds(s))
	}
	try(t, badEnds, []broken{
		{"holds", "pool/a.go", `package pool; import "github.com/lanewright/lanewright/transport"; var s transport.Sender`, 1},
		{"sends", "pool/a.go", `package pool; func f(l *lane) { l.tx.Claim() }`, 1},
		{"the lane", "pool/lane.go", `package pool; func f(l *lane) { l.tx.Claim() }`, 0},
		{"a set", "pool/a.go", `package pool; import "github.com/lanewright/lanewright/transport"; var s *transport.AbortSet`, 0},
	})
}

// badKinds checks that no code of package pool but that of the executors, and of what makes or shows lanes, depends on
// the kind of an executor.
func badKinds(s *source) []string {
	makes := map[string]string{ // the functions outside of the files of the executors, by what they may name
		"newLane": "goroutineExecutor", "New": "newInlineExecutor", "Pool": "inlineExecutor",
		"info": "isInline", "IsInline": "isInline", "callOn": "isInline",
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
				case "goroutineExecutor", "inlineExecutor", "newInlineExecutor", "isInline":
					if makes[name] != n.Name {
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
		{"transport/doorbell.go", "d.ticks, d.pause = cpu.Ticks, pauseChunk\n"},
		{"transport/doorbell.go", "func pauseChunk() { cpu.Pause(64) }"},
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
