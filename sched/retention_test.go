package sched_test

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/lanewright/lanewright/sched"
)

// payload is a task with memory that stays reachable as long as the task.
type payload struct {
	task sched.Task
	data [1 << 12]byte
}

// collected checks that the payloads of all ptrs are garbage once s is at rest, except for
// some callbacks that continue. From then on no goroutine of s moves a task, so a few rounds
// of the collector suffice. More than one are needed for a goroutine that was preempted on
// its way to rest, because its stack may show old values.
func collected(tb testing.TB, s *sched.Scheduler, callbacks int, ptrs []weak.Pointer[payload]) {
	tb.Helper()
	until("the scheduler is at rest", func() bool {
		st := s.Stats()
		return st.Held+s.Blocked() == callbacks && st.Parked == st.Workers
	})
	reachable := func(p weak.Pointer[payload]) bool { return p.Value() != nil }
	for range 20 {
		runtime.GC()
		if !slices.ContainsFunc(ptrs, reachable) {
			return
		}
		runtime.Gosched()
	}
	tb.Fatalf("payload %d of %d is still reachable", slices.IndexFunc(ptrs, reachable), len(ptrs))
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
				collected(t, s, 0, ptrs)
				runtime.KeepAlive(s)
			})
		}
	}
}

// TestWokenWaitRetainsNoOther: an entry of a wait that is kept for another wait does not keep the
// entries reachable that were below it on the list.
func TestWokenWaitRetainsNoOther(t *testing.T) {
	if sched.WokenEntriesAreLinked() {
		t.Error("a woken entry refers to another one")
	}
}
