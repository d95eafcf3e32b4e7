package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// forkSlots is what a place shows of the fork stacks that are used on it.
//
// A worker that finds no task asks the places inside a computation for one of their
// forks: it raises their flags. The next Push there sees it, and Promote promotes the
// oldest fork.
//
// Roles:
//
//	owner     the holder of the place: enters and leaves stacks, feeds
//	searcher  a worker without work, or the watch: raises the flag
//
// State:
//
//	epoch   odd while a stack is in use: stored by the owner
//	top     the head of the stack in use: stored by the owner; stays after its end
//	hunger  somebody wants a fork of this place: stored by all
//
// and the limit of the stack in use, which is the hint of hunger that Wanted reads.
//
// Invariants:
//
//	I1  hunger is raised before limit is lowered, and the owner raises limit again before it takes hunger back
//	I2  the owner shows a stack before it looks at hunger, and a searcher raises hunger before it looks for the stack
//
// No demand is lost: by I1, whoever raises either sees its limit survive, or the
// owner takes its hunger. By I2 a demand that comes while the owner changes stacks
// is seen by the searcher's store to the new limit, or by the owner's look.
//
// No feed is lost: Promote pushes and then looks for beggars, and notifies if it sees
// none. A beggar counts itself out and then looks at the queues. One sees the other.
//
// Happens-before edges:
//
//	E1  store of top  ->  load by a searcher   it sees the head
//
// Progress: wait-free.
type forkSlots struct {
	epoch  atomix.Uint32
	demand atomix.Bool
	top    atomix.Pointer[forkHead]

	kept []any // stacks that nobody uses; the holder's
}

// enterForks makes h the stack in use.
func (w *Worker) enterForks(h *forkHead) {
	h.outer, w.forks = w.forks, h
	if w.place != nil {
		w.showForks()
	}
}

// leaveForks goes back to the stack that was in use before h.
func (w *Worker) leaveForks(h *forkHead) {
	w.forks, h.outer = h.outer, nil
	switch {
	case w.place == nil:
	case w.forks == nil:
		w.hideForks()
	default:
		w.showForks()
	}
}

// showForks shows the stack in use, after it has changed or the worker got a place.
func (w *Worker) showForks() {
	p := &w.place.forks
	if p.top.Load() != w.forks {
		p.top.Store(w.forks) // E1, I2
	}
	if e := p.epoch.Load(); e&1 == 0 {
		if p.demand.Load() { // of the last computation
			p.demand.Store(false)
		}
		p.epoch.Store(e + 1)
		w.s.startForkMonitor()
	}
	if p.demand.Load() { // I2
		w.forks.limit.Store(limitDemanded)
	}
}

// hideForks shows no stack any more. Who wanted a fork has to ask again: a demand
// that outlives its computation would make the next one pay, however small it is.
func (w *Worker) hideForks() {
	p := &w.place.forks
	p.epoch.Store(p.epoch.Load() + 1)
}

// wanted is the limit of a stack of which somebody wants a fork.
const limitDemanded = -1

// raise asks for a fork.
func (p *forkSlots) setDemand() {
	if !p.demand.Load() {
		p.demand.Store(true) // I1, I2
	}
	if h := p.top.Load(); h.limit.Load() != limitDemanded { // E1
		h.limit.Store(limitDemanded)
	}
}

// feed hands the oldest fork to whoever asked for one.
func (w *Worker) promoteOnDemand() {
	p, s := w.place, w.s
	if !p.forks.demand.Load() {
		return
	}
	p.forks.demand.Store(false) // I1
	h := w.oldestForks()
	if h == nil || s.closing.Load() {
		return
	}
	w.promote(h)
	if s.requesters.Load() > 1 {
		p.forks.setDemand() // by another one
	}
	if s.requesters.Load() == 0 && !p.queue.Empty() {
		s.notify(false)
	}
}

// promote makes the oldest private fork of h a task.
func (w *Worker) promote(h *forkHead) {
	k := h.stack.detachOldest()
	k.root.group.addScheduled(w.place, 1)
	if w.place.queue.Push(&k.task.node) {
		w.place.counts.spilled++
	}
	w.place.counts.promoted++
}

// oldestForks returns the outermost stack of w that has a private fork, or nil.
func (w *Worker) oldestForks() (oldest *forkHead) {
	for h := w.forks; h != nil; h = h.outer {
		if h.top > h.prom && !h.Cancelled() {
			oldest = h
		}
	}
	return oldest
}

// promoteAll promotes every private fork, of a callback that is about to block.
func (w *Worker) promoteAll() {
	if w.s.closing.Load() {
		return
	}
	for h := w.oldestForks(); h != nil; h = w.oldestForks() {
		w.promote(h)
	}
}

// beg asks the places inside a computation for a fork, and waits a while for one, or
// for any other task. Who has just run a fork that took as long does so also when
// no computation is open: a program that calls one loop after the other would pay
// for a wake-up in each. It returns what find returns.
func (w *Worker) requestFork() (n *mpsc.Node, pushed bool) {
	s, p := w.s, w.place
	keepsOn := w.keepsRequesting
	w.keepsRequesting = false
	if !w.observer.observeIfDue(s, p) && !keepsOn {
		return nil, false
	}
	s.requesters.Add(1)
	for round := 1; n == nil && round <= requestRounds && !w.stops(); round++ {
		if s.anyAvailable() {
			n, pushed = p.find(s, w)
		} else if !w.spin(round) && !keepsOn {
			break
		}
	}
	s.requesters.Add(-1)
	if n == nil {
		n, pushed = p.find(s, w)
	}
	// Who pushed meanwhile may have relied on this beggar.
	return n, n != nil && (pushed || s.anyAvailable())
}

// spin spends one round of waiting, and reports whether a computation is open.
func (w *Worker) spin(round int) bool {
	if round%yieldEvery != 0 {
		lfsync.Relax(requestRelax)
		return true
	}
	park.Yield()
	return w.place == nil || w.observer.observeIfDue(w.s, w.place) // without a place, it could not run what it asks for
}

// unqueue takes the task of a fork that its joiner has claimed out of the own ring, where
// it would wake workers for nothing.
func (w *Worker) unqueue(k *forkTask) {
	if w.place == nil || w.place.queue.Empty() {
		return
	}
	if w.place.queue.TakeNewest(func(n *mpsc.Node) bool { return n == &k.task.node }, scanSlots) != nil {
		k.root.group.addFinished(w.place, 1)
	}
	if !w.place.queue.Empty() { // thieves turned away meanwhile may have parked
		w.s.notify(false)
	}
}

// helpFork waits until k is done, or, with help, until it has run a task of the
// computation, and reports true; or false, when neither happens for a while. It
// counts as a beggar meanwhile.
func (w *Worker) helpFork(k *forkTask, help bool) (ok bool) {
	var t *Task
	w.s.requesters.Add(1)
	for round := 1; !ok && t == nil && round <= requestRounds; round++ {
		if ok = k.done(); !ok {
			if help {
				t = w.takeFork(k)
			}
			if t == nil {
				w.spin(round)
			}
		}
	}
	w.s.requesters.Add(-1)
	if w.s.anyAvailable() { // who pushed meanwhile may have relied on this beggar
		w.s.notify(false)
	}
	if t != nil {
		w.runNested(t)
	}
	return ok || t != nil
}

// takeFork takes a task of the computation of k.
func (w *Worker) takeFork(k *forkTask) *Task {
	if w.place == nil || w.frames >= maxFrames || w.place.queue.Empty() && !w.s.anyAvailable() {
		return nil
	}
	return w.takeFor(func(n *mpsc.Node) bool { return taskOf(n).group.awaitedBy(&k.root.group) })
}

// eye is the memory of somebody who looks for computations to share: which were
// open at its last look. A computation is asked for a fork at the second look that
// finds it open. So those that last a microsecond or three are left alone.
type observer struct {
	seen []uint32 // by place
	at   uint64   // when a glance was a look, in ticks
}

// view is what a look has seen.
type observation struct {
	open           bool // a computation
	firstSeen      bool // one for the first time
	changed        bool // something since the last look
	requestPending bool // a computation that was to be asked, and had not been or has answered
}

// look looks at all places but self. With ask, it asks those for a fork that have
// been in the same computation at the last look.
func (o *observer) observe(s *Scheduler, self *place, ask bool) (v observation) {
	if made := int(s.places.made.Load()); len(o.seen) < made {
		o.seen = append(o.seen, make([]uint32, made-len(o.seen))...)
	}
	s.places.each(func(p *place) {
		if p == self || p.index >= len(o.seen) {
			return
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
			v.requestPending = v.requestPending || !p.forks.demand.Load()
			if ask {
				p.forks.setDemand()
			}
		}
	})
	return v
}

// glance reports whether a computation is open on a place other than self. It is
// a look unless the last one was a moment ago.
func (o *observer) observeIfDue(s *Scheduler, self *place) bool {
	if now := cpu.Ticks(); o.seen == nil || now-o.at >= minAgeMicros*cpu.TicksPerMicrosecond() {
		o.at = now
		return o.observe(s, self, true).open
	}
	return s.places.any(func(p *place) bool { return p != self && p.forks.epoch.Load()&1 == 1 })
}
