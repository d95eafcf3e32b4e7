//go:build !interleave && (amd64 || arm64)

package transport_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
)

// TestAbortedInlines checks that the compiler inlines the poll of a handler. The poll
// is then one load. On 32 bits a load of an atomic may be a call. K-107.
func TestAbortedInlines(t *testing.T) {
	out, err := proctest.Output(t, exec.Command("go", "build", "-gcflags=-m", "."))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^\S+: can inline \(\*AbortSet\)\.Aborted$`).MatchString(out) {
		t.Error("the compiler does not inline Aborted")
	}
}
