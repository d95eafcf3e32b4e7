package sched

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
)

// Stats is a snapshot of counters. Each place has plain counters of tasks, which are
// published about every 30 tasks and before a worker parks or blocks. A snapshot of a
// busy scheduler lags by that much, and for as long as a callback runs. Queued and Running
// do not lag: they are read from the queues and the places. The JSON name of a field is
// its name with a small first letter.
type Stats struct {
	Executed uint64 `json:"executed"` // tasks whose callback was entered
	Steals   uint64 `json:"steals"`   // times that a worker took tasks from the run queue of another place
	Spilled  uint64 `json:"spilled"`  // times that a full ring moved tasks to its overflow queue
	Refilled uint64 `json:"refilled"` // times that a worker took tasks from an overflow or the injection queue

	Promoted uint64 `json:"promoted"` // forks that were made tasks: on request, by PromoteNow, or because their body blocked

	Wakes         uint64 `json:"wakes"`         // wake-ups of parked workers
	EmptyWakes    uint64 `json:"emptyWakes"`    // wake-ups whose worker found that another worker had taken the notification
	Parks         uint64 `json:"parks"`         // times that a worker parked
	Spawns        uint64 `json:"spawns"`        // workers started
	SpawnFailures uint64 `json:"spawnFailures"` // times that the Spawner failed
	Stalls        uint64 `json:"stalls"`        // times that a worker was marked as stalled: see Config.StallAfter

	// Queued is approximately the number of tasks that are queued now. It is the number of
	// tasks in the rings of all places, plus 1 for the injection queue and 1 for the overflow
	// queue of each place, if they hold tasks. These queues have no length, because it would
	// cost each push from outside an atomic operation. The count of a ring that changes during
	// the call is an estimate. A task that a worker is moving from one queue to another may be
	// missed or counted twice, so 0 does not prove that no task is queued while workers run. A
	// fork counts from its promotion on.
	Queued int `json:"queued"`

	// Running is the number of callbacks that have begun and not ended: Held, and the
	// callbacks that have released their place. A worker that holds a place and searches
	// for a task counts as well, for up to some tens of microseconds, and so does one in
	// Config.OnIdle. A callback that releases or takes a place at this moment may count
	// twice, and so does one that calls Do inside Blocking. Tasks that run on top of a wait
	// count once. [Scheduler.Inspect] returns their functions.
	Running int `json:"running"`

	// Saturated is the time since the first of the last looks that all have found all places held
	// and tasks queued. It is 0 if this look has not found that, or is the first that has. Stats
	// looks, and with Config.StallAfter so does the scheduler after each StallAfter. Without it
	// the places may have been free between two calls of Stats. A value that grows while
	// Executed does not shows callbacks that block and keep their places.
	Saturated time.Duration `json:"saturated"`

	// Starting is the number of workers that the Spawner has started and that have not
	// begun to run. A Spawner that never calls run leaves its worker here, and with it
	// the tasks that rely on this worker. It is 0 for the default Spawner.
	Starting int `json:"starting"`

	Workers int `json:"workers"` // workers in the worker count now: without those that have blocked or stalled
	Parked  int `json:"parked"`  // workers that are parked now or about to park
	Places  int `json:"places"`  // places made: up to MaxWorkers, and for stalls up to one more than workers were stalled at a time
	Held    int `json:"held"`    // places that are held now, without that of a parked worker
	Stalled int `json:"stalled"` // held places whose worker is stalled now
}

// counts are the counters of a place, written by its holder.
type counts struct {
	executed, steals, spilled, refilled, promoted uint64
}

// published is the part of the counters that other goroutines read.
type published struct {
	executed, steals, spilled, refilled, promoted atomix.Uint64
}

// publish makes c visible to Stats. A store costs a full fence, so publish stores only
// the counters that have changed.
func (c *counts) publish(to *published) {
	if to.executed.Load() != c.executed {
		to.executed.Store(c.executed)
	}
	if to.steals.Load() != c.steals {
		to.steals.Store(c.steals)
	}
	if to.spilled.Load() != c.spilled {
		to.spilled.Store(c.spilled)
	}
	if to.refilled.Load() != c.refilled {
		to.refilled.Store(c.refilled)
	}
	if to.promoted.Load() != c.promoted {
		to.promoted.Store(c.promoted)
	}
}

// coldCounts counts events that cost much more than an atomic add.
type coldCounts struct {
	wakes, emptyWakes, parks, spawns, begun, spawnFailures, stalls, labels atomix.Uint64
}

// Stats returns a snapshot of the counters. Safe for concurrent use.
func (s *Scheduler) Stats() Stats {
	s.init()
	word := s.sync.Load()
	st := Stats{
		Wakes:         s.cold.wakes.Load(),
		EmptyWakes:    s.cold.emptyWakes.Load(),
		Parks:         s.cold.parks.Load(),
		Spawns:        s.cold.spawns.Load(),
		SpawnFailures: s.cold.spawnFailures.Load(),
		Stalls:        s.cold.stalls.Load(),
		Workers:       word.Spawned(),
		Parked:        word.Idle(),
		Places:        int(s.places.made.Load()),
	}
	if s.spawnMayFail {
		st.Starting = max(0, int(st.Spawns-s.cold.begun.Load())) // a worker may begin before Spawn returns
	}
	st.Held = s.heldByCallbacks()
	st.Running = int(s.life.blocked.Load()) + st.Held
	if !s.injection.Empty() {
		st.Queued++
	}
	s.places.each(func(p *place) {
		st.Queued += p.queue.AtLeast()
		st.Executed += p.published.executed.Load()
		st.Steals += p.published.steals.Load()
		st.Spilled += p.published.spilled.Load()
		st.Refilled += p.published.refilled.Load()
		st.Promoted += p.published.promoted.Load()
		if p.occupancy.Load()&occStalled != 0 {
			st.Stalled++
		}
	})
	st.Saturated = s.saturation.note(st.Queued > 0 && s.full())
	return st
}

// heldByCallbacks returns the number of places that are held, without that of the lingering
// worker. Between its loads the place may have been taken and returned. The second load of the
// free list shows this.
func (s *Scheduler) heldByCallbacks() int {
	for {
		held, at := s.places.held()
		kept := s.keptPlace()
		if again, then := s.places.held(); again == held && then == at && s.keptPlace() == kept {
			if kept {
				held--
			}
			return max(0, held)
		}
	}
}

// saturation is the time at which a look first found all places held and tasks queued. It is nil
// when the last look did not find that. Any goroutine may look.
type saturation struct{ since atomix.Pointer[time.Time] }

// note records the result of a look, and returns the time since the first look with the same
// result if that is true.
func (s *saturation) note(saturated bool) time.Duration {
	since := s.since.Load()
	switch {
	case !saturated && since != nil:
		s.since.Store(nil)
	case saturated && since == nil:
		now := time.Now()
		s.since.CompareAndSwap(nil, &now) // another goroutine may have looked at the same time
	case saturated:
		return time.Since(*since)
	}
	return 0
}
