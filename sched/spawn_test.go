package sched_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/sched"
)

// spawnFunc is a Spawner that is a function.
type spawnFunc func(run func()) error

func (f spawnFunc) Spawn(run func()) error { return f(run) }

// failingSpawner fails in the calls for which fail returns true.
type failingSpawner struct {
	calls atomic.Int64
	fail  func(call int64) bool
}

func (f *failingSpawner) Spawn(run func()) error {
	if f.fail(f.calls.Add(1)) {
		return errors.New("this spawn fails")
	}
	go run()
	return nil
}

// never returns a Spawner that always fails.
func never() *failingSpawner { return &failingSpawner{fail: func(int64) bool { return true }} }

// TestFirstSpawnsFail: after k failed spawns the next Schedule spawns a worker that runs all
// tasks. Z-005, Z-061, X-31, B6. V-13a.
func TestFirstSpawnsFail(t *testing.T) {
	for k := range int64(65) {
		s := newScheduler(t, sched.Config{
			MaxWorkers: 3,
			Spawner:    &failingSpawner{fail: func(call int64) bool { return call <= k }},
		})
		l := newLatch(int(k) + 1)
		for i := range k + 1 {
			err := s.Go(l.hit)
			if i < k {
				mustBe(t, err, sched.ErrQueued)
			} else {
				must(t, err)
			}
		}
		l.wait(t)
		if st := s.Stats(); st.SpawnFailures < uint64(k) {
			t.Fatalf("%d spawn failures counted, want %d", st.SpawnFailures, k)
		}
	}
}

// TestReturnOfPlaceRetriesSpawner: a task that is queued when no worker can be started runs
// after the next return of a place, without another push.
func TestReturnOfPlaceRetriesSpawner(t *testing.T) {
	s := newScheduler(t, sched.Config{
		MaxWorkers: 1,
		Spawner:    &failingSpawner{fail: func(call int64) bool { return call == 1 }},
	})
	l := newLatch(1)
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }})
		if !errors.Is(err, sched.ErrQueued) {
			t.Errorf("Schedule = %v, want ErrQueued", err)
		}
	}}))
	l.wait(t)
}

// TestEveryNthSpawnFails: a group ends although every n-th spawn fails while workers block and
// rejoin. V-13b.
func TestEveryNthSpawnFails(t *testing.T) {
	for n := int64(2); n <= 64; n++ {
		s := newScheduler(t, sched.Config{
			MaxWorkers: 2,
			Spawner:    &failingSpawner{fail: func(call int64) bool { return call%n == 0 }},
		})
		g := s.NewGroup(sched.GroupConfig{})
		for range 20 {
			err := g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(runtime.Gosched)
			}})
			if err != nil && !errors.Is(err, sched.ErrQueued) {
				t.Fatal(err)
			}
		}
		must(t, g.Wait())
	}
}

// TestOneSpawnFails: one failed spawn out of 64 loses no task, because the next Schedule spawns
// again, until all 64 workers exist. V-13b.
func TestOneSpawnFails(t *testing.T) {
	const workers = 64
	for n := int64(1); n <= workers; n++ {
		s, err := sched.New(sched.Config{
			MaxWorkers: workers,
			Spawner:    &failingSpawner{fail: func(call int64) bool { return call == n }},
		})
		must(t, err)
		l := newLatch(workers)
		for i := range workers {
			err := s.Go(func() { l.hit(); <-l.done })
			if (i == 0 && n == 1) != errors.Is(err, sched.ErrQueued) {
				t.Errorf("spawn %d fails: Go %d = %v", n, i, err)
			}
		}
		// Further tasks replace the failed spawn. The test schedules no more of them than
		// necessary, because tasks in the ring of a stuck worker wait for a free thief.
		for deadline := time.Now().Add(patience.Limit); s.Stats().Spawns < workers && time.Now().Before(deadline); runtime.Gosched() {
			must(t, s.Go(func() {}))
		}
		l.wait(t)
		if st := s.Stats(); st.SpawnFailures != 1 || st.Spawns != workers {
			t.Errorf("spawn %d fails: Stats = %+v", n, st)
		}
		atRest(t, s)
	}
}

// TestAllSpawnsFail: without any worker, Do and Wait run their own tasks, and Run and Shutdown
// run all tasks. V-13c.
func TestAllSpawnsFail(t *testing.T) {
	never := func() *failingSpawner { return &failingSpawner{fail: func(int64) bool { return true }} }
	s, err := sched.New(sched.Config{MaxWorkers: 2, Spawner: never()})
	must(t, err)
	ran := 0
	count := func(*sched.Worker, *sched.Task) { ran++ }

	must(t, s.Do(&sched.Task{Fn: count}, &sched.Task{Fn: count}))
	if ran != 2 {
		t.Fatalf("Do ran %d tasks, want 2", ran)
	}

	mustBe(t, s.Schedule(&sched.Task{Fn: count}), sched.ErrQueued)
	g := s.NewGroup(sched.GroupConfig{})
	mustBe(t, g.Schedule(nil, &sched.Task{Fn: count}), sched.ErrQueued)
	must(t, g.Wait())
	if ran != 3 {
		t.Fatalf("%d tasks ran, want 3: Wait runs the tasks of its group only", ran)
	}

	ctx, cancel := context.WithCancel(context.Background())
	mustBe(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++; cancel() }}), sched.ErrQueued)
	mustBe(t, s.Run(ctx), context.Canceled)
	if ran != 5 {
		t.Fatalf("%d tasks ran, want 5: Run runs all tasks", ran)
	}

	mustBe(t, s.Schedule(&sched.Task{Fn: count}), sched.ErrQueued)
	must(t, s.Shutdown(within(t)))
	if ran != 6 {
		t.Fatalf("%d tasks ran, want 6: Shutdown runs all tasks", ran)
	}
}

// TestSpawnerPanicCountsAsFailure: a spawn whose Spawner panics counts as failed, and the next
// Schedule spawns again. V-13d.
func TestSpawnerPanicCountsAsFailure(t *testing.T) {
	sp := &panickySpawner{}
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: sp})
	func() {
		defer func() { _ = recover() }()
		_ = s.Go(func() {})
	}()
	l := newLatch(1)
	t.Log(s.Go(l.hit))
	ends(t, "a task after a Spawner that panicked once", func() { <-l.done })
}

// panickySpawner panics in its first call.
type panickySpawner struct{ once sync.Once }

func (p *panickySpawner) Spawn(run func()) error {
	p.once.Do(func() { panic("spawn") })
	go run()
	return nil
}

// keepSpawner keeps each run and returns err.
type keepSpawner struct {
	err  error
	runs chan func()
}

func (k *keepSpawner) Spawn(run func()) error {
	k.runs <- run
	return k.err
}

// TestSpawnerCallsRunOnce: a second call of run panics, and so does a call after Spawn has failed.
// The first worker runs as if there had been no second call. V-13f.
func TestSpawnerCallsRunOnce(t *testing.T) {
	const want = "sched: Config.Spawner has called run twice, or after Spawn has failed"
	k := &keepSpawner{runs: make(chan func(), 4)}
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: k})
	l := newLatch(1)
	must(t, s.Go(l.hit))
	run := <-k.runs
	go run()
	l.wait(t)
	if got := panicOf(run); got != want {
		t.Errorf("the second run ended with %v, want %q", got, want)
	}
	atRest(t, s)

	k.err = errors.New("this spawn fails")
	s = openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: k})
	mustBe(t, s.Go(func() {}), sched.ErrQueued)
	atRest(t, s) // a worker would end at once
	if got := panicOf(<-k.runs); got != want {
		t.Errorf("a run after the failure of Spawn ended with %v, want %q", got, want)
	}
}

// TestSpawnThatFailsAfterRun: the scheduler panics when Spawn fails after it has called run. The
// worker has started, and runs the task. V-13f.
func TestSpawnThatFailsAfterRun(t *testing.T) {
	const want = "sched: Config.Spawner has called run, and Spawn has failed"
	l := newLatch(1)
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: lateFailure{l.done}})
	if got := panicOf(func() { _ = s.Go(l.hit) }); got != want {
		t.Errorf("Schedule ended with %v, want %q", got, want)
	}
	if st := s.Stats(); st.Spawns != 1 || st.SpawnFailures != 0 {
		t.Errorf("Stats = %+v, want one spawn", st)
	}
	atRest(t, s)
}

// lateFailure is a Spawner that starts each worker and fails after ran is closed.
type lateFailure struct{ ran <-chan struct{} }

func (f lateFailure) Spawn(run func()) error {
	go run()
	<-f.ran
	return errors.New("this spawn fails")
}

// TestWorkerThatDoesNotBegin: Stats.Starting counts the workers that the Spawner has accepted and
// not begun. Their tasks run when they begin. V-13f.
func TestWorkerThatDoesNotBegin(t *testing.T) {
	k := &keepSpawner{runs: make(chan func(), 4)}
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: k})
	l := newLatch(1)
	must(t, s.Go(l.hit))
	if st := s.Stats(); st.Starting != 1 || st.Spawns != 1 {
		t.Errorf("before run: Stats = %+v, want Starting 1", st)
	}
	go (<-k.runs)()
	l.wait(t)
	if st := s.Stats(); st.Starting != 0 {
		t.Errorf("after run: Stats = %+v, want Starting 0", st)
	}
	atRest(t, s)
}

// TestWorkerThatTakesAPlaceAgainStays: a worker whose callback has blocked and has taken a place
// again remains a worker, so that the next task starts no other one.
func TestWorkerThatTakesAPlaceAgainStays(t *testing.T) {
	spawner := &failingSpawner{fail: func(int64) bool { return false }}
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: spawner})
	for range 3 {
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			sched.ForkJoin(s, func(f *ints, _ int) int {
				w.Blocking(func() {})
				if w.ID() != 0 {
					t.Error("the body has no place after Blocking")
				}
				return 0
			}, 0)
		}}))
		until("the worker parks or ends", func() bool {
			st := s.Stats()
			return st.Executed+uint64(st.Queued) > 0 && st.Running == 0 && st.Queued == 0 && st.Parked == st.Workers
		})
	}
	if n := spawner.calls.Load(); n != 1 {
		t.Errorf("%d workers were started, want 1", n)
	}
	atRest(t, s)
}

// TestWorkerThatFindsNoPlaceStays: a worker whose fork-join body has found no place after Blocking
// enters the count within MaxWorkers when the body returns. It then remains a worker.
func TestWorkerThatFindsNoPlaceStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1, IdleTimeout: -1})
		must(t, err)
		begun, unblock, end, exit := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			sched.ForkJoin(s, func(*ints, int) int {
				w.Blocking(func() { close(begun); <-unblock })
				if w.ID() >= 0 {
					t.Error("the body has a place that another task holds")
				}
				<-end
				return 0
			}, 0)
		}}))
		<-begun
		must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { <-exit; runtime.Goexit() }}))
		synctest.Wait() // the second task holds the only place
		close(unblock)
		synctest.Wait()
		close(exit)
		synctest.Wait() // its worker has ended
		close(end)
		synctest.Wait()
		if st := s.Stats(); st.Workers != 1 || st.Parked != 1 {
			t.Errorf("%d workers remain, %d are parked, want 1", st.Workers, st.Parked)
		}
		must(t, s.Shutdown(context.Background()))
	})
}
