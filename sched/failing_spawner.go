package sched

import (
	"context"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// This file has what only a scheduler needs whose Spawner may fail (spawnMayFail). Such a scheduler
// may have queued tasks and no worker. The goroutines that wait for these tasks then run them: a
// Wait, a Group.Go that waits for a permit, and a Shutdown. In between they are on the list starved,
// which a failed spawn wakes. The default Spawner cannot fail.

// A start is the right to decide whether a spawned worker runs. The call of run claims it, or the
// end of a spawn that has failed.
type start struct{ claimed atomix.Bool }

// claim claims the start, and reports whether the caller is the first.
func (t *start) claim() bool { return !t.claimed.Swap(true) }

// runOnce runs w for a Spawner that may fail.
func (s *Scheduler) runOnce(w *Worker) {
	if !w.start.claim() {
		panic("sched: Config.Spawner has called run twice, or after Spawn has failed")
	}
	s.cold.begun.Add(1)
	w.run()
}

// spawnRetry is the time between two attempts of a wait to start a worker in a scheduler
// without workers. A Spawner that has failed gives no notice when it would succeed.
const spawnRetry = 10 * time.Millisecond

// runAsWaiter runs tasks of g on the goroutine of the waiter, until ctx ends, if the
// scheduler has no worker and cannot start one, and a place is free. It reports whether
// that was the case. The waiter then checks its group again.
//
//go:noinline
func (s *Scheduler) runAsWaiter(g *Group, ctx context.Context, p *lfsync.Parker) bool {
	if s.full() {
		// The holder that returns a place notifies. A call of the Spawner that failed now
		// would wake the other waiters, and these would wake this one.
		return false
	}
	if s.sync.Load().Spawned() > 0 || !s.anyQueued() || s.notify(false) {
		return false
	}
	pl := s.takePlace()
	if pl == nil {
		return false
	}
	w := s.newCaller(pl)
	w.frame.Enter()
	s.runGroupHere(w, g, ctx)
	if !g.isDone() && !contextEnded(ctx) {
		p.ParkFor(spawnRetry)
	}
	runtime.KeepAlive(s) // exact in a stack trace: see callbacksIn
	return true
}

// awaitWorker puts u on the list of waiters that rely on a worker. The list is woken when
// a task is queued and no worker exists or can be started: by the last worker when it
// leaves, and by the holder of a place when it returns the place after a spawn has failed.
// awaitWorker reports false when there is no reason to rely on either.
//
// The waking worker is a reason, too, even if the word counts no worker: the stall monitor
// may have marked it as stalled while it searched. It runs no callback before it gives up
// the waking state. It gives the state up with notify(true), for a task that it has found
// or in rejoinAfterStall, or with Rest if it has found the only available task. A task that
// its look has missed was pushed after the look, and the push makes Rest fail. It reaches Wait and Leave only when its occupancy has ended, and
// then the monitor cannot mark it. The notify starts a worker, or fails and wakes the
// list. There is one case in which it starts no worker while the word counts only this
// one: the monitor has marked the worker and has not yet subtracted it from the count.
// The monitor notifies after that.
func (s *Scheduler) awaitWorker(u unparker) bool {
	s.life.starved.add(u)
	word := s.sync.Load()
	return word.Spawned() > 0 || word.State() == lfsync.StateWaking || !s.anyQueued() || s.full()
}

// runGroupHere runs the tasks of g that it finds on the place of w, and returns the place.
func (s *Scheduler) runGroupHere(w *Worker, g *Group, ctx context.Context) {
	defer w.endDo()
	for ran := true; ran && w.place != nil && !g.isDone(); {
		w.place.fetch(s, g)
		ran = g.help(w, ctx)
		for w.place != nil && w.place.refill(s) && g.help(w, ctx) {
		}
	}
}

// refill moves tasks from the overflow queue to the ring, and reports whether there were
// any.
func (p *place) refill(s *Scheduler) bool {
	n, _ := p.queue.Refill()
	if n != nil {
		p.queue.Push(n)
		s.notify(false) // for the tasks that it has moved or left
	}
	return n != nil
}

// fetch takes all queued tasks. It moves those that g waits for to the run queue of p, and
// the others to the injection queue.
func (p *place) fetch(s *Scheduler, g *Group) {
	var all, others mpsc.List
	p.list(s)
	p.queue.Drain(&all)
	s.stealAll(&all)
	s.drainInjection(&all)
	for n := all.Pop(); n != nil; n = all.Pop() {
		if taskOf(n).group.awaitedBy(g) {
			p.queue.Push(n)
		} else {
			others.Push(n)
		}
	}
	if !others.Empty() && !s.injection.PushList(&others) && !s.pushOverflow(&others) {
		s.discard(&others)
	}
	s.notify(false)
}

// acquireAsWaiter is acquire for a Spawner that may fail: the functions with the permits may be
// queued, and no worker may exist to run them.
func (g *Group) acquireAsWaiter() bool {
	s, limit := g.s.Load(), g.opts.limit
	p := lfsync.NewParker()
	for s.life.closing.Err() == nil {
		if s.runAsWaiter(g, s.life.closing, p) {
			if limit.TryAcquire() {
				return true
			}
			continue
		}
		ctx, cancel := context.WithCancel(s.life.closing)
		u := &canceller{cancel}
		acquired := (s.awaitWorker(u) || s.closing.Load()) && limit.Acquire(ctx) == nil
		s.life.starved.drop(u)
		cancel()
		if acquired {
			return true
		}
	}
	return false
}

// canceller is the wait for a permit. It is ended when no worker is left.
type canceller struct{ cancel context.CancelFunc }

// Unpark ends the wait.
func (c *canceller) Unpark() { c.cancel() }

// drainHere runs the queued tasks on the goroutine of Shutdown, in a scheduler that cannot
// start a worker.
func (s *Scheduler) drainHere(ctx context.Context) {
	p := s.takePlace()
	if p == nil {
		return
	}
	w := s.newCaller(p)
	w.stop = ctx.Done()
	w.frame.Enter()
	defer w.endDo()
	for s.workContained(w) && w.place != nil { // another pass follows each contained panic
	}
	runtime.KeepAlive(s) // exact in a stack trace: see callbacksIn
}

// workContained runs w as loop does, and contains a panic likewise. It reports whether a panic
// was contained, so that tasks may be left.
func (s *Scheduler) workContained(w *Worker) (again bool) {
	ended := false
	defer func() {
		if !ended {
			again = w.contain(recover())
		}
	}()
	w.work(mustNone)
	ended = true
	return false
}
