package linear_test

import (
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// ringSubject is a runqueue.Ring for each thread, which owns it. The specification:
//
//	push, again  fails exactly when no slot is free. While a thief has the hold,
//	             one slot fewer is free, and the slots that were emptied since then
//	             are not free: ring.lag
//	list         PushList adds as many nodes as slots are free at one moment. It adds
//	             them at a later moment: more slots may be free by then, but not
//	             fewer, because only the owner fills slots
//	pop          the oldest node. nil exactly if the ring is empty
//	newest       TakeNewest of the newest even number among three. nil: there is
//	             none, or another operation that takes the hold overlaps
//	steal        StealInto from another ring. Acquired takes the hold; counts
//	             exactly the older half, rounded up, or one more than the slots that
//	             were free at an earlier moment; takes that many nodes if none was
//	             popped in between, whatever was pushed; releases the hold; and adds
//	             all nodes but the first to the own ring, in their order. Empty: the
//	             ring is empty at one moment. Contended: another operation that
//	             takes the hold overlaps. The promise ("had the hold") says no more,
//	             since it does not state when an operation that found nothing had it
//	empty        Empty of any ring: exact at one moment
//
// A steal may find that the owner has emptied the ring during the hold. It then
// releases the hold and begins again. Only an owner that finds no free slot observes
// this: see spurious.
type ringSubject struct {
	r      [maxThreads]runqueue.Ring
	supply supply
}

func newRingSubject() subject { return new(ringSubject) }

func (s *ringSubject) do(e *event) bool {
	own := &s.r[e.th]
	switch e.op.name {
	case "push", "again":
		e.ok, e.spec = own.Push(s.supply.push(e)), specRingPush
	case "list":
		e.n, e.spec = own.PushList(s.supply.list(e)), specRingList
		e.ok = e.n == e.gave.size()
	case "pop":
		e.spec = specRingPop
		s.supply.took(e, own.Pop())
	case "newest":
		e.spec = specNewest
		s.supply.took(e, own.TakeNewest(even, newestLimit))
	case "steal":
		if e.op.on == e.th {
			return false
		}
		var n *mpsc.Node
		n, e.n, e.status = s.r[e.op.on].StealInto(own)
		e.spec = specRingSteal
		s.supply.took(e, n)
	case "empty":
		e.ok, e.spec = s.r[e.op.on].Empty(), specRingEmpty
	}
	return true
}

const newestLimit = 3

func even(n *mpsc.Node) bool { return itemOf(n).id%2 == 0 }

// rest pops each ring, with a mark between the rings.
func (s *ringSubject) rest(e *event) {
	e.spec = specRingRest
	for th := range s.r {
		s.supply.all(e, s.r[th].Pop)
		e.got += pushMark
	}
}

func specRingPush(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		r := &w.rings[e.th]
		free := r.free() > 0
		if e.ok {
			r.in += e.gave
		}
		return free == e.ok
	})
}

func specRingList(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		return min(w.rings[e.th].free(), e.gave.size()) == e.n
	}, func(w *world) bool {
		gave, _ := e.gave.split(e.n)
		w.rings[e.th].in += gave
		return true
	})
}

func specRingPop(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		r := &w.rings[e.th]
		return r.take(min(1, r.in.size())) == e.got
	})
}

func specNewest(e *event, h *history) []step {
	found := func(w *world) bool {
		r := &w.rings[e.th]
		var got nodes
		for i := r.in.size() - 1; i >= max(0, r.in.size()-newestLimit); i-- {
			if r.in.at(i)%2 == 0 {
				got, r.in = nodesOf(r.in.at(i)), r.in.without(i)
				break
			}
		}
		return got == e.got && (got == "" || !r.held)
	}
	if e.got == "" && h.foundHeld(e, e.th) {
		return steps(func(*world) bool { return true })
	}
	return steps(found)
}

// foundHeld reports whether another operation that takes the hold of ring on overlaps
// e.
func (h *history) foundHeld(e *event, on int) bool {
	return h.overlaps(e, func(o *event) bool {
		return o.op.name == "steal" && o.op.on == on || o.op.name == "newest" && o.th == on
	})
}

func specRingSteal(e *event, h *history) []step {
	if e.status == mpsc.Acquired {
		all := append(spurious(e, h), steps(func(w *world) bool {
			w.states[e.th].limit = w.rings[e.th].free() + 1
			return true
		})...)
		return append(all, stealSteps(e, e.n)...)
	}
	return append(spurious(e, h), step{func(w *world) bool {
		return e.got == "" && e.n == 0 && (e.status == mpsc.Contended && h.foundHeld(e, e.op.on) ||
			e.status == mpsc.Empty && w.rings[e.op.on].in == "")
	}})
}

// stealSteps returns the steps of a steal of moved nodes, or of any number for -1.
func stealSteps(e *event, moved int) []step {
	return steps(func(w *world) bool {
		return w.rings[e.op.on].hold()
	}, func(w *world) bool {
		r, h := &w.rings[e.op.on], &w.states[e.th]
		h.limit = min((r.in.size()+1)/2, h.limit)
		if h.limit == 0 || moved >= 0 && h.limit != moved {
			return false
		}
		h.out, _ = r.in.split(1)
		return h.out == e.got
	}, func(w *world) bool {
		r, h := &w.rings[e.op.on], &w.states[e.th]
		if r.in == "" {
			return false
		}
		if oldest, _ := r.in.split(1); oldest != h.out {
			return false // the node was popped in between
		}
		_, h.out = r.take(h.limit).split(1)
		return true
	}, func(w *world) bool {
		w.rings[e.op.on].release()
		return true
	}, func(w *world) bool {
		h := &w.states[e.th]
		if h.out != "" {
			h.mode |= modeMore
		}
		w.rings[e.th].in += h.out
		return true
	})
}

// spurious returns the steps at which a steal may take the hold and release it without
// effect. Only an owner that finds no free slot observes this, and none does so twice
// in histories this short. It returns no steps if no owner can observe it.
func spurious(e *event, h *history) []step {
	if !h.overlaps(e, func(o *event) bool { return o.th == e.op.on && o.foundFull() }) {
		return nil
	}
	nothing := func(*world) bool { return true }
	return []step{{nothing, func(w *world) bool {
		w.states[e.th].limit = -1
		return w.rings[e.op.on].hold()
	}}, {func(w *world) bool {
		if w.states[e.th].limit < 0 {
			w.states[e.th].limit = 0
			w.rings[e.op.on].release()
		}
		return true
	}}}
}

// foundFull reports whether a push found the ring full.
func (e *event) foundFull() bool {
	switch e.op.name {
	case "push", "again", "list":
		return !e.ok
	}
	return false
}

func specRingEmpty(e *event, _ *history) []step {
	return steps(func(w *world) bool { return e.ok == (w.rings[e.op.on].in == "") })
}

func specRingRest(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		var all nodes
		for th := range w.rings {
			if w.rings[th].held {
				return false
			}
			all += w.rings[th].in + pushMark
		}
		return all == e.got
	})
}
