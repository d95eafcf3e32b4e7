package external

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
)

// checkout returns the root of the checkout around the working directory.
func checkout() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && isThisModule(text) {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", cli.Usagef("the programs of bench/ are built from a checkout of lanewright: run this inside one (git clone https://github.com/lanewright/lanewright)")
		}
		at = up
	}
}

// isThisModule reports whether text is the go.mod of this module.
func isThisModule(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(first)) == "module github.com/lanewright/lanewright"
}

// command returns a command that ends with ctx. The end of ctx interrupts it, so that a
// compiler removes its files, and kills it 2 s later.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// lastLines returns the last 20 lines of the output of a program.
func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
