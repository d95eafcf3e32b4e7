package sched_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// notifyCounter never starts a worker, so that each notify of a scheduler without
// workers asks it once.
type notifyCounter struct {
	s      *sched.Scheduler
	asked  int
	unseen int // times that nothing was queued by then
}

func (n *notifyCounter) Spawn(func()) error {
	n.asked++
	if !n.s.AnyQueued() {
		n.unseen++
	}
	return errNoSpawn
}

// TestOneNotifyForABatch: what is scheduled at once is one notify, which comes
// after the push. Z-003, Z-014.
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
			n.asked = before // a Do that ends tells others of what it leaves
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
		{"batch from inside", inside(func(w *sched.Worker) { queued(w.ScheduleBatch(batch())) }), 1},
		{"several from inside", inside(func(w *sched.Worker) { queued(w.Schedule(tasks()...)) }), 1},
		{"batch of a group from inside", inside(func(w *sched.Worker) { queued(g.ScheduleBatch(w, batch())) }), 1},
		{"one", func() { mustBe(t, s.Go(func() { cancel() }), sched.ErrQueued) }, 1},
	} {
		before := n.asked
		tc.fn()
		if got := n.asked - before; got != tc.want {
			t.Errorf("%s: %d notifies, want %d", tc.name, got, tc.want)
		}
	}
	if n.unseen != 0 {
		t.Errorf("%d notifies came before their push", n.unseen)
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

// TestOneWakeAtATime: with all workers parked, one task wakes one worker, and that
// one another, which finds nothing; a batch of tasks that wait for each other
// wakes all, one after the other. Z-057, Z-058, Z-059, Z-070, Z-071, Z-087.
func TestOneWakeAtATime(t *testing.T) {
	const workers = 6
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: workers})
		must(t, err)
		together := func(schedule func(b *sched.Batch) error) {
			t.Helper()
			l := newLatch(workers)
			var b sched.Batch
			for range workers {
				must(t, b.Add(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit(); <-l.done }}))
			}
			must(t, schedule(&b))
			<-l.done // else a deadlock report: a task was queued while a worker was parked
			synctest.Wait()
			if st := s.Stats(); st.Workers != workers || st.Parked != workers || st.Held != 0 {
				t.Errorf("at rest: Stats = %+v", st)
			}
		}
		together(s.ScheduleBatch) // these start
		if got := s.Stats().Spawns; got != workers {
			t.Errorf("%d workers were started for %d tasks", got, workers)
		}
		for range 10 {
			before := s.Stats().Wakes
			must(t, s.Go(func() {}))
			synctest.Wait()
			if got := s.Stats().Wakes - before; got < 1 || got > 2 {
				t.Errorf("one task woke %d workers", got)
			}
			before = s.Stats().Wakes
			together(s.ScheduleBatch)
			if got := s.Stats().Wakes - before; got < workers {
				t.Errorf("%d workers ran at once after %d wakes", workers, got)
			}
			// From inside: the others have to steal them. Z-040, Z-055.
			together(func(b *sched.Batch) (err error) {
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

// TestWorkersAreReused: a task after another needs no further worker. Z-006.
func TestWorkersAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 8})
		must(t, err)
		for range 1000 {
			must(t, s.Go(func() {}))
			synctest.Wait()
		}
		// The first comes for the task, and calls another that finds nothing.
		if st := s.Stats(); st.Spawns > 2 || st.Workers != int(st.Spawns) || st.Parked != st.Workers {
			t.Errorf("Stats = %+v after 1000 tasks one after the other", st)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestIdleHour: an hour without work costs nothing, and a burst after it finds
// everybody. Z-013. V-17b.
func TestIdleHour(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 8})
		must(t, err)
		for range 3 {
			l := newLatch(n)
			for range n {
				must(t, s.Go(l.hit))
			}
			<-l.done
			synctest.Wait()
			before := s.Stats()
			time.Sleep(time.Hour)
			if after := s.Stats(); after != before || after.Parked != after.Workers {
				t.Errorf("an idle hour changed the counters from %+v to %+v", before, after)
			}
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestOnIdleOncePerPark: the hook is called by a worker that holds a place and
// found nothing to run, once before each park; a wake that finds nothing parks
// again without a search, and so without the hook. Z-100.
func TestOnIdleOncePerPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Uint64
		var s *sched.Scheduler
		s, err := sched.New(sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
			if w.ID() != 0 || s.AnyQueued() {
				t.Errorf("the hook runs with ID %d, tasks queued: %v", w.ID(), s.AnyQueued())
			}
			// Parks so far were each announced by a call of their own.
			if seen := s.Stats().Parks; seen != calls.Add(1)-1 {
				t.Errorf("call %d of the hook after %d parks", calls.Load(), seen)
			}
		}})
		must(t, err)
		for i := range uint64(100) {
			for range 1 + i%3 {
				must(t, s.Go(func() {}))
			}
			synctest.Wait()
			if st := s.Stats(); st.Parked != 1 || st.Held != 0 || st.Parks != calls.Load()+st.EmptyWakes {
				t.Fatalf("%d calls of the hook, Stats = %+v", calls.Load(), st)
			}
		}
		if calls.Load() < 100 {
			t.Errorf("%d calls of the hook in 100 idle periods", calls.Load())
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestOnIdlePolls: the hook as a poller, the only source of work: each call
// schedules what has become ready, from inside. Z-100.
func TestOnIdlePolls(t *testing.T) {
	const n = 1000
	for _, workers := range []int{1, 3} {
		l := newLatch(n)
		var left atomic.Int64
		left.Store(n)
		s := newScheduler(t, sched.Config{MaxWorkers: workers, OnIdle: func(w *sched.Worker) {
			if left.Add(-1) < 0 {
				return
			}
			if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
				t.Error(err)
			}
		}})
		must(t, s.Go(func() {}))
		l.wait(t)
	}
}

// TestCollectorAllTheTime: tasks that only queues know survive a collector that
// runs all the time. Z-048. V-17a.
func TestCollectorAllTheTime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	n := 3000
	if testing.Short() {
		n = 300
	}
	type numbers = sched.Job[[]int]
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		g := s.NewGroup(sched.GroupConfig{})
		var sum atomic.Int64
		var fn func(w *sched.Worker, j *numbers)
		fn = func(w *sched.Worker, j *numbers) {
			for _, v := range j.Value {
				sum.Add(int64(v))
			}
			if len(j.Value) > 1 {
				for i := range 2 {
					half := &numbers{Fn: fn, Value: append([]int(nil), j.Value[i*len(j.Value)/2:(i+1)*len(j.Value)/2]...)}
					if err := g.Schedule(w, half.Task()); err != nil {
						t.Error(err)
					}
				}
			}
			j.Value = nil
		}
		for range n {
			j := &numbers{Fn: fn, Value: []int{1, 2, 3, 4}}
			must(t, g.Schedule(nil, j.Task()))
		}
		must(t, g.Wait())
		if got, want := sum.Load(), int64(n*10*3); got != want {
			t.Errorf("the sum is %d, want %d", got, want)
		}
	}
}

// TestOversubscribed: many more workers than processors, with tasks that block,
// yield, wait and schedule.
func TestOversubscribed(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := newScheduler(t, sched.Config{MaxWorkers: 64})
	var leafs atomic.Int64
	l := newLatch(n)
	for i := range n {
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			switch i % 4 {
			case 0:
				w.Blocking(runtime.Gosched)
			case 1:
				runtime.Gosched()
			case 2:
				if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
					t.Error(err)
				}
				return
			case 3:
				var g sched.Group
				for range 2 {
					if err := g.Schedule(w, (&node{depth: 1, leafs: &leafs}).arm()); err != nil {
						t.Error(err)
					}
				}
				if err := w.Wait(&g); err != nil {
					t.Error(err)
				}
			}
			l.hit()
		}}))
	}
	l.wait(t)
	if got, want := leafs.Load(), int64(n/4*4); got != want {
		t.Errorf("%d leafs ran, want %d", got, want)
	}
}

// TestRingOfSchedulers: tasks travel round three schedulers while one of them is
// closed: each is at the end of its way, was refused, or came back, once. B8.
func TestRingOfSchedulers(t *testing.T) {
	const tokens = 200
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		ring := make([]*sched.Scheduler, 3)
		for i := range ring {
			s, err := sched.New(sched.Config{MaxWorkers: 1 + (round+i)%3})
			must(t, err)
			ring[i] = s
		}
		type token struct{ hops, at int }
		var arrived, refused atomic.Int64
		fn := func(w *sched.Worker, j *sched.Job[token]) {
			if j.Value.hops--; j.Value.hops == 0 {
				arrived.Add(1)
				return
			}
			j.Value.at = (j.Value.at + 1) % len(ring)
			switch err := ring[j.Value.at].Schedule(j.Task()); {
			case errors.Is(err, sched.ErrClosed), errors.Is(err, sched.ErrShutdown):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		}
		for i := range tokens {
			j := &sched.Job[token]{Fn: fn, Value: token{hops: 1 + i*5, at: i % len(ring)}}
			must(t, ring[j.Value.at].Schedule(j.Task()))
		}
		for arrived.Load() < int64(round) {
			runtime.Gosched()
		}
		came, err := ring[0].Close()
		must(t, err)
		for _, s := range ring[1:] {
			must(t, s.Shutdown(within(t)))
		}
		later, err := ring[0].Join(within(t))
		must(t, err)
		back := int64(len(came) + len(later))
		if sum := arrived.Load() + refused.Load() + back; sum != tokens {
			t.Fatalf("round %d: %d arrived, %d refused, %d came back: %d of %d",
				round, arrived.Load(), refused.Load(), back, sum, tokens)
		}
	}
}

// TestSelfReschedulingAndCallers: tasks that reschedule themselves for long share
// the workers with callers from outside and with each other. Z-009.
func TestSelfReschedulingAndCallers(t *testing.T) {
	depth, calls := 100_000, 300
	if testing.Short() {
		depth, calls = 5_000, 30
	}
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		const chains = 3
		l := newLatch(chains)
		var left [chains]int // of each chain, whose task is queued once at a time
		for c := range chains {
			left[c] = depth
			task := &sched.Task{}
			task.Fn = func(w *sched.Worker, self *sched.Task) {
				if left[c]--; left[c] == 0 {
					l.hit()
					return
				}
				schedule := w.Schedule
				if left[c]%7 == c {
					schedule = s.Schedule
				}
				if err := schedule(self); err != nil {
					t.Error(err)
				}
			}
			must(t, s.Schedule(task))
		}
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for range calls {
					done := newLatch(2)
					if err := s.Go(done.hit); err != nil {
						t.Error(err)
					}
					if err := s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { done.hit() }}); err != nil {
						t.Error(err)
					}
					<-done.done
				}
			})
		}
		callers.Wait()
		l.wait(t)
	}
}

// TestVictimsInRandomOrder: a thief finds the only task wherever it lies, also in
// a place that nobody holds. Z-040, Z-094, Z-095.
func TestVictimsInRandomOrder(t *testing.T) {
	const workers = 8
	for round := range 100 {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		// All hold a place; one of them leaves a task behind it and goes on.
		all, found := newLatch(workers), newLatch(1)
		release := make(chan struct{})
		for i := range workers {
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				all.hit()
				<-all.done
				if i != round%workers {
					return // and searches
				}
				own := w.ID()
				err := w.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					if w.ID() == own {
						t.Errorf("place %d ran two tasks at once", own)
					}
					found.hit()
				}})
				if err != nil {
					t.Error(err)
				}
				<-release
			}}))
		}
		found.wait(t)
		close(release)
	}
}

// TestNobodyButTheWaiter: with no worker to be had, a Wait and a Do run their own
// tasks however deep they lie, and leave the others in their queues. Z-061. V-13c.
func TestNobodyButTheWaiter(t *testing.T) {
	const many = 2*ringSize + 50
	var ran, others int
	count := func(n *int) *sched.Task {
		return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { *n++ }}
	}
	several := func(n *int) (tasks []*sched.Task) {
		for range many {
			tasks = append(tasks, count(n))
		}
		return tasks
	}
	for _, tc := range []struct {
		name         string
		wait         func(s *sched.Scheduler) error
		want, wantIn int // tasks that ran, and others that are left
	}{
		{"Do of many", func(s *sched.Scheduler) error { return s.Do(several(&ran)...) }, many, 0},
		{"Do under others", func(s *sched.Scheduler) error {
			return s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran++
				if err := queuedOrNil(w.Schedule(several(&others)...)); err != nil {
					t.Error(err)
				}
			}}, count(&ran))
		}, 2, many},
		{"Wait from outside", func(s *sched.Scheduler) error {
			g := s.NewGroup(sched.GroupConfig{})
			return errors.Join(
				queuedOrNil(s.Schedule(several(&others)...)),
				queuedOrNil(g.Schedule(nil, several(&ran)...)),
				queuedOrNil(s.Schedule(several(&others)...)),
				g.Wait(),
			)
		}, many, 2 * many},
		{"Wait in a task", func(s *sched.Scheduler) error {
			var err error
			return errors.Join(s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				var g sched.Group
				err = errors.Join(
					queuedOrNil(g.Schedule(w, several(&ran)...)),
					queuedOrNil(w.Schedule(several(&others)...)),
					w.Wait(&g),
				)
			}}), err)
		}, many, many},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ran, others = 0, 0
			s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
			must(t, err)
			must(t, tc.wait(s))
			if ran != tc.want || others != 0 {
				t.Errorf("%d tasks and %d others ran, want %d and none", ran, others, tc.want)
			}
			tasks, err := s.Close()
			must(t, err)
			if len(tasks) != tc.wantIn {
				t.Errorf("%d tasks are left, want %d", len(tasks), tc.wantIn)
			}
			_, err = s.Join(within(t))
			must(t, err)
		})
	}
}
