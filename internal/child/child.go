package child

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Emulated is the environment variable that the gate sets to run tests in an emulator of user
// mode. In such an emulator a fork is not safe while the process has other threads: a mutex of the
// emulator that another thread has locked stays locked in the child, which then hangs.
const Emulated = "LANEWRIGHT_EMULATED"

// Need skips the test tb in an emulator.
func Need(tb testing.TB) {
	tb.Helper()
	if os.Getenv(Emulated) != "" {
		tb.Skipf("an emulated program cannot start a process safely")
	}
}

// Output runs cmd and returns what it has written to its standard output and error. It skips
// the test tb if the process cannot be started. A process that has failed gives an
// [exec.ExitError].
func Output(tb testing.TB, cmd *exec.Cmd) (string, error) {
	tb.Helper()
	Need(tb)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tb.Skipf("a test cannot start %s here: %v", cmd.Path, err)
	}
	return string(text), err
}

// Self returns the command that runs the test binary with args. Each string of env, such as
// "NAME=value", is added to the environment. The end of tb kills the process.
func Self(tb testing.TB, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Skipf("the test binary has no path: %v", err)
	}
	cmd := exec.CommandContext(tb.Context(), exe, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
