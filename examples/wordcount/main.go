// Command wordcount counts the words of files, and of all files in directories. It
// prints the most frequent words first.
//
//	go run ./examples/wordcount -top 10 README.md docs
package main

import (
	"bytes"
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
	"sync"
	"unicode"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: wordcount [flags] file or directory ...")
		flag.PrintDefaults()
	}
	top := flag.Int("top", 20, "how many words to print; 0 means all")
	workers := flag.Int("workers", 0, "how many workers count; 0 means one for each processor")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, flag.Args(), *top, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "wordcount:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, paths []string, top, workers int) error {
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
	defer func() { _, _ = s.Close() }() // ends the workers
	c := newCounter(s)
	c.addAll(ctx, paths)
	words, err := c.wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	report(words, top)
	return err // of files that could not be read; the others are counted
}

// table maps each word to its count. The counts are pointers, so that a known word is
// found by its bytes without making a string.
type table map[string]*int

func newTable() table { return table{} }

// count adds the words of a text.
func (t table) count(text []byte) {
	for word := range bytes.FieldsFuncSeq(bytes.ToLower(text), notInWord) {
		if n := t[string(word)]; n != nil {
			*n++
		} else {
			n := 1
			t[string(word)] = &n
		}
	}
}

// add adds the counts of o to those of t, and returns t.
func (t table) add(o table) table {
	for word, n := range o {
		if m := t[word]; m != nil {
			*m += *n
		} else {
			t[word] = n
		}
	}
	return t
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }

// counter counts the words of files. Each file is read in one task and counted in
// another.
type counter struct {
	scheduler *sched.Scheduler
	group     *sched.Group

	// free holds the tables that are not in use. A file has a table of its own until it
	// is counted. Therefore no table needs a lock, and there are at most as many files
	// in memory as tables.
	free chan table

	mu   sync.Mutex // guards errs, which few tasks touch
	errs []error
}

// inFlight is the number of files that are in memory at once. It is large enough that
// workers can count some while others are read.
const inFlight = 16

func newCounter(s *sched.Scheduler) *counter {
	c := &counter{scheduler: s, group: s.NewGroup(sched.GroupConfig{}), free: make(chan table, inFlight)}
	for range inFlight {
		c.free <- newTable()
	}
	return c
}

func (c *counter) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

// addAll schedules the files in paths, until ctx ends. It continues after errors,
// which wait returns.
func (c *counter) addAll(ctx context.Context, paths []string) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				c.failed(err) // a directory that cannot be read is skipped
				return nil
			case name == path && !d.IsDir(), d.Type().IsRegular():
				return c.add(ctx, name)
			}
			return nil
		})
		if err != nil {
			c.failed(err)
			return
		}
	}
}

// add waits for a free table and schedules a file with it.
func (c *counter) add(ctx context.Context, name string) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case t := <-c.free:
		job := &sched.Job[file]{Value: file{name: name, table: t}, Fn: c.read}
		err := c.group.Schedule(nil, job.Task())
		if err != nil {
			c.free <- t
		}
		return err
	}
}

type file struct {
	name  string
	text  []byte
	table table // for its words
}

func (c *counter) read(w *sched.Worker, j *sched.Job[file]) {
	f := &j.Value
	var err error
	w.Blocking(func() { f.text, err = os.ReadFile(f.name) })
	if err == nil {
		// Another worker may have the place of this one now. The count computes, so it
		// is a task of its own, which waits for a place.
		j.Fn = c.count
		err = c.group.Schedule(w, j.Task())
	}
	if err != nil {
		c.failed(err)
		c.free <- f.table
	}
}

func (c *counter) count(_ *sched.Worker, j *sched.Job[file]) {
	j.Value.table.count(j.Value.text)
	c.free <- j.Value.table
}

// wait waits until every file is counted, and returns the sum of all tables and the errors.
func (c *counter) wait() (table, error) {
	if err := c.group.Wait(); err != nil {
		c.failed(err)
	}
	var tables []table
	for range inFlight {
		tables = append(tables, <-c.free)
	}
	return par.Fold(c.scheduler, tables, newTable, table.add, table.add), errors.Join(c.errs...)
}

// report prints the most frequent words, and the sum of all.
func report(t table, top int) {
	words := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(*t[b], *t[a]), cmp.Compare(a, b))
	})
	total := 0
	for i, word := range words {
		total += *t[word]
		if top == 0 || i < top {
			fmt.Printf("%9d  %s\n", *t[word], word)
		}
	}
	fmt.Printf("%9d  words, %d different\n", total, len(words))
}
