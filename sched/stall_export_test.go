package sched

import "fmt"

// StallMonitorRuns reports whether the stall monitor of s runs.
func (s *Scheduler) StallMonitorRuns() bool {
	return s.config.StallAfter > 0 && s.monitorThreshold.Load() != monitorOff
}

// SetStallMonitorRuns makes s believe that its stall monitor runs, for a test that takes the
// steps of the monitor itself: ProbeAll, and ReplaceStalled when StallAfter has passed.
func (s *Scheduler) SetStallMonitorRuns() { s.monitorThreshold.Store(int32(s.max)) }

// ProbeAll takes the first step of the stall monitor: it probes the held places.
func (s *Scheduler) ProbeAll() { s.probeAll() }

// ReplaceStalled takes the second step of the stall monitor: if tasks are queued, it replaces
// a worker whose probe is still there.
func (s *Scheduler) ReplaceStalled() {
	if s.anyAvailable() {
		s.replaceStalled(false)
	}
}

// DrainStalled takes the third step of the stall monitor: it moves the tasks of the stalled
// places.
func (s *Scheduler) DrainStalled() { s.drainStalled() }

// MaxStalled is the number of workers that may be stalled at the same time.
const (
	MaxStalled = maxStalled
	MaxStopped = maxStopped
)

// CheckPlaces checks the places of an open scheduler at rest: no goroutine but the lingering
// worker holds a place, and none is about to take one. It returns a description of the fault,
// or "".
func (s *Scheduler) CheckPlaces() (bad string) {
	onList := make([]bool, len(s.places.all))
	held, _ := s.places.held()
	if s.keptPlace() {
		held--
		onList[s.lingerer.Load().kept.Load().index] = true
	}
	if held != 0 {
		return fmt.Sprintf("%d places are held", held)
	}
	for i := freeWord(s.places.free.Load()).top(); i != 0; {
		p := s.places.all[i-1].Load()
		if onList[p.index] {
			return fmt.Sprintf("place %d is twice on the free list", p.index)
		}
		onList[p.index] = true
		i = p.nextFree.Load()
	}
	free, spare, probed := 0, 0, 0
	s.places.each(func(p *place) {
		occupancy := p.occupancy.Load()
		switch {
		case onList[p.index] == (occupancy == occSpare) || p.stalled || occupancy&(occCounted|occStalled) != 0:
			bad = fmt.Sprintf("place %d: free %t, occupancy %b, stalled %t", p.index, onList[p.index], occupancy, p.stalled)
		case occupancy == occSpare:
			spare++
		default:
			free++
		}
		if occupancy&occProbed != 0 {
			probed++
		}
	})
	word, made := s.sync.Load(), int(s.places.made.Load())
	switch {
	case bad != "":
	case free != min(made, s.max) || free+spare != made:
		bad = fmt.Sprintf("%d places are free and %d spare, of %d made and a MaxWorkers of %d", free, spare, made, s.max)
	case int(s.attention.Load()) != probed:
		bad = fmt.Sprintf("the attention counter is %d, want %d", s.attention.Load(), probed)
	case word.Spawned() > s.max || word.Idle() != word.Spawned():
		bad = fmt.Sprintf("the Sync word is %v, want all workers parked", word)
	}
	return bad
}
