package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// all is the bound of a model without a bound.
const all = -1

// model is one line that interleave.Check has printed.
type model struct {
	name               string
	executions, pruned uint64
	preemptions        int
	complete           bool
	assumes            string // the assumptions of a complete search, such as " rounds=1", or ""
}

var modelLine = regexp.MustCompile(`^model (\S+) executions=(\d+) pruned=(\d+) preemptions=(\d+|all) complete=(true|false)((?: \S+)*)$`)

// parseModel reads the line of a model. It returns false for any other line.
func parseModel(line string) (m model, ok bool) {
	f := modelLine.FindStringSubmatch(line)
	if f == nil {
		return m, false
	}
	m = model{name: f[1], preemptions: all, complete: f[5] == "true", assumes: f[6]}
	m.executions, _ = strconv.ParseUint(f[2], 10, 64)
	m.pruned, _ = strconv.ParseUint(f[3], 10, 64)
	if f[4] != "all" {
		m.preemptions, _ = strconv.Atoi(f[4])
	}
	return m, true
}

// total is the sum of all runs of models.
type total struct {
	executions, pruned uint64
	bounds             map[string]model // by name: the last complete run, or the last run if none was complete
}

func (t *total) add(m model) {
	t.executions += m.executions
	t.pruned += m.pruned
	if t.bounds == nil {
		t.bounds = map[string]model{}
	}
	if old, ok := t.bounds[m.name]; !ok || m.complete || !old.complete {
		t.bounds[m.name] = m
	}
}

func (t total) String() string {
	by := map[string]int{}
	for _, m := range t.bounds {
		switch {
		case !m.complete:
			by["not complete"]++
		case m.preemptions == all:
			by["complete without a bound"+m.assumes]++
		default:
			by[fmt.Sprintf("complete at %d preemptions%s", m.preemptions, m.assumes)]++
		}
	}
	var parts []string
	for what, n := range by {
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d models (%s), %d executions and %d pruned", len(t.bounds), strings.Join(parts, ", "), t.executions, t.pruned)
}

// soak explores tests, several at a time.
type soak struct {
	tests []*test
	jobs  int
	end   time.Time // zero if each model is explored to its own bound only
	out   io.Writer

	mu    sync.Mutex
	total total
	ok    bool
}

// longest returns a table of the n tests with the most processor time, one a line, so that a
// model that has grown is seen.
func (s *soak) longest(n int) string {
	tests := slices.Clone(s.tests)
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(b.used, a.used) })
	var b strings.Builder
	for _, t := range tests[:min(n, len(tests))] {
		fmt.Fprintf(&b, "%7.1f s  %s %s\n", t.used.Seconds(), t.dir, t.name)
	}
	return b.String()
}

// maxExecutions is the largest number of executions of a model within its own bound. It is
// chosen so that all models take less than ten minutes on two processors.
const maxExecutions = 1_500_000

// firstBound is the bound of the first round after the round with the models' own bounds.
const firstBound = 3

// explore runs all rounds and reports whether every model kept its laws.
func (s *soak) explore(ctx context.Context) bool {
	s.ok = true
	s.round(ctx, s.tests, 0)
	for bound := firstBound; s.ok && ctx.Err() == nil && time.Now().Before(s.end); bound++ {
		next := slices.DeleteFunc(slices.Clone(s.tests), func(t *test) bool { return t.explored(bound) })
		if len(next) == 0 {
			break
		}
		_, _ = fmt.Fprintf(s.out, "round of %d preemptions: %d tests, %v left\n", bound, len(next), time.Until(s.end).Round(time.Second))
		s.round(ctx, next, bound)
	}
	return s.ok
}

// explored reports whether all models of t are complete at this bound.
func (t *test) explored(bound int) bool {
	return !slices.ContainsFunc(t.models, func(m model) bool {
		return !m.complete || m.preemptions != all && m.preemptions < bound
	})
}

// round runs tests with this bound. Bound 0 stands for the own bound of each model.
func (s *soak) round(ctx context.Context, tests []*test, bound int) {
	queue := make(chan func(), len(tests))
	for i, t := range tests {
		waiting := len(tests) - i
		queue <- func() { s.test(ctx, t, bound, waiting) }
	}
	close(queue)
	var running sync.WaitGroup
	for range s.jobs {
		running.Go(func() {
			for run := range queue {
				run()
			}
		})
	}
	running.Wait()
}

// share returns the time for each model of t when so many tests have not run yet, t
// included.
func (s *soak) share(t *test, waiting int) time.Duration {
	d := time.Until(s.end) * time.Duration(s.jobs) / time.Duration(max(waiting, s.jobs)*max(len(t.models), 1))
	return max(d, time.Second)
}

// test runs one test and prints its models.
func (s *soak) test(ctx context.Context, t *test, bound, waiting int) {
	if ctx.Err() != nil {
		return
	}
	args := []string{"-test.run", "^" + t.name + "$", "-test.timeout", "0"}
	if bound > 0 {
		args = append(args, fmt.Sprintf("-interleave.preemptions=%d", bound),
			fmt.Sprintf("-interleave.seed=%d", bound), fmt.Sprintf("-interleave.budget=%v", s.share(t, waiting)))
	}
	c := exec.CommandContext(ctx, t.binary, args...)
	c.Dir = t.dir
	c.Env = append([]string{"GOGC=400"}, c.Environ()...) // the last one counts; a fifth less processor time
	out, err := c.CombinedOutput()

	s.mu.Lock()
	defer s.mu.Unlock()
	if p := c.ProcessState; p != nil {
		t.used += p.UserTime() + p.SystemTime()
	}
	t.models = t.models[:0]
	for line := range strings.Lines(string(out)) {
		if m, ok := parseModel(strings.TrimSpace(line)); ok {
			t.models = append(t.models, m)
			s.total.add(m)
			_, _ = fmt.Fprint(s.out, line)
			if bound == 0 && m.executions > maxExecutions {
				s.ok = false
				_, _ = fmt.Fprintf(s.out, "FAILED %s %s: %s has more than %d executions: lower its own bound. A soak explores beyond that\n", t.dir, t.name, m.name, maxExecutions)
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		s.ok = false
		_, _ = fmt.Fprintf(s.out, "FAILED %s %s: %v\n%s", t.dir, t.name, err, out)
	}
}
