package sched

import "fmt"

// StallWatching reports whether the stall watch of s runs.
func (s *Scheduler) StallMonitorRuns() bool {
	return s.config.StallAfter > 0 && s.monitorThreshold.Load() != monitorOff
}

// HandWatch makes as if the stall watch ran, for a test that takes its steps: HandAsk, and
// HandLook when StallAfter has passed.
func (s *Scheduler) SetStallMonitorRuns() { s.monitorThreshold.Store(int32(s.max)) }

// HandAsk asks who runs a task.
func (s *Scheduler) ProbeAll() { s.probeAll() }

// HandLook sees to it that somebody comes for what is queued.
func (s *Scheduler) ReplaceStalled() {
	if s.anyAvailable() {
		s.replaceStalled()
	}
}

// MaxStalled is how many workers may be counted out at the same time.
const MaxStalled = maxStalled

// Accounts checks the places of a scheduler that is open and at rest: nobody holds one, or is
// on the way to it. It returns what is wrong, or "".
func (s *Scheduler) CheckPlaces() (bad string) {
	if held, _ := s.places.held(); held != 0 {
		return fmt.Sprintf("%d places are held", held)
	}
	list := make([]bool, len(s.places.all))
	for i := freeWord(s.places.free.Load()).top(); i != 0; {
		p := s.places.all[i-1].Load()
		if list[p.index] {
			return fmt.Sprintf("place %d is twice on the free list", p.index)
		}
		list[p.index] = true
		i = p.nextFree.Load()
	}
	free, spare, alert := 0, 0, 0
	s.places.each(func(p *place) {
		occupancy := p.occupancy.Load()
		switch {
		case list[p.index] == (occupancy == occSpare) || p.stalled || occupancy&(occCounted|occStalled) != 0:
			bad = fmt.Sprintf("place %d: free %t, stint %b, stalled %t", p.index, list[p.index], occupancy, p.stalled)
		case occupancy == occSpare:
			spare++
		default:
			free++
		}
		if occupancy&occProbed != 0 {
			alert++
		}
	})
	word, made := s.sync.Load(), int(s.places.made.Load())
	switch {
	case bad != "":
	case free != min(made, s.max) || free+spare != made:
		bad = fmt.Sprintf("%d places are free and %d spare, of %d made and a MaxWorkers of %d", free, spare, made, s.max)
	case int(s.attention.Load()) != alert:
		bad = fmt.Sprintf("alert is %d, want %d", s.attention.Load(), alert)
	case word.Spawned() > s.max || word.Idle() != word.Spawned():
		bad = fmt.Sprintf("the word is %v, and all workers are parked", word)
	}
	return bad
}
