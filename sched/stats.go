package sched

import "github.com/lanewright/lanewright/internal/atomix"

// Stats is a snapshot of counters. The task counters are plain per place and
// are published about every 30 tasks and before a worker parks or blocks,
// so a snapshot of a busy scheduler lags by that much.
type Stats struct {
	Executed uint64 // tasks whose callback was entered
	Steals   uint64 // times that a worker took tasks from another's run queue
	Spilled  uint64 // times that a full ring moved tasks to its overflow queue
	Refilled uint64 // times that a worker took tasks from an overflow or the injection queue

	Promoted uint64 // forks that were made tasks, because a worker had nothing to do

	Wakes         uint64 // parked workers that were told to wake
	EmptyWakes    uint64 // wake-ups that found nothing to run
	Parks         uint64 // times that a worker parked
	Spawns        uint64 // workers started
	SpawnFailures uint64 // times that the Spawner failed
	Stalls        uint64 // workers that were counted out because of Config.StallAfter

	Workers int // workers that exist now
	Parked  int // of those, parked now
	Places  int // places made, at most MaxWorkers, and one for each stall at the same time
	Held    int // of those, held now
	Stalled int // of those, held by a worker that is counted out now
}

// counts are the counters of a place, written by its holder.
type counts struct {
	executed, steals, spilled, refilled, promoted uint64
}

// published is what others may read of them.
type published struct {
	executed, steals, spilled, refilled, promoted atomix.Uint64
}

// publish makes c visible to Stats. A store costs a full fence, so only what
// changed is stored.
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

// coldCounts are counted where an event costs much more than an atomic add.
type coldCounts struct {
	wakes, emptyWakes, parks, spawns, spawnFailures, stalls, labels atomix.Uint64
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
	st.Held, _ = s.places.held()
	s.places.each(func(p *place) {
		st.Executed += p.published.executed.Load()
		st.Steals += p.published.steals.Load()
		st.Spilled += p.published.spilled.Load()
		st.Refilled += p.published.refilled.Load()
		st.Promoted += p.published.promoted.Load()
		if p.occupancy.Load()&occStalled != 0 {
			st.Stalled++
		}
	})
	return st
}
