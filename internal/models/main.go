package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("models", flag.ContinueOnError)
	fs.SetOutput(stderr)
	budget := fs.Duration("budget", 0, "explore all models together for this `time`")
	filter := fs.String("run", "", "run the tests whose name matches this `regexp`")
	jobs := fs.Int("j", runtime.GOMAXPROCS(0), "run `n` tests at a time")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	pattern, err := regexp.Compile(*filter)
	if err != nil || *jobs < 1 || *budget < 0 {
		_, _ = fmt.Fprintln(stderr, "models: -run must be a regexp, -j at least 1, -budget not negative")
		return 2
	}
	begin := time.Now()
	tmp, err := os.MkdirTemp("", "models")
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "models: %v\n", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	tests, err := find(ctx, tmp, fs.Args(), pattern)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "models: %v\n", err)
		return 1
	}
	s := &soak{tests: tests, jobs: *jobs, out: stdout}
	if *budget > 0 {
		s.end = begin.Add(*budget)
	}
	ok := s.explore(ctx)
	_, _ = fmt.Fprintf(stdout, "the tests with the most processor time:\n%s", s.longest(10))
	_, _ = fmt.Fprintf(stdout, "models: %s, %v\n", s.total, time.Since(begin).Round(time.Second))
	if !ok || ctx.Err() != nil {
		return 1
	}
	return 0
}
