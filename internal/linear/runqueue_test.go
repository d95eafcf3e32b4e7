package linear_test

import (
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// runSubject is a runqueue.Queue for each thread, which owns it. The rings follow the
// rules of ringSubject, and the overflow queues those of queueSubject in LIFO order. A
// node is in one of them or in the state of the thread that moves it, so an operation
// takes several moments:
//
//	push, again  not spilled: the ring has a free slot and receives the node.
//	             Spilled: the full ring is not held and gives up its older half, or
//	             it is held and gives up no node. At a later moment these nodes and
//	             the new one are one push to the overflow queue
//	list         PushList of two: as many nodes as slots are free at one moment go to
//	             the ring at a later moment. The same holds for the other nodes
//	over         PushOverflow to any queue: one moment
//	pop          the oldest node of the ring. nil exactly if the ring is empty
//	refill       the first node of the overflow queue. Then up to half a ring less
//	             one, or as many nodes as slots are free, go to the ring, from one
//	             grab or several. Then the other nodes are back in the queue.
//	             pushed: nodes went to the ring or back, or a node was pushed at a
//	             later moment. nil: pushed is false, and no node was queued at one
//	             moment or another operation that takes from the queue overlaps
//	take         TakeOverflow: the first node; the other nodes are back. more and nil
//	             as for refill
//	steal        StealFrom: as refill from the overflow queue of the victim. If that
//	             returns nil, a later moment begins the steal of a ring. pushed then:
//	             more than one node was moved, or the ring of the victim is not empty
//	             at a later moment. nil: neither returns a node
//	newest       as for the ring
//
// The specification does not check whether an overlapping operation had the token or
// the hold at the right moment. A refused operation has no effect, and the promise is
// only that another operation overlapped.
type runSubject struct {
	q      [maxThreads]runqueue.Queue
	supply supply
}

func newRunSubject() subject { return new(runSubject) }

func (s *runSubject) do(e *event) bool {
	own := &s.q[e.th]
	var n *mpsc.Node
	switch e.op.name {
	case "push", "again":
		e.ok, e.spec = !own.Push(s.supply.push(e)), specRunPush
	case "list":
		e.ok, e.spec = !own.PushList(s.supply.list(e)), specRunPush
	case "over":
		s.q[e.op.on].PushOverflow(s.supply.list(e))
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
	s.supply.took(e, n)
	return true
}

// rest drains each queue, with a mark between the queues.
func (s *runSubject) rest(e *event) {
	e.spec = specRunRest
	e.ok = true
	for th := range s.q {
		var l mpsc.List
		e.ok = s.q[th].Drain(&l) && e.ok
		s.supply.all(e, l.Pop)
		e.got += pushMark
	}
}

// specRunPush is the specification of a push. ok states that nothing was spilled.
func specRunPush(e *event, _ *history) []step {
	if e.ok && e.gave.size() == 1 {
		return specRingPush(e, nil)
	}
	// look counts the nodes for which slots are free, and fill adds them to the ring
	// later. Slots may be free again after the ring was full and held.
	look := func(w *world) bool {
		w.states[e.th].limit = min(w.states[e.th].rest.size(), w.rings[e.th].free())
		return true
	}
	skip := func(w *world) bool {
		w.states[e.th].limit = 0
		return true
	}
	fill := func(w *world) bool {
		r, h := &w.rings[e.th], &w.states[e.th]
		var in nodes
		in, h.rest = h.rest.split(h.limit)
		r.in += in
		return true
	}
	first := func(w *world) bool {
		w.states[e.th].rest = e.gave
		return look(w)
	}
	all := []step{{first}, {fill}, {look, skip}, {func(w *world) bool {
		fill(w)
		return e.ok == (w.states[e.th].rest == "")
	}}}
	if e.ok {
		return all
	}
	return append(all, step{
		func(w *world) bool {
			r, h := &w.rings[e.th], &w.states[e.th]
			if r.held || r.in.size() != capacity {
				return false
			}
			h.rest = r.take(half) + h.rest
			return true
		},
		func(w *world) bool { return w.rings[e.th].held && w.rings[e.th].free() == 0 },
	}, step{func(w *world) bool {
		h := &w.states[e.th]
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

// noneSteps returns the step of a refill or take that returns nil.
func noneSteps(e *event, h *history) []step {
	nothing := nothingIn(e, h, e.th)
	return steps(func(w *world) bool { return !e.ok && nothing(w) })
}

// nothingIn states that overflow queue on had no node to take, or that another
// operation was taking one.
func nothingIn(e *event, h *history, on int) func(w *world) bool {
	closed := h.overlaps(e, func(o *event) bool {
		return o.th == on && (o.op.name == "refill" || o.op.name == "take") || o.op.name == "steal" && o.op.on == on
	})
	return func(w *world) bool { return closed || w.queues[on].nothing() }
}

// takeFirst takes the token of overflow queue on and its first node.
func takeFirst(e *event, on int) func(w *world) bool {
	return func(w *world) bool {
		q, h := &w.queues[on], &w.states[e.th]
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

// putBack adds the moved nodes to the own ring, puts the other nodes back into the
// queue, and releases the token.
func putBack(e *event, on int) func(w *world) bool {
	return func(w *world) bool {
		q, h := &w.queues[on], &w.states[e.th]
		if h.out+h.rest != "" {
			h.mode |= modeMore
		}
		w.rings[e.th].in += h.out
		q.held, q.cache, h.rest = false, h.rest, ""
		return true
	}
}

// checkPushed checks the result pushed or more. It is true if nodes were left, or if a
// node was pushed to queue on in between.
func checkPushed(e *event, on int) func(w *world) bool {
	return func(w *world) bool {
		return e.ok == (w.states[e.th].mode&modeMore != 0 || w.queues[on].pushed != "")
	}
}

// fillSteps returns the steps of a refill from overflow queue on that returns a node.
func fillSteps(e *event, h *history, on int) []step {
	all := steps(takeFirst(e, on), func(w *world) bool {
		w.states[e.th].limit = min(w.rings[e.th].free(), half-1)
		return true
	})
	// Each grab is a moment. There is one grab more than there are concurrent pushes,
	// and one grab that finds nothing.
	grabs := 2
	h.overlaps(e, func(o *event) bool {
		if o.op.name == "over" && o.op.on == on || o.th == on && o.foundFull() {
			grabs++
		}
		return false
	})
	for range min(grabs, half-1) {
		all = append(all, step{func(w *world) bool {
			q, h := &w.queues[on], &w.states[e.th]
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
	return append(all, steps(putBack(e, on), checkPushed(e, on))...)
}

func specTake(e *event, h *history) []step {
	if e.got == "" {
		return noneSteps(e, h)
	}
	return steps(takeFirst(e, e.th), putBack(e, e.th), checkPushed(e, e.th))
}

func specRunSteal(e *event, h *history) []step {
	on := e.op.on
	ring := append([]step{{nothingIn(e, h, on)}}, spurious(e, h)...)
	if e.got == "" {
		closed := h.foundHeld(e, on)
		return append(ring, step{func(w *world) bool { return !e.ok && (closed || w.rings[on].in == "") }})
	}
	ring = append(ring, step{func(w *world) bool {
		w.states[e.th].limit = w.rings[e.th].free() + 1
		return true
	}})
	ring = append(ring, stealSteps(e, -1)...)
	ring = append(ring, step{func(w *world) bool {
		return e.ok == (w.states[e.th].mode&modeMore != 0 || w.rings[on].in != "")
	}})
	overflow := fillSteps(e, h, on)
	all := make([]step, max(len(overflow), len(ring)))
	for i := range all {
		all[i] = append(only(e, overflow, i, 0), only(e, ring, i, modeRing)...)
	}
	return all
}

// only returns the alternatives of step i of list for an operation that chose this list
// at its first step: m is modeRing or 0. After the end of the list, a step has no
// effect.
func only(e *event, list []step, i int, m mode) step {
	alternatives := step{func(*world) bool { return true }}
	if i < len(list) {
		alternatives = list[i]
	}
	var guarded step
	for _, alternative := range alternatives {
		guarded = append(guarded, func(w *world) bool {
			h := &w.states[e.th]
			if i == 0 {
				h.mode |= m
			}
			return h.mode&modeRing == m && alternative(w)
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
