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

// TestRun: the caller works until its context ends, together with others.
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
		l = newLatch(10) // who left has taken no signal along
		for range 10 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
	}
}

// TestRunContinuesAfterBlocking: a Run whose context has no end goes on after its callback has blocked.
func TestRunContinuesAfterBlocking(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	returned := make(chan error, 1)
	on := make(chan struct{})
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
		close(on)
	}}))
	<-on
	select {
	case err := <-returned:
		t.Fatalf("Run(Background) = %v; nobody shut the scheduler down", err)
	case <-time.After(200 * time.Millisecond):
	}
}
