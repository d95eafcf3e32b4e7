package sched_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/sched"
)

// TestWorkerLingers: in a scheduler at rest one worker is parked with its place. It runs each
// task of a caller that waits for each of them. No place is taken or returned for that, and no
// other worker is woken.
func TestWorkerLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 4, IdleTimeout: -1})
		must(t, err)
		for i := range uint64(50) {
			must(t, s.Go(func() {}))
			synctest.Wait()
			st := s.Stats()
			if !s.Lingering() || st.Workers != 1 || st.Parked != 1 || st.Parks != i+1 || st.Wakes != i || st.Places != 1 {
				t.Fatalf("after task %d: a worker lingers: %t, Stats = %+v", i, s.Lingering(), st)
			}
			if st.Held != 0 || st.Running != 0 {
				t.Fatalf("the place of the parked worker counts as held: %+v", st)
			}
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestOneCallerHasOneWorker: a caller that waits for each of its groups starts one worker,
// because the worker counts itself as idle before it wakes the caller.
func TestOneCallerHasOneWorker(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 64, IdleTimeout: -1}) // the timer may end the worker
	for range 2000 {
		g := s.NewGroup(sched.GroupConfig{})
		g.Go(func() error { return nil })
		must(t, g.Wait())
	}
	if st := s.Stats(); st.Spawns != 1 {
		t.Errorf("%d workers were started: %+v", st.Spawns, st)
	}
}

// TestOneTaskAtATimeBoundsWorkers: a caller that its tasks wake before they end, and that schedules one task
// at a time, has one worker more than the largest number of workers that are delayed at one push. Here
// a worker is delayed because its callback waits for the test after it has woken the caller.
func TestOneTaskAtATimeBoundsWorkers(t *testing.T) {
	rng := newRand(t)
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		s, err := sched.New(sched.Config{MaxWorkers: most, IdleTimeout: -1})
		must(t, err)
		var delayed []chan struct{}
		want := 0
		const pushes = 2000
		for push := range pushes {
			free := push < pushes-most // the last pushes delay as many workers as there may be
			for len(delayed) == most || free && len(delayed) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(delayed))
				close(delayed[i])
				delayed = append(delayed[:i], delayed[i+1:]...)
			}
			synctest.Wait() // each other worker is idle
			want = max(want, len(delayed)+1)
			wakes, end := make(chan struct{}), make(chan struct{})
			must(t, s.Go(func() { close(wakes); <-end }))
			<-wakes // a deadlock report if a delayed worker keeps the task waiting
			delayed = append(delayed, end)
			if st := s.Stats(); int(st.Spawns) != want || st.Workers != want {
				t.Fatalf("push %d, at most %d workers were delayed at one push: Stats = %+v", push, want-1, st)
			}
		}
		for _, end := range delayed {
			close(end)
		}
		if want != most {
			t.Errorf("at most %d workers were delayed at one push, want %d", want-1, most-1)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestDoTakesThePlaceOfALingeringWorker: Do runs its task at once when the only place belongs to
// a worker that lingers, and does not wake the worker, which runs the next task.
func TestDoTakesThePlaceOfALingeringWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1})
		must(t, err)
		for i := uint64(1); i <= 10; i++ {
			must(t, s.Go(func() {}))
			synctest.Wait()
			if !s.Lingering() || s.Full() {
				t.Fatalf("a worker lingers: %t, no place can be taken: %t", s.Lingering(), s.Full())
			}
			ran, err := s.TryDo(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}})
			if must(t, err); !ran {
				t.Fatal("the caller got no place")
			}
			synctest.Wait()
			if st := s.Stats(); st.Parks != i || st.EmptyWakes != 0 || st.Held != 0 || st.Parked != 1 {
				t.Fatalf("after Do %d: Stats = %+v", i, st)
			}
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestRunEndsWhileItLingers: a Run whose worker lingers returns when its context ends, and leaves
// its place to others.
func TestRunEndsWhileItLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: failing{}, IdleTimeout: -1})
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		must(t, s.Go(func() {}))
		synctest.Wait()
		if !s.Lingering() {
			t.Fatal("the worker of the Run does not linger")
		}
		cancel()
		mustBe(t, <-ended, context.Canceled)
		if bad := s.CheckPlaces(); bad != "" {
			t.Error(bad)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// failing is a Spawner that starts no worker.
type failing struct{}

func (failing) Spawn(func()) error { return errors.New("no worker") }

// TestWorkerBeyondMaxWorkersDoesNotLinger: a place that was made for a stall is returned when its
// worker parks.
func TestWorkerBeyondMaxWorkersDoesNotLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 1})
		release := make(chan struct{})
		must(t, s.Go(func() { <-release }))
		synctest.Wait()
		ran := newLatch(1)
		must(t, s.Go(ran.hit))
		ran.wait(t)
		synctest.Wait()
		if st := s.Stats(); st.Stalls != 1 || s.Lingering() {
			t.Errorf("a worker beyond MaxWorkers lingers: %t, Stats = %+v", s.Lingering(), st)
		}
		close(release)
	})
}

// TestFoundTaskWakesNoWorker: a worker that is woken for a single task does not wake another one
// when it has found the task. Z-070, Z-087.
func TestFoundTaskWakesNoWorker(t *testing.T) {
	for _, workers := range []int{2, 16} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: workers, OnIdle: func(*sched.Worker) {}}) // so that no worker lingers
				must(t, err)
				const tasks = 100
				for range tasks {
					must(t, s.Go(func() {}))
					synctest.Wait()
				}
				if st := s.Stats(); s.Lingering() || st.Spawns != 1 || st.Wakes != tasks-1 || st.EmptyWakes != 0 {
					t.Errorf("%+v", st)
				}
				must(t, s.Shutdown(context.Background()))
			})
		})
	}
}
