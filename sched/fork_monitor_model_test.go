//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestModelForkWatch: computations begin and end while the watch comes and goes. Each
// waits until somebody has asked it for a fork: the watch that runs, or the one that
// it has started.
func TestModelForkWatch(t *testing.T) {
	interleave.Check(t, "fork-watch", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		s := placeless(m)
		s.max = 2
		// What is modelled of the watch is how it begins and ends, without the clock.
		watch := func() {
			var e eye
			for {
				if v := e.look(s, nil, true); v.changed || v.unasked {
					interleave.Yield()
				} else if s.stopWatch(&e) {
					return
				}
			}
		}
		m.Go("owner", func() {
			w := &Worker{s: s, guest: true}
			w.attach(s.takePlace())
			for range 2 {
				f := takeForks[int, int](w)
				w.enterForks(&f.forkHead)
				if !s.watching.Load() && s.watching.CompareAndSwap(false, true) { // startWatch
					interleave.Go("watch", watch)
				}
				for !f.Wanted() {
					interleave.Yield()
				}
				w.leaveForks(&f.forkHead)
			}
		})
	})
}
