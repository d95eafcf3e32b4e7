package sched

import (
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// fair takes a task from the injection queue once every fairEvery tasks, and halfway between
// two of these from the own overflow queue. Once in stealEvery times it first tries another
// place, picked at random, and the injection queue if it finds nothing there. Tasks that
// reschedule themselves for ever therefore starve neither queue, nor a task that is queued
// behind a long callback of another worker. pushed reports that more tasks are available, so
// that the caller must notify.
func (p *place) fair(s *Scheduler) (n *mpsc.Node, pushed bool) {
	p.counts.publish(&p.published)
	if p.injectionNext = !p.injectionNext; p.injectionNext {
		p.tick = fairEvery - overflowOffset
		n, pushed = p.queue.TakeOverflow()
	} else {
		p.tick = overflowOffset
		if p.fairCalls++; p.fairCalls%stealEvery == 0 {
			n, pushed = p.stealOnce(s)
		}
		if n == nil {
			n, pushed = takeOne(&s.injection, injectionOrder)
		}
	}
	if n == nil {
		n, pushed = p.queue.Pop(), false
	}
	return n, pushed
}

// injectionOrder is the order in which the injection queue is read.
const injectionOrder = mpsc.FIFO

// A worker that has found fewer than drainedTasks tasks in the injection queue is faster
// than the external callers. It spins for spinPerTask rounds for each of these tasks, and
// for maxRefillSpin rounds at most, before it loads the queue again. That is 2 µs at most. After
// one task it does not spin. Otherwise the worker and the callers would take the cache lines of
// the queue and of the Sync word from each other. Measured with one external caller, two
// workers and two processors: 88 ns a task without the spin, 32 with 16 rounds, 27 with
// 48, 21 with 96. At other times on the same machine it is 60 ns or more with any number,
// probably because the two processors are then far from each other. A spin of 96 rounds
// after a single task took half of the time of a caller that waits for each of its tasks.
const (
	drainedTasks  = 64
	spinPerTask   = 3
	maxRefillSpin = 96
)

// refillSpin returns the number of rounds to spin after a refill of n tasks.
func refillSpin(n int) uint32 {
	if n == 1 || n >= drainedTasks {
		return 0
	}
	return uint32(min(spinPerTask*n, maxRefillSpin))
}

// find searches for a task when the own ring is empty: in the own overflow queue, in the
// injection queue, and then in the other places. pushed is as in fair.
func (p *place) find(s *Scheduler, w *Worker) (n *mpsc.Node, pushed bool) {
	if n, pushed = p.queue.Refill(); n != nil {
		p.counts.refilled++
		return n, pushed
	}
	if p.refillSpin != 0 {
		w.flush(p)
		lfsync.Relax(p.refillSpin)
		p.refillSpin = 0
	}
	if n, pushed = p.queue.RefillFrom(&s.injection, injectionOrder); n != nil {
		p.counts.refilled++
		moved := p.queue.Len()
		if moved != 0 {
			p.list(s)
		}
		p.refillSpin = refillSpin(moved + 1)
		return n, pushed
	}
	if n, pushed = p.steal(s); n != nil {
		return n, pushed
	}
	p.counts.publish(&p.published)
	return nil, false
}

// requestFork requests a fork of the places that run a computation, and polls the queues
// for some 50 µs. It returns a fork or any other task as find does. If no computation is
// open, it returns at once, except for a worker that has just run a fork of
// requestAfterMicros or longer. Without this exception, a program that runs one loop after
// another would pay for a wake-up in each loop.
func (p *place) requestFork(s *Scheduler, w *Worker) (n *mpsc.Node, pushed bool) {
	keepsOn := w.observer.keepsRequesting
	w.observer.keepsRequesting = false
	if !w.observer.observeIfDue(s, p) && !keepsOn {
		return nil, false
	}
	w.flush(p)
	s.requesters.Add(1)
	for round := 1; n == nil && round <= requestRounds && !w.stops(); round++ {
		if s.anyAvailable() {
			n, pushed = p.find(s, w)
		} else if !w.observer.spin(s, p, round) && !keepsOn {
			break
		}
	}
	s.requesters.Add(-1) // before the search: a promotion until now may rely on it and not notify
	if n == nil {
		n, pushed = p.find(s, w)
	}
	// A push may have relied on this requester and not have notified.
	return n, n != nil && (pushed || s.anyAvailable())
}

// steal takes tasks from the other places, beginning at a random one: from the overflow
// queue of a victim before its ring. It reports pushed if the victim has tasks left,
// because another thief may have found the ring held and parked.
func (p *place) steal(s *Scheduler) (n *mpsc.Node, pushed bool) {
	made := s.places.made.Load()
	if made < 2 {
		return nil, false
	}
	s.places.anyListedFrom(p.random()%made, made, func(v *place) bool {
		n, pushed = p.stealFrom(s, v)
		return n != nil
	})
	return n, pushed
}

// stealOnce is steal from a single place.
func (p *place) stealOnce(s *Scheduler) (n *mpsc.Node, pushed bool) {
	if v := p.other(s); v != nil {
		n, pushed = p.stealFrom(s, v)
	}
	return n, pushed
}

// otherAvailable reports whether the queue of one other place is available.
func (p *place) otherAvailable(s *Scheduler) bool {
	v := p.other(s)
	return v != nil && v.queue.Available()
}

// other returns another place that may hold tasks, or nil if there is none. Each of them is
// as likely as the others.
func (p *place) other(s *Scheduler) (other *place) {
	n := uint32(0)
	s.places.anyListed(func(v *place) bool {
		if v != p {
			if n++; p.random()%n == 0 {
				other = v
			}
		}
		return false
	})
	return other
}

// stealFrom steals from v, which may be p itself.
func (p *place) stealFrom(s *Scheduler, v *place) (n *mpsc.Node, pushed bool) {
	if v == p {
		return nil, false
	}
	if n, pushed = p.queue.StealFrom(&v.queue); n == nil {
		return nil, false
	}
	if p.queue.Len() != 0 {
		p.list(s)
	}
	p.counts.steals++
	return n, pushed || !v.queue.Empty()
}

// scanSlots is how many tasks of its ring a Wait examines to find one that it may run.
// The awaited tasks were pushed last, so the first one examined is one of them in most
// cases.
const scanSlots = 32

// takeFor takes a task that match accepts for a wait of w: the newest such task of the own ring, or
// one of the tasks that it steals from another ring.
func (p *place) takeFor(s *Scheduler, w *Worker, match func(*mpsc.Node) bool) *Task {
	left := false // in the queue of a victim
	n := p.queue.TakeNewest(match, scanSlots)
	if n == nil {
		w.flush(p)
		var last *mpsc.Node
		if last, left = p.steal(s); last != nil {
			// The stolen tasks are queued here. Only one that matches may run here.
			p.list(s)
			p.queue.Push(last)
			n = p.queue.TakeNewest(match, scanSlots)
		}
	}
	// Thieves that found a ring held may have parked.
	if left || !p.queue.Empty() {
		s.notify(false)
	}
	if n == nil {
		return nil
	}
	return taskOf(n)
}

// takeOne takes a single node off a shared queue.
func takeOne(q *mpsc.Queue, o mpsc.Order) (n *mpsc.Node, more bool) {
	var c mpsc.Consumer
	for q.TryAcquire(&c, o) == mpsc.Acquired {
		n = c.Pop()
		if more = c.Release(); n != nil || !more {
			return n, more
		}
	}
	return nil, false
}
