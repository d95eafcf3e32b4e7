package linear_test

import "github.com/lanewright/lanewright/mpsc"

// queueSubject is one mpsc.Queue and a Consumer for each thread. Every result is
// checked to the letter:
//
//	push, list, again  succeed exactly while the queue is not sealed
//	lifo, fifo         TryAcquire. Acquired: nobody has the token. Contended:
//	                   another has it at some moment of the call. Empty takes two
//	                   moments, as true of Empty does, and at the second nobody
//	                   has the token. Acquired does not say
//	                   that there is something: another may take it first
//	pop                the next node in the order asked for. nil only if nothing
//	                   was pushed at some moment: the queue is its consumer's
//	release            true when the consumer leaves nodes, and else exactly if
//	                   something was pushed at some moment after the token was
//	                   given back, which is a step of its own
//	seal               the first one gets all that was pushed and not grabbed,
//	                   oldest push first, and later ones nothing
//	empty              Empty. false: there is something at one moment. true takes
//	                   two moments, nothing pushed at the first and nothing left by
//	                   a consumer at the second: a node that was pushed before the
//	                   call is neither here nor there at the second, but one pushed
//	                   in between may be
//	available          Available. false: at one moment somebody has the token, or
//	                   there is nothing. true takes two moments: nobody has the
//	                   token, and later there is something
type queueSubject struct {
	q  mpsc.Queue
	by [maxThreads]struct {
		c    mpsc.Consumer
		held bool
	}
	pocket pocket
}

func newQueueSubject() subject { return new(queueSubject) }

func (s *queueSubject) do(e *event) bool {
	my := &s.by[e.th]
	switch e.op.name {
	case "push", "again":
		e.ok, e.spec = s.q.Push(s.pocket.push(e)), specPush
	case "list":
		e.ok, e.spec = s.q.PushList(s.pocket.list(e)), specPush
	case "lifo", "fifo":
		if my.held {
			return false
		}
		order := mpsc.LIFO
		if e.op.name == "fifo" {
			order = mpsc.FIFO
		}
		e.status, e.spec = s.q.TryAcquire(&my.c, order), specAcquire
		my.held = e.status == mpsc.Acquired
	case "pop":
		if !my.held {
			return false
		}
		e.spec = specConsumerPop
		s.pocket.took(e, my.c.Pop())
	case "release":
		if !my.held {
			return false
		}
		my.held = false
		e.ok, e.spec = my.c.Release(), specRelease
	case "seal":
		var l mpsc.List
		e.ok, e.spec = s.q.Seal(&l), specSeal
		s.pocket.all(e, l.Pop)
	case "empty":
		e.ok, e.spec = s.q.Empty(), specEmpty
	case "available":
		e.ok, e.spec = s.q.Available(), specAvailable
	}
	return true
}

// rest pops everything; a consumer that kept the token does it.
func (s *queueSubject) rest(e *event) {
	e.spec = specQueueRest
	e.n = -1
	c := new(mpsc.Consumer)
	for th := range s.by {
		if s.by[th].held {
			c, e.n = &s.by[th].c, th
		}
	}
	if e.n >= 0 || s.q.TryAcquire(c, mpsc.FIFO) == mpsc.Acquired {
		s.pocket.all(e, c.Pop)
	}
}

func specPush(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q := &w.queues[0]
		if e.ok {
			q.push(e.gave)
		}
		return e.ok == !q.sealed
	})
}

func specAcquire(e *event, _ *history) []step {
	switch e.status {
	case mpsc.Empty:
		return steps(func(w *world) bool {
			return w.queues[0].pushed == ""
		}, func(w *world) bool {
			return !w.queues[0].held && w.queues[0].cache == ""
		})
	case mpsc.Contended:
		return steps(func(w *world) bool { return w.queues[0].held })
	}
	return steps(func(w *world) bool {
		q, h := &w.queues[0], &w.hands[e.th]
		free := !q.held
		q.held = true
		h.fifo = e.op.name == "fifo"
		h.rest, q.cache = q.cache, ""
		return free
	})
}

func specConsumerPop(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q, h := &w.queues[0], &w.hands[e.th]
		if h.rest == "" {
			h.rest = q.grab(h.fifo)
		}
		var n nodes
		if h.rest != "" {
			n, h.rest = h.rest.split(1)
		}
		return n == e.got
	})
}

func specRelease(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q, h := &w.queues[0], &w.hands[e.th]
		if h.rest != "" {
			h.mode = modeMore
		}
		q.held, q.cache, h.rest = false, h.rest, ""
		return true
	}, func(w *world) bool {
		return e.ok == (w.hands[e.th].mode == modeMore || w.queues[0].pushed != "")
	})
}

func specSeal(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q := &w.queues[0]
		if q.sealed {
			return !e.ok && e.got == ""
		}
		q.sealed = true
		return e.ok && e.got == q.grab(true)
	})
}

func specEmpty(e *event, _ *history) []step {
	if !e.ok {
		return steps(func(w *world) bool { return !w.queues[0].nothing() })
	}
	return steps(func(w *world) bool {
		return w.queues[0].pushed == ""
	}, func(w *world) bool {
		return w.queues[0].held || w.queues[0].cache == ""
	})
}

func specAvailable(e *event, _ *history) []step {
	if !e.ok {
		return steps(func(w *world) bool { return w.queues[0].held || w.queues[0].nothing() })
	}
	return steps(func(w *world) bool {
		if w.queues[0].cache != "" {
			w.hands[e.th].mode = modeMore
		}
		return !w.queues[0].held
	}, func(w *world) bool {
		return w.hands[e.th].mode == modeMore || w.queues[0].pushed != ""
	})
}

func specQueueRest(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q := &w.queues[0]
		if e.n >= 0 {
			h := &w.hands[e.n]
			return q.held && e.got == h.rest+q.grab(h.fifo)
		}
		return !q.held && e.got == q.cache+q.grab(true)
	})
}
