package sched

import (
	"context"
	"runtime/metrics"
	"runtime/pprof"

	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// The stall monitor is a goroutine. It marks a worker as stalled when the worker has run one task
// for Config.StallAfter while other tasks are queued. Another worker then runs the queued tasks.
//
// No worker reads a clock or stores a count between two tasks. The monitor probes each place,
// waits for StallAfter, and then looks for a probe that the holder has not cleared. Workers
// notice a probe by the attention counter, which Close raises as well.
//
// A stalled worker keeps its place. Its goroutine may be inside an operation on the ring that
// only the owner may perform, or may begin one. Thieves steal from that ring. The scheduler gets
// one more place for the duration. The stalled place becomes a spare place when its callback
// ends.
//
// Roles:
//
//	holder   of a place: begins an occupancy when it gets the place and clears the probe
//	         between two tasks. It ends the occupancy before it parks, before it leaves the
//	         worker count, and before the place is free or spare again
//	monitor  probes all held places, waits, and marks at most one place as stalled in each
//	         round. At most one monitor runs
//	starter  a goroutine that notifies, or a worker that finds no free place: starts the
//	         monitor unless it runs
//
// State:
//
//	occupancy         a word of each place, with the flags declared below. 0 states that the
//	                  place is free, or that its holder runs no task. The holder stores
//	                  occHeld, with occCounted if the Sync word counts it. The monitor adds
//	                  occProbed, and replaces occProbed by occStalled, both by CAS. The
//	                  holder removes occProbed by CAS and all flags by a swap. occSpare
//	                  states that the place is neither held nor free. A caller worker (of a
//	                  Do) may leave occHeld alone on its place, so that a Do pays for two
//	                  loads and no store. The monitor may add occProbed there
//	attention         the number of places that are probed or stalled, plus the places that an
//	                  Inspect has marked, plus the calls of Close that found the scheduler
//	                  not closed. While it is 0, workers do not read their occupancy word
//	                  between two tasks
//	monitorThreshold  the number of workers from which on a push may skip the slow path of
//	                  notify. It is MaxWorkers while the monitor runs and when StallAfter is
//	                  0, and monitorOff otherwise
//
// Invariants:
//
//	I1  of the places that are free, held or not made yet, MaxWorkers are not stalled,
//	    except while the monitor marks a place
//	I2  the Sync word does not count a stalled worker, or soon will not, because the monitor
//	    subtracts it after the CAS. The worker does not subtract itself again
//	I3  during an occupancy the worker is not idle, and after an occupancy it knows whether
//	    it is counted
//	I4  while a task is queued that no goroutine is taking, the monitor runs, or a worker is
//	    about to look at the queues
//	I5  each occProbed that the monitor finds after its wait is at least StallAfter old,
//	    because the monitor probes before it waits. The task may be younger in two cases
//	    only. Its worker was probed during the search for it, or its caller worker took
//	    the place when the monitor was about to probe the last caller worker there
//	I6  a free place may be probed, if its caller worker left when the monitor was about to
//	    probe it. The next holder clears that probe before it becomes visible as the holder.
//	    No free place is stalled, because the monitor marks a place only if it finds a
//	    holder there after it has seen the probe. That holder loads the occupancy word once
//	    more before it puts the place back
//
// Happens-before edges:
//
//	E1  store of occSpare  ->  CAS that removes it   the next holder sees all that the last one did
//	E2  store of monitorOff by the monitor  ->  load by a push
//	    a push that is too late for the last look of the monitor starts the monitor again
//	    (needs sequential consistency)
//	E3  CAS that probes  ->  load of holder by the monitor, and
//	    store of 0 to holder  ->  load of occupancy by a caller worker that leaves
//	    either the monitor sees that the caller worker has left, or the caller worker sees
//	    the probe (needs sequential consistency)
//
// Progress: the steps of a worker are wait-free, except for the CAS on the free list.
// Limit: at most maxStalled places are stalled at a time. A further stall is not noticed.
//
// Rejected:
//
//   - A count of finished tasks that the monitor reads. The store is a full fence for each task.
//   - The counters that are published every 31 tasks. These may take 31 times as long as one task.
//   - Taking the place away at once, as Blocking does. The goroutine may be pushing to its ring.
//   - Storing and clearing the occupancy word in each Do. That costs 25 ns of the 70 ns of a Do.
//   - Marking a probed place without a look at its holder. The caller worker may have left after
//     its last look at the word. There would be one free place too many, or a stalled worker that
//     the Sync word still counts.
const (
	occHeld    uint32 = 1 << iota // a holder runs tasks there
	occCounted                    // the Sync word counts the holder
	occProbed                     // set by the monitor; the holder clears it when a task ends
	occStalled                    // the holder is stalled and has been replaced
	occSpare                      // the place is neither held nor free
)

const (
	maxStalled = 1024

	// stallPatience is how many rounds without the end of a callback the monitor lets pass while it
	// cannot tell whether the callbacks compute: see Config.StallAfter.
	stallPatience = 100

	monitorOff = lfsync.MaxWorkers + 1 // above every number of workers
)

// beginOccupancy begins the occupancy of p. counted states whether the Sync word counts the
// holder. From here on the monitor may probe the place.
func (p *place) beginOccupancy(s *Scheduler, counted bool) {
	if s.config.StallAfter == 0 {
		return
	}
	occupancy := occHeld
	if counted {
		occupancy |= occCounted
	}
	was := p.occupancy.Load()
	if was == occupancy { // the word that the last caller worker has left
		return
	}
	if was != 0 {
		p.clearOccupancy(s) // I6
	}
	p.occupancy.Store(occupancy)
}

// endOccupancy ends the occupancy of p and reports whether the monitor has marked it. A
// caller worker without a probe leaves the word to the next holder. The monitor can probe and
// mark it for as long as it is the holder, so returnPlace calls endOccupancy after detach.
func (p *place) endOccupancy(s *Scheduler) (stalled bool) {
	was := p.occupancy.Load() // E3
	if was == 0 || was == occHeld {
		return false
	}
	return p.clearOccupancy(s)&occStalled != 0
}

// clearOccupancy removes the flags of p and returns them. It records in p whether the
// occupancy was stalled. Only the goroutine that has taken p calls it.
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

// clearProbe removes the probe from p, if there is one, because a task has ended. It reports
// whether the holder is stalled.
func (p *place) clearProbe(s *Scheduler) (stalled bool) {
	was := p.occupancy.Load()
	if was&occProbed == 0 {
		return was&occStalled != 0
	}
	if !p.occupancy.CompareAndSwap(was, was&^occProbed) {
		return true // only the monitor changes the word in between, and only to mark it
	}
	s.attention.Add(-1)
	return false
}

// startStallMonitor starts the monitor unless it runs or StallAfter is 0. A goroutine that
// has made a task visible calls it, and so does a worker that finds no free place.
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

// stallMonitor runs in the goroutine of the monitor. Each round costs a wake-up, so the
// monitor ends when no task is queued.
func (s *Scheduler) stallMonitor() {
	defer s.life.workerEnded()
	pprof.SetGoroutineLabels(context.Background()) // not those of the starter
	rounds := 0                                    // since the last one in which a callback has ended or begun
	for {
		if rounds++; s.probeAll() {
			rounds = 0
		}
		if s.stallParker.ParkFor(s.config.StallAfter) { // I5
			return // closed
		}
		if s.anyAvailable() {
			s.saturation.note(s.full())
			s.replaceStalled(rounds >= stallPatience)
			s.drainStalled()
		} else if s.stopStallMonitor() {
			return
		}
	}
}

// stopStallMonitor reports whether the monitor has to end. It continues when a task has
// become available since its last look, unless a starter has started another monitor.
func (s *Scheduler) stopStallMonitor() bool {
	s.saturation.note(false)
	s.monitorThreshold.Store(monitorOff)                                                     // E2
	return !s.anyAvailable() || !s.monitorThreshold.CompareAndSwap(monitorOff, int32(s.max)) // I4
}

// probeAll sets a probe on each held place that has none and is not stalled. It reports whether there
// was such a place.
func (s *Scheduler) probeAll() (any bool) {
	s.places.each(func(p *place) {
		was := p.occupancy.Load()
		if p.holder.Load() != 0 && was&occHeld != 0 && was&(occProbed|occStalled) == 0 && p.occupancy.CompareAndSwap(was, was|occProbed) {
			s.attention.Add(1)
			any = true
		}
	})
	return any
}

// replaceStalled gets a worker for the queued tasks. While a place is free, a notification
// is enough: the Spawner may have failed before and succeed now. Otherwise the monitor
// replaces the first holder that is stalled, in any case if certain is true.
func (s *Scheduler) replaceStalled(certain bool) {
	if !s.full() {
		s.notify(false)
		return
	}
	if s.config.stallIfIdle && !certain && !leavesProcessorIdle() {
		return
	}
	s.places.any(func(p *place) bool {
		was := p.occupancy.Load()
		return was&occProbed != 0 && p.holder.Load() != 0 && s.markStalled(p, was) // E3
	})
}

// leavesProcessorIdle reports whether a processor is idle while the calling goroutine waits: fewer
// goroutines run, or are ready to run, than there are processors. A goroutine in a system call
// uses no processor of the Go runtime. A call takes about 5 µs (amd64).
func leavesProcessorIdle() bool {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines/running:goroutines"},
		{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/gomaxprocs:threads"},
	}
	metrics.Read(samples)
	running, ready, processors := samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()
	return running+ready <= processors // the caller is one of those that run
}

// drainStalled moves the tasks that are queued at stalled places to the injection queue. A
// worker with tasks of its own tries one other place in 976 searches, so that a thief may come
// late. Without such a task drainStalled does nothing, because each drain wakes the waiting
// calls of Shutdown.
func (s *Scheduler) drainStalled() {
	if s.places.anyListed(func(p *place) bool { return p.isStalled() && !p.queue.Empty() }) {
		s.drain(func(l *mpsc.List) {
			s.places.each(func(p *place) {
				if p.isStalled() {
					p.queue.StealAll(l)
				}
			})
		})
	}
}

// isStalled reports whether the holder of p is marked as stalled.
func (p *place) isStalled() bool { return p.occupancy.Load()&occStalled != 0 }

// markStalled marks the holder of p as stalled, unless the holder has changed the
// occupancy word since it was loaded as was. It reports false when the monitor should try
// the next place. It reports true when p is marked, and when there is no place to replace p.
//
// Shutdown and Join may be waiting for the last holder to return its place. To them a new
// place looks held until it is on the free list or counted as a spare one, so they are woken
// after that. If no place was made, either the limit was reached before the attempt, or the
// list is closed. A closed list means that the monitor ends, which wakes them.
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
			s.life.changed() // a new place looked held until it was a spare one
		}
		return false
	}
	s.cold.stalls.Add(1)
	s.places.addSpare(spare) // I1
	if was&occCounted != 0 {
		_, action := s.sync.Leave(false, false, s.max) // I2
		s.act(action, false)
	}
	s.notify(false) // a push may have relied on the holder: see rejoinAfterStall
	if s.life.phase.Load() != open {
		s.life.changed()
	}
	return true
}

// putPlace puts p on the free list. A stalled place becomes a spare one instead. So does a
// place beyond MaxWorkers when there is a spare place below MaxWorkers, which then joins
// the list. putPlace reports false when the list is closed.
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

// evacuate moves the tasks queued at p to the injection queue, because p is about to be
// without a holder. When the injection queue is sealed, the tasks stay in the overflow queue
// of p, and thieves take them. In between the tasks are in no queue, so a searcher may have
// missed them. Therefore returnPlace looks at all queues after that.
func (s *Scheduler) evacuate(p *place) {
	var l mpsc.List
	p.queue.Drain(&l)
	if l.Empty() {
		return
	}
	if !s.injection.PushList(&l) {
		p.list(s)
		p.queue.PushOverflow(&l)
	}
	s.placeAwaited.Store(true)
}

// full reports that no place is free and that MaxWorkers places have been made.
func (ps *places) full() bool {
	made := ps.made.Load()
	return int(made) >= ps.max && freeWord(ps.free.Load()).top() == 0
}

// spare takes a spare place with an index below n, or returns nil if there is none.
func (ps *places) spare(n int) (spare *place) {
	ps.any(func(p *place) bool {
		if p.index < n && p.occupancy.Load() == occSpare && p.occupancy.CompareAndSwap(occSpare, 0) { // E1
			spare = p
		}
		return spare != nil
	})
	return spare
}

// addSpare puts a place that spare or make has returned on the free list, unless the list
// is closed. The length of the list counts the place already.
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

// drop counts one place less as held, for a place that becomes a spare one. It reports
// false when the list is closed.
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
