package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// peers is the program of the module bench: it measures other libraries and draws
// pictures, for which it needs modules that this one must not need.
type peers struct {
	dir, path string
}

// buildPeers builds the program from the checkout around the working directory.
func buildPeers(ctx context.Context) (*peers, error) {
	root, err := checkout()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lanewright-peers-")
	if err != nil {
		return nil, err
	}
	p := &peers{dir, filepath.Join(dir, "peers")}
	if runtime.GOOS == "windows" {
		p.path += ".exe"
	}
	cmd := nativeCommand(ctx, filepath.Join(root, "bench"), "go", "build", "-o", p.path, "./cmd/peers")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.remove()
		return nil, fmt.Errorf("%s in %s: %w: %s", strings.Join(cmd.Args, " "), cmd.Dir, err, lastLines(out))
	}
	return p, nil
}

func (p *peers) remove() { _ = os.RemoveAll(p.dir) }

// run measures the peers when the options ask for them, and draws their rows and ours.
func (p *peers) run(ctx context.Context, c *console, o benchOptions, rows []byte) error {
	file := filepath.Join(p.dir, "ours.jsonl")
	if err := os.WriteFile(file, rows, 0o600); err != nil {
		return err
	}
	cmd := nativeCommand(ctx, "", p.path, p.args(o, file)...)
	cmd.Stdout, cmd.Stderr = c.out, c.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the program of bench/: %w", err)
	}
	return nil
}

// args are the arguments of the program; file holds our rows.
func (p *peers) args(o benchOptions, file string) []string {
	if !o.peers {
		return []string{"-html", o.html, "-in", file}
	}
	var workers []string
	for _, w := range o.workers {
		workers = append(workers, strconv.Itoa(w))
	}
	args := []string{"-ours=false", "-runs", strconv.Itoa(o.runs), "-workers", strings.Join(workers, ",")}
	if o.onlyText != "" {
		args = append(args, "-only", o.onlyText)
	}
	if o.json {
		args = append(args, "-json")
	}
	if o.html != "" {
		args = append(args, "-html", o.html, "-with", file)
	}
	return args
}
