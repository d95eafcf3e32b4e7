package sync_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/invariant"
	lfsync "github.com/lanewright/lanewright/sync"
)

func newSemaphore(tb rapid.TB, n int) *lfsync.Semaphore {
	tb.Helper()
	s, err := lfsync.NewSemaphore(n)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestNewSemaphore checks that NewSemaphore refuses every number of permits that is not
// positive. C-045, V-16c.
func TestNewSemaphore(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt} {
		s, err := lfsync.NewSemaphore(n)
		if s != nil || !errors.Is(err, lfsync.ErrPermits) {
			t.Errorf("NewSemaphore(%d) = %v, %v, want ErrPermits", n, s, err)
		}
	}
	for _, n := range []int{1, math.MaxInt} {
		if s, err := lfsync.NewSemaphore(n); err != nil || !s.TryAcquire() {
			t.Errorf("NewSemaphore(%d): %v", n, err)
		}
	}
}

// TestSemaphoreOverRelease checks that a Release panics when all permits are free. C-045.
func TestSemaphoreOverRelease(t *testing.T) {
	const want = "sync: Semaphore.Release: all permits are free already"
	s := newSemaphore(t, 2)
	mustPanic(t, want, s.Release)
	s.TryAcquire()
	s.Release()
	mustPanic(t, want, s.Release)
	if !lfsync.AtRest(s) {
		t.Error("a Release that panicked changed the semaphore")
	}
}

// semaphoreOp is one step of TestSemaphoreModel.
type semaphoreOp struct {
	Kind string
	Pick int // selects a waiter
}

// TestSemaphoreModel checks that random calls behave as those of a queue. The calls come
// one at a time and with waiters. C-045.
func TestSemaphoreModel(t *testing.T) {
	kinds := []string{"try", "acquire", "acquire", "refused", "release", "release", "cancel"}
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 3).Draw(r, "permits")
		ops := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) semaphoreOp {
			return semaphoreOp{rapid.SampledFrom(kinds).Draw(r, "kind"), rapid.IntRange(0, 99).Draw(r, "pick")}
		}), 0, 60).Draw(r, "ops")
		var bad error
		synctest.Test(t, func(t *testing.T) { bad = runSemaphore(t, limit, ops) })
		if bad != nil {
			r.Fatal(bad)
		}
	})
}

// runSemaphore runs ops inside a synctest bubble. It returns an error for the first
// operation whose result differs from that of the queue.
func runSemaphore(t *testing.T, limit int, ops []semaphoreOp) error {
	t.Helper()
	type call struct {
		cancel context.CancelFunc
		err    error
		ended  bool
	}
	s := newSemaphore(t, limit)
	held := 0
	var waiters []*call       // oldest first
	over := map[*call]error{} // calls that must have ended, and their errors
	end := func(c *call, err error) {
		over[c] = err
		if err == nil {
			held++
		}
	}
	release := func() {
		s.Release()
		held--
		if len(waiters) > 0 {
			end(waiters[0], nil)
			waiters = waiters[1:]
		}
	}
	check := func(op string) error {
		synctest.Wait()
		for c, want := range over {
			if !c.ended || c.err != want {
				return fmt.Errorf("%s: ended: %v, with %v; want %v", op, c.ended, c.err, want)
			}
			c.cancel()
		}
		clear(over)
		for i, c := range waiters {
			if c.ended {
				return fmt.Errorf("%s: waiter %d of %d got its permit out of order: %v", op, i, len(waiters), c.err)
			}
		}
		if got := lfsync.Waiting(s); got != len(waiters) {
			return fmt.Errorf("%s: %d goroutines wait, want %d", op, got, len(waiters))
		}
		if kept := lfsync.Kept(s); kept > 2*len(waiters) {
			return fmt.Errorf("%s: %d waiters are kept, and %d wait", op, kept, len(waiters))
		}
		return nil
	}
	defer func() { // leave no goroutine in the bubble
		for _, c := range waiters {
			c.cancel()
		}
	}()
	for i, op := range ops {
		name := fmt.Sprintf("op %d, %s", i, op.Kind)
		switch op.Kind {
		case "try":
			if got, want := s.TryAcquire(), held < limit; got != want {
				return fmt.Errorf("%s with %d of %d held = %v", name, held, limit, got)
			}
			held = min(held+1, limit)
		case "acquire":
			ctx, cancel := context.WithCancel(t.Context())
			c := &call{cancel: cancel}
			go func() {
				c.err = s.Acquire(ctx)
				c.ended = true
			}()
			if held < limit {
				end(c, nil)
			} else {
				waiters = append(waiters, c)
			}
		case "refused":
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.Acquire(ctx); err != context.Canceled {
				return fmt.Errorf("%s = %v", name, err)
			}
		case "release":
			if held > 0 {
				release()
			} else if !panics(s.Release) {
				return fmt.Errorf("%s: did not panic", name)
			}
		case "cancel":
			if len(waiters) > 0 {
				i := op.Pick % len(waiters)
				c := waiters[i]
				waiters = slices.Delete(slices.Clone(waiters), i, i+1)
				c.cancel()
				end(c, context.Canceled)
			}
		}
		if err := check(name); err != nil {
			return err
		}
	}
	for held > 0 {
		release()
		if err := check("at the end"); err != nil {
			return err
		}
	}
	if !lfsync.AtRest(s) {
		return errors.New("the semaphore is not at rest")
	}
	return nil
}

// TestSemaphoreRefusesDoneContext checks that Acquire refuses a context that is done even
// if a permit is free. A nil Done channel never ends. V-11.
func TestSemaphoreRefusesDoneContext(t *testing.T) {
	s := newSemaphore(t, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := s.Acquire(ctx); err != context.Canceled {
		t.Errorf("Acquire = %v, want %v", err, context.Canceled)
	}
	if !lfsync.AtRest(s) {
		t.Error("a refused call changed the semaphore")
	}
	if err := s.Acquire(context.Background()); err != nil {
		t.Errorf("Acquire = %v", err)
	}
}

// TestSemaphoreDeadline checks that Acquire returns at the deadline of its context. The
// time is virtual, so a lost permit is a deadlock.
func TestSemaphoreDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSemaphore(t, 1)
		if !s.TryAcquire() {
			t.Fatal("no permit")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if err := s.Acquire(ctx); err != context.DeadlineExceeded {
			t.Errorf("Acquire = %v, want %v", err, context.DeadlineExceeded)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("after %v, want an hour", d)
		}
		go func() {
			time.Sleep(time.Minute) // virtual
			s.Release()
		}()
		if err := s.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != time.Hour+time.Minute {
			t.Errorf("after %v, want an hour and a minute", d)
		}
		s.Release()
		if !lfsync.AtRest(s) {
			t.Error("the semaphore is not at rest")
		}
	})
}

// TestSemaphoreFIFO checks that waiters get permits in the order in which they arrived. No
// later call overtakes them. C-045.
func TestSemaphoreFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSemaphore(t, 1)
		s.TryAcquire()
		var order []int
		for i := range 20 {
			go func() {
				if err := s.Acquire(t.Context()); err != nil {
					t.Error(err)
				}
				order = append(order, i) // the permit is the lock of order
				s.Release()
			}()
			synctest.Wait()
		}
		s.Release()
		if s.TryAcquire() {
			s.Release()
			if len(order) < 20 {
				t.Errorf("TryAcquire overtook %d waiters", 20-len(order))
			}
		}
		synctest.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("permits were granted in the order %v", order)
		}
	})
}

// TestSemaphoreUnlinksAbandoned checks that waiters that gave up are unlinked at any
// position.
func TestSemaphoreUnlinksAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSemaphore(t, 1)
		s.TryAcquire()
		var wg stdsync.WaitGroup
		wait := func() {
			wg.Go(func() {
				if err := s.Acquire(t.Context()); err != nil {
					t.Error(err)
				}
				s.Release()
			})
			synctest.Wait()
		}
		wait()
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if s.Acquire(ctx) == nil {
				t.Error("Acquire got a permit that is held")
			}
			cancel()
			if n := lfsync.Kept(s); n > 4 {
				t.Fatalf("%d waiters are kept, and one waits", n)
			}
		}
		wait()
		s.Release()
		wg.Wait()
		if !lfsync.AtRest(s) {
			t.Error("the semaphore is not at rest")
		}
	})
}

// TestSemaphoreStress checks that the number of held permits never exceeds the limit. All
// permits are free at the end. C-045.
func TestSemaphoreStress(t *testing.T) {
	const goroutines, permits = 10, 3
	each := rounds(100_000)
	seed := newSeed(t)
	within(t, "the goroutines", func() {
		s := newSemaphore(t, permits)
		var held atomic.Int64
		var wg stdsync.WaitGroup
		for g := range goroutines {
			rnd := newRand(seed, g)
			wg.Go(func() {
				for range each {
					if rnd.IntN(4) == 0 {
						if !s.TryAcquire() {
							continue
						}
					} else if err := s.Acquire(context.Background()); err != nil {
						t.Error(err)
						return
					}
					if n := held.Add(1); n > permits {
						t.Errorf("%d permits are held", n)
					}
					if rnd.IntN(32) == 0 {
						runtime.Gosched()
					}
					held.Add(-1)
					s.Release()
				}
			})
		}
		wg.Wait()
		if !lfsync.AtRest(s) {
			t.Error("the semaphore is not at rest")
		}
	})
}

// TestSemaphoreStressCancel checks that no permit and no waiter is lost when contexts end
// at any moment. The last waiters would hang otherwise.
func TestSemaphoreStressCancel(t *testing.T) {
	const goroutines, permits = 8, 2
	each := rounds(10_000)
	seed := newSeed(t)
	within(t, "the goroutines", func() {
		s := newSemaphore(t, permits)
		var held, gaveUp atomic.Int64
		var wg stdsync.WaitGroup
		for g := range goroutines {
			rnd := newRand(seed, g)
			wg.Go(func() {
				for range each {
					ctx, cancel := context.WithCancel(context.Background())
					switch rnd.IntN(3) {
					case 0:
						go cancel()
					case 1:
						go func() {
							runtime.Gosched()
							cancel()
						}()
					}
					err := s.Acquire(ctx)
					if err == nil {
						if n := held.Add(1); n > permits {
							t.Errorf("%d permits are held", n)
						}
						if rnd.IntN(4) == 0 {
							runtime.Gosched()
						}
						held.Add(-1)
						s.Release()
					} else if gaveUp.Add(1); err != context.Canceled {
						t.Errorf("Acquire = %v", err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if !lfsync.AtRest(s) {
			t.Error("the semaphore is not at rest")
		}
		t.Logf("%d of %d calls gave up", gaveUp.Load(), goroutines*each)
		if gaveUp.Load() == 0 {
			t.Error("no call gave up")
		}
	})
	if invariant.Enabled {
		t.Logf("marks reached: %q", invariant.Marks())
	}
}

// TestSemaphoreAllocs checks that taking a free permit allocates nothing.
func TestSemaphoreAllocs(t *testing.T) {
	s := newSemaphore(t, 1)
	if n := testing.AllocsPerRun(100, func() {
		if s.Acquire(t.Context()) != nil {
			t.Fatal("Acquire failed with a free permit")
		}
		s.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
