package sched_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestForkJoinSpawnFails: a computation ends with the right result however often the
// Spawner fails. Joiners run the forks that no worker has begun.
func TestForkJoinSpawnFails(t *testing.T) {
	for name, fail := range map[string]func(int64) bool{
		"always":    always,
		"at first":  func(call int64) bool { return call < 100 },
		"sometimes": func(call int64) bool { return call%3 != 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: 3, Spawner: &failingSpawner{fail: fail}})
			computes(t, s)
			if got := sched.ForkJoin(s, manyPromoted, 5*ringSize); got != 5*ringSize {
				t.Errorf("got %d, want %d", got, 5*ringSize)
			}
		})
	}
}

// manyPromoted makes n forks. All of them are tasks before the first one is joined. Each
// fork returns 1. With an n above ringSize, the tasks overflow the ring.
func manyPromoted(f *ints, n int) (sum int) {
	if n == 0 {
		return 1
	}
	for range n {
		f.Fork(0)
	}
	f.Worker().Blocking(func() {})
	for range n {
		sum += joined(f, manyPromoted, 0)
	}
	return sum
}

// TestForkJoinRunsOnce: a fork that its joiner has run does not run again when a worker or
// the end of the scheduler takes its task later.
func TestForkJoinRunsOnce(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"no worker":   {MaxWorkers: 1, Spawner: noSpawner{}},
		"late worker": {MaxWorkers: 1},
		"two workers": {MaxWorkers: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sched.New(c)
			must(t, err)
			const forks = 3 * ringSize
			var runs [forks + 1]atomic.Int32
			one := func(_ *ints, n int) int { runs[n].Add(1); return 1 }
			got := sched.ForkJoin(s, func(f *ints, n int) (sum int) {
				if n != 0 || runs[0].Add(1) > 1 {
					return one(f, n)
				}
				for i := range forks {
					f.Fork(i + 1)
				}
				f.Worker().Blocking(func() {})
				for i := range forks {
					sum += joined(f, one, forks-i)
				}
				return sum
			}, 0)
			if got != forks {
				t.Errorf("got %d, want %d", got, forks)
			}
			atRest(t, s)
			for i := range runs {
				if n := runs[i].Load(); n != 1 {
					t.Errorf("fork %d ran %d times", i, n)
				}
			}
		})
	}
}

// TestForkJoinWithoutPlace: without a free place a computation runs as a task. It ends for
// its caller as it does on a free place.
func TestForkJoinWithoutPlace(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"plain":   {MaxWorkers: 1},
		"OnPanic": {MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, c)
			asTask := func(body func(f *ints, n int) int) (result int, e ending) {
				release := held(s)
				e = endOf(t, func() {
					go func() {
						until("the computation is queued", s.AnyQueued)
						release()
					}()
					result = sched.ForkJoin(s, body, 14)
				})
				works(t, s)
				return result, e
			}
			if got, e := asTask(fibOnDemand); got != 377 || e != (ending{}) {
				t.Errorf("got %d, ending %+v, want 377 and a return", got, e)
			}
			_, e := asTask(func(*ints, int) int { panicHere(); return 0 })
			isRaised(t, e.value, "boom", "panicHere")
			if _, e := asTask(func(*ints, int) int { runtime.Goexit(); return 0 }); !e.exited {
				t.Errorf("ending %+v, want Goexit", e)
			}
		})
	}
}

// TestForkJoinAfterClose: the caller runs the whole computation alone on a scheduler that
// was closed or shut down.
func TestForkJoinAfterClose(t *testing.T) {
	for name, end := range map[string]func(s *sched.Scheduler) error{
		"closed":    func(s *sched.Scheduler) error { _, err := s.Close(); return err },
		"shut down": func(s *sched.Scheduler) error { return s.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: 2})
			must(t, err)
			works(t, s)
			must(t, end(s))
			computes(t, s)
			if got := sched.ForkJoin(s, func(f *ints, _ int) int { return f.Worker().ID() }, 0); got != -1 {
				t.Errorf("ID is %d, want -1", got)
			}
			if r := panicOf(func() { sched.ForkJoin(s, func(*ints, int) int { panic("boom") }, 0) }); r != "boom" {
				t.Errorf("panic value %v, want boom", r)
			}
			if _, err := s.Join(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForkJoinDuringClose: a computation during which the scheduler is closed or shut down
// ends with its result. It does not depend on the tasks of its forks.
func TestForkJoinDuringClose(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("shutdown=%v/workers=%d", shutdown, workers), func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: workers})
				must(t, err)
				ended := make(chan error, 1)
				got := sched.ForkJoin(s, func(f *ints, n int) int {
					if n == 0 {
						return 1
					}
					for i := range 50 {
						f.Worker().SetDemand()
						f.Fork(0)
						if i == 25 {
							f.Worker().Blocking(func() {
								if shutdown {
									go func() { ended <- s.Shutdown(context.Background()) }()
									return
								}
								go func() { _, err := s.Close(); ended <- err }()
								if err := <-ended; err != nil {
									t.Error(err)
								}
								ended <- nil
							})
						}
					}
					for range 50 {
						n += joined(f, func(*ints, int) int { return 1 }, 0)
					}
					return n
				}, 1)
				if got != 51 {
					t.Errorf("got %d, want 51", got)
				}
				must(t, <-ended)
				_, err = s.Join(within(t))
				must(t, err)
				atRest(t, s)
			})
		}
	}
}
