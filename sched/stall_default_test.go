package sched_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// TestBlockedTasksDoNotStopTheZeroScheduler: a scheduler without MaxWorkers begins each task
// although all tasks before it block, and marks a worker as stalled for each task that exceeds the
// processors.
func TestBlockedTasksDoNotStopTheZeroScheduler(t *testing.T) {
	var s sched.Scheduler
	defer func() { must(t, s.Shutdown(within(t))) }()
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	procs := runtime.GOMAXPROCS(0)
	blocked := 3*procs + 1
	began, ended := newLatch(blocked), newLatch(blocked)
	for range blocked {
		must(t, s.Go(func() { began.hit(); <-released; ended.hit() }))
	}
	began.wait(t)
	if st := s.Stats(); st.Stalls < uint64(blocked-procs) {
		t.Errorf("%d tasks block on %d processors: %+v", blocked, procs, st)
	}
	release()
	ended.wait(t)
}

// TestBlockedTasksBesideComputing: the same while other goroutines use all processors. A worker is
// marked then after a second without the end of a callback.
func TestBlockedTasksBesideComputing(t *testing.T) {
	var s sched.Scheduler
	defer func() { must(t, s.Shutdown(within(t))) }()
	var stop atomic.Bool
	var computing sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		computing.Go(func() {
			for !stop.Load() {
				runtime.Gosched()
			}
		})
	}
	defer computing.Wait()
	defer stop.Store(true)
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	blocked := runtime.GOMAXPROCS(0)
	ended := newLatch(blocked + 1)
	for range blocked {
		must(t, s.Go(func() { <-released; ended.hit() }))
	}
	must(t, s.Go(func() { release(); ended.hit() }))
	ended.wait(t)
}

// TestComputingTasksDoNotExceedTheProcessors: tasks that compute for longer than StallAfter run on
// as many workers as there are processors. One more may run, because a task that ends leaves its
// processor idle for a moment.
func TestComputingTasksDoNotExceedTheProcessors(t *testing.T) {
	var s sched.Scheduler
	defer func() { must(t, s.Shutdown(within(t))) }()
	tasks := 20 * runtime.GOMAXPROCS(0)
	if !testing.Short() {
		tasks = max(200, tasks)
	}
	var running, most atomic.Int64
	ended := newLatch(tasks)
	for range tasks {
		must(t, s.Go(func() {
			now := running.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			for began := time.Now(); time.Since(began) < 5*sched.DefaultStallAfter; {
			}
			running.Add(-1)
			ended.hit()
		}))
	}
	ended.wait(t)
	if n, limit := int(most.Load()), runtime.GOMAXPROCS(0)+1; n > limit {
		t.Errorf("%d tasks computed at the same time, at most %d may: %+v", n, limit, s.Stats())
	}
}

// TestNeverStalled: with NeverStalled or with MaxWorkers, a task waits for a callback that blocks,
// and Stats gives the time since its first look.
func TestNeverStalled(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"NeverStalled": {StallAfter: sched.NeverStalled},
		"MaxWorkers":   {MaxWorkers: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(c)
				must(t, err)
				for range 2 {
					release := make(chan struct{})
					for range s.MaxWorkers() {
						must(t, s.Go(func() { <-release }))
					}
					synctest.Wait()
					if st := s.Stats(); st.Saturated != 0 {
						t.Errorf("no task is queued: %+v", st)
					}
					must(t, s.Go(func() {}))
					first := s.Stats().Saturated
					time.Sleep(time.Hour)
					if st := s.Stats(); first != 0 || st.Saturated != time.Hour || st.Queued != 1 || st.Stalls != 0 {
						t.Errorf("at first %v, after an hour %+v", first, st)
					}
					close(release)
					synctest.Wait()
					if st := s.Stats(); st.Saturated != 0 {
						t.Errorf("at rest: %+v", st)
					}
				}
				must(t, s.Shutdown(context.Background()))
			})
		})
	}
}

// TestStallMonitorNotesSaturation: with StallAfter the time of Stats.Saturated begins with a look
// of the scheduler, before the first Stats.
func TestStallMonitorNotesSaturation(t *testing.T) {
	var s sched.Scheduler
	defer func() { must(t, s.Shutdown(within(t))) }()
	for range 4 * runtime.GOMAXPROCS(0) {
		must(t, s.Go(func() { until("the scheduler has looked", s.Saturating) }))
	}
}
