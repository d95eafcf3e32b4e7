package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var (
	errUsage    = errors.New("usage")
	errNotAll   = errors.New("not all mutants were killed")
	errNoMutant = errors.New("no mutant has a name that -only matches")
)

// run is the program.
func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) > 0 && args[0] == "rehunk" {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		return rehunkCommand(out, root, args[1:])
	}
	fs := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := fs.String("only", "", "try the mutants whose whole name matches this `regexp`")
	list := fs.Bool("list", false, "print the mutants with their bugs and tests, and try none")
	verbose := fs.Bool("v", false, "print the output of the failing tests")
	part := fs.String("part", "1/1", "try part `i/n` of the mutants: every n-th mutant from mutant i on")
	jobs := fs.Int("j", runtime.GOMAXPROCS(0), "try `n` mutants at a time")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 || *jobs < 1 {
		return errUsage
	}
	pattern, err := regexp.Compile("^(" + *only + ")$")
	if err != nil {
		return err
	}
	ms, err := all()
	if err != nil {
		return err
	}
	if *only != "" {
		if ms = matching(ms, pattern); len(ms) == 0 {
			return errNoMutant
		}
	}
	if ms, err = parted(ms, *part); err != nil {
		return err
	}
	if *list {
		for _, m := range ms {
			_, _ = fmt.Fprintf(out, "%s: %s (%s %s)\n", m.name, m.why, m.test.dir, m.test.names)
		}
		return nil
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	return tryAll(out, newRunner(ctx, root, tmp), ms, *jobs, *verbose)
}

func matching(ms []mutant, pattern *regexp.Regexp) (some []mutant) {
	for _, m := range ms {
		if pattern.MatchString(m.name) {
			some = append(some, m)
		}
	}
	return some
}

// parted returns every n-th mutant from mutant i on. The form of part is i/n.
func parted(ms []mutant, part string) (some []mutant, err error) {
	var i, n int
	if _, err := fmt.Sscanf(part, "%d/%d", &i, &n); err != nil || i < 1 || i > n {
		return nil, fmt.Errorf("-part %s: want i/n with 1 <= i <= n", part)
	}
	for at := i - 1; at < len(ms); at += n {
		some = append(some, ms[at])
	}
	return some, nil
}

// moduleRoot returns the directory of the go.mod above the current directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod in this directory or above: run mutants inside the module")
		}
		dir = up
	}
}

// tryAll tries the mutants, several at a time, and prints the verdicts in order.
func tryAll(out io.Writer, r *runner, ms []mutant, jobs int, verbose bool) error {
	verdicts := make([]chan verdict, len(ms))
	for i := range verdicts {
		verdicts[i] = make(chan verdict, 1)
	}
	slots := make(chan struct{}, jobs)
	go func() {
		for i := range ms {
			slots <- struct{}{}
			go func() {
				start := time.Now()
				v := r.try(&ms[i])
				v.took = time.Since(start)
				verdicts[i] <- v
				<-slots
			}()
		}
	}()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	killed := 0
	var left []string // mutants that were not killed
	for i, m := range ms {
		v := <-verdicts[i]
		say("mutant %s %v\n", m.name, v)
		if verbose {
			say("after %v:\n%s\n", v.took.Round(time.Millisecond), v.output)
		}
		if v.killed() {
			killed++
		} else {
			left = append(left, m.name)
		}
	}
	if left != nil {
		say("not killed: %s\n", strings.Join(left, ", "))
	}
	say("mutants: %d of %d killed\n", killed, len(ms))
	if killed < len(ms) {
		return errNotAll
	}
	return nil
}
