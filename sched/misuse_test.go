package sched_test

import (
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// workerUses are operations on a Worker.
var workerUses = map[string]func(w *sched.Worker, g *sched.Group){
	"ID":       func(w *sched.Worker, _ *sched.Group) { w.ID() },
	"Schedule": func(w *sched.Worker, _ *sched.Group) { _ = w.Schedule(noTask()) },
	"ScheduleBatch": func(w *sched.Worker, _ *sched.Group) {
		var b sched.Batch
		_ = b.Add(noTask())
		_ = w.ScheduleBatch(&b)
	},
	"Wait":           func(w *sched.Worker, g *sched.Group) { _ = w.Wait(g) },
	"Blocking":       func(w *sched.Worker, _ *sched.Group) { w.Blocking(func() {}) },
	"Group.Schedule": func(w *sched.Worker, g *sched.Group) { _ = g.Schedule(w, noTask()) },
	"Group.ScheduleBatch": func(w *sched.Worker, g *sched.Group) {
		var b sched.Batch
		_ = b.Add(noTask())
		_ = g.ScheduleBatch(w, &b)
	},
}

// TestWorkerAfterItsCallback: each operation on a Worker panics when the callback has ended and
// the worker runs no other one. The operation has no effect. V-05e.
func TestWorkerAfterItsCallback(t *testing.T) {
	for name, use := range workerUses {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: 1})
			g := s.NewGroup(sched.GroupConfig{})
			var ofCaller, ofWorker *sched.Worker
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { ofCaller = w }}))
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { ofWorker = w }}))
			until("the worker returns its place", func() bool { return s.Stats().Executed == 2 && s.Stats().Held == 0 })
			for kind, w := range map[string]*sched.Worker{"caller worker": ofCaller, "worker": ofWorker} {
				const want = "sched: a Worker is used after its callback has ended"
				if got := panicOf(func() { use(w, g) }); got != want {
					t.Errorf("%s on a %s ended with %v, want %q", name, kind, got, want)
				}
			}
			if !g.Done() || s.AnyQueued() {
				t.Error("a refused operation has scheduled a task")
			}
			atRest(t, s)
		})
	}
}

// TestWorkerWithoutPlace: each operation on a Worker is allowed while its callback runs without a
// place: after Blocking, and in a computation of a scheduler that was shut down. V-05e.
func TestWorkerWithoutPlace(t *testing.T) {
	for name, use := range workerUses {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: 1})
			g := s.NewGroup(sched.GroupConfig{})
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(func() {})
				use(w, g)
			}}))
			atRest(t, s)
			sched.ForkJoin(s, func(f *sched.Forks[int, int], _ int) int {
				use(f.Worker(), g)
				return 0
			}, 0)
		})
	}
}

// TestWorkerOnAnotherGoroutine: an operation that releases the place of a Worker, or runs tasks with
// it, panics on another goroutine than that of the callback, also if the callback has no place. It
// leaves the place with the callback. V-05e.
func TestWorkerOnAnotherGoroutine(t *testing.T) {
	const want = "sched: a Worker is used by another goroutine than that of its callback"
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	for _, name := range []string{"Blocking", "Wait"} {
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			g, ran := s.NewGroup(sched.GroupConfig{}), false
			if err := g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}); err != nil {
				t.Error(err)
			}
			value := make(chan any)
			go func() { value <- panicOf(func() { workerUses[name](w, g) }) }()
			if got := <-value; got != want {
				t.Errorf("%s ended with %v, want %q", name, got, want)
			}
			if w.ID() != 0 || ran {
				t.Errorf("after %s the callback has the place %d, want 0; a task has run: %t", name, w.ID(), ran)
			}
			if err := w.Wait(g); err != nil || !ran {
				t.Errorf("the Wait of the callback: %v, the task has run: %t", err, ran)
			}
		}}))
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			w.Blocking(func() {})
			g := s.NewGroup(sched.GroupConfig{})
			var ended atomic.Bool
			g.Go(func() error {
				until("the use has ended or waits", func() bool { return ended.Load() || g.Waiting() > 0 })
				return nil
			})
			value := make(chan any)
			go func() {
				got := panicOf(func() { workerUses[name](w, g) })
				ended.Store(true)
				value <- got
			}()
			if got := <-value; got != want {
				t.Errorf("%s of a callback without a place ended with %v, want %q", name, got, want)
			}
			if err := w.Wait(g); err != nil {
				t.Errorf("the Wait of the callback: %v", err)
			}
		}}))
	}
	atRest(t, s)
}
