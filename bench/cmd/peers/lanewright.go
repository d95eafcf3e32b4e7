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

// lanewright is the program lanewright, built from the checkout.
type lanewright struct {
	dir, path string
	names     []string // the names of its benchmarks
}

// buildLanewright builds lanewright into a new directory, which remove deletes.
func buildLanewright(ctx context.Context) (*lanewright, error) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/lanewright/lanewright")
	if err != nil {
		return nil, fmt.Errorf("no checkout of lanewright is found; run this in its directory bench, or with -ours=false: %w", err)
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	p := &lanewright{dir: dir, path: filepath.Join(dir, "lanewright")}
	if runtime.GOOS == "windows" {
		p.path += ".exe"
	}
	_, err = output(ctx, strings.TrimSpace(root), "go", "build", "-o", p.path, "./cmd/lanewright")
	if err == nil {
		var names string
		names, err = output(ctx, "", p.path, "bench", "-list")
		p.names = strings.Fields(names)
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *lanewright) remove() { _ = os.RemoveAll(p.dir) }

// has reports whether lanewright has a benchmark of that name.
func (p *lanewright) has(name string) bool { return p != nil && slices.Contains(p.names, name) }

// measure returns the rows of one benchmark.
func (p *lanewright) measure(ctx context.Context, name string, workers, runs int) ([]rows.Row, error) {
	got, err := follow(ctx, longLimit, p.path, "bench", "-json", "-only", name,
		"-workers", strconv.Itoa(workers), "-runs", strconv.Itoa(runs))
	if err == nil && got.late {
		err = fmt.Errorf("not done after %v", longLimit)
	}
	return got.rows, err
}

// output runs a command in dir and returns its output.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
