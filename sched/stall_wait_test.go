package sched

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// errLimit is a context that ends after 1000 calls of Err, so that it ends a wait that spins.
type errLimit struct {
	context.Context
	end  context.CancelFunc
	left int
}

func newErrLimit(parent context.Context) *errLimit {
	ctx, cancel := context.WithCancel(parent)
	return &errLimit{ctx, cancel, 1000}
}

func (c *errLimit) Err() error {
	if c.left--; c.left == 0 {
		c.end()
	}
	return c.Context.Err()
}

// newStalledWaking returns a scheduler that cannot start a worker, and its only worker. That
// one is the waking worker, and it is marked as stalled while it searches. queue schedules
// the tasks that it finds.
func newStalledWaking(t *testing.T, queue func(s *Scheduler)) (*Scheduler, *Worker) {
	t.Helper()
	s, err := New(Config{MaxWorkers: 1, StallAfter: time.Hour, Spawner: noSpawner{}})
	if err != nil {
		t.Fatal(err)
	}
	s.SetStallMonitorRuns()
	s.sync.Notify(false, 1)
	s.sync.Wait(false, false)
	w := newWorker(s, spawnedWorker)
	w.attach(s.takePlace())
	queue(s)
	s.ProbeAll()
	s.ReplaceStalled()
	if n, word := s.cold.stalls.Load(), s.sync.Load(); n != 1 || word.Spawned() != 0 {
		t.Fatalf("%d workers were marked, the Sync word is %v; want 1 and none spawned", n, word)
	}
	return s, w
}

// stallWaits are the waits that rely on a worker: for a group, and for a permit of a group
// that a queued function holds. Each returns an error when it has given up.
var stallWaits = map[string]func(s *Scheduler, g *Group) error{
	"Wait": func(_ *Scheduler, g *Group) error {
		return g.WaitContext(newErrLimit(context.Background()))
	},
	"Go": func(s *Scheduler, g *Group) error {
		s.life.closing = newErrLimit(s.life.closing)
		if !g.acquire() {
			return ErrClosed
		}
		g.opts.limit.Release()
		return nil
	},
}

// testStalledWaking runs each wait of stallWaits in a scheduler whose waking worker is
// stalled. The task of first, if any, is queued before the function of the group. The wait
// must park. Then fn is called with the worker, and the wait must end.
func testStalledWaking(t *testing.T, first func(ended <-chan struct{}) *Task, fn func(w *Worker)) {
	t.Helper()
	for name, wait := range stallWaits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				var g *Group
				s, w := newStalledWaking(t, func(s *Scheduler) {
					if first != nil {
						_ = s.Schedule(first(ended))
					}
					g = s.NewGroup(GroupConfig{Limit: 1})
					g.Go(func() error { return nil })
				})
				var err error
				go func() {
					defer close(ended)
					err = wait(s, g)
				}()
				synctest.Wait()
				select {
				case <-ended:
					t.Fatalf("the wait did not park: %v", err)
				default:
				}
				fn(w)
				<-ended
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStallWaitParks checks that a wait that relies on a stalled waking worker stays parked
// until that worker has searched and found no task, and no other worker can be started.
func TestStallWaitParks(t *testing.T) {
	testStalledWaking(t, nil, func(w *Worker) {
		if d, ok := w.await(mustWake); d != mustNone || !ok {
			t.Errorf("await = %d, %t", d, ok)
		}
		synctest.Wait()
		w.leave(false, false)
	})
}

// TestStallWaitIsWoken checks that a stalled waking worker runs no task before it gives up the
// waking state, which wakes the wait that relies on it. The oldest queued task blocks until the
// wait has ended.
func TestStallWaitIsWoken(t *testing.T) {
	testStalledWaking(t, func(ended <-chan struct{}) *Task {
		return &Task{Fn: func(*Worker, *Task) { <-ended }}
	}, func(w *Worker) {
		if _, ok := w.await(w.work(mustWake)); ok {
			w.leave(false, false)
		}
	})
}
