// Command treewalk tells how many files of each extension lie below a directory, and
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
	root, err := readTree(ctx, &s, path)
	if err != nil {
		return err
	}
	t := sched.ForkJoin(&s, sum, root)
	report(t, top)
	return errors.Join(t.errs...) // the rest is in the sum
}

// dir is a directory.
type dir struct {
	path  string
	dirs  []*dir
	total total // of the files in it, without those of dirs
}

// total is what some files have in sum.
type total struct {
	dirs  int
	types map[string]usage // by extension
	errs  []error          // what could not be read
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

// reader reads each directory in a task of its own, and not in a fork: a task that
// has blocked goes on without its place among the workers, which does for its end,
// but not for a body that is to fork for long.
type reader struct {
	ctx   context.Context
	group *sched.Group
	slots chan struct{} // bounds how many threads wait for the disk at once
}

// schedule makes a task of each directory; w is the worker that runs the caller, or
// nil.
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
	r.slots <- struct{}{} // before Blocking: a worker that starts no read needs no successor
	w.Blocking(func() {
		defer func() { <-r.slots }()
		d.read()
	})
	if err := r.schedule(w, d.dirs); err != nil {
		d.total.errs = append(d.total.errs, err)
	}
}

// read fills d. It makes system calls, for each file one or more.
func (d *dir) read() {
	d.total = total{dirs: 1, types: map[string]usage{}}
	entries, err := os.ReadDir(d.path) // what it could read, also after an error
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
	case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
	case err != nil:
		t.errs = append(t.errs, err)
	default:
		ext := extension(e.Name())
		u := t.types[ext]
		u.add(usage{files: 1, bytes: info.Size()})
		t.types[ext] = u
	}
}

// extension returns the extension of a file in lower case, if it has one.
func extension(name string) string {
	ext := filepath.Ext(name)
	if ext == "" || ext == name {
		return "(none)"
	}
	return strings.ToLower(ext)
}

// sum adds up the tree below d: it forks each directory in it, and joins them in
// reverse order. Whoever runs a fork has the tree below it for itself.
func sum(f *sched.Forks[*dir, total], d *dir) total {
	for _, c := range slices.Backward(d.dirs) {
		f.Fork(c)
	}
	t := d.total
	for _, c := range d.dirs {
		if f.TakeBackPointer() { // nobody has taken it, as mostly
			t.add(sum(f, c))
		} else {
			t.add(f.Await())
		}
	}
	return t
}

// add adds o to t, and uses the map of t for it.
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
