package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestMain runs the program instead of the tests in a process that program starts, and its
// tasks in a worker process.
func TestMain(m *testing.M) {
	remote.Main()
	if os.Getenv("LANEWRIGHT_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns a command that runs the program.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	proctest.Need(t)
	return proctest.Self(t, []string{"LANEWRIGHT_TEST_MAIN=1"}, args...)
}

// interrupt runs the program and sends it the signal of Ctrl-C after the line that begins
// with ready. It checks the exit code and the message, and returns the output after that
// line.
func interrupt(t *testing.T, ready string, args ...string) (rest string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("one process cannot send another an interrupt here")
	}
	cmd := program(t, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot start a process here: %v", err)
	}
	r := bufio.NewReader(stdout)
	for line := ""; !strings.HasPrefix(line, ready); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatalf("the program ended early: %v, %s", err, &stderr)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != cli.ExitInterrupted {
		t.Errorf("exit code %d (%v), want %d", got, err, cli.ExitInterrupted)
	}
	if got, want := stderr.String(), "lanewright "+args[0]+": interrupted\n"; got != want {
		t.Errorf("stderr = %q, want %q", got, want)
	}
	return string(text)
}

// TestInterrupt checks that Ctrl-C ends the program during a benchmark of minutes.
func TestInterrupt(t *testing.T) {
	interrupt(t, "calibration: ", "bench", "-only", "sched/idle-cpu", "-runs", "100")
}

// TestStressInterrupt checks that Ctrl-C ends a soak without a limit, and that the report
// is printed.
func TestStressInterrupt(t *testing.T) {
	rest := interrupt(t, "seed ", "stress", "-duration", "0", "-short", "-only", "programs")
	if !strings.Contains(rest, " violations  ") {
		t.Errorf("no report:\n%s", rest)
	}
}

// TestProgram checks the output of version in a process of its own.
func TestProgram(t *testing.T) {
	cmd := program(t, "version")
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("cannot run a process here: %v", err)
	}
	for _, want := range []string{"lanewright  ", "Go          " + runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, "GOMAXPROCS"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("version does not print %q:\n%s", want, out)
		}
	}
}
