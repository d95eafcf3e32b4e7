package proctest

import (
	"errors"
	"fmt"
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

// roleVariable is the environment variable with the role of a process that a test has started.
const roleVariable = "LANEWRIGHT_TEST_ROLE"

// Main is for a TestMain. It runs the tests, or the role that [Role] has named in a process that a test has
// started. roles are the main functions of these processes. An error ends the process with code 1.
func Main(m *testing.M, roles map[string]func(args []string) error) {
	name, ok := os.LookupEnv(roleVariable)
	if !ok {
		os.Exit(m.Run())
	}
	role, ok := roles[name]
	if !ok {
		role = func([]string) error { return fmt.Errorf("no role %q", name) }
	}
	if err := role(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Role returns the command that runs a role of [Main] with args. The end of tb kills the process.
func Role(tb testing.TB, name string, args ...string) *exec.Cmd {
	tb.Helper()
	return Self(tb, []string{roleVariable + "=" + name}, args...)
}
