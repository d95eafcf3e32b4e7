package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	lfsync "github.com/lanewright/lanewright/sync"
)

// forkSlots is the part of a place that shows other workers which fork stack is in use
// there. protocol/fork_demand.md describes the protocol.
//
// A worker that finds no task requests forks of the places that run a computation. It sets
// their demand flags. The next Push there sees the demand, and Promote promotes the oldest
// fork.
//
// Roles:
//
//	owner     the holder of the place: enters and leaves stacks, promotes on demand
//	searcher  a worker without work, or the fork monitor: sets the demand flag
//
// State:
//
//	epoch   odd while a stack is in use: stored by the owner
//	top     the head of the stack in use: stored by the owner; remains after the end of the computation
//	demand  a fork of this place is requested: stored by the owner and by searchers
//	kept    stacks that are not in use: accessed by the owner only
//	listed  the set places.computed has the place: accessed by the owner only
//
// The limit of the stack in use belongs to this state. It is the hint of demand that Wanted
// loads.
//
// Invariants:
//
//	I1  a searcher sets demand before it lowers limit, and the owner raises limit before it clears demand
//	I2  the owner stores top before it loads demand, and a searcher sets demand before it loads top
//
// No demand is lost. By I1, either the limit that the searcher has lowered stays lowered, or
// the owner clears the demand of the searcher and answers it. By I2, the same holds while
// the owner changes stacks: either the owner sees the demand, or the searcher lowers the
// limit of the new stack.
//
// No promotion is lost. The owner pushes the task and then loads the number of requesters.
// It notifies when the number is 0. A requester decrements the number and then looks at the
// queues. Either the owner sees the decremented number, or the requester sees the task,
// while it still has its place.
//
// Happens-before edges:
//
//	E1  store of top  ->  load by a searcher   the searcher sees the head
//
// Progress: wait-free.
type forkSlots struct {
	epoch  atomix.Uint32
	demand atomix.Bool
	top    atomix.Pointer[forkHead]

	listed bool  // the set places.computed has this place; only the owner accesses it
	kept   []any // stacks that are not in use; only the owner accesses them
}

// enter makes h the stack in use of w, which is its worker. It inlines.
func (h *forkHead) enter(w *Worker) {
	h.depth, h.outer, w.forks = int32(len(w.outer)), w.forks, h
	if w.place != nil {
		h.show()
	}
}

// leave makes the stack that was in use before h the one in use again.
func (h *forkHead) leave() {
	w := h.w
	w.forks, h.outer = h.outer, nil
	switch {
	case w.place == nil:
	case w.forks == nil:
		w.place.forks.hide()
	default:
		w.forks.show()
	}
}

// show stores h, the stack in use, in the place of its worker. It is called when the stack has
// changed and when the worker has taken a place.
func (h *forkHead) show() {
	s, index, p := h.w.s, h.w.place.index, &h.w.place.forks
	if p.top.Load() != h {
		p.top.Store(h) // E1, I2
	}
	if e := p.epoch.Load(); e&1 == 0 {
		if p.demand.Load() { // left by the last computation
			p.demand.Store(false)
		}
		if !p.listed {
			p.listed = true
			s.places.computed.add(index)
		}
		p.epoch.Store(e + 1)
		s.startForkMonitor()
	}
	if p.demand.Load() { // I2
		h.limit.Store(limitDemanded)
	}
}

// hide ends the epoch, because no computation runs on the place any more. A searcher
// must request again. A demand that outlived its computation would delay the next one,
// however small that is.
func (p *forkSlots) hide() { p.epoch.Store(p.epoch.Load() + 1) }

// limitDemanded is the limit of a stack while a fork of it is requested.
const limitDemanded = -1

// setDemand requests a fork of the place.
func (p *forkSlots) setDemand() {
	if !p.demand.Load() {
		p.demand.Store(true) // I1, I2
	}
	if h := p.top.Load(); h.limit.Load() != limitDemanded { // E1
		h.limit.Store(limitDemanded)
	}
}

// promoteOnDemand promotes the oldest fork of the worker of h if one is requested. h may be below
// the stack in use.
func (h *forkHead) promoteOnDemand() {
	p, s, used := h.w.place, h.w.s, h.w.forks
	if !p.forks.demand.Load() {
		return
	}
	p.forks.demand.Store(false) // I1
	oldest := used.oldest()
	if oldest != nil || !used.Cancelled() { // a cancelled computation answers no request
		s.startForkMonitor() // requesters may park before they request again
	}
	if oldest == nil || s.closing.Load() {
		return
	}
	oldest.promote()
	if s.requesters.Load() > 1 {
		p.forks.setDemand() // for another requester
	}
	if s.requesters.Load() == 0 && !p.queue.Empty() {
		s.notify(false)
	}
}

// promote makes the oldest private fork of h a task.
func (h *forkHead) promote() {
	p := h.w.place
	k := h.stack.detachOldest()
	k.root.group.addScheduled(p, 1)
	p.list(h.w.s)
	if p.queue.Push(&k.task.node) {
		p.counts.spilled++
	}
	p.counts.promoted++
}

// oldest returns the outermost stack, from h on, that has a private fork, or nil. It leaves out
// computations whose context has ended.
func (h *forkHead) oldest() (oldest *forkHead) {
	for ; h != nil; h = h.outer {
		if h.top > h.prom && !h.Cancelled() {
			oldest = h
		}
	}
	return oldest
}

// promoteAll promotes every private fork of a callback that is about to block. h is its stack in
// use.
func (h *forkHead) promoteAll() {
	if h.w.s.closing.Load() {
		return
	}
	for oldest := h.oldest(); oldest != nil; oldest = h.oldest() {
		oldest.promote()
	}
}

// spin spends one round of waiting. self is the place of the worker. spin reports false when it has
// seen that no computation is open on another place. A worker without a place could not run a fork,
// and does not look for a computation.
func (o *observer) spin(s *Scheduler, self *place, round int) bool {
	if round%yieldEvery != 0 {
		lfsync.Relax(requestRelax)
		return true
	}
	endRound()
	return self == nil || o.observeIfDue(s, self)
}

// observer is the memory of a searcher: the epoch of each place at its last observation. It
// requests a fork of a computation at the second observation that finds the computation
// open. Computations that last a few microseconds therefore receive no request.
type observer struct {
	seen []uint32 // epochs, by index of the place
	at   uint64   // time of the last observation by observeIfDue, in ticks

	keepsRequesting bool // its worker has run a long fork and has not requested another one since
}

// observation is the result of one observation.
type observation struct {
	open        bool // a computation is open
	firstSeen   bool // an open computation was not open at the last observation
	changed     bool // an epoch has changed since the last observation
	unrequested bool // a computation that was open before had no demand: not requested yet, or answered
}

// observe observes the places that have run a computation, except self. With request, it
// requests a fork of each place that was in the same computation at the last observation.
func (o *observer) observe(s *Scheduler, self *place, request bool) (v observation) {
	if made := int(s.places.made.Load()); len(o.seen) < made {
		o.seen = append(o.seen, make([]uint32, made-len(o.seen))...)
	}
	s.places.anyComputed(func(p *place) bool {
		if p == self || p.index >= len(o.seen) {
			return false
		}
		epoch := p.forks.epoch.Load()
		open := epoch&1 == 1
		v.open = v.open || open
		switch {
		case epoch != o.seen[p.index]:
			o.seen[p.index] = epoch
			v.changed = true
			v.firstSeen = v.firstSeen || open
		case open:
			v.unrequested = v.unrequested || !p.forks.demand.Load()
			if request {
				p.forks.setDemand()
			}
		}
		return false
	})
	return v
}

// observeIfDue reports whether a computation is open on a place other than self. If the
// last observation is minAgeMicros old, it makes the next one with requests. Otherwise it
// only loads the epochs.
func (o *observer) observeIfDue(s *Scheduler, self *place) bool {
	if now := cpu.Ticks(); o.seen == nil || now-o.at >= minAgeMicros*cpu.TicksPerMicrosecond() {
		o.at = now
		return o.observe(s, self, true).open
	}
	return s.places.anyComputed(func(p *place) bool { return p != self && p.forks.epoch.Load()&1 == 1 })
}
