//go:build interleave

package park_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// TestModelOnce checks that one of three calls of Do calls its function in every order of
// the calls. Each call returns after that call of the function and sees its writes. A call
// that panics counts.
func TestModelOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		panics bool
	}{
		{"park-once", false},
		{"park-once-panic", true},
	} {
		interleave.Check(t, tc.name, interleave.Options{Preemptions: interleave.All, Reduce: true}, func(m *interleave.M) {
			var o park.Once
			var inside atomix.Uint32
			var calls atomix.Cell[int]
			panics := make([]int, 3)
			for i := range panics {
				m.Go("caller", func() {
					func() {
						defer func() {
							if recover() != nil {
								panics[i]++
							}
						}()
						o.Do(func() {
							inside.Store(1)
							calls.Set(calls.Get() + 1)
							inside.Store(2)
							if tc.panics {
								panic("broken")
							}
						})
					}()
					if inside.Load() != 2 || calls.Get() != 1 {
						m.Fatalf("Do has returned in phase %d, after %d calls", inside.Load(), calls.Get())
					}
				})
			}
			m.Final(func() {
				if n := panics[0] + panics[1] + panics[2]; (n == 1) != tc.panics || n > 1 {
					m.Fatalf("%d calls of Do panicked", n)
				}
			})
		})
	}
}

// TestModelOnceInside checks that a Do inside the function of a Do is a deadlock.
func TestModelOnceInside(t *testing.T) {
	r := interleave.Explore(interleave.Options{}, func(m *interleave.M) {
		var o park.Once
		m.Go("caller", func() { o.Do(func() { o.Do(func() {}) }) })
	})
	if r.Failure == nil || r.Failure.Kind != interleave.Deadlock || !strings.Contains(r.Failure.Message, "waits in Lock of") {
		t.Errorf("got %v, want a deadlock in Lock", r.Failure)
	}
}

// TestModelPause checks that a loop that calls Pause may use up its rounds before another
// thread has taken a step. It may also end in each of its rounds.
func TestModelPause(t *testing.T) {
	seen := map[int]int{}
	var y park.Yielder
	for _, pause := range []func(){park.Pause, func() { y.Yield() }} {
		clear(seen)
		r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
			var ready atomix.Bool
			rounds := 0
			m.Go("spin", func() {
				for rounds < 3 && !ready.Load() {
					rounds++
					pause()
				}
			})
			m.Go("ready", func() { ready.Store(true) })
			m.Final(func() { seen[rounds]++ })
		})
		if !r.Complete || len(seen) != 4 {
			t.Errorf("complete: %t, numbers of rounds: %v, want 0 to 3", r.Complete, seen)
		}
	}
}
