package sched_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// TestRun: a caller of Run works until its context ends, together with other workers.
func TestRun(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
			})
		}
		l := newLatch(200)
		for range 200 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
		cancel()
		wg.Wait()
		l = newLatch(10) // no worker that left took a signal with it
		for range 10 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
	}
}

// TestRunContinuesAfterBlocking: a Run whose context does not end continues after its callback
// has blocked.
func TestRunContinuesAfterBlocking(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	returned := make(chan error, 1)
	blocked := make(chan struct{})
	go func() {
		returned <- s.Run(context.Background())
	}()
	for s.Stats().Parked != 1 {
		runtime.Gosched()
	}
	other := make(chan struct{})
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		_ = w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(other) }})
		w.Blocking(func() { <-other })
		close(blocked)
	}}))
	<-blocked
	select {
	case err := <-returned:
		t.Fatalf("Run(Background) = %v before a Shutdown", err)
	case <-time.After(200 * time.Millisecond):
	}
}
