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
