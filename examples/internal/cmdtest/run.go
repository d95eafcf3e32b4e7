package cmdtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Main is called by TestMain. In a process that Run has started it calls main, and runs
// the tests otherwise.
func Main(m *testing.M, main func()) {
	if os.Getenv("EXAMPLE_MAIN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Run runs the program and returns its output and its exit code.
func Run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Skipf("no path of the test binary: %v", err)
	}
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), "EXAMPLE_MAIN=1")
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot start a process here: %v", err)
	}
	_ = cmd.Wait() // the exit code has the same information
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
