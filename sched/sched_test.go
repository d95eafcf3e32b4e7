package sched_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/sched"
)

var seed = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// newRand returns a source of choices and logs how to replay it.
func newRand(tb testing.TB) *rand.Rand {
	tb.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	tb.Logf("replay with -run '^%s$' -stress.seed=%d", tb.Name(), s)
	return rand.New(rand.NewPCG(s, 0))
}

// within returns a context that ends after patience.Limit.
func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit)
	tb.Cleanup(cancel)
	return ctx
}

// newScheduler returns a scheduler that is closed and joined when the test ends.
func newScheduler(tb testing.TB, c sched.Config) *sched.Scheduler {
	tb.Helper()
	s, err := sched.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := s.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
		if _, err := s.Join(within(tb)); err != nil {
			tb.Errorf("Join: %v", err)
		}
	})
	return s
}

// latch closes done after a given number of hits.
type latch struct {
	left atomic.Int64
	done chan struct{}
}

func newLatch(n int) *latch {
	l := &latch{done: make(chan struct{})}
	l.left.Store(int64(n))
	return l
}

func (l *latch) hit() {
	switch left := l.left.Add(-1); {
	case left == 0:
		close(l.done)
	case left < 0:
		panic("latch: hit too often")
	}
}

func (l *latch) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-l.done:
	case <-time.After(patience.Limit):
		tb.Fatalf("%d of the tasks did not run", l.left.Load())
	}
}

// must fails the test when err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// mustBe fails the test when got is not want.
func mustBe(tb testing.TB, got, want error) {
	tb.Helper()
	if !errors.Is(got, want) {
		tb.Fatalf("error is %v, want %v", got, want)
	}
}

// TestZeroScheduler: the zero Scheduler is ready for use. Z-060.
func TestZeroScheduler(t *testing.T) {
	var s sched.Scheduler
	l := newLatch(3)
	must(t, s.Go(l.hit))
	must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}))
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}))
	l.wait(t)
	must(t, s.Shutdown(within(t)))
}

// TestExactlyOnce: each task of a random mixture of schedules, by callers and by callbacks, runs
// exactly once.
func TestExactlyOnce(t *testing.T) {
	rng := newRand(t)
	n := 200_000
	if testing.Short() {
		n = 5_000
	}
	for _, workers := range []int{1, 2, 3, 8} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		ran := make([]atomic.Int32, n)
		l := newLatch(n)
		var next atomic.Int64
		type task = sched.Job[int]
		var fn func(w *sched.Worker, j *task)
		fn = func(w *sched.Worker, j *task) {
			ran[j.Value].Add(1)
			for k := range j.Value % 4 { // some tasks schedule others
				i := int(next.Add(1)) - 1
				if i >= n {
					break
				}
				child := &task{Fn: fn, Value: i}
				var err error
				if k%2 == 0 {
					err = w.Schedule(child.Task())
				} else {
					err = s.Schedule(child.Task())
				}
				if err != nil {
					t.Error(err)
				}
			}
			l.hit()
		}
		var wg sync.WaitGroup
		for range 1 + rng.IntN(4) {
			wg.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= n {
						return
					}
					j := &task{Fn: fn, Value: i}
					if err := s.Schedule(j.Task()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		l.wait(t)
		for i := range ran {
			if c := ran[i].Load(); c != 1 {
				t.Fatalf("task %d of %d ran %d times", i, n, c)
			}
		}
	}
}

// TestNoAllocation: Do, TryDo, Schedule and the run of a task allocate nothing. Z-002.
func TestNoAllocation(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}
	done := make(chan struct{}, 1)
	inside := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { done <- struct{}{} }}
	outer := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { _ = w.Schedule(inside) }}
	for name, fn := range map[string]func(){
		"Do":       func() { _ = s.Do(task) },
		"TryDo":    func() { _, _ = s.TryDo(task) },
		"Schedule": func() { _ = s.Schedule(outer); <-done },
	} {
		fn()
		if n := testing.AllocsPerRun(1000, fn); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// TestStats: the counters add up when no task is left.
func TestStats(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	must(t, err)
	const n = 10_000
	l := newLatch(n)
	for range n {
		must(t, s.Go(l.hit))
	}
	l.wait(t)
	must(t, s.Shutdown(within(t)))
	st := s.Stats()
	if st.Executed != n {
		t.Errorf("Executed = %d, want %d", st.Executed, n)
	}
	if st.Spawns == 0 || st.Spawns > 2 {
		t.Errorf("Spawns = %d", st.Spawns)
	}
	if st.Workers != 0 || st.Held != 0 {
		t.Errorf("%d workers and %d held places after Shutdown", st.Workers, st.Held)
	}
}

// openScheduler returns a scheduler that is not joined when the test ends, because a failure of
// the test may hang it.
func openScheduler(t *testing.T, c sched.Config) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(c)
	must(t, err)
	return s
}

// ends fails the test when fn does not return within patience.Limit.
func ends(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(patience.Limit):
		t.Fatalf("%s: no return within a minute", what)
	}
}

// noTask returns a task that does nothing.
func noTask() *sched.Task { return &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}} }

// panicOf returns the value of the panic of fn, or nil.
func panicOf(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// atRest shuts s down and checks that no worker and no held place is left.
func atRest(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	must(t, s.Shutdown(within(t)))
	if st := s.Stats(); st.Workers != 0 || st.Held != 0 || st.Parked != 0 {
		t.Errorf("at the end: Stats = %+v", st)
	}
}

// raceBuild reports whether the race detector is on.
func raceBuild() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
