package sched

import (
	"context"
	"runtime/pprof"

	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// The stall watch is a goroutine that counts out who has run one task for
// Config.StallAfter while others are queued, so that these do not wait for it.
//
// Nobody looks at a clock between two tasks, and no count is stored there. The watch
// asks each place, waits for StallAfter, and looks who has not answered. Workers learn
// that they are asked from the word that tells them of a Close.
//
// Who is counted out keeps its place: its goroutine may be inside an operation on the
// ring, or come to one, which is the owner's. Others steal from it. The scheduler gets
// a place more for the time being, and the stalled one becomes a spare place
// when its callback ends.
//
// Roles:
//
//	holder  of a place: begins a stint when it gets the place, ends it before it parks, is counted out, or gives the place back, and answers between two tasks
//	watch   asks, and counts out, at most one place in a look; there is one watch at a time, or none
//	caller  whoever notifies, or finds no place: starts the watch unless it runs
//
// State:
//
//	stint  of a place. 0: free, or held by somebody who runs nothing. The holder stores stintHeld, the watch adds stintAsked and replaces it by stintStalled, both by CAS; the holder takes off stintAsked by CAS, and all by a swap. stintSpare: the place is neither held nor free. stintHeld alone may stay when a guest (a Do) has gone, which so pays for two loads and no store, and stintAsked may come to it
//	alert  how many places are asked or stalled, and how often the scheduler was closed. While it is 0, workers do not look up
//	quiet  from how many workers on a push need not tell anybody: MaxWorkers while the watch runs, or without StallAfter; else loud
//
// Invariants:
//
//	I1  places that are free, held, or still to be made, less those that are stalled, are MaxWorkers, but for the moments in which one is counted out
//	I2  who is stalled is not counted by the Sync word, or will not be in a moment: the watch has seen to that, and its worker does not count itself out again
//	I3  within a stint the worker is not idle, and after a stint it knows whether it is counted
//	I4  while a task is queued that nobody is taking, the watch runs, or a worker is on its way to look
//	I5  stintAsked that the watch finds is StallAfter old at least: it asks, and then waits before it looks. A task may be younger only if its guest took the place while the watch was about to ask the last one
//	I6  a free place may be asked, if the watch was about to ask when its guest went; the next holder takes the mark off before it shows itself. No free place is stalled: the watch counts out only whom it finds there after it has seen the mark, and that one looks at the stint once more before it puts the place back
//
// Happens-before edges:
//
//	E1  store of stintSpare  ->  CAS that takes it off   the next holder sees all that the last one did
//	E2  store of loud by the watch  ->  load by a push   who pushes too late for the last look of the watch starts it again (needs sequential consistency)
//	E3  CAS that asks  ->  load of holder by the watch, and store of 0 to holder  ->  load of stint by a guest that goes: the watch sees that it has gone, or it sees that it was asked (needs sequential consistency)
//
// Progress: all is wait-free for workers but for the CAS on the free list.
// Limit: maxStalled places are stalled at the same time. The next stall is not noticed.
//
// Rejected: a count of tasks that the watch reads: a store costs a full fence for each task.
// The counters that are published every 31 tasks: these may take 31 times as long. To
// take the place away at once, as Blocking does: the goroutine may be pushing to its ring.
// To store the stint of each Do, and take it off: 25 ns, of 70 that a Do takes. To count out
// a place that was asked, whoever holds it: the guest may have looked for the last time, and
// gone, and there would be a free place too many, or a worker that the Sync word counts still.
const (
	occHeld    uint32 = 1 << iota // a holder runs tasks there
	occCounted                    // the Sync word counts the holder
	occProbed                     // has the holder ended a task?
	occStalled                    // the holder is counted out
	occSpare
)

const (
	maxStalled = 1024
	monitorOff = lfsync.MaxWorkers + 1 // there are never that many workers
)

// beginStint lets the watch ask the place of w from here on.
func (w *Worker) beginOccupancy() {
	p := w.place
	if w.s.config.StallAfter == 0 {
		return
	}
	occupancy := occHeld
	if w.counted {
		occupancy |= occCounted
	}
	was := p.occupancy.Load()
	if was == occupancy { // the last guest has left it
		return
	}
	if was != 0 {
		p.clearOccupancy(w.s) // I6
	}
	p.occupancy.Store(occupancy)
}

// endStint keeps the watch from counting out the worker w, and reports whether it has done
// so. The place will be a spare one then.
func (w *Worker) endOccupancy() (stalled bool) {
	if w.place == nil || !w.place.endOccupancy(w.s) {
		return false
	}
	w.counted = false // I2
	return true
}

// endStint is endStint of the worker there. A guest that nobody has asked leaves its stint
// to the next, and may be asked and counted out until it is the holder no more: so this
// comes after that.
func (p *place) endOccupancy(s *Scheduler) (stalled bool) {
	was := p.occupancy.Load() // E3
	if was == 0 || was == occHeld {
		return false
	}
	return p.clearOccupancy(s)&occStalled != 0
}

// settle ends the stint of p, which nobody but the caller has, and returns what it was.
func (p *place) clearOccupancy(s *Scheduler) (was uint32) {
	was = p.occupancy.Swap(0)
	if was&(occProbed|occStalled) != 0 {
		s.attention.Add(-1)
	}
	if was&occStalled != 0 {
		p.stalled = true
	}
	return was
}

// answer tells the watch that a task has ended, if it has asked. It reports whether
// w was counted out.
func (w *Worker) clearProbe() (stalled bool) {
	if w.place == nil {
		return false
	}
	occupancy := &w.place.occupancy
	was := occupancy.Load()
	if was&occProbed == 0 {
		return was&occStalled != 0
	}
	if !occupancy.CompareAndSwap(was, was&^occProbed) {
		return true // only the watch changes it meanwhile
	}
	w.s.attention.Add(-1)
	return false
}

// relieved makes w, whose stint has ended as that of a stalled one, a worker again,
// unless there are enough.
func (w *Worker) rejoinAfterStall(waking bool) bool {
	if waking { // it stalled while it searched
		w.s.notify(true)
	}
	w.s.returnPlace(w)
	w.counted = w.s.sync.Enter(w.limit())
	return w.counted
}

// startStalls starts the watch unless it runs, or there is to be none. Whoever has
// made a task visible, and whoever found no place, calls it.
func (s *Scheduler) startStallMonitor() {
	if s.monitorThreshold.Load() == monitorOff { // E2
		s.startStallMonitorSlow()
	}
}

func (s *Scheduler) startStallMonitorSlow() {
	s.life.alive.Add(1)
	if s.life.phase.Load() == closed || !s.monitorThreshold.CompareAndSwap(monitorOff, int32(s.max)) {
		s.life.workerEnded()
		return
	}
	goStallMonitor(s.stallMonitor)
}

// watchStalls is the life of the watch. A look costs a wake-up, so there is none
// while nothing is queued.
func (s *Scheduler) stallMonitor() {
	defer s.life.workerEnded()
	pprof.SetGoroutineLabels(context.Background()) // not those of whoever pushed
	for {
		s.probeAll()
		if s.stallParker.ParkFor(s.config.StallAfter) { // I5
			return // closed
		}
		if s.anyAvailable() {
			s.replaceStalled()
		} else if s.stopStallMonitor() {
			return
		}
	}
}

// stopStalls ends the watch unless something was queued since the last look.
func (s *Scheduler) stopStallMonitor() bool {
	s.monitorThreshold.Store(monitorOff)                                                     // E2
	return !s.anyAvailable() || !s.monitorThreshold.CompareAndSwap(monitorOff, int32(s.max)) // I4
}

// askAll asks each holder whether it has ended a task.
func (s *Scheduler) probeAll() {
	s.places.each(func(p *place) {
		was := p.occupancy.Load()
		if p.holder.Load() != 0 && was&occHeld != 0 && was&(occProbed|occStalled) == 0 && p.occupancy.CompareAndSwap(was, was|occProbed) {
			s.attention.Add(1)
		}
	})
}

// relieve sees to it that somebody comes for what is queued. While a place is free,
// it is enough to notify: a Spawner that failed may do better now.
func (s *Scheduler) replaceStalled() {
	if !s.places.full() {
		s.notify(false)
		return
	}
	s.places.any(func(p *place) bool {
		was := p.occupancy.Load()
		return was&occProbed != 0 && p.holder.Load() != 0 && s.markStalled(p, was) // E3
	})
}

// countOut counts out the holder of p, unless it has answered. It reports false when
// there may be another one to count out. A new place looks held to who waits for the
// end until it is on the free list, or counted as a spare one; so they are told after
// that. When none is made, either none was begun, or the list is closed: the watch ends
// then, and its end tells them.
func (s *Scheduler) markStalled(p *place, was uint32) bool {
	spare := s.places.spare(len(s.places.all))
	if spare == nil {
		if spare = s.places.make(len(s.places.all), freeOne+freeTag); spare == nil {
			return true
		}
	}
	if !p.occupancy.CompareAndSwap(was, was&^occProbed|occStalled) {
		spare.occupancy.Store(occSpare)
		if s.life.phase.Load() != open {
			s.life.changed() // a place that make has made looked held until it was counted
		}
		return false
	}
	s.cold.stalls.Add(1)
	s.places.addSpare(spare) // I1
	if was&occCounted != 0 {
		_, action := s.sync.Leave(false, false, s.max) // I2
		s.act(action, false)
	}
	s.notify(false)
	if s.life.phase.Load() != open {
		s.life.changed()
	}
	return true
}

// putBack puts p on the free list. If p is stalled it becomes a spare place instead;
// and if it is beyond MaxWorkers it does so in exchange for a spare one that is not. It
// reports false when the list is closed.
func (s *Scheduler) putPlace(p *place) bool {
	if !p.stalled && p.index < s.max {
		return s.places.put(p, false)
	}
	p.clearOccupancy(s)
	var other *place
	if !p.stalled {
		if other = s.places.spare(s.max); other == nil {
			return s.places.put(p, false)
		}
	}
	p.stalled = false
	s.evacuate(p)
	if other != nil && !s.places.put(other, false) || other == nil && !s.places.drop() { // I1
		return false
	}
	p.occupancy.Store(occSpare) // E1
	return true
}

// empty moves what is queued at p, which nobody is to hold for a while, to the
// injection queue. Where that is sealed, thieves come for it.
func (s *Scheduler) evacuate(p *place) {
	var l mpsc.List
	p.queue.Drain(&l)
	if !l.Empty() && !s.injection.PushList(&l) {
		p.queue.PushOverflow(&l)
	}
}

// full reports whether no place can be taken.
func (ps *places) full() bool {
	made := ps.made.Load()
	return int(made) >= ps.max && freeWord(ps.free.Load()).top() == 0
}

// spare takes a spare place with an index below n, or returns nil.
func (ps *places) spare(n int) (spare *place) {
	ps.any(func(p *place) bool {
		if p.index < n && p.occupancy.Load() == occSpare && p.occupancy.CompareAndSwap(occSpare, 0) { // E1
			spare = p
		}
		return spare != nil
	})
	return spare
}

// revive puts a place that spare has returned on the free list, unless that is closed.
func (ps *places) addSpare(p *place) {
	for {
		f := freeWord(ps.free.Load())
		if f.closed() {
			return
		}
		p.nextFree.Store(f.top())
		if ps.free.CompareAndSwap(uint64(f), uint64(f.pushSpare(uint32(p.index)+1))) {
			return
		}
	}
}

// retire counts a place as held no more that will not be on the free list. It reports
// false when that is closed.
func (ps *places) drop() bool {
	for {
		f := freeWord(ps.free.Load())
		if f.closed() {
			return false
		}
		if ps.free.CompareAndSwap(uint64(f), uint64(f+freeOne+freeTag)) {
			return true
		}
	}
}
