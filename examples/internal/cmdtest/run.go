package cmdtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Main is for TestMain: it lets the test binary be the program.
func Main(m *testing.M, main func()) {
	if os.Getenv("EXAMPLE_MAIN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Run runs the program, and returns what it printed and its exit code.
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
	_ = cmd.Wait() // the code says it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
