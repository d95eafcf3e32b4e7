package linear_test

import "github.com/lanewright/lanewright/mpsc"

// queueSubject is one mpsc.Queue with a Consumer for each thread. The specification is
// exact for every result:
//
//	push, list, again  succeed exactly while the queue is not sealed
//	lifo, fifo         TryAcquire. Acquired: the token is free; a node need not be
//	                   queued, because another consumer may have taken it.
//	                   Contended: another consumer holds the token at some moment
//	                   of the call. Empty takes two moments, as a true Empty does;
//	                   at the second the token is free
//	pop                the next node in the requested order. nil only if no pushed
//	                   node is queued at some moment, because the consumer owns the
//	                   nodes that it has grabbed
//	release            true if the consumer leaves nodes. Otherwise true exactly if
//	                   a node is pushed at some moment after the token was released;
//	                   the release is a step of its own
//	seal               the first seal takes all nodes that were pushed and not
//	                   grabbed, oldest push first; later seals take none
//	empty              Empty. false: a node is queued at one moment. true takes two
//	                   moments: no pushed node is queued at the first, and no node
//	                   that a consumer has left is queued at the second. A node that
//	                   was pushed before the call is therefore not queued at the
//	                   second moment; a node that was pushed in between may be
//	available          Available. false: at one moment the token is held or no node
//	                   is queued. true takes two moments: the token is free, and
//	                   later a node is queued
type queueSubject struct {
	q  mpsc.Queue
	by [maxThreads]struct {
		c    mpsc.Consumer
		held bool
	}
	supply supply
}

func newQueueSubject() subject { return new(queueSubject) }

func (s *queueSubject) do(e *event) bool {
	my := &s.by[e.th]
	switch e.op.name {
	case "push", "again":
		e.ok, e.spec = s.q.Push(s.supply.push(e)), specPush
	case "list":
		e.ok, e.spec = s.q.PushList(s.supply.list(e)), specPush
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
		s.supply.took(e, my.c.Pop())
	case "release":
		if !my.held {
			return false
		}
		my.held = false
		e.ok, e.spec = my.c.Release(), specRelease
	case "seal":
		var l mpsc.List
		e.ok, e.spec = s.q.Seal(&l), specSeal
		s.supply.all(e, l.Pop)
	case "empty":
		e.ok, e.spec = s.q.Empty(), specEmpty
	case "available":
		e.ok, e.spec = s.q.Available(), specAvailable
	}
	return true
}

// rest pops all nodes. A consumer that still holds the token pops them.
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
		s.supply.all(e, c.Pop)
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
		q, h := &w.queues[0], &w.states[e.th]
		free := !q.held
		q.held = true
		h.fifo = e.op.name == "fifo"
		h.rest, q.cache = q.cache, ""
		return free
	})
}

func specConsumerPop(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q, h := &w.queues[0], &w.states[e.th]
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
		q, h := &w.queues[0], &w.states[e.th]
		if h.rest != "" {
			h.mode = modeMore
		}
		q.held, q.cache, h.rest = false, h.rest, ""
		return true
	}, func(w *world) bool {
		return e.ok == (w.states[e.th].mode == modeMore || w.queues[0].pushed != "")
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
			w.states[e.th].mode = modeMore
		}
		return !w.queues[0].held
	}, func(w *world) bool {
		return w.states[e.th].mode == modeMore || w.queues[0].pushed != ""
	})
}

func specQueueRest(e *event, _ *history) []step {
	return steps(func(w *world) bool {
		q := &w.queues[0]
		if e.n >= 0 {
			h := &w.states[e.n]
			return q.held && e.got == h.rest+q.grab(h.fifo)
		}
		return !q.held && e.got == q.cache+q.grab(true)
	})
}
