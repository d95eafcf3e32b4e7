package sched_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// patience is how long a test waits for what has to happen.
const patience = time.Minute

func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// latch counts down to a channel that closes.
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
	case <-time.After(patience):
		tb.Fatalf("%d of the tasks did not run", l.left.Load())
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func mustBe(tb testing.TB, got, want error) {
	tb.Helper()
	if !errors.Is(got, want) {
		tb.Fatalf("error is %v, want %v", got, want)
	}
}

// Z-060: the zero Scheduler works.
func TestZeroScheduler(t *testing.T) {
	var s sched.Scheduler
	l := newLatch(3)
	must(t, s.Go(l.hit))
	must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}))
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}))
	l.wait(t)
	must(t, s.Shutdown(within(t)))
}

// Z-004: New starts nobody; k blocked tasks bring k workers, and perhaps the one
// that looks for more, up to MaxWorkers.
func TestWorkersComeOnDemand(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 4})
	if n := s.Stats().Workers; n != 0 {
		t.Fatalf("New started %d workers", n)
	}
	release := make(chan struct{})
	for k := 1; k <= 4; k++ {
		started := newLatch(1)
		must(t, s.Go(func() { started.hit(); <-release }))
		started.wait(t)
		if n := s.Stats().Workers; n < k || n > min(k+1, 4) {
			t.Errorf("%d blocked tasks, %d workers", k, n)
		}
	}
	fifth := newLatch(1)
	must(t, s.Go(fifth.hit))
	if n := s.Stats().Workers; n != 4 {
		t.Errorf("%d workers, want MaxWorkers", n)
	}
	close(release)
	fifth.wait(t)
}

// Z-003: a batch of n runs n tasks; an empty one is nothing to do.
func TestBatch(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, n := range []int{0, 1, 2, 127, 128, 129, 255, 256, 257, 1000, 5000} {
		l := newLatch(n + 1)
		tasks := make([]sched.Task, n)
		var b, other sched.Batch
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) { l.hit() }
			to := &b
			if i >= n/2 {
				to = &other
			}
			must(t, to.Add(&tasks[i]))
		}
		must(t, b.Append(&other))
		if b.Len() != n || other.Len() != 0 {
			t.Fatalf("Len = %d and %d, want %d and 0", b.Len(), other.Len(), n)
		}
		must(t, s.ScheduleBatch(&b))
		if b.Len() != 0 {
			t.Fatalf("a scheduled batch still has %d tasks", b.Len())
		}
		l.hit()
		l.wait(t)
	}
}

// Z-018: batches from inside a callback go through the worker.
func TestBatchFromInside(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, n := range []int{1, 255, 256, 257, 3000} {
		l := newLatch(n)
		tasks := make([]sched.Task, n)
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) { l.hit() }
		}
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			var b sched.Batch
			for i := range tasks {
				if err := b.Add(&tasks[i]); err != nil {
					t.Error(err)
				}
			}
			if err := w.ScheduleBatch(&b); err != nil {
				t.Error(err)
			}
		}}))
		l.wait(t)
	}
}

// TestNilAndZeroTasks: what is nil or empty is refused. V-01.
func TestNilAndZeroTasks(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var b sched.Batch
	var j sched.Job[int]
	var nilJob *sched.Job[int]
	var g sched.Group
	for name, err := range map[string]error{
		"Schedule(nil)":       s.Schedule(nil),
		"Schedule(zero)":      s.Schedule(new(sched.Task)),
		"Schedule(zero job)":  s.Schedule(j.Task()),
		"Schedule(nil job)":   s.Schedule(nilJob.Task()),
		"ScheduleBatch(nil)":  s.ScheduleBatch(nil),
		"Go(nil)":             s.Go(nil),
		"Do(nil)":             s.Do(nil),
		"TryDo(nil)":          second(s.TryDo(nil)),
		"Do(zero)":            s.Do(new(sched.Task)),
		"Batch.Add(nil)":      b.Add(nil),
		"Batch.Add(zero)":     b.Add(new(sched.Task)),
		"Group.Schedule":      s.NewGroup(sched.GroupConfig{}).Schedule(nil, nil),
		"Group.ScheduleBatch": s.NewGroup(sched.GroupConfig{}).ScheduleBatch(nil, nil),
	} {
		if !errors.Is(err, sched.ErrNilTask) {
			t.Errorf("%s = %v, want ErrNilTask", name, err)
		}
	}
	mustBe(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}), sched.ErrNoScheduler)
	must(t, s.Do())
}

// Z-009, B4: a task may be scheduled again from its callback, and not while queued.
// V-02a.
func TestScheduledTwice(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	release, blocked := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { blocked.hit(); <-release }))
	blocked.wait(t)
	l := newLatch(1)
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	must(t, s.Schedule(task))
	var b sched.Batch
	mustBe(t, s.Schedule(task), sched.ErrAlreadyScheduled)
	mustBe(t, b.Add(task), sched.ErrAlreadyScheduled)
	mustBe(t, s.Do(task), sched.ErrAlreadyScheduled)
	close(release)
	l.wait(t)
}

// TestBatchesThatShareTasksOrCycle: a task is in one batch at most, and no batch in
// itself. V-02a, V-03a, V-03b.
func TestBatchesThatShareTasksOrCycle(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	l := newLatch(1)
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	var a, b sched.Batch
	must(t, a.Add(task))
	mustBe(t, a.Add(task), sched.ErrAlreadyScheduled)
	mustBe(t, b.Add(task), sched.ErrAlreadyScheduled)
	mustBe(t, a.Append(&a), sched.ErrAlreadyScheduled)
	mustBe(t, s.Schedule(task), sched.ErrAlreadyScheduled)
	must(t, s.ScheduleBatch(&a))
	must(t, s.ScheduleBatch(&a)) // empty now
	l.wait(t)
}

// TestRescheduleItself runs one task 10^6 times, from its own callback: Z-009, B4.
// V-02b.
func TestRescheduleItself(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 20_000
	}
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		l := newLatch(1)
		left := n
		task := &sched.Task{}
		task.Fn = func(w *sched.Worker, self *sched.Task) {
			if left--; left == 0 {
				l.hit()
				return
			}
			if err := w.Schedule(self); err != nil {
				t.Error(err)
			}
		}
		must(t, s.Schedule(task))
		l.wait(t)
	}
}

// Z-066: 16,383 workers are possible, more are not. V-14a.
func TestMaxWorkers(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want string
	}{
		{0, ""},
		{1, ""},
		{16_383, ""},
		{16_384, "Config.MaxWorkers is 16384"},
		{-1, "Config.MaxWorkers is -1"},
	} {
		s, err := sched.New(sched.Config{MaxWorkers: tc.n})
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New(%d) = %v, want an error with %q", tc.n, err, tc.want)
			}
			continue
		}
		must(t, err)
		want := tc.n
		if want == 0 {
			want = runtime.GOMAXPROCS(0)
		}
		if s.MaxWorkers() != want {
			t.Errorf("MaxWorkers = %d, want %d", s.MaxWorkers(), want)
		}
		ran := false
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
		if !ran {
			t.Errorf("with MaxWorkers %d the task did not run", tc.n)
		}
		must(t, s.Shutdown(within(t)))
	}
	_, err := sched.New(sched.Config{MaxWorkers: 16_384})
	mustBe(t, err, sched.ErrTooManyWorkers)
}

func second(_ bool, err error) error { return err }

// TestTryDo: a task runs on its caller's goroutine when that has a place or gets one, and
// stays the caller's when it does not.
func TestTryDo(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	ran := 0
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
	try := func(want bool, wantErr error) {
		t.Helper()
		before := ran
		did, err := s.TryDo(task)
		mustBe(t, err, wantErr)
		if did != want || ran-before != map[bool]int{true: 1}[want] {
			t.Fatalf("TryDo = %t, and the task ran %d times", did, ran-before)
		}
	}
	try(true, nil)
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		try(true, nil) // on top of a task
		other := make(chan struct{})
		go func() {
			defer close(other)
			try(false, nil) // the only place is held
		}()
		<-other
	}}))
	try(true, nil)
	must(t, s.Shutdown(within(t)))
	try(false, sched.ErrShutdown)
}

// TestTryDoRefuses: what is refused has not run, outside of a callback and in one, and when
// that has blocked, and whether or not tasks are observed.
func TestTryDoRefuses(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"plain":    {MaxWorkers: 1},
		"observed": {MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sched.New(c)
			must(t, err)
			tryRefused(t, s)
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				tryRefused(t, s)
				w.Blocking(func() {})
				tryRefused(t, s)
			}}))
			begun, gate, ended := newLatch(1), newLatch(1), newLatch(1)
			must(t, s.Go(func() {
				defer ended.hit()
				begun.hit()
				gate.wait(t)
				tryIs(t, s, new(sched.Task), sched.ErrClosed)
			}))
			begun.wait(t)
			_, err = s.Close()
			must(t, err)
			gate.hit()
			ended.wait(t)
			_, err = s.Join(within(t))
			must(t, err)
		})
	}
}

// tryRefused tries what s refuses while it is open.
func tryRefused(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	tryIs(t, s, nil, sched.ErrNilTask)
	var b sched.Batch
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { t.Error("a task ran that was in a batch") }}
	must(t, b.Add(task))
	tryIs(t, s, task, sched.ErrAlreadyScheduled)
}

// tryIs checks that TryDo refuses task.
func tryIs(t *testing.T, s *sched.Scheduler, task *sched.Task, want error) {
	t.Helper()
	if ran, err := s.TryDo(task); ran || !errors.Is(err, want) {
		t.Errorf("TryDo = %t, %v, want false, %v", ran, err, want)
	}
}

// TestJob checks the typed job: no unsafe code, no allocation when run again.
func TestJob(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	j := &sched.Job[[]int]{}
	j.Fn = func(w *sched.Worker, j *sched.Job[[]int]) { j.Value = append(j.Value, w.ID()) }
	for range 3 {
		must(t, s.Do(j.Task()))
	}
	if len(j.Value) != 3 || j.Value[0] != 0 {
		t.Fatalf("Value = %v", j.Value)
	}
}

// B8: a worker of another scheduler is an outside caller.
func TestTwoSchedulersFeedEachOther(t *testing.T) {
	n := 50_000
	if testing.Short() {
		n = 2_000
	}
	a := newScheduler(t, sched.Config{MaxWorkers: 1})
	b := newScheduler(t, sched.Config{MaxWorkers: 2})
	l := newLatch(1)
	var left atomic.Int64
	left.Store(int64(n))
	task := &sched.Task{}
	task.Fn = func(w *sched.Worker, self *sched.Task) {
		to := a
		if w.Scheduler() == a {
			to = b
		}
		if left.Add(-1) == 0 {
			l.hit()
			return
		}
		if err := to.Schedule(self); err != nil {
			t.Error(err)
		}
	}
	must(t, a.Schedule(task))
	l.wait(t)
}

// B8: nor is such a worker one of the group's scheduler, whoever hands it in.
func TestGroupOfAnotherScheduler(t *testing.T) {
	a := newScheduler(t, sched.Config{MaxWorkers: 1})
	b := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := a.NewGroup(sched.GroupConfig{})
	var one, batch *sched.Scheduler
	var err error
	must(t, b.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		var tasks sched.Batch
		err = errors.Join(
			g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { one = w.Scheduler() }}),
			tasks.Add(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { batch = w.Scheduler() }}),
			g.ScheduleBatch(w, &tasks),
			w.Wait(g),
		)
	}}))
	must(t, err)
	if one != a || batch != a {
		t.Errorf("the tasks ran on %p and %p, want %p", one, batch, a)
	}
}

// TestOutsideCallersAreNotStarved: two tasks that reschedule themselves for ever
// fill all workers.
func TestOutsideCallersAreNotStarved(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var stop atomic.Bool
		for range 2 {
			task := &sched.Task{}
			task.Fn = func(w *sched.Worker, self *sched.Task) {
				if !stop.Load() {
					if err := w.Schedule(self); err != nil && !errors.Is(err, sched.ErrClosed) {
						t.Error(err)
					}
				}
			}
			must(t, s.Schedule(task))
		}
		l := newLatch(100)
		for range 100 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
		stop.Store(true)
	}
}

// TestExactlyOnce is the law of the scheduler: a random mixture of schedules from
// inside and outside runs each task once.
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

// Z-002: Schedule and running allocate nothing.
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

// Z-100: OnIdle is called once before each park, and may schedule.
func TestOnIdle(t *testing.T) {
	var calls atomic.Int64
	l := newLatch(1)
	fromHook := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
		if calls.Add(1) == 1 {
			if err := w.Schedule(fromHook); err != nil {
				t.Error(err)
			}
		}
	}})
	must(t, s.Go(func() {}))
	l.wait(t)
}

// TestWaiterStats checks that counters add up at rest.
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
