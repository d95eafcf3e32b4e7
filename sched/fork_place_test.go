package sched_test

import (
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestForkJoinRetakesPlace: a body that has waited for a fork without a place takes a
// place again after the wait if one is free.
func TestForkJoinRetakesPlace(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var begun atomic.Bool
	rejoins := func(f *ints, n int) int {
		if n == 1 {
			begun.Store(true)
			until("the root parks", func() bool { return s.Blocked() > 0 })
			return 0
		}
		// A searching worker may hold the free place at that moment. The join then takes none.
		until("the root has a place after a join", func() bool {
			place := func() bool { f.Worker().Blocking(func() {}); return f.Worker().ID() >= 0 }
			until("the root has a place", place)
			begun.Store(false)
			handOver(f, 1, &begun)
			joined(f, leaf, 1)
			return f.Worker().ID() >= 0
		})
		return 0
	}
	t.Run("of a caller", func(t *testing.T) {
		sched.ForkJoin(s, rejoins, 0)
		works(t, s)
	})
	t.Run("in a task", func(t *testing.T) {
		l := newLatch(1)
		must(t, s.Go(func() { sched.ForkJoin(s, rejoins, 0); l.hit() }))
		l.wait(t)
		works(t, s)
	})
	// MaxWorkers other workers exist by then. The body makes one more.
	t.Run("replaced", func(t *testing.T) {
		l := newLatch(1)
		must(t, s.Go(func() {
			defer l.hit()
			sched.ForkJoin(s, func(f *ints, _ int) int {
				f.Worker().Blocking(func() { works(t, s) })
				until("the root has a place", func() bool {
					f.Worker().Blocking(func() {})
					return f.Worker().ID() >= 0
				})
				return 0
			}, 0)
		}))
		l.wait(t)
		works(t, s)
		until("the worker beyond MaxWorkers ends", func() bool { return s.Stats().Workers <= 2 })
	})
}

// TestForkJoinBlocksWithoutPlace: a body that is inside Blocking holds no place, also after another
// call inside it that blocks. With MaxWorkers 1, a task that ends the outer Blocking therefore runs.
func TestForkJoinBlocksWithoutPlace(t *testing.T) {
	calls := map[string]func(s *sched.Scheduler, w *sched.Worker){
		"Worker.Blocking":    func(_ *sched.Scheduler, w *sched.Worker) { w.Blocking(func() {}) },
		"Scheduler.Blocking": func(s *sched.Scheduler, _ *sched.Worker) { s.Blocking(func() {}) },
		"Blocking in a Do": func(s *sched.Scheduler, w *sched.Worker) {
			_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { w.Blocking(func() {}) }})
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: 1})
			ends(t, "ForkJoin", func() {
				sched.ForkJoin(s, func(f *ints, _ int) int {
					w, ran := f.Worker(), make(chan struct{})
					w.Blocking(func() {
						call(s, w)
						if id := w.ID(); id != -1 {
							t.Errorf("ID = %d inside Blocking, want -1", id)
						}
						if err := s.Go(func() { close(ran) }); err != nil {
							t.Error(err)
						}
						<-ran
					})
					return 0
				}, 0)
			})
		})
	}
}
