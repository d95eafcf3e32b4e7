//go:build interleave

package pool_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestModelNested has a handler that waits for another call of its own lane with one place. The
// lane goes on without it. The handler returns beside the calls that run there then.
func TestModelNested(t *testing.T) {
	for _, tc := range []struct {
		name        string
		lanes       int
		concurrency int
		f           func(w *world) *pool.Func[*step, string]
	}{
		{"pool-nested-direct", 1, 1, direct},
		{"pool-nested-remote", 1, 1, remote},
		{"pool-nested-other-lane", 2, 1, direct},
		{"pool-nested-permits", 1, 2, remote},
	} {
		in(t, tc.name, 1, pool.Config{Lanes: tc.lanes, Concurrency: tc.concurrency}, func(w *world) {
			w.only(nil)
			b, c := w.step("b", nil), w.step("c", nil)
			a := w.step("a", func(ctx context.Context) { w.call(ctx, tc.f(w), b) })
			w.m.Go("one", func() { w.call(background, w.direct, a) })
			w.m.Go("other", func() { w.call(background, w.remote, c) })
		})
	}
}

// TestModelPermits runs three calls of a lane with two permits. There are never three at once.
func TestModelPermits(t *testing.T) {
	draw(t, "pool-permits", many, 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		var running note
		for _, name := range []string{"a", "b", "c"} {
			s := w.step(name, func(context.Context) {
				if n := running.add(1); n > 2 {
					w.m.Fatalf("%d calls run at once", n)
				}
				w.p.Lanes() // some steps
				running.add(-1)
			})
			w.m.Go("caller "+name, func() { w.call(background, w.remote, s) })
		}
	})
}

// TestModelCrossedCalls has handlers of two lanes that call the other lane.
func TestModelCrossedCalls(t *testing.T) {
	for name, places := range map[string]int{"pool-crossed-1": 1, "pool-crossed-2": 2} {
		draw(t, name, many, places, pool.Config{Lanes: 2}, func(w *world) {
			w.only(nil)
			for _, name := range []string{"a", "b"} {
				inner := w.step(name+" inside", nil)
				s := w.step(name, func(ctx context.Context) { w.call(ctx, w.remote, inner) })
				w.m.Go("caller "+name, func() { w.call(background, w.direct, s) })
			}
		})
	}
}

// TestModelGoexit has a handler that ends its goroutine in its lane or after it has left the
// lane. The lane goes on, and no call stays detached. Each execution takes a stack trace, so
// there are few.
func TestModelGoexit(t *testing.T) {
	for name, nested := range map[string]bool{"pool-goexit": false, "pool-goexit-outside": true} {
		draw(t, name, 500, 1, pool.Config{Lanes: 1}, func(w *world) {
			w.only(nil, pool.ErrGoexit)
			c := w.step("c", nil)
			var b *step
			if nested {
				b = w.step("b", nil)
			}
			a := w.step("a", func(ctx context.Context) {
				if nested {
					w.call(ctx, w.remote, b)
				}
				runtime.Goexit()
			})
			w.m.Go("one", func() { w.call(background, w.remote, a) })
			w.m.Go("other", func() { w.call(background, w.remote, c) })
		})
	}
}

// TestModelPermitsTogether has the handler of a call that waits for that of the next one in a
// lane with two permits. No permit stays free while a call waits.
func TestModelPermitsTogether(t *testing.T) {
	draw(t, "pool-permits-together", many, 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		open, opened := latch()
		a := w.step("a", func(context.Context) { opened() })
		b := w.step("b", func(context.Context) { open() })
		w.m.Go("one", func() { w.call(background, w.remote, a) })
		w.m.Go("other", func() { w.call(background, w.remote, b) })
	})
}
