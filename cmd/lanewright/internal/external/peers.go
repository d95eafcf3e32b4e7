package external

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
)

// Peers is the program of the module bench. It measures other libraries and draws charts.
// It is a program of its own because it needs modules on which this module must not
// depend.
type Peers struct {
	dir, path string
}

// BuildPeers builds the program from the checkout around the working directory.
func BuildPeers(ctx context.Context) (*Peers, error) {
	root, err := checkout()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lanewright-peers-")
	if err != nil {
		return nil, err
	}
	p := &Peers{dir, filepath.Join(dir, "peers")}
	if runtime.GOOS == "windows" {
		p.path += ".exe"
	}
	cmd := command(ctx, filepath.Join(root, "bench"), "go", "build", "-o", p.path, "./cmd/peers")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Remove()
		return nil, fmt.Errorf("%s in %s: %w: %s", strings.Join(cmd.Args, " "), cmd.Dir, err, lastLines(out))
	}
	return p, nil
}

// Remove deletes the program.
func (p *Peers) Remove() { _ = os.RemoveAll(p.dir) }

// Request is a request to the program of the peers.
type Request struct {
	Measure bool   // measure the peers; false: only write the page
	Only    string // the benchmarks, with commas; empty: all
	Workers []int
	Runs    int
	JSON    bool
	Page    string // the file of the page; empty: none
}

// Run carries out r. rows are the rows of lanewright and of the native programs. The page
// shows them together with the rows of the peers.
func (p *Peers) Run(ctx context.Context, c *cli.Console, r Request, rows []byte) error {
	file := filepath.Join(p.dir, "rows.jsonl")
	if err := os.WriteFile(file, rows, 0o600); err != nil {
		return err
	}
	cmd := command(ctx, "", p.path, r.Args(file)...)
	cmd.Stdout, cmd.Stderr = c.Out, c.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the program of bench/: %w", err)
	}
	return nil
}

// Args returns the arguments of the program. file holds the rows to draw.
func (r Request) Args(file string) []string {
	if !r.Measure {
		return []string{"-html", r.Page, "-in", file}
	}
	var workers []string
	for _, w := range r.Workers {
		workers = append(workers, strconv.Itoa(w))
	}
	args := []string{"-ours=false", "-runs", strconv.Itoa(r.Runs), "-workers", strings.Join(workers, ",")}
	if r.Only != "" {
		args = append(args, "-only", r.Only)
	}
	if r.JSON {
		args = append(args, "-json")
	}
	if r.Page != "" {
		args = append(args, "-html", r.Page, "-with", file)
	}
	return args
}
