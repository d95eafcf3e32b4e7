//go:build interleave

package pool_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// Workers of these models are daemons, as in those of package sched. A stranded call shows as a
// caller that waits for ever, or as a lane that holds something in the end.

// modelSpawner starts workers as threads of the model.
type modelSpawner struct{}

func (modelSpawner) Spawn(run func()) error {
	interleave.GoDaemon("worker", run)
	return nil
}

// world is a pool in an exploration, and the steps that were called there.
type world struct {
	m       *interleave.M
	s       *sched.Scheduler
	p       *pool.Pool
	direct  *pool.Func[*step, string] // may run on its caller
	remote  *pool.Func[*step, string]
	abort   *pool.Func[*step, string] // abortable, and remote
	steps   []*step
	running log
}

// log is the steps whose handlers have been entered, in order. The race detector does not see
// it because it looks for races of the pool.
type log struct {
	steps [8]*step
	n     int
}

//go:norace
func (l *log) add(s *step) {
	l.steps[l.n] = s
	l.n++
}

//go:norace
func (l *log) len() int { return l.n }

// note is a number that handlers and callers share in the same way.
type note struct{ n int }

//go:norace
func (c *note) add(d int) int {
	c.n += d
	return c.n
}

// step is the argument of a call, and what became of it.
type step struct {
	name    string
	do      func(ctx context.Context)
	entered int
	called  int // calls that have returned
	err     error
}

// in explores a program over a pool with that configuration and that many places of its
// scheduler. Executions have two hundred steps and more. All executions with one preemption are
// explored. Those with two are explored where they are few. PCT draws some thousands more.
func in(t *testing.T, name string, places int, c pool.Config, program func(w *world)) {
	t.Helper()
	draw(t, name+"-pct", 5_000, places, c, program)
	r := check(t, name, interleave.Options{Preemptions: 1}, places, c, program)
	if r.Complete && r.Executions < 500 {
		check(t, name+"-two", interleave.Options{Preemptions: 2}, places, c, program)
	}
}

// draw is in for programs whose executions are too many to go through. PCT draws so many of
// them.
func draw(t *testing.T, name string, executions, places int, c pool.Config, program func(w *world)) {
	t.Helper()
	check(t, name, interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: executions}, places, c, program)
}

func check(t *testing.T, name string, o interleave.Options, places int, c pool.Config, program func(w *world)) interleave.Result {
	t.Helper()
	r := interleave.Check(t, name, o, func(m *interleave.M) { program(newWorld(m, places, c)) })
	if r.Failure != nil {
		t.FailNow()
	}
	return r
}

// many is how many executions of a large program are drawn.
const many = 20_000

func newWorld(m *interleave.M, places int, c pool.Config) *world {
	s, err := sched.New(sched.Config{MaxWorkers: places, Spawner: modelSpawner{}})
	if err != nil {
		m.Fatalf("sched.New: %v", err)
	}
	w := &world{m: m, s: s}
	enter := func(ctx context.Context, s *step) (string, error) {
		s.entered++
		w.running.add(s)
		if s.do != nil {
			s.do(ctx)
		}
		return s.name, nil
	}
	var h pool.Handlers
	w.direct = pool.Register(&h, "direct", enter)
	w.remote = pool.Register(&h, "remote", enter, pool.TaskOptions{Remote: true})
	w.abort = pool.Register(&h, "abort", enter, pool.TaskOptions{Remote: true, Abortable: true})
	c.Scheduler = s
	if w.p, err = pool.New(&h, c); err != nil {
		m.Fatalf("New: %v", err)
	}
	m.Final(w.check)
	return w
}

// step returns the argument of a call.
func (w *world) step(name string, do func(ctx context.Context)) *step {
	s := &step{name: name, do: do}
	w.steps = append(w.steps, s)
	return s
}

// check is the law of all models. Each step was called once. It was entered once, or not at all
// if its error says so. The pool holds nothing in the end.
func (w *world) check() {
	for _, s := range w.steps {
		switch {
		case s.called != 1:
			w.m.Fatalf("call %s: returned %d times", s.name, s.called)
		case s.err == nil && s.entered != 1, s.entered > 1, s.entered == 1 && errors.Is(s.err, pool.ErrNotStarted):
			w.m.Fatalf("call %s: %v, and was entered %d times", s.name, s.err, s.entered)
		}
	}
	if s := w.p.Busy(); s != "" {
		w.m.Fatalf("%s", s)
	}
}

// call calls s, and waits.
func (w *world) call(ctx context.Context, f *pool.Func[*step, string], s *step) {
	w.ended(s)(f.Call(ctx, s))
}

// start calls s, and returns what waits for it.
func (w *world) start(ctx context.Context, f *pool.Func[*step, string], s *step) (future *pool.Future[string], wait func()) {
	future = f.Go(ctx, s)
	return future, func() { w.ended(s)(future.Await()) }
}

// ended takes the outcome of s.
func (w *world) ended(s *step) func(string, error) {
	return func(result string, err error) {
		s.called++
		s.err = err
		if err == nil && (result != s.name || s.entered != 1) {
			w.m.Fatalf("call %s: result %q, entered %d times", s.name, result, s.entered)
		}
	}
}

// lease waits for a lane and leases it.
func (w *world) lease() *pool.Lease {
	l, err := w.p.Acquire(background)
	if err != nil {
		w.m.Fatalf("Acquire = %v", err)
	}
	return l
}

// only makes it an error in the end when one of the steps has none of these errors. A nil
// stands for none.
func (w *world) only(allowed ...error) {
	w.m.Final(func() {
		for _, s := range w.steps {
			ok := false
			for _, err := range allowed {
				ok = ok || (err == nil && s.err == nil) || (err != nil && errors.Is(s.err, err))
			}
			if !ok {
				w.m.Fatalf("call %s: %v", s.name, s.err)
			}
		}
	})
}

// inOrder makes it an error in the end when the first step has not begun before the second one.
// The first step has run.
func (w *world) inOrder(first, second *step) {
	w.m.Final(func() {
		if a, b := slices.Index(w.running.steps[:], first), slices.Index(w.running.steps[:], second); a > b && b >= 0 {
			w.m.Fatalf("%s has begun before %s", second.name, first.name)
		}
	})
}

// latch returns what lets one wait go on.
func latch() (open, wait func()) {
	s := new(interleave.Sema)
	s.Init(1)
	return func() { s.Post() }, s.Wait
}

var background = context.Background()
