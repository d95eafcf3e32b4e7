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
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && isModule(text) {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", cli.Usagef("what bench/ holds is built from a checkout of lanewright: call this from inside one (git clone https://github.com/lanewright/lanewright)")
		}
		at = up
	}
}

// isModule reports whether a go.mod is that of this module.
func isModule(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(first)) == "module github.com/lanewright/lanewright"
}

// command returns a command that ends with ctx: first it is asked to, so
// that a compiler removes its files.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 2 * time.Second // then it is killed
	return cmd
}

// lastLines returns the end of what a program said.
func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
