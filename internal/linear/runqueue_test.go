package linear_test

import (
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// runSubject is a runqueue.Queue for each thread, who owns it. The rings follow
// the rules of ringSubject, the overflow queues those of queueSubject in LIFO
// order. A node is in one of them or in the hands of the thread that moves it, so
// an operation takes several moments:
//
//	push, again  not spilled: added to the ring, which has room. Spilled: the full
//	             ring is not held and gives its older half, or is held and gives
//	             none; later what it gave and the node are one push of overflow
//	list         PushList of two: what there is room for at one moment goes to the
//	             ring at a later one; the same with what did not fit
//	over         PushOverflow to any queue: one moment
//	pop          the oldest node of the ring. nil exactly if the ring is empty
//	refill       the first node of the overflow queue; then up to half a ring, less
//	             one, or as many as there is room for, into the ring, from one grab
//	             or several; then the rest is back in the queue. pushed: nodes went
//	             to the ring or back, or else something was pushed at a later
//	             moment. nil: never with pushed; nothing was there at one moment, or
//	             another that takes from it overlaps
//	take         TakeOverflow: the first node, and the rest is back. more and nil
//	             as for refill
//	steal        StealFrom: as refill from the overflow queue of the victim; or that
//	             gives nothing, as for nil, and later it is the steal of a ring.
//	             pushed then: more than one node was moved, or else the ring of the
//	             victim is not empty at a later moment. nil: neither gives anything
//	newest       as for the ring
//
// Whether an operation that overlaps had the token or the hold at the right moment
// is not checked: what it turns away has no effect, and the promise is only that
// somebody was there.
type runSubject struct {
	q      [maxThreads]runqueue.Queue
	pocket pocket
}

func newRunSubject() subject { return new(runSubject) }

func (s *runSubject) do(e *event) bool {
	own := &s.q[e.th]
	var n *mpsc.Node
	switch e.op.name {
	case "push", "again":
		e.ok, e.spec = !own.Push(s.pocket.push(e)), specRunPush
	case "list":
		e.ok, e.spec = !own.PushList(s.pocket.list(e)), specRunPush
	case "over":
		s.q[e.op.on].PushOverflow(s.pocket.list(e))
		e.spec = specRunOver
	case "pop":
		n, e.spec = own.Pop(), specRingPop
	case "newest":
		n, e.spec = own.TakeNewest(even, newestLimit), specNewest
	case "refill":
		n, e.ok = own.Refill()
		e.spec = specRefill
	case "take":
		n, e.ok = own.TakeOverflow()
		e.spec = specTake
	case "steal":
		if e.op.on == e.th {
			return false
		}
		n, e.ok = own.StealFrom(&s.q[e.op.on])
		e.spec = specRunSteal
	}
	s.pocket.took(e, n)
	return true
}

// rest drains each queue, with a mark between them.
func (s *runSubject) rest(e *event) {
	e.spec = specRunRest
	e.ok = true
	for th := range s.q {
		var l mpsc.List
		e.ok = s.q[th].Drain(&l) && e.ok
		s.pocket.all(e, l.Pop)
		e.got += pushMark
	}
}

// specRunPush: ok says that nothing was spilled.
func specRunPush(e *event, _ *history) []step {
	if e.ok && e.gave.size() == 1 {
		return specRingPush(e, nil)
	}
	// How many there is room for, and later those go to the ring. There may be room
	// again when the ring was full and held.
	look := func(w *world) bool {
		w.hands[e.th].limit = min(w.hands[e.th].rest.size(), w.rings[e.th].room())
		return true
	}
	skip := func(w *world) bool {
		w.hands[e.th].limit = 0
		return true
	}
	fill := func(w *world) bool {
		r, h := &w.rings[e.th], &w.hands[e.th]
		var in nodes
		in, h.rest = h.rest.split(h.limit)
		r.in += in
		return true
	}
	first := func(w *world) bool {
		w.hands[e.th].rest = e.gave
		return look(w)
	}
	all := []step{{first}, {fill}, {look, skip}, {func(w *world) bool {
		fill(w)
		return e.ok == (w.hands[e.th].rest == "")
	}}}
	if e.ok {
		return all
	}
	return append(all, step{
		func(w *world) bool {
			r, h := &w.rings[e.th], &w.hands[e.th]
			if r.held || r.in.size() != capacity {
				return false
			}
			h.rest = r.take(half) + h.rest
			return true
		},
		func(w *world) bool { return w.rings[e.th].held && w.rings[e.th].room() == 0 },
	}, step{func(w *world) bool {
		h := &w.hands[e.th]
		w.queues[e.th].push(h.rest)
		h.rest = ""
		return true
	}})
}

func specRunOver(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		w.queues[e.op.on].push(e.gave)
		return true
	})
}

func specRefill(e *event, h *history) []step {
	if e.got == "" {
		return noneSteps(e, h)
	}
	return fillSteps(e, h, e.th)
}

// noneSteps are the moment of a refill or take that returns nil.
func noneSteps(e *event, h *history) []step {
	nothing := nothingIn(e, h, e.th)
	return steps(func(w *world) bool { return !e.ok && nothing(w) })
}

// nothingIn: overflow queue on had nothing to take, or another was taking.
func nothingIn(e *event, h *history, on int) func(w *world) bool {
	closed := h.overlaps(e, func(o *event) bool {
		return o.th == on && (o.op.name == "refill" || o.op.name == "take") || o.op.name == "steal" && o.op.on == on
	})
	return func(w *world) bool { return closed || w.queues[on].nothing() }
}

// takeFirst: the first node of overflow queue on, and the token.
func takeFirst(e *event, on int) func(w *world) bool {
	return func(w *world) bool {
		q, h := &w.queues[on], &w.hands[e.th]
		if q.held {
			return false
		}
		q.held = true
		if h.rest, q.cache = q.cache, ""; h.rest == "" {
			h.rest = q.grab(false)
		}
		if h.rest == "" {
			return false
		}
		var first nodes
		first, h.rest = h.rest.split(1)
		return first == e.got
	}
}

// giveBack: what is on the way goes to the own ring, and the rest back to the
// queue, with the token.
func giveBack(e *event, on int) func(w *world) bool {
	return func(w *world) bool {
		q, h := &w.queues[on], &w.hands[e.th]
		if h.out+h.rest != "" {
			h.mode |= modeMore
		}
		w.rings[e.th].in += h.out
		q.held, q.cache, h.rest = false, h.rest, ""
		return true
	}
}

// lookAgain: pushed or more is true when it was so before, or something was pushed
// to queue on meanwhile.
func lookAgain(e *event, on int) func(w *world) bool {
	return func(w *world) bool {
		return e.ok == (w.hands[e.th].mode&modeMore != 0 || w.queues[on].pushed != "")
	}
}

func fillSteps(e *event, h *history, on int) []step {
	all := steps(takeFirst(e, on), func(w *world) bool {
		w.hands[e.th].limit = min(w.rings[e.th].room(), half-1)
		return true
	})
	// Each grab is a moment; there is one more than pushes meanwhile, and one
	// that finds nothing.
	grabs := 2
	h.overlaps(e, func(o *event) bool {
		if o.op.name == "over" && o.op.on == on || o.th == on && o.noRoom() {
			grabs++
		}
		return false
	})
	for range min(grabs, half-1) {
		all = append(all, step{func(w *world) bool {
			q, h := &w.queues[on], &w.hands[e.th]
			for grabbed := false; h.out.size() < h.limit; {
				if h.rest == "" && grabbed {
					break
				}
				if h.rest == "" {
					h.rest = q.grab(false)
					grabbed = true
				}
				if h.rest == "" {
					h.limit = 0
					break
				}
				var n nodes
				n, h.rest = h.rest.split(1)
				h.out += n
			}
			return true
		}})
	}
	return append(all, steps(giveBack(e, on), lookAgain(e, on))...)
}

func specTake(e *event, h *history) []step {
	if e.got == "" {
		return noneSteps(e, h)
	}
	return steps(takeFirst(e, e.th), giveBack(e, e.th), lookAgain(e, e.th))
}

func specRunSteal(e *event, h *history) []step {
	on := e.op.on
	ring := append([]step{{nothingIn(e, h, on)}}, spurious(e, h)...)
	if e.got == "" {
		closed := h.turnedAway(e, on)
		return append(ring, step{func(w *world) bool { return !e.ok && (closed || w.rings[on].in == "") }})
	}
	ring = append(ring, step{func(w *world) bool {
		w.hands[e.th].limit = w.rings[e.th].room() + 1
		return true
	}})
	ring = append(ring, stealSteps(e, -1)...)
	ring = append(ring, step{func(w *world) bool {
		return e.ok == (w.hands[e.th].mode&modeMore != 0 || w.rings[on].in != "")
	}})
	overflow := fillSteps(e, h, on)
	all := make([]step, max(len(overflow), len(ring)))
	for i := range all {
		all[i] = append(only(e, overflow, i, 0), only(e, ring, i, modeRing)...)
	}
	return all
}

// only returns the ways of step i of list, for an operation that has taken this
// list at its first step: m is modeRing or 0. After its end it stands still.
func only(e *event, list []step, i int, m mode) step {
	ways := step{func(*world) bool { return true }}
	if i < len(list) {
		ways = list[i]
	}
	var guarded step
	for _, way := range ways {
		guarded = append(guarded, func(w *world) bool {
			h := &w.hands[e.th]
			if i == 0 {
				h.mode |= m
			}
			return h.mode&modeRing == m && way(w)
		})
	}
	return guarded
}

func specRunRest(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		var all nodes
		for th := range w.rings {
			r, q := &w.rings[th], &w.queues[th]
			if r.held || q.held {
				return false
			}
			all += r.in + q.cache + q.grab(false) + pushMark
		}
		return e.ok && all == e.got
	})
}
