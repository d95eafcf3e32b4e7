package sched_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/sched"
)

// notifyCounter is a Spawner that never starts a worker. A scheduler without workers calls it
// once for each notification.
type notifyCounter struct {
	s      *sched.Scheduler
	asked  int
	unseen int // calls that found no task queued
}

func (n *notifyCounter) Spawn(func()) error {
	n.asked++
	if !n.s.AnyQueued() {
		n.unseen++
	}
	return errNoSpawn
}

// TestOneNotifyForABatch: tasks that are scheduled in one call make one notification, and it
// follows the push. Z-003, Z-014.
func TestOneNotifyForABatch(t *testing.T) {
	n := new(notifyCounter)
	s, err := sched.New(sched.Config{MaxWorkers: 4, Spawner: n})
	must(t, err)
	n.s = s
	const size = 2*ringSize + 1
	ran := 0
	tasks := func() (ts []*sched.Task) {
		for range size {
			ts = append(ts, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }})
		}
		return ts
	}
	batch := func() *sched.Batch {
		b := new(sched.Batch)
		for _, task := range tasks() {
			must(t, b.Add(task))
		}
		return b
	}
	g := s.NewGroup(sched.GroupConfig{})
	ctx, cancel := context.WithCancel(context.Background())
	inside := func(fn func(w *sched.Worker)) func() {
		return func() {
			before := n.asked
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { n.asked = before; fn(w); before = n.asked }}))
			n.asked = before // the end of the Do notifies for the tasks that it leaves
		}
	}
	queued := func(err error) {
		t.Helper()
		if queuedOrNil(err) != nil {
			t.Error(err)
		}
	}
	for _, tc := range []struct {
		name string
		fn   func()
		want int
	}{
		{"one by one", func() {
			for _, task := range tasks() {
				mustBe(t, s.Schedule(task), sched.ErrQueued)
			}
		}, size},
		{"several at once", func() { mustBe(t, s.Schedule(tasks()...), sched.ErrQueued) }, 1},
		{"batch", func() { mustBe(t, s.ScheduleBatch(batch()), sched.ErrQueued) }, 1},
		{"batch of a group", func() { mustBe(t, g.ScheduleBatch(nil, batch()), sched.ErrQueued) }, 1},
		{"batch in a callback", inside(func(w *sched.Worker) { queued(w.ScheduleBatch(batch())) }), 1},
		{"several in a callback", inside(func(w *sched.Worker) { queued(w.Schedule(tasks()...)) }), 1},
		{"batch of a group in a callback", inside(func(w *sched.Worker) { queued(g.ScheduleBatch(w, batch())) }), 1},
		{"one", func() { mustBe(t, s.Go(func() { cancel() }), sched.ErrQueued) }, 1},
	} {
		before := n.asked
		tc.fn()
		if got := n.asked - before; got != tc.want {
			t.Errorf("%s: %d notifications, want %d", tc.name, got, tc.want)
		}
	}
	if n.unseen != 0 {
		t.Errorf("%d notifications came before their push", n.unseen)
	}
	mustBe(t, s.Run(ctx), context.Canceled)
	must(t, s.Shutdown(within(t)))
	must(t, g.Wait())
	if ran != 7*size {
		t.Errorf("%d tasks ran, want %d", ran, 7*size)
	}
	if st := s.Stats(); int(st.SpawnFailures) < n.asked || st.Spawns != 0 {
		t.Errorf("Stats = %+v, want at least %d spawn failures", st, n.asked)
	}
}

// TestOneWakeAtATime: with all workers parked, one task wakes one worker, with one wake token or, if
// the worker lingers, without one. A batch of tasks that wait for each other wakes all workers, one
// after the other. Z-057, Z-058, Z-070, Z-082, Z-087.
func TestOneWakeAtATime(t *testing.T) {
	t.Run("one worker lingers", func(t *testing.T) { oneWakeAtATime(t, nil) })
	t.Run("no worker lingers", func(t *testing.T) { oneWakeAtATime(t, func(*sched.Worker) {}) })
}

func oneWakeAtATime(t *testing.T, onIdle func(*sched.Worker)) {
	t.Helper()
	const workers = 6
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: workers, OnIdle: onIdle, IdleTimeout: -1}) // the timer would wake the workers
		must(t, err)
		runAll := func(schedule func(b *sched.Batch) error) {
			t.Helper()
			l := newLatch(workers)
			var b sched.Batch
			for range workers {
				must(t, b.Add(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit(); <-l.done }}))
			}
			must(t, schedule(&b))
			<-l.done // a deadlock report if a task stays queued while a worker is parked
			synctest.Wait()
			if st := s.Stats(); st.Workers != workers || st.Parked != workers || st.Held != 0 {
				t.Errorf("at rest: Stats = %+v", st)
			}
		}
		runAll(s.ScheduleBatch) // spawns the workers
		if got := s.Stats().Spawns; got != workers {
			t.Errorf("%d workers were spawned for %d tasks", got, workers)
		}
		for range 10 {
			was := s.Stats()
			must(t, s.Go(func() {}))
			synctest.Wait()
			if st := s.Stats(); st.Wakes-was.Wakes != 1 || st.EmptyWakes != was.EmptyWakes {
				t.Errorf("one task woke %d workers, %d of them found no notification", st.Wakes-was.Wakes, st.EmptyWakes-was.EmptyWakes)
			}
			before := s.Stats().Wakes
			runAll(s.ScheduleBatch)
			if got := s.Stats().Wakes - before; got < workers {
				t.Errorf("%d workers ran at once after %d wakes", workers, got)
			}
			// Scheduled in a callback: the other workers have to steal the tasks. Z-040, Z-055.
			runAll(func(b *sched.Batch) (err error) {
				must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					if err := w.ScheduleBatch(b); err != nil {
						t.Error(err)
					}
				}}))
				return nil
			})
		}
		st := s.Stats()
		if st.Spawns != workers || st.Steals == 0 {
			t.Errorf("Stats = %+v, want %d spawns and some steals", st, workers)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// heldSpawner is a Spawner whose workers begin one by one, when the test lets one of them.
type heldSpawner struct {
	sched.Infallible
	begin chan struct{}
}

func (h heldSpawner) Spawn(run func()) error {
	go func() {
		<-h.begin
		run()
	}()
	return nil
}

// TestOneSpawnAtATime: while a spawned worker has not begun, further tasks start no other worker. Each
// worker that has found a task starts one more if another task is queued. Z-058, Z-059.
func TestOneSpawnAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 4
		spawner := heldSpawner{begin: make(chan struct{})}
		s, err := sched.New(sched.Config{MaxWorkers: workers, Spawner: spawner})
		must(t, err)
		end := make(chan struct{})
		for range workers {
			must(t, s.Go(func() { <-end }))
		}
		for found := range workers {
			synctest.Wait()
			if st := s.Stats(); int(st.Spawns) != found+1 || st.Running != found {
				t.Errorf("%d workers have found a task: Stats = %+v, want one spawn more", found, st)
			}
			spawner.begin <- struct{}{}
		}
		synctest.Wait()
		if st := s.Stats(); st.Spawns != workers || st.Running != workers {
			t.Errorf("no task is queued: Stats = %+v, want %d spawns and callbacks", st, workers)
		}
		close(end)
		must(t, s.Shutdown(context.Background()))
	})
}

// TestWakingWorkerParksWithoutItsRole: a waking worker that finds no place gives its role up before it
// parks. Otherwise the return of the place would wake no worker. Z-071.
func TestWakingWorkerParksWithoutItsRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1, IdleTimeout: -1}) // the timer would wake the worker
		must(t, err)
		ran := make(chan struct{})
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			must(t, s.Go(func() { close(ran) }))
			synctest.Wait()
			if st := s.Stats(); st.Spawns != 1 || st.Parked != 1 || st.Queued != 1 {
				t.Errorf("while the caller holds the place: Stats = %+v, want one parked worker", st)
			}
		}}))
		<-ran // a deadlock report if the worker stays parked
		must(t, s.Shutdown(context.Background()))
	})
}

// TestFreePlaceRunsTheTask: while callbacks block, each further task runs as long as a place is
// free, whichever queue it waits in, also behind the callback that has scheduled it. The same
// workers do that in each round. Z-006.
func TestFreePlaceRunsTheTask(t *testing.T) {
	const workers = 4
	type scheduling struct {
		name  string
		tasks int
		fn    func(s *sched.Scheduler, w *sched.Worker, b *sched.Batch) error
	}
	for _, way := range []scheduling{
		{"outside", 1, func(s *sched.Scheduler, _ *sched.Worker, b *sched.Batch) error { return s.ScheduleBatch(b) }},
		{"several outside", 2 * ringSize, func(s *sched.Scheduler, _ *sched.Worker, b *sched.Batch) error { return s.ScheduleBatch(b) }},
		{"ring", 1, func(_ *sched.Scheduler, w *sched.Worker, b *sched.Batch) error { return w.ScheduleBatch(b) }},
		{"full ring", ringSize, func(_ *sched.Scheduler, w *sched.Worker, b *sched.Batch) error { return w.ScheduleBatch(b) }},
		{"overflow queue", 2*ringSize + 1, func(_ *sched.Scheduler, w *sched.Worker, b *sched.Batch) error { return w.ScheduleBatch(b) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: workers})
				must(t, err)
				for round := range 20 {
					release := make(chan struct{})
					var ran atomic.Int64
					for blocked := 1; blocked <= workers; blocked++ {
						before := ran.Load()
						must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
							var b sched.Batch
							for range way.tasks {
								if err := b.Add(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}); err != nil {
									t.Error(err)
								}
							}
							if err := way.fn(s, w, &b); err != nil {
								t.Error(err)
							}
							<-release
						}}))
						synctest.Wait()
						got, want := int(ran.Load()-before), way.tasks
						if blocked == workers {
							want = 0 // no place is free
						}
						if got != want {
							t.Fatalf("round %d: while %d callbacks blocked, %d of %d tasks ran, want %d", round, blocked, got, way.tasks, want)
						}
					}
					close(release)
					synctest.Wait()
					if got := int(ran.Load()); got != workers*way.tasks {
						t.Fatalf("round %d: %d tasks ran, want %d", round, got, workers*way.tasks)
					}
					if st := s.Stats(); st.Spawns != workers || st.Workers != workers || st.Parked != workers {
						t.Fatalf("round %d: Stats = %+v, want %d workers", round, st, workers)
					}
				}
				must(t, s.Shutdown(context.Background()))
			})
		})
	}
}

// TestWorkersSpawnOnDemand: New spawns no worker. k blocked tasks make the scheduler spawn k
// workers, perhaps one more that searches, and at most MaxWorkers. Z-004.
func TestWorkersSpawnOnDemand(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 4})
	if n := s.Stats().Workers; n != 0 {
		t.Fatalf("New spawned %d workers", n)
	}
	release := make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	t.Cleanup(end) // otherwise a failed wait leaves the callbacks to the Join of the scheduler
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
	end()
	fifth.wait(t)
}

// TestWorkersAreReused: tasks that run one after another need no further worker. Z-006.
func TestWorkersAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 8})
		must(t, err)
		for range 1000 {
			must(t, s.Go(func() {}))
			synctest.Wait()
		}
		if st := s.Stats(); st.Spawns != 1 || st.Workers != 1 || st.Parked != 1 {
			t.Errorf("Stats = %+v after 1000 tasks one after the other", st)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestHeldQueueIsNotAvailable: a look at all queues does not notify for tasks in a queue that
// a consumer holds. The consumer notifies of the tasks that it leaves.
func TestHeldQueueIsNotAvailable(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2, Spawner: never()})
	nop := func(*sched.Worker, *sched.Task) {}
	mustBe(t, s.Schedule(&sched.Task{Fn: nop}), sched.ErrQueued)
	release := s.HoldInjection()
	mustBe(t, s.Schedule(&sched.Task{Fn: nop}), sched.ErrQueued)
	notifies := func() bool {
		before := s.Stats().SpawnFailures // each notification tries to start a worker
		s.NotifyAvailable()
		return s.Stats().SpawnFailures != before
	}
	if notifies() {
		t.Error("a look has notified for a held queue")
	}
	release()
	if !notifies() {
		t.Error("a look has not notified for an available queue")
	}
}
