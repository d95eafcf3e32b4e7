package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/lanewright/lanewright/bench/rows"
)

// ours is the program lanewright, built from the checkout.
type ours struct {
	dir, path string
	names     []string // of its benchmarks
}

// buildOurs builds lanewright into a directory that remove removes.
func buildOurs(ctx context.Context) (*ours, error) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/lanewright/lanewright")
	if err != nil {
		return nil, fmt.Errorf("the checkout of lanewright is not found from here; run this from its directory bench, or with -ours=false: %w", err)
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	o := &ours{dir: dir, path: filepath.Join(dir, "lanewright")}
	if runtime.GOOS == "windows" {
		o.path += ".exe"
	}
	_, err = output(ctx, strings.TrimSpace(root), "go", "build", "-o", o.path, "./cmd/lanewright")
	if err == nil {
		var names string
		names, err = output(ctx, "", o.path, "bench", "-list")
		o.names = strings.Fields(names)
	}
	if err != nil {
		o.remove()
		return nil, err
	}
	return o, nil
}

func (o *ours) remove() { _ = os.RemoveAll(o.dir) }

// has reports whether lanewright has a benchmark of that name.
func (o *ours) has(name string) bool { return o != nil && slices.Contains(o.names, name) }

// measure returns the rows of one benchmark.
func (o *ours) measure(ctx context.Context, name string, workers, runs int) ([]rows.Row, error) {
	said, err := follow(ctx, longLimit, o.path, "bench", "-json", "-only", name,
		"-workers", strconv.Itoa(workers), "-runs", strconv.Itoa(runs))
	if err == nil && said.late {
		err = fmt.Errorf("not done after %v", longLimit)
	}
	return said.rows, err
}

// output runs a command in dir and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}
