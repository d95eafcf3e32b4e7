//go:build interleave

package sync_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// modelContext is a context that a thread ends by closing its channel: one of
// package context would take locks that are no steps.
type modelContext struct {
	context.Context
	done chan struct{}
}

func newModelContext() modelContext {
	return modelContext{context.Background(), make(chan struct{})}
}

func (c modelContext) Done() <-chan struct{} { return c.done }

func (c modelContext) Err() error {
	if isClosed(c.done) {
		return context.Canceled
	}
	return nil
}

// A permits is a Semaphore, or something that should not be taken for one.
type permits interface {
	Acquire(ctx context.Context) error
	TryAcquire() bool
	Release()
}

// brokenSemaphore has the bugs that semaphores have which can be cancelled. It
// serves its waiters in any order.
type brokenSemaphore struct {
	bug   bug
	count atomix.Int64
	sema  park.Sema
}

func (s *brokenSemaphore) TryAcquire() bool {
	c := s.count.Load()
	return c > 0 && s.count.CompareAndSwap(c, c-1)
}

func (s *brokenSemaphore) Release() {
	if s.count.Add(1) <= 0 && s.bug != silent {
		s.sema.Post()
	}
}

func (s *brokenSemaphore) Acquire(ctx context.Context) error {
	if s.count.Add(-1) >= 0 || s.sema.WaitDone(ctx.Done()) {
		return nil
	}
	if s.bug != keeps {
		s.count.Add(1)
	}
	return ctx.Err()
}

func newPermits(m *interleave.M, b bug, n int) permits {
	if b == none {
		s, err := lfsync.NewSemaphore(n)
		if err != nil {
			m.Fatalf("%v", err)
		}
		return s
	}
	s := &brokenSemaphore{bug: b}
	s.sema.Init(8)
	s.count.Store(int64(n))
	return s
}

// semaphoreModel has holders that take a permit, touch what it guards, and give
// it back, and waiters that may give up at any moment. tries is how many only
// try.
func semaphoreModel(b bug, n, holders, waiters, tries int) func(*interleave.M) {
	return func(m *interleave.M) {
		s := newPermits(m, b, n)
		var guarded atomix.Cell[int]
		var inside atomix.Bool
		var held ghost
		use := func() {
			if h := held.add(1); h > n {
				m.Fatalf("%d permits of %d are held", h, n)
			}
			if n == 1 { // a mutex: the explorer checks that the accesses are ordered
				guarded.Set(guarded.Get() + 1)
			} else {
				inside.Load() // a step, so that others can come in
			}
			held.add(-1)
			s.Release()
		}
		for i := range holders {
			m.Go([]string{"a", "b", "c"}[i], func() {
				if err := s.Acquire(context.Background()); err != nil {
					m.Fatalf("%v", err)
				}
				use()
			})
		}
		for i := range waiters {
			ctx := newModelContext()
			m.Go([]string{"x", "y"}[i], func() {
				switch err := s.Acquire(ctx); err {
				case nil:
					use()
				case context.Canceled:
				default:
					m.Fatalf("%v", err)
				}
			})
			m.Go([]string{"cancel x", "cancel y"}[i], func() {
				var step atomix.Bool
				step.Load() // a step, so that it can come at any time
				close(ctx.done)
			})
		}
		for range tries {
			m.Go("try", func() {
				if s.TryAcquire() {
					use()
				}
			})
		}
		m.Final(func() {
			for i := range n {
				if !s.TryAcquire() {
					m.Fatalf("%d permits of %d are left", i, n)
				}
			}
			if s.TryAcquire() {
				m.Fatalf("more than %d permits are left", n)
			}
			for range n {
				s.Release()
			}
			if real, ok := s.(*lfsync.Semaphore); ok && !lfsync.Settled(real) {
				m.Fatalf("something is left over")
			}
		})
	}
}

// TestModelSemaphore: three goroutines and one permit. One at a time, in order
// of memory, and all of them. C-045.
func TestModelSemaphore(t *testing.T) {
	explore(t, "semaphore", three, semaphoreModel(none, 1, 3, 0, 0))
	explore(t, "semaphore-2", all, semaphoreModel(none, 1, 2, 0, 0))
	explore(t, "semaphore-2-try", three, semaphoreModel(none, 1, 2, 0, 1))
	explore(t, "semaphore-2-of-3", three, semaphoreModel(none, 2, 3, 0, 0))
	planted(t, "a waiter is not woken", "deadlock", three, semaphoreModel(silent, 1, 2, 0, 0))
}

// TestModelSemaphoreCancel: waiters that give up lose no permit and no wake,
// neither their own nor that of others. C-045.
func TestModelSemaphoreCancel(t *testing.T) {
	explore(t, "semaphore-cancel", three, semaphoreModel(none, 1, 1, 1, 0))
	explore(t, "semaphore-cancel-waiter", three, semaphoreModel(none, 1, 2, 1, 0))
	explore(t, "semaphore-cancel-2", two, semaphoreModel(none, 1, 1, 2, 0))
	planted(t, "who gives up keeps its place", "are left", three, semaphoreModel(keeps, 1, 1, 1, 0))
	planted(t, "who gives up leaves its permit", "data race", three, semaphoreModel(leaves, 1, 3, 1, 0))
}

// TestModelSemaphoreRelease: when a Release has returned and nobody waits any
// more, the permit is free, also if a waiter has given up meanwhile and another
// goroutine is still busy with its place.
func TestModelSemaphoreRelease(t *testing.T) {
	explore(t, "semaphore-release", three, func(m *interleave.M) {
		s := newPermits(m, none, 1)
		s.TryAcquire()
		ctx := newModelContext()
		var over atomix.Bool
		m.Go("x", func() {
			switch s.Acquire(ctx) {
			case nil:
				s.Release()
			default:
				over.Store(true)
			}
		})
		m.Go("cancel", func() {
			var step atomix.Bool
			step.Load() // a step, so that it can come at any time
			close(ctx.done)
		})
		m.Go("release", func() {
			gone := over.Load()
			s.Release()
			if gone && !s.TryAcquire() {
				m.Fatalf("a permit was released, nobody waits, and it is not free")
			} else if gone {
				s.Release()
			}
		})
	})
}

// TestModelSemaphoreFIFO: who is in line before another one comes is served
// before it, whoever is the server.
func TestModelSemaphoreFIFO(t *testing.T) {
	explore(t, "semaphore-fifo", three, func(m *interleave.M) {
		s, err := lfsync.NewSemaphore(1)
		if err != nil {
			m.Fatalf("%v", err)
		}
		s.TryAcquire()
		var served, first ghost
		acquire := func(name int) {
			if s.Acquire(context.Background()) != nil {
				m.Fatalf("refused")
			}
			if served.add(1) == 1 {
				first.set(name)
			}
			s.Release()
		}
		m.Go("first", func() { acquire(1) })
		m.Go("second", func() {
			if lfsync.InLine(s) { // else no order is promised
				acquire(2)
			}
		})
		m.Go("release", s.Release)
		m.Final(func() {
			if served.get() == 2 && first.get() != 1 {
				m.Fatalf("the second was served first")
			}
		})
	})
}
