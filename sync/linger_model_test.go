//go:build interleave

package sync_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// lingerer is what a worker of a pool lingers with.
type lingerer struct {
	parker lfsync.Parker
	state  atomix.Uint32     // stored by the worker before it lingers, and by its taker
	kept   atomix.Cell[bool] // belongs to the taker until it stores state
}

// The values of lingerer.state.
const (
	lingerParked uint32 = iota
	lingerResumed
	lingerEnded
)

// newLingerer returns nil when the workers of p do not linger.
func (p *pool) newLingerer() *lingerer {
	if !p.lingers {
		return nil
	}
	l := new(lingerer)
	l.parker.Init()
	return l
}

// wait makes the transition Wait or Linger. It reports whether the worker lingers.
func (p *pool) wait(l *lingerer, waking, idle bool) (out lfsync.Outcome, lingers bool) {
	if l == nil || idle || !p.register.CompareAndSwap(nil, l) {
		return p.sync.Wait(waking, idle), false
	}
	l.state.Store(lingerParked)
	l.kept.Set(true)
	if out = p.sync.Linger(waking); out != lfsync.OutcomePark {
		l.kept.Set(false)
		p.register.Store(nil)
		return out, false
	}
	return out, true
}

// linger parks the worker of l until it is taken, and reports whether it was resumed. When
// ctx is closed, the worker ends the lingering itself.
func (p *pool) linger(l *lingerer, ctx chan struct{}) (resumed bool) {
	for {
		if s := l.state.Load(); s != lingerParked {
			if l.kept.Get() {
				p.m.Fatalf("the taker has not taken what the worker keeps")
			}
			return s == lingerResumed
		}
		if l.parker.ParkDone(ctx) {
			continue
		}
		if p.forgets {
			return false
		}
		ctx = nil
		p.stopLingering()
	}
}

// stopLingering takes the lingering worker, if there is one.
func (p *pool) stopLingering() {
	if p.sync.StopLingering() {
		p.taker(lingerEnded)
	}
}

// taker is the rest of a transition that took the lingering worker.
func (p *pool) taker(state uint32) {
	l := p.register.Swap(nil)
	if l == nil {
		p.m.Fatalf("no worker is registered: %v", p.sync.Load())
	}
	if !l.kept.Get() {
		p.m.Fatalf("a goroutine takes a worker that does not linger: %v", p.sync.Load())
	}
	l.kept.Set(false)
	l.state.Store(state)
	l.parker.Unpark()
}

// rest reports whether a worker that has found a task needs no Notify.
func (p *pool) rest(waking bool) bool {
	return p.lingers && (p.hasty || p.queue.Load() == 0) && (!waking || p.sync.Rest())
}

// idleWorker returns a worker that lingers, or is parked, before the execution begins.
func (p *pool) idleWorker(ctx chan struct{}, lingers bool) func() {
	if _, ok := p.sync.Enter(p.limit); !ok {
		p.m.Fatalf("Enter = false: %v", p.sync.Load())
	}
	l := p.newLingerer()
	if lingers {
		out, lingers := p.wait(l, false, false)
		return func() { p.workFrom(ctx, l, out, lingers) }
	}
	out := p.sync.Wait(false, false)
	return func() { p.workFrom(ctx, l, out, false) }
}

// lingerPool returns a pool whose workers linger.
func lingerPool(m *interleave.M, limit int, r *rules) *pool {
	p := newPool(m, limit, r)
	p.lingers = true
	return p
}

// TestModelLinger checks that the one worker runs a task that is scheduled concurrently.
// The worker lingers or is about to. In the second model it runs two tasks of one notifier.
func TestModelLinger(t *testing.T) {
	model := func(r *rules, tasks int) func(*interleave.M) {
		return func(m *interleave.M) {
			p := lingerPool(m, 1, r)
			m.GoDaemon("w", p.worker(nil))
			m.Go("p", func() {
				for range tasks {
					p.schedule()
				}
			})
			m.Final(func() { p.checkEnd(tasks) })
		}
	}
	explore(t, "sync-linger", three, model(nil, 1))
	explore(t, "sync-linger-again", three, model(nil, 3))
	planted(t, "a wake token for a worker that lingers", "stranded", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			next, act := w.Notify(waking, limit)
			if act == lfsync.ActionResume {
				return lfsync.MakeWord(lfsync.StateSignaled, true, w.Idle(), w.Spawned()) | lfsync.LingeringBit, lfsync.ActionWake
			}
			return next, act
		},
	}, 1))
	planted(t, "a worker lingers without the bit", "stranded", three, model(&rules{
		linger: func(w lfsync.Word, waking bool) (lfsync.Word, lfsync.Outcome) { return w.Wait(waking, false) },
	}, 1))
	planted(t, "the waking worker lingers with its role", "stranded", three, model(&rules{
		linger: func(w lfsync.Word, waking bool) (lfsync.Word, lfsync.Outcome) {
			next, out := w.Linger(waking)
			if waking && out == lfsync.OutcomePark {
				next |= lfsync.Word(lfsync.StateWaking)
			}
			return next, out
		},
	}, 3))
	planted(t, "a worker lingers on a notification", "stranded", three, model(&rules{
		linger: func(w lfsync.Word, waking bool) (lfsync.Word, lfsync.Outcome) {
			if w.Notified() && w.State() != lfsync.StateShutdown {
				return lfsync.MakeWord(lfsync.StatePending, false, w.Idle()+1, w.Spawned()) | lfsync.LingeringBit, lfsync.OutcomePark
			}
			return w.Linger(waking)
		},
	}, 1))
}

// TestModelLinger2x2 has one worker that lingers and another one that is parked. Two
// notifiers schedule two tasks. Each task waits until the other one runs. In the second
// model both workers are about to wait. At most one worker is the waking worker.
func TestModelLinger2x2(t *testing.T) {
	model := func(r *rules) func(*interleave.M) {
		return func(m *interleave.M) {
			p := lingerPool(m, 2, r)
			p.task = meet()
			m.GoDaemon("w1", p.idleWorker(nil, true))
			m.GoDaemon("w2", p.idleWorker(nil, false))
			m.Go("p1", p.schedule)
			m.Go("p2", p.schedule)
			m.Final(func() { p.checkEnd(2) })
		}
	}
	explore(t, "sync-linger-2x2", two, model(nil))
	explore(t, "sync-linger-2x2-busy", two, func(m *interleave.M) {
		p := lingerPool(m, 2, nil)
		p.task = meet()
		m.GoDaemon("w1", p.worker(nil))
		m.GoDaemon("w2", p.worker(nil))
		m.Go("p1", p.schedule)
		m.Go("p2", p.schedule)
		m.Final(func() { p.checkEnd(2) })
	})
	planted(t, "the resumed worker stays counted as idle", "not all workers are parked", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			next, act := w.Notify(waking, limit)
			if act == lfsync.ActionResume {
				next = lfsync.MakeWord(next.State(), next.Notified(), w.Idle(), w.Spawned())
			}
			return next, act
		},
	}))
	planted(t, "a resume does not give the role to the worker", "waking workers", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			next, act := w.Notify(waking, limit)
			if act == lfsync.ActionResume {
				next = lfsync.MakeWord(lfsync.StatePending, false, next.Idle(), next.Spawned())
			}
			return next, act
		},
	}))
}

// TestModelRest checks that the waking worker that rests leaves no task behind. It has
// found one of two tasks. Each task waits until the other one runs. A push after its look
// starts a wake-up. A notification before it makes Rest fail.
func TestModelRest(t *testing.T) {
	model := func(r *rules, hasty bool) func(*interleave.M) {
		return func(m *interleave.M) {
			p := lingerPool(m, 2, r)
			p.hasty = hasty
			p.task = meet()
			m.Go("p1", p.schedule) // the first notify starts a worker, and so does the next one
			m.Go("p2", p.schedule)
			m.Final(func() { p.checkEnd(2) })
		}
	}
	explore(t, "sync-rest", three, model(nil, false))
	planted(t, "the worker rests without a look", "stranded", three, model(nil, true))
	planted(t, "the worker rests despite a notification", "stranded", three, model(&rules{
		rest: func(w lfsync.Word) (lfsync.Word, bool) {
			return lfsync.MakeWord(lfsync.StatePending, w.Notified(), w.Idle(), w.Spawned()), true
		},
	}, false))
	planted(t, "the worker rests and keeps its role", "stranded", three, model(&rules{
		rest: func(w lfsync.Word) (lfsync.Word, bool) { return w, !w.Notified() },
	}, false))
}

// TestModelLingerTaker checks that a taker that has no task for the lingering worker leaves
// it as idle as any other. Another goroutine schedules one task at the same time. Exactly
// one of these two goroutines takes the worker.
func TestModelLingerTaker(t *testing.T) {
	model := func(r *rules, workers int) func(*interleave.M) {
		return func(m *interleave.M) {
			p := lingerPool(m, workers, r)
			m.GoDaemon("w1", p.idleWorker(nil, true))
			if workers > 1 {
				m.GoDaemon("w2", p.idleWorker(nil, false))
			}
			m.Go("p", p.schedule)
			m.Go("taker", p.stopLingering)
			m.Final(func() { p.checkEnd(1) })
		}
	}
	explore(t, "sync-linger-taker", three, model(nil, 1))
	explore(t, "sync-linger-taker-parked", three, model(nil, 2))
	planted(t, "the bit stays", "the register is empty", three, model(&rules{
		stop: func(w lfsync.Word) (lfsync.Word, bool) { return w, w.Lingering() },
	}, 1))
	planted(t, "the worker is no longer counted as idle", "not all workers are parked", three, model(&rules{
		stop: func(w lfsync.Word) (lfsync.Word, bool) {
			if !w.Lingering() {
				return w, false
			}
			return lfsync.MakeWord(w.State(), w.Notified(), w.Idle()-1, w.Spawned()), true
		},
	}, 2))
	planted(t, "a resume leaves the bit", "data race", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			next, act := w.Notify(waking, limit)
			if act == lfsync.ActionResume {
				next |= lfsync.LingeringBit
			}
			return next, act
		},
	}, 2))
}

// TestModelLingerShutdown checks that a lingering and a parked worker end after a shutdown.
// A concurrent notify or a concurrent taker does not change that.
func TestModelLingerShutdown(t *testing.T) {
	model := func(r *rules, notifies, takes bool) func(*interleave.M) {
		return func(m *interleave.M) {
			p := lingerPool(m, 2, r)
			m.Go("w1", p.idleWorker(nil, true))
			m.Go("w2", p.idleWorker(nil, false))
			if notifies {
				m.Go("p", p.schedule)
			}
			if takes {
				m.Go("taker", p.stopLingering)
			}
			m.Go("closer", func() {
				idle, lingering, _ := p.sync.Shutdown()
				for range idle {
					p.tokens.Post()
				}
				if lingering {
					p.taker(lingerEnded)
				}
			})
			m.Final(func() {
				if w := p.sync.Load(); w.State() != lfsync.StateShutdown || w.Spawned() != 0 || w.Idle() != 0 || w.Lingering() {
					m.Fatalf("after the shutdown: %v", w)
				}
				if p.register.Load() != nil {
					m.Fatalf("a worker is registered after the shutdown")
				}
			})
		}
	}
	explore(t, "sync-linger-shutdown", three, model(nil, true, false))
	explore(t, "sync-linger-shutdown-taker", three, model(nil, false, true))
	planted(t, "the wake token of the lingering worker replaces that of the parked one", "deadlock", three, model(&rules{
		shutdown: func(w lfsync.Word) (lfsync.Word, int, bool) {
			next, idle, first := w.Shutdown()
			return next, max(0, idle-1), first
		},
	}, true, false))
	planted(t, "the bit stays", "no worker is registered", three, model(&rules{
		shutdown: func(w lfsync.Word) (lfsync.Word, int, bool) {
			next, idle, first := w.Shutdown()
			return next | w&lfsync.LingeringBit, idle, first
		},
	}, false, true))
}

// TestModelLingerLeave checks that a worker whose context ends while it lingers leaves
// nothing behind. A task that is scheduled at the same time therefore runs. The worker ends
// the lingering itself, or it leaves as the waking worker when a notifier was first. In the
// second model the other worker is busy. It may linger before the waking worker leaves.
func TestModelLingerLeave(t *testing.T) {
	model := func(r *rules, busy, forgets bool) func(*interleave.M) {
		return func(m *interleave.M) {
			p := lingerPool(m, 2, r)
			p.forgets = forgets
			ctx := make(chan struct{})
			if busy {
				m.GoDaemon("w1", p.worker(nil))
			} else {
				m.GoDaemon("w1", p.idleWorker(nil, false))
			}
			m.Go("w2", p.idleWorker(ctx, true))
			m.Go("p", p.schedule)
			m.Go("cancel", func() {
				p.queue.Load() // a step, so that the cancel can occur at any time
				close(ctx)
			})
			m.Final(func() { p.checkEnd(1) })
		}
	}
	explore(t, "sync-linger-leave", three, model(nil, false, false))
	explore(t, "sync-linger-leave-busy", three, model(nil, true, false))
	planted(t, "the leaver does not end the lingering", "stranded", three, model(nil, false, true))
	planted(t, "the role of the resumed worker is not passed on", "stranded", three, model(&rules{
		leave: func(w lfsync.Word, waking, idle bool, limit int) (lfsync.Word, lfsync.Action) {
			if waking {
				return lfsync.MakeWord(lfsync.StatePending, w.Notified(), w.Idle(), w.Spawned()-1), lfsync.ActionNone
			}
			return w.Leave(waking, idle, limit)
		},
	}, false, false))
	planted(t, "the leaver posts a wake token for the lingering worker", "stranded", three, model(&rules{
		leave: func(w lfsync.Word, waking, idle bool, limit int) (lfsync.Word, lfsync.Action) {
			next, act := w.Leave(waking, idle, limit)
			if act == lfsync.ActionResume {
				return lfsync.MakeWord(lfsync.StateSignaled, true, w.Idle(), next.Spawned()) | lfsync.LingeringBit, lfsync.ActionWake
			}
			return next, act
		},
	}, true, false))
}
