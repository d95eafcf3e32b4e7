package sched_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/lanewright/lanewright/sched"
)

// payload is a task with memory that stays reachable as long as the task.
type payload struct {
	task sched.Task
	data [1 << 12]byte
}

// collected waits until the garbage collector has freed the payloads of all ptrs, while the
// scheduler is idle.
func collected(tb testing.TB, ptrs []weak.Pointer[payload]) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	for i, p := range ptrs {
		for p.Value() != nil {
			if time.Now().After(deadline) {
				tb.Fatalf("payload %d of %d is still reachable", i, len(ptrs))
			}
			runtime.GC()
			runtime.Gosched()
		}
	}
}

// TestNothingIsRetained: a finished task is garbage when its caller drops it. In every mode of
// scheduling, no queue, place or parked worker keeps it reachable. Z-007, Z-009.
func TestNothingIsRetained(t *testing.T) {
	// A mode makes and drops all of its tasks in a function of its own.
	type mode func(t *testing.T, s *sched.Scheduler, task func(fn func(*sched.Worker)) *sched.Task)
	modes := []struct {
		name string
		run  mode
	}{
		{"Do", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			must(t, s.Do(task(nil)))
			must(t, s.Do(task(nil), task(nil), task(nil)))
		}},
		{"Schedule", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			l := newLatch(100)
			for range 100 {
				must(t, s.Schedule(task(func(*sched.Worker) { l.hit() })))
			}
			l.wait(t)
		}},
		{"ScheduleBatch", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			l := newLatch(100)
			var b sched.Batch
			for range 100 {
				must(t, b.Add(task(func(*sched.Worker) { l.hit() })))
			}
			must(t, s.ScheduleBatch(&b))
			l.wait(t)
		}},
		{"Group", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			g := s.NewGroup(sched.GroupConfig{})
			for range 100 {
				must(t, g.Schedule(nil, task(nil)))
			}
			must(t, g.Wait())
		}},
		{"Wait", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			must(t, s.Do(task(func(w *sched.Worker) {
				var g sched.Group
				for range 20 {
					if err := g.Schedule(w, task(nil)); err != nil {
						t.Error(err)
					}
				}
				if err := w.Wait(&g); err != nil {
					t.Error(err)
				}
			})))
		}},
		{"overflow", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			l := newLatch(3 * ringSize)
			must(t, s.Schedule(task(func(w *sched.Worker) {
				for range 3 * ringSize {
					if err := w.Schedule(task(func(*sched.Worker) { l.hit() })); err != nil {
						t.Error(err)
					}
				}
			})))
			l.wait(t)
		}},
		{"steal", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			l := newLatch(ringSize + 1)
			must(t, s.Schedule(task(func(w *sched.Worker) {
				for range ringSize {
					if err := w.Schedule(task(func(*sched.Worker) { l.hit() })); err != nil {
						t.Error(err)
					}
				}
				if s.MaxWorkers() > 1 { // the other workers steal all tasks
					for l.left.Load() > 1 {
						runtime.Gosched()
					}
				}
				l.hit()
			})))
			l.wait(t)
		}},
		{"Blocking", func(t *testing.T, s *sched.Scheduler, task func(func(*sched.Worker)) *sched.Task) {
			t.Helper()
			l := newLatch(1)
			must(t, s.Schedule(task(func(w *sched.Worker) {
				w.Blocking(runtime.Gosched)
				if err := w.Schedule(task(func(*sched.Worker) { l.hit() })); err != nil {
					t.Error(err)
				}
			})))
			l.wait(t)
		}},
	}
	for name, config := range map[string]sched.Config{
		"one worker":  {MaxWorkers: 1},
		"two workers": {MaxWorkers: 2},
		"observed":    {MaxWorkers: 2, OnPanic: func(*sched.Task, any, []byte) {}},
	} {
		for _, mode := range modes {
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				s := newScheduler(t, config)
				var ptrs []weak.Pointer[payload]
				made := make(chan weak.Pointer[payload], 1<<12)
				mode.run(t, s, func(fn func(*sched.Worker)) *sched.Task {
					p := new(payload)
					made <- weak.Make(p)
					p.task.Fn = func(w *sched.Worker, _ *sched.Task) {
						p.data[0]++
						if fn != nil {
							fn(w)
						}
					}
					return &p.task
				})
				close(made)
				for p := range made {
					ptrs = append(ptrs, p)
				}
				collected(t, ptrs)
				runtime.KeepAlive(s)
			})
		}
	}
}
