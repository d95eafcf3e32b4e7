//go:build !interleave

package sched_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
)

// user is a program outside this package with bodies in the form that costs least. It is
// compiled as a package of this module, so that the test needs no network.
const user = `package user

import "github.com/lanewright/lanewright/sched"

func fib(f *sched.Forks[int, int], n int) int {
	if n < 2 {
		return n
	}
	f.Push(n - 2)
	if f.Wanted() {
		f.Promote()
	}
	x := fib(f, n-1)
	if f.TakeBack() {
		return x + fib(f, n-2)
	}
	return x + f.Await()
}

func sum(f *sched.Forks[*int, int], n *int) int {
	f.Push(n)
	if f.Wanted() {
		f.Promote()
	}
	if f.TakeBackPointer() {
		return 1
	}
	return f.Await()
}

var _, _ = fib, sum
`

// compileUser returns the output of the compiler for user.
func compileUser(t *testing.T, flags string) string {
	t.Helper()
	if raceBuild() {
		t.Skip("the race detector is on")
	}
	root, err := filepath.Abs("..")
	must(t, err)
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Skip(err) // the test program runs outside the repository
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "user.go"), filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(file, []byte(user), 0o600))
	text, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(root, "internal", "user", "user.go"): file},
	})
	must(t, err)
	must(t, os.WriteFile(overlay, text, 0o600))
	cmd := exec.Command("go", "build", "-overlay", overlay, "-gcflags="+flags, "./internal/user")
	cmd.Dir = root
	out, err := proctest.Output(t, cmd)
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return out
}

// TestForksAreInlined: the compiler inlines a fork and its join into a body of another
// package.
func TestForksAreInlined(t *testing.T) {
	out := compileUser(t, "-m")
	for _, method := range []string{
		`sched\.\(\*Forks\[[^\]]*\]\)\.Push`,
		`sched\.\(\*Forks\[[^\]]*\]\)\.TakeBackPointer`,
		`sched\.\(\*forkHead\)\.Wanted`,
		`sched\.\(\*forkHead\)\.TakeBack`,
	} {
		if !regexp.MustCompile(`inlining call to ` + method).MatchString(out) {
			t.Errorf("no call of %s is inlined", method)
		}
	}
}

// TestForksCallNothing: a body calls only itself, Promote, Await and the runtime. The
// atomic load of Wanted is not a call either, see internal/atomix/inline.go.
func TestForksCallNothing(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("atomic loads are calls on some of these machines")
	}
	slow := regexp.MustCompile(`user\.(fib|sum)\b|\(\*Forks\[.*\]\)\.(Promote|Await)\b|runtime\.(panic|morestack|gcWriteBarrier)`)
	inside, calls := false, 0
	for line := range strings.Lines(compileUser(t, "-S")) {
		if name, _, ok := strings.Cut(line, " STEXT "); ok {
			inside = strings.HasSuffix(name, "/user.fib") || strings.HasSuffix(name, "/user.sum")
		}
		if _, callee, ok := strings.Cut(line, "\tCALL\t"); ok && inside {
			if calls++; !slow.MatchString(callee) {
				t.Errorf("a body calls %s", callee)
			}
		}
	}
	if calls < 6 {
		t.Errorf("%d calls in the assembly, want at least 6: the test does not find them", calls)
	}
}
