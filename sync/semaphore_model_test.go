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

// modelContext is a context that a thread ends by closing its channel. A context of
// package context would take locks that are not steps.
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

// permits is implemented by Semaphore and by brokenSemaphore.
type permits interface {
	Acquire(ctx context.Context) error
	TryAcquire() bool
	Release()
}

// brokenSemaphore is a semaphore with a planted bug of cancellation. It grants permits in
// any order.
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
	if s.count.Add(1) <= 0 && s.bug != neverWakes {
		s.sema.Post()
	}
}

func (s *brokenSemaphore) Acquire(ctx context.Context) error {
	if s.count.Add(-1) >= 0 || s.sema.WaitDone(ctx.Done()) {
		return nil
	}
	if s.bug != staysCounted {
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

// semaphoreModel runs holders and waiters. A holder takes a permit, accesses the guarded
// memory, and gives the permit back. A waiter does the same and may give up at any moment.
// tries is the number of threads that call TryAcquire.
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
				inside.Load() // a step, so that another thread can take a permit
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
				step.Load() // a step, so that the cancel can occur at any time
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
			if real, ok := s.(*lfsync.Semaphore); ok && !lfsync.AtRest(real) {
				m.Fatalf("the semaphore is not at rest")
			}
		})
	}
}

// TestModelSemaphore checks that each goroutine gets a permit. No more permits are held
// than there are. With one permit the accesses of its holders to memory are ordered. C-045.
func TestModelSemaphore(t *testing.T) {
	explore(t, "semaphore", three, semaphoreModel(none, 1, 3, 0, 0))
	explore(t, "semaphore-2", all, semaphoreModel(none, 1, 2, 0, 0))
	explore(t, "semaphore-2-try", three, semaphoreModel(none, 1, 2, 0, 1))
	explore(t, "semaphore-2-of-3", three, semaphoreModel(none, 2, 3, 0, 0))
	planted(t, "a waiter is not woken", "deadlock", three, semaphoreModel(neverWakes, 1, 2, 0, 0))
}

// TestModelSemaphoreCancel checks that waiters that give up lose no permit and no wake-up.
// The permit and the wake-up are their own or those of another waiter. C-045.
func TestModelSemaphoreCancel(t *testing.T) {
	explore(t, "semaphore-cancel", three, semaphoreModel(none, 1, 1, 1, 0))
	explore(t, "semaphore-cancel-waiter", three, semaphoreModel(none, 1, 2, 1, 0))
	explore(t, "semaphore-cancel-2", two, semaphoreModel(none, 1, 1, 2, 0))
	planted(t, "a waiter that gives up stays in the count", "are left", three, semaphoreModel(staysCounted, 1, 1, 1, 0))
	planted(t, "a waiter that gives up leaves its permit", "data race", three, semaphoreModel(leavesPermit, 1, 3, 1, 0))
}

// TestModelSemaphoreRelease checks that the permit is free when a Release has returned and
// no goroutine waits. A waiter may have given up in between while a granter still handles
// the abandoned waiter.
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
			step.Load() // a step, so that the cancel can occur at any time
			close(ctx.done)
		})
		m.Go("release", func() {
			gaveUp := over.Load()
			s.Release()
			if gaveUp && !s.TryAcquire() {
				m.Fatalf("a permit was released, no goroutine waits, and the permit is not free")
			} else if gaveUp {
				s.Release()
			}
		})
	})
}

// TestModelSemaphoreCrash checks that an Acquire whose context is done ends although a
// releaser stops for ever at any step. One of these steps is between the release of a
// permit and its grant. A waiter that takes such a permit sees the writes of the releaser.
func TestModelSemaphoreCrash(t *testing.T) {
	o := three
	o.Crash = "release"
	explore(t, "semaphore-crash", o, func(m *interleave.M) {
		s := newPermits(m, none, 1)
		s.TryAcquire()
		ctx := newModelContext()
		var guarded atomix.Cell[int]
		m.Go("x", func() {
			if s.Acquire(ctx) == nil {
				guarded.Set(2)
			}
		})
		m.Go("cancel", func() {
			var step atomix.Bool
			step.Load() // a step, so that the cancel can occur at any time
			close(ctx.done)
		})
		m.Go("release", func() {
			guarded.Set(1)
			s.Release()
		})
	})
}

// TestModelSemaphoreFIFO checks that a waiter that has arrived before another one gets its
// permit first. Any goroutine may be the granter.
func TestModelSemaphoreFIFO(t *testing.T) {
	explore(t, "semaphore-fifo", three, func(m *interleave.M) {
		s, err := lfsync.NewSemaphore(1)
		if err != nil {
			m.Fatalf("%v", err)
		}
		s.TryAcquire()
		var acquired, first ghost
		acquire := func(name int) {
			if s.Acquire(context.Background()) != nil {
				m.Fatalf("Acquire failed")
			}
			if acquired.add(1) == 1 {
				first.set(name)
			}
			s.Release()
		}
		m.Go("first", func() { acquire(1) })
		m.Go("second", func() {
			if lfsync.HasArrivals(s) { // otherwise no order is guaranteed
				acquire(2)
			}
		})
		m.Go("release", s.Release)
		m.Final(func() {
			if acquired.get() == 2 && first.get() != 1 {
				m.Fatalf("the second waiter got the permit first")
			}
		})
	})
}
