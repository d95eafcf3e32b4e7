package sched

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// patience is a context that ends when it is asked too often: a wait that does not rest
// ends with it.
type patience struct {
	context.Context
	end  context.CancelFunc
	left int
}

func newPatience(parent context.Context) *patience {
	ctx, cancel := context.WithCancel(parent)
	return &patience{ctx, cancel, 1000}
}

func (p *patience) Err() error {
	if p.left--; p.left == 0 {
		p.end()
	}
	return p.Context.Err()
}

// wakingStalls returns a scheduler that cannot start a worker, and its only worker, which is
// the waking one and is counted out while it searches. queue schedules what it is to find.
func wakingStalls(t *testing.T, queue func(s *Scheduler)) (*Scheduler, *Worker) {
	t.Helper()
	s, err := New(Config{MaxWorkers: 1, StallAfter: time.Hour, Spawner: unable{}})
	if err != nil {
		t.Fatal(err)
	}
	s.SetStallMonitorRuns()
	s.sync.Notify(false, 1)
	s.sync.Wait(false, false)
	w := &Worker{s: s, counted: true}
	w.attach(s.takePlace())
	queue(s)
	s.ProbeAll()
	s.ReplaceStalled()
	if n, word := s.cold.stalls.Load(), s.sync.Load(); n != 1 || word.Spawned() != 0 {
		t.Fatalf("%d were counted out, the word is %v", n, word)
	}
	return s, w
}

// stallWaits are the waits that rely on a worker: for a group, and for a permit of one that
// is held by a queued function. Each returns an error when it gave up.
var stallWaits = map[string]func(s *Scheduler, g *Group) error{
	"Wait": func(_ *Scheduler, g *Group) error {
		return g.WaitContext(newPatience(context.Background()))
	},
	"Go": func(s *Scheduler, g *Group) error {
		s.life.closing = newPatience(s.life.closing)
		if !g.acquire() {
			return ErrClosed
		}
		g.release()
		return nil
	},
}

// stallWait starts a wait for a group beside a waking worker that is counted out, with first
// queued before its function, sees that it rests, and calls fn with that worker, after
// which the wait is to be over.
func stallWait(t *testing.T, first func(over <-chan struct{}) *Task, fn func(w *Worker)) {
	t.Helper()
	for name, wait := range stallWaits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				var g *Group
				s, w := wakingStalls(t, func(s *Scheduler) {
					if first != nil {
						_ = s.Schedule(first(over))
					}
					g = s.NewGroup(GroupConfig{Limit: 1})
					g.Go(func() error { return nil })
				})
				var err error
				go func() {
					defer close(over)
					err = wait(s, g)
				}()
				synctest.Wait()
				select {
				case <-over:
					t.Fatalf("the wait did not rest: %v", err)
				default:
				}
				fn(w)
				<-over
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStallWaitRests: a wait that relies on the waking worker, which is counted out, rests
// until that has searched in vain, and no other can be started.
func TestStallWaitRests(t *testing.T) {
	stallWait(t, nil, func(w *Worker) {
		if d, ok := w.await(mustWake); d != mustNone || !ok {
			t.Errorf("await = %d, %t", d, ok)
		}
		synctest.Wait()
		w.leave(false, false)
	})
}

// TestStallWaitIsTold: likewise until that has found a task, which goes on until the wait is
// over.
func TestStallWaitIsTold(t *testing.T) {
	stallWait(t, func(over <-chan struct{}) *Task {
		return &Task{Fn: func(*Worker, *Task) { <-over }}
	}, func(w *Worker) {
		if _, ok := w.await(w.work(mustWake)); ok {
			w.leave(false, false)
		}
	})
}
