package sched_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// failingSpawner fails where fail says so, by the number of the call.
type failingSpawner struct {
	calls atomic.Int64
	fail  func(call int64) bool
}

func (f *failingSpawner) Spawn(run func()) error {
	if f.fail(f.calls.Add(1)) {
		return errors.New("no worker today")
	}
	go run()
	return nil
}

func never() *failingSpawner { return &failingSpawner{fail: func(int64) bool { return true }} }

// Z-005, Z-061, X-31, B6: the first k spawns fail; then the pool works. V-13a.
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

// TestEveryNthSpawnFails: every n-th spawn fails while workers block and come back.
// V-13b.
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

// TestOneSpawnFails: when the n-th spawn of 64 fails, no task is lost: the next
// Schedule tries again, until all 64 workers are there. V-13b.
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
		// Further tasks make up for the spawn that failed; no more of them than that takes,
		// since what is queued in a stuck worker's ring waits for whoever has nothing else.
		for deadline := time.Now().Add(patience); s.Stats().Spawns < workers && time.Now().Before(deadline); runtime.Gosched() {
			must(t, s.Go(func() {}))
		}
		l.wait(t)
		if st := s.Stats(); st.SpawnFailures != 1 || st.Spawns != workers {
			t.Errorf("spawn %d fails: Stats = %+v", n, st)
		}
		atRest(t, s)
	}
}

// TestAllSpawnsFail: Do, Wait, Run and Shutdown serve what no worker can. V-13c.
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
		t.Fatalf("%d tasks ran, want 3: Wait serves its group and nobody else", ran)
	}

	ctx, cancel := context.WithCancel(context.Background())
	mustBe(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++; cancel() }}), sched.ErrQueued)
	mustBe(t, s.Run(ctx), context.Canceled)
	if ran != 5 {
		t.Fatalf("%d tasks ran, want 5: Run serves all", ran)
	}

	mustBe(t, s.Schedule(&sched.Task{Fn: count}), sched.ErrQueued)
	must(t, s.Shutdown(within(t)))
	if ran != 6 {
		t.Fatalf("%d tasks ran, want 6: Shutdown drains", ran)
	}
}

// TestSpawnerPanicCountsAsFailure: a Spawner that panics has failed to spawn. V-13d.
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

type panickySpawner struct{ once sync.Once }

func (p *panickySpawner) Spawn(run func()) error {
	p.once.Do(func() { panic("spawn") })
	go run()
	return nil
}
