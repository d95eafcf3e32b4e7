//go:build !interleave && (amd64 || arm64)

package transport_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// TestAbortedInlines: the compiler inlines the poll of a handler, which is then one
// load. On 32 bits a load of an atomic may be a call. K-107.
func TestAbortedInlines(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go tool")
	}
	out, err := exec.Command(goTool, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^\S+: can inline \(\*AbortSet\)\.Aborted$`).Match(out) {
		t.Error("the compiler does not inline Aborted")
	}
}
