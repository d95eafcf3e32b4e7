package interleave_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestHiddenStateIsUnsteady: a program whose operations or results depend on state that
// survives an execution fails as Unsteady, with the position of the operation, although the
// same threads can run at each point.
func TestHiddenStateIsUnsteady(t *testing.T) {
	for name, hidden := range map[string]func(x, y *interleave.Int32, n int){
		"object": func(x, y *interleave.Int32, n int) {
			if n%2 == 0 {
				x.Load()
			} else {
				y.Load()
			}
		},
		"operation": func(x, _ *interleave.Int32, n int) {
			if n%2 == 0 {
				x.Store(1)
			} else {
				x.Load()
			}
		},
		"result": func(x, _ *interleave.Int32, n int) {
			x.Add(int32(n))
		},
		"outcome of a CompareAndSwap": func(x, _ *interleave.Int32, n int) {
			x.CompareAndSwap(int32(n%2), 1)
		},
	} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			for _, bound := range []int{1, interleave.All} {
				o.Preemptions = bound
				executions := 0
				r := interleave.Explore(o, func(m *interleave.M) {
					var x, y interleave.Int32
					n := executions
					executions++
					m.Go("hidden", func() {
						hidden(&x, &y, n)
						y.Add(1)
						y.Add(1)
					})
					m.Go("other", func() { y.Add(1) })
				})
				wantFailure(t, r, interleave.Unsteady, "unsteady_test.go:")
				if r.Failure.Execution != 2 {
					t.Errorf("%s: found in execution %d, want 2", name, r.Failure.Execution)
				}
			}
		})
	}
}

// TestMapOrderIsUnsteady: a program that takes its steps in the order of a map fails as
// Unsteady.
func TestMapOrderIsUnsteady(t *testing.T) {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		objects := map[int]*interleave.Int32{}
		for i := range 8 {
			objects[i] = new(interleave.Int32)
		}
		for range 2 {
			m.Go("t", func() {
				for _, x := range objects {
					x.Add(1)
				}
			})
		}
	})
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
}
