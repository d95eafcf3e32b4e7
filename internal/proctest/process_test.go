package proctest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
)

// skipper records a skip, which ends its goroutine as that of a test does.
type skipper struct {
	testing.TB

	why string
}

func (*skipper) Helper() {}

func (s *skipper) Skipf(format string, _ ...any) {
	s.why = format
	panic(s)
}

// skips reports whether f skips its test.
func skips(f func(tb testing.TB)) (skipped bool) {
	s := new(skipper)
	defer func() {
		if r := recover(); r != nil && r != s {
			panic(r)
		}
		skipped = s.why != ""
	}()
	f(s)
	return
}

// TestOutput: the output and the exit code of a process are returned, and a process that cannot
// be started skips the test.
func TestOutput(t *testing.T) {
	if os.Getenv("CHILD_TEST") == "fails" {
		os.Stdout.WriteString("out ")
		os.Stderr.WriteString("err")
		os.Exit(3)
	}
	out, err := proctest.Output(t, proctest.Self(t, []string{"CHILD_TEST=fails"}, "-test.run=^TestOutput$"))
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(out, "out err") {
		t.Errorf("Output = %q, %v; want exit code 3", out, err)
	}
	missing := func(tb testing.TB) {
		tb.Helper()
		_, _ = proctest.Output(tb, exec.Command("/nonexistent"))
	}
	if !skips(missing) {
		t.Error("a process that cannot be started does not skip the test")
	}
}

// roles are the main functions of the processes of TestRole.
var roles = map[string]func(args []string) error{
	"prints": func(args []string) error { fmt.Print(args); return nil },
	"fails":  func(args []string) error { return errors.New(args[0]) },
}

func TestMain(m *testing.M) { proctest.Main(m, roles) }

// TestRole: a process runs its role with its arguments and no test. An error of the role, or the name of
// none, is its output and gives the exit code 1.
func TestRole(t *testing.T) {
	for _, tc := range []struct {
		role, want string
		code       int
	}{
		{"prints", "[a b]", 0},
		{"fails", "fails: a\n", 1},
		{"sleeps", "sleeps: no role \"sleeps\"\n", 1},
	} {
		out, err := proctest.Output(t, proctest.Role(t, tc.role, "a", "b"))
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if out != tc.want || code != tc.code {
			t.Errorf("role %q: %q, exit code %d; want %q, %d", tc.role, out, code, tc.want, tc.code)
		}
	}
}

// TestNeed: an emulator skips the test, and nothing else does.
func TestNeed(t *testing.T) {
	for value, want := range map[string]bool{"": false, "1": true} {
		t.Setenv(proctest.Emulated, value)
		if got := skips(proctest.Need); got != want {
			t.Errorf("with %s=%q the test is skipped: %t", proctest.Emulated, value, got)
		}
	}
}
