package external

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/internal/bench"
)

// Native builds and runs the programs of bench/native, which do the work of the benchmarks
// with libraries of other languages.
type Native struct {
	Names   []string // the benchmarks to run; a program has some of them
	Workers []int
	Runs    int
	Console *cli.Console
	quick   bool   // use small sizes, for tests
	crates  string // the directory with the sources of Rust libraries; empty: that of Debian

	// Row is called with each result: the line of JSON and the row that it holds.
	Row func(line string, r Row) error
}

// sequential is the reference of the programs: the same work in plain code.
const sequential = "sequential"

// Row is a row that a program prints, with a note when its size differs from that of
// BENCHMARKS.md.
type Row struct {
	bench.Row
	Note string `json:"note,omitempty"`
}

// program is one program of bench/native.
type program struct {
	impl   string   // its name in the rows
	source string   // a file to compile, or the directory of a crate
	libs   []string // flags for the linker
	needs  []requirement
	names  []string // the benchmarks that it has

	sequential bool // it has no workers
}

// requirement is a tool or a library that must be installed.
type requirement struct {
	what, pkg string // its name, and the package of Debian that contains it
	installed func(ctx context.Context, n *Native) bool
}

// programs returns the programs in the order in which they run.
func programs() []program {
	problems := []string{"fork-join/fib", "fork-join/tree", "fork-join/tree-small", "fork-join/nqueens", "fork-join/quicksort"}
	forks := append(slices.Clone(problems), "fork-join/idle-cpu")
	all := append(slices.Clone(forks), "sched/external-1", "sched/local-tree", "sched/wake")
	gcc, rustc, cargo := tool("g++", "g++"), tool("rustc", "rustc"), tool("cargo", "cargo")
	return []program{
		{impl: "sequential-c++", source: "sequential.cpp", needs: []requirement{gcc}, names: problems, sequential: true},
		{impl: "openmp", source: "openmp.cpp", libs: []string{"-fopenmp"}, needs: []requirement{gcc}, names: forks},
		{impl: "tbb", source: "tbb.cpp", libs: []string{"-ltbb"}, needs: []requirement{gcc, header("tbb/task_group.h", "libtbb-dev")}, names: all},
		{impl: "sequential-rust", source: "sequential.rs", needs: []requirement{rustc}, names: problems, sequential: true},
		{impl: "rayon", source: "rayon", needs: []requirement{rustc, cargo, crate("rayon")}, names: all},
		{impl: "tokio", source: "tokio", needs: []requirement{rustc, cargo, crate("tokio")}, names: all},
	}
}

func tool(name, pkg string) requirement {
	return requirement{name, pkg, func(context.Context, *Native) bool {
		_, err := exec.LookPath(name)
		return err == nil
	}}
}

func header(name, pkg string) requirement {
	return requirement{"<" + name + ">", pkg, func(ctx context.Context, _ *Native) bool {
		return command(ctx, "", "g++", "-E", "-include", name, "-x", "c++", os.DevNull).Run() == nil
	}}
}

func crate(name string) requirement {
	return requirement{"the crate " + name, "librust-" + name + "-dev", func(_ context.Context, n *Native) bool {
		found, err := filepath.Glob(filepath.Join(n.crates, name+"-[0-9]*"))
		return err == nil && len(found) > 0
	}}
}

// Run builds the programs outside the tree and runs them. It reports each program that
// lacks a requirement or does not compile, and leaves that program out. It returns an
// error when a built program fails, or when no program could be built.
func (n *Native) Run(ctx context.Context) error {
	source, err := nativeSource()
	if err != nil {
		return err
	}
	chosen := n.chosen()
	if len(chosen) == 0 {
		return cli.Usagef("none of these benchmarks has a native program: %s", strings.Join(n.Names, ", "))
	}
	if n.crates == "" {
		n.crates = "/usr/share/cargo/registry"
	}
	dir, err := os.MkdirTemp("", "lanewright-native-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil { // cargo writes to the directory of its sources
		return err
	}
	var built []program
	for i, p := range chosen {
		n.Console.Bar.Draw(i, len(chosen), "building "+p.impl)
		ok := n.build(ctx, dir, p)
		n.Console.Bar.Clear()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ok {
			built = append(built, p)
		}
	}
	if len(built) == 0 {
		return errors.New("no native program could be built")
	}
	return n.measure(ctx, dir, built)
}

// chosen returns the programs that have one of the names, with these names only.
func (n *Native) chosen() []program {
	all := programs()
	for i := range all {
		all[i].names = slices.DeleteFunc(all[i].names, func(name string) bool { return !slices.Contains(n.Names, name) })
	}
	return slices.DeleteFunc(all, func(p program) bool { return len(p.names) == 0 })
}

// nativeSource returns the directory bench/native of the checkout around the
// working directory.
func nativeSource() (string, error) {
	root, err := checkout()
	if err != nil {
		return "", err
	}
	source := filepath.Join(root, "bench", "native")
	_, err = os.Stat(source)
	return source, err
}

// build builds p in dir and reports whether it could. It prints the reason for a failure.
func (n *Native) build(ctx context.Context, dir string, p program) bool {
	var missing, packages []string
	for _, need := range p.needs {
		if !need.installed(ctx, n) {
			missing, packages = append(missing, need.what), append(packages, need.pkg)
		}
	}
	leftOut := func(format string, args ...any) bool {
		if ctx.Err() == nil {
			n.Console.Bar.Clear()
			cli.Printf(n.Console.Err, "%s is left out: %s\n", p.impl, fmt.Sprintf(format, args...))
		}
		return false
	}
	if len(packages) > 0 {
		return leftOut("missing: %s; on Debian: apt-get install -y --no-install-recommends %s",
			strings.Join(missing, ", "), strings.Join(packages, " "))
	}
	cmd := p.compile(ctx, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return leftOut("%s: %v\n%s", filepath.Base(cmd.Path), err, lastLines(out))
	}
	return true
}

// compile returns the command that builds p.
func (p program) compile(ctx context.Context, dir string) *exec.Cmd {
	switch out := p.binary(dir); filepath.Ext(p.source) {
	case ".cpp":
		args := []string{"-std=c++20", "-O3", "-march=native", "-o", out, p.source}
		return command(ctx, dir, "g++", append(args, p.libs...)...)
	case ".rs":
		return command(ctx, dir, "rustc", "--edition", "2021", "-C", "opt-level=3", "-C", "target-cpu=native",
			"-C", "codegen-units=1", "-o", out, p.source)
	default: // a crate, whose Cargo.toml and .cargo/config.toml hold the flags
		return command(ctx, filepath.Join(dir, p.source), "cargo", "build", "--release", "--offline",
			"--target-dir", filepath.Join(dir, "target"))
	}
}

// binary returns the path of the built program.
func (p program) binary(dir string) string {
	if filepath.Ext(p.source) == "" {
		return filepath.Join(dir, "target", "release", "native-"+p.source)
	}
	return filepath.Join(dir, p.impl)
}

// measure runs the programs, the remaining ones also after a failure.
func (n *Native) measure(ctx context.Context, dir string, programs []program) error {
	done, total, failed := 0, 0, 0
	for _, p := range programs {
		total += len(p.names) * len(p.workersOf(n))
	}
	for _, p := range programs {
		for _, w := range p.workersOf(n) {
			what := fmt.Sprintf("%s, %d workers", p.impl, w)
			n.Console.Bar.Draw(done, total, what)
			err := n.runOne(ctx, dir, p, w, func() { done++; n.Console.Bar.Draw(done, total, what) })
			n.Console.Bar.Clear()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				cli.Printf(n.Console.Err, "failed: %s: %s\n", what, cli.OneLine(err))
				failed++
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d runs of native programs failed", failed)
	}
	return nil
}

// workersOf returns the numbers of workers with which p runs.
func (p program) workersOf(n *Native) []int {
	if p.sequential {
		return []int{1}
	}
	return n.Workers
}

// runOne runs p once for all its names. It passes each row that p prints to n.Row.
func (n *Native) runOne(ctx context.Context, dir string, p program, workers int, step func()) error {
	args := []string{"-workers", strconv.Itoa(workers), "-runs", strconv.Itoa(n.Runs)}
	if n.quick {
		args = append(args, "-quick")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := command(ctx, dir, p.binary(dir), append(args, p.names...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	missing, err := n.readRows(out, p, workers, step)
	if err != nil {
		stop() // the rest of its output is not read
	}
	ended := cmd.Wait()
	switch {
	case err != nil:
		return err
	case ended != nil:
		return fmt.Errorf("%w: %s", ended, lastLines(stderr.Bytes()))
	case len(missing) > 0:
		return fmt.Errorf("no result of %s", strings.Join(missing, ", "))
	}
	return nil
}

// readRows passes the rows of p to n.Row. It returns the names without a row.
func (n *Native) readRows(out io.Reader, p program, workers int, step func()) (missing []string, err error) {
	missing = slices.Clone(p.names)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		r, err := p.read(lines.Text(), workers, n.Runs)
		if err != nil {
			return missing, err
		}
		i := slices.Index(missing, r.Bench)
		if i < 0 {
			return missing, fmt.Errorf("a row of %q, which was not requested or came before", r.Bench)
		}
		missing = slices.Delete(missing, i, i+1)
		if err := n.Row(lines.Text(), r); err != nil {
			return missing, err
		}
		step()
	}
	return missing, lines.Err()
}

// read returns the row in a line that p printed.
func (p program) read(line string, workers, runs int) (Row, error) {
	var r Row
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("%q is not a row: %w", line, err)
	}
	if r.Impl != p.impl || r.Workers != workers || r.Runs != runs || r.Unit == "" || r.Better == "" || !(r.Value > 0) {
		return r, fmt.Errorf("%q is not a row of %s with %d workers and %d runs", line, p.impl, workers, runs)
	}
	return r, nil
}

// WriteRows writes rows as a table.
func WriteRows(w io.Writer, rows []Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cli.Printf(tw, "benchmark\tprogram\tworkers\tmedian\tmin .. max\tp99\tratio to sequential\tCPU/op\tsize\n")
	for _, r := range rows {
		p99, ratio, cpu := "-", "-", "-"
		if r.P99 != nil {
			p99 = bench.Format(*r.P99, r.Unit)
		}
		if x, ok := r.Ratios[sequential]; ok {
			ratio = fmt.Sprintf("%.3g", x)
		}
		if r.CPUNsPerOp != nil {
			cpu = bench.Format(*r.CPUNsPerOp, bench.NsPerOp)
		}
		cli.Printf(tw, "%s\t%s\t%d\t%s\t%s .. %s\t%s\t%s\t%s\t%s\n", r.Bench, r.Impl, r.Workers, bench.Format(r.Value, r.Unit),
			bench.Format(r.Min, r.Unit), bench.Format(r.Max, r.Unit), p99, ratio, cpu, cmp.Or(r.Note, "full"))
	}
	return tw.Flush()
}
