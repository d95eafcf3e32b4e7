package stress

import (
	"sync/atomic"

	lfsync "github.com/lanewright/lanewright/sync"
)

var syncScenarios = []scenario{
	{"sync-limits", runSyncLimits},
	{"mpsc-release", runRelease},
}

// maxWorkers is the highest worker count of a Sync word.
const maxWorkers = lfsync.MaxWorkers

// runSyncLimits drives the counters of a Sync word to their highest values and back,
// from several goroutines. A counter stops at its limit and does not overflow into
// another field.
func runSyncLimits(r *round) {
	const callers = 3
	var s lfsync.Sync
	check := func(what string, spawned, idle int) {
		if w := s.Load(); w.Spawned() != spawned || w.Idle() != idle {
			r.Errorf("%s: %v, want idle=%d spawned=%d", what, w, idle, spawned)
		}
	}
	var entered atomic.Int64
	r.concurrently(callers, func(int) {
		enter := func() bool { _, ok := s.Enter(maxWorkers + 1); return ok } // Enter limits it to maxWorkers
		for enter() {
			entered.Add(1)
		}
	})
	if entered.Load() != maxWorkers {
		r.Errorf("%d callers entered, want %d", entered.Load(), maxWorkers)
	}
	check("all have entered", maxWorkers, 0)
	// At the limit, workers leave and enter again. The count never exceeds the limit.
	r.concurrently(callers, func(int) {
		for range r.size(2000) {
			s.Leave(false, false, maxWorkers)
			if s.Load().Spawned() > maxWorkers {
				r.Errorf("more workers than the word can count: %v", s.Load())
			}
			for ok := false; !ok; {
				_, ok = s.Enter(maxWorkers)
			}
		}
	})
	check("some left and came back", maxWorkers, 0)
	if a := s.Notify(false, maxWorkers); a != lfsync.ActionNone {
		r.Errorf("at the limit, Notify returns %v", a)
	}
	// All park. The first finds the notification.
	parked := atomic.Int64{}
	r.concurrently(callers, func(i int) {
		for n := i; n < maxWorkers; n += callers {
			for s.Wait(false, false) != lfsync.OutcomePark {
			}
			parked.Add(1)
		}
	})
	check("all have parked", maxWorkers, maxWorkers)
	// Each woken worker wakes the next one.
	waking := false
	for n := maxWorkers; n > 0 && !r.Failed(); n-- {
		if a := s.Notify(waking, maxWorkers); a != lfsync.ActionWake {
			r.Errorf("with %d parked workers, Notify returns %v", n, a)
		}
		if out := s.Wait(false, true); out != lfsync.OutcomeSearchWaking {
			r.Errorf("the outcome of a woken worker is %v", out)
		}
		waking = true
	}
	check("all were woken", maxWorkers, 0)
	s.Leave(true, false, 0) // below the limit it would spawn a successor
	r.concurrently(callers, func(i int) {
		for n := 1 + i; n < maxWorkers; n += callers {
			s.Leave(false, false, 0)
		}
	})
	check("all have left", 0, 0)
	r.did(6 * maxWorkers)
}
