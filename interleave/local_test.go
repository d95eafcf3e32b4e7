package interleave_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestLocal: each thread has a variable of its own, which no other thread and no other
// execution has written. The body and the Final functions share one.
func TestLocal(t *testing.T) {
	if p := interleave.Local(); p != nil {
		t.Errorf("outside an exploration Local returns %p, want nil", p)
	}
	for _, backend := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
		r := interleave.Explore(interleave.Options{Backend: backend}, func(m *interleave.M) {
			enter := func(v int) {
				if p := interleave.Local(); *p != nil {
					m.Fatalf("the variable begins with %v, want nil", *p)
				}
				*interleave.Local() = v
			}
			check := func(want int) {
				if got := *interleave.Local(); got != want {
					m.Fatalf("got %v, want %d", got, want)
				}
			}
			var x interleave.Int32
			enter(-1)
			for i := range 2 {
				m.Go("thread", func() {
					enter(i)
					x.Add(1)
					check(i)
					if i == 0 {
						interleave.Go("child", func() {
							enter(2)
							x.Add(1)
							check(2)
						})
					}
					x.Add(1)
					check(i)
				})
			}
			m.Final(func() { check(-1) })
		})
		if r.Failure != nil || !r.Complete || r.Executions < 20 {
			t.Errorf("%v: complete: %t after %d executions: %v", backend, r.Complete, r.Executions, r.Failure)
		}
	}
}

// TestLocalUnwinds: a deferred function of a thread that the explorer ends has the
// variable of its thread.
func TestLocalUnwinds(t *testing.T) {
	unwound := 0
	r := interleave.Explore(interleave.Options{Crash: "crashes"}, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("crashes", func() {
			*interleave.Local() = 7
			defer func() {
				if *interleave.Local() == 7 {
					unwound++
				}
			}()
			x.Add(1)
		})
		m.Go("other", func() { x.Add(1) })
	})
	if r.Failure != nil || unwound != r.Executions {
		t.Errorf("%d of %d executions have unwound with the variable: %v", unwound, r.Executions, r.Failure)
	}
}
