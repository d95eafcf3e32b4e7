//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelPause checks that a call that is accepted after Pause has returned does not start
// before Resume. No call is stranded after it.
func TestModelPause(t *testing.T) {
	for _, tc := range []struct {
		name        string
		concurrency int
		f           func(w *world) *pool.Func[*step, string]
	}{
		{"pool-pause-direct", 1, direct},
		{"pool-pause-remote", 1, remote},
		{"pool-pause-permits", 2, remote},
	} {
		in(t, tc.name, 1, pool.Config{Lanes: 1, Concurrency: tc.concurrency}, func(w *world) {
			w.only(nil)
			var resumed note
			a := w.step("a", nil)
			b := w.step("b", func(context.Context) {
				if resumed.add(0) == 0 {
					w.m.Fatalf("a call that was made during the pause has started")
				}
			})
			w.m.Go("caller", func() { w.call(background, tc.f(w), a) })
			w.m.Go("pauser", func() {
				w.p.Pause()
				_, await := w.start(background, w.remote, b)
				interleave.Yield()
				resumed.add(1)
				w.p.Resume()
				await()
			})
		})
	}
}

// TestModelResumeResized checks that a lane that Resize adds while the pool is resumed strands
// no call.
func TestModelResumeResized(t *testing.T) {
	in(t, "pool-resume-resized", 1, pool.Config{Lanes: 1, Balancer: last{}}, func(w *world) {
		w.only(nil)
		w.p.Pause()
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		w.m.Go("resizer", func() {
			if err := w.p.Resize(background, 2); err != nil {
				w.m.Fatalf("Resize = %v", err)
			}
		})
		w.m.Go("resumer", func() { w.p.Resume() })
	})
}

// last is the balancer that picks the last lane.
type last struct{}

func (last) Pick(v pool.View) int { return v.Len() - 1 }
