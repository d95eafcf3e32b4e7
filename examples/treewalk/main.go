// Command treewalk prints how many files of each extension are below a directory, and
// how large they are.
//
//	go run ./examples/treewalk -top 5 .
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lanewright/lanewright/sched"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: treewalk [flags] [directory]")
		flag.PrintDefaults()
	}
	top := flag.Int("top", 20, "how many extensions to print; 0 means all")
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, cmp.Or(flag.Arg(0), "."), *top); err != nil {
		fmt.Fprintln(os.Stderr, "treewalk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, top int) error {
	if _, err := os.ReadDir(path); err != nil {
		return err
	}
	var s sched.Scheduler
	defer func() { _, _ = s.Close() }() // ends the workers
	root, err := readTree(ctx, &s, path)
	if err != nil {
		return err
	}
	t := sched.ForkJoin(&s, sum, root)
	report(t, top)
	return errors.Join(t.errs...) // the sum has all that could be read
}

// dir is a directory.
type dir struct {
	path  string
	dirs  []*dir
	total total // of the files in it, without those of dirs
}

// total is the sum over a set of files.
type total struct {
	dirs  int
	types map[string]usage // by extension
	errs  []error          // of files and directories that could not be read
}

type usage struct {
	files int
	bytes int64
}

func (u *usage) add(v usage) {
	u.files += v.files
	u.bytes += v.bytes
}

// readTree reads the directory at path and all below it.
func readTree(ctx context.Context, s *sched.Scheduler, path string) (*dir, error) {
	r := &reader{ctx: ctx, group: s.NewGroup(sched.GroupConfig{}), slots: make(chan struct{}, 64)}
	root := &dir{path: path}
	if err := r.schedule(nil, []*dir{root}); err != nil {
		return nil, err
	}
	if err := r.group.Wait(); err != nil {
		return nil, err
	}
	return root, context.Cause(ctx)
}

// reader reads each directory in a task of its own, and not in a fork. A task that has
// blocked continues without a place. That is good enough for the end of a task, and not
// for a body that forks many more times.
type reader struct {
	ctx   context.Context
	group *sched.Group
	slots chan struct{} // bounds the number of threads that wait for the disk
}

// schedule schedules a task for each directory. w is the worker that runs the caller,
// or nil.
func (r *reader) schedule(w *sched.Worker, dirs []*dir) error {
	tasks := make([]*sched.Task, len(dirs))
	for i, d := range dirs {
		tasks[i] = (&sched.Job[*dir]{Value: d, Fn: r.read}).Task()
	}
	return r.group.Schedule(w, tasks...)
}

func (r *reader) read(w *sched.Worker, j *sched.Job[*dir]) {
	if r.ctx.Err() != nil {
		return
	}
	d := j.Value
	r.slots <- struct{}{} // before Blocking: inside it, each task that waits for a slot would start a worker
	w.Blocking(func() {
		defer func() { <-r.slots }()
		d.read()
	})
	if err := r.schedule(w, d.dirs); err != nil {
		d.total.errs = append(d.total.errs, err)
	}
}

// read fills d. It makes at least one system call for each file.
func (d *dir) read() {
	d.total = total{dirs: 1, types: map[string]usage{}}
	entries, err := os.ReadDir(d.path) // after an error: those that were read before it
	if err != nil {
		d.total.errs = append(d.total.errs, err)
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			d.dirs = append(d.dirs, &dir{path: filepath.Join(d.path, e.Name())})
		case e.Type().IsRegular():
			d.total.file(e)
		}
	}
}

func (t *total) file(e fs.DirEntry) {
	info, err := e.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was removed since ReadDir
	case err != nil:
		t.errs = append(t.errs, err)
	default:
		ext := extension(e.Name())
		u := t.types[ext]
		u.add(usage{files: 1, bytes: info.Size()})
		t.types[ext] = u
	}
}

// extension returns the extension of a file in lower case, or "(none)".
func extension(name string) string {
	ext := filepath.Ext(name)
	if ext == "" || ext == name {
		return "(none)"
	}
	return strings.ToLower(ext)
}

// sum adds up the tree below d. It forks each directory in d and joins the forks in
// reverse order. The runner of a fork is the only one that touches the tree below it.
func sum(f *sched.Forks[*dir, total], d *dir) total {
	for _, c := range slices.Backward(d.dirs) {
		f.Fork(c)
	}
	t := d.total
	for _, c := range d.dirs {
		if f.TakeBackPointer() { // the common case: no other worker has taken it
			t.add(sum(f, c))
		} else {
			t.add(f.Await())
		}
	}
	return t
}

// add adds o to t. It reuses the map of t.
func (t *total) add(o total) {
	t.dirs += o.dirs
	t.errs = append(t.errs, o.errs...)
	for ext, v := range o.types {
		u := t.types[ext]
		u.add(v)
		t.types[ext] = u
	}
}

// report prints the extensions with the most bytes, and the sum of all.
func report(t total, top int) {
	exts := slices.SortedFunc(maps.Keys(t.types), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.types[b].bytes, t.types[a].bytes), cmp.Compare(a, b))
	})
	fmt.Printf("%15s %9s\n", "bytes", "files")
	var all usage
	for i, ext := range exts {
		u := t.types[ext]
		all.add(u)
		if top == 0 || i < top {
			fmt.Printf("%15d %9d  %s\n", u.bytes, u.files, ext)
		}
	}
	fmt.Printf("%15d %9d  in %d directories\n", all.bytes, all.files, t.dirs)
}
