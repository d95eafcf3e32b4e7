//go:build interleave

package sync_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// pool is a scheduler that follows the protocol of the package documentation. Its queue is
// a count of tasks.
type pool struct {
	m      *interleave.M
	sync   cell
	tokens lfsync.WakeTokens
	limit  int
	queue  atomix.Int32 // tasks that are visible
	task   func()

	fails    ghost // spawns that may fail
	noWorker ghost // 1: the last notifier learned that there is no worker
	done     ghost // tasks that ran
	wakings  ghost // workers that are the waking worker now

	early bool // planted bug: notify before the push

	lingers  bool // workers linger and rest: see linger_model_test.go
	register atomix.Pointer[lingerer]
	forgets  bool // planted bug: a lingering worker does not stop that before it leaves
	hasty    bool // planted bug: a waking worker rests without a look at the queue
}

func newPool(m *interleave.M, limit int, r *rules) *pool {
	p := &pool{m: m, sync: newCell(r), limit: limit, task: func() {}}
	p.tokens.Init(limit)
	return p
}

func (p *pool) act(a lfsync.Action) {
	p.noWorker.set(0)
	switch a {
	case lfsync.ActionWake:
		p.tokens.Post()
	case lfsync.ActionSpawn:
		if p.fails.get() > 0 && interleave.Choose(2) == 1 {
			p.fails.add(-1)
			p.noWorker.set(b2i(p.sync.SpawnFailed().Spawned() == 0))
			return
		}
		interleave.GoDaemon("spawned", func() { p.work(nil) })
	case lfsync.ActionResume:
		p.taker(lingerResumed)
	}
}

func (p *pool) schedule() {
	if p.early {
		p.act(p.sync.Notify(false, p.limit))
		p.queue.Add(1)
		return
	}
	p.queue.Add(1)
	p.act(p.sync.Notify(false, p.limit))
}

func (p *pool) take() bool {
	for {
		n := p.queue.Load()
		if n == 0 {
			return false
		}
		if p.queue.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// work is the loop of a worker. It ends after a shutdown or when ctx is closed. The worker
// looks at ctx during its search and while it is parked.
func (p *pool) work(ctx chan struct{}) {
	l := p.newLingerer()
	out, lingers := p.wait(l, false, false)
	p.workFrom(ctx, l, out, lingers)
}

// workFrom is work after the first wait.
func (p *pool) workFrom(ctx chan struct{}, l *lingerer, out lfsync.Outcome, lingers bool) {
	waking, idle := false, false
	// sent is true when the worker has taken a notification. The worker passes it on though it
	// is not waking.
	sent := false
	leave := func() {
		if waking {
			p.wakings.add(-1)
		}
		_, act := p.sync.Leave(waking, idle, p.limit)
		p.act(act)
		if !waking && !idle && p.queue.Load() > 0 {
			p.act(p.sync.Notify(false, p.limit))
		}
	}
	for ; ; out, lingers = p.wait(l, waking, idle) {
		was := waking
		if out == lfsync.OutcomePark {
			if was {
				p.wakings.add(-1)
			}
			waking, idle = false, true
			if lingers {
				waking = p.linger(l, ctx)
				idle = !waking
				if was = waking; waking {
					p.wakings.add(1)
					out = lfsync.OutcomeSearchWaking
				} else if isClosed(ctx) {
					leave()
					return
				} else {
					continue // a closer posts no wake token for this worker
				}
			}
		}
		switch out {
		case lfsync.OutcomePark:
			if !p.tokens.WaitDone(ctx) {
				leave()
				return
			}
			continue
		case lfsync.OutcomeShutdown:
			leave()
			return
		case lfsync.OutcomeSearchWaking:
			waking, idle = true, false
			if !was {
				p.wakings.add(1)
			}
		case lfsync.OutcomeSearch:
			waking, idle = false, false
			sent = p.lingers
		}
		if n := p.wakings.get(); n > 1 {
			p.m.Fatalf("%d waking workers", n) // Z-059, Z-068
		}
		for !isClosed(ctx) && p.take() {
			if waking {
				p.wakings.add(-1)
			}
			if (waking || sent) && !p.rest(waking) {
				p.act(p.sync.Notify(waking, p.limit))
			}
			waking, sent = false, false
			p.task()
			p.done.add(1)
		}
		if isClosed(ctx) {
			leave()
			return
		}
	}
}

// worker returns a worker that exists before the execution begins.
func (p *pool) worker(ctx chan struct{}) func() {
	if _, ok := p.sync.Enter(p.limit); !ok {
		p.m.Fatalf("Enter = false: %v", p.sync.Load())
	}
	return func() { p.work(ctx) }
}

// isClosed reports whether c is closed.
func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// checkEnd checks the laws at the end of an execution. A task is queued only when no
// worker exists and the last notifier has learned that. The counts of the word are true.
// Z-076, Z-083.
func (p *pool) checkEnd(tasks int) {
	w := p.sync.Load()
	queued := int(p.queue.Load())
	if queued > 0 && (w.Spawned() > 0 || p.noWorker.get() == 0) {
		p.m.Fatalf("%d tasks are stranded: %v", queued, w)
	}
	if done := p.done.get(); done+queued != tasks {
		p.m.Fatalf("%d tasks are still running, %d ran, %d are queued: %v", tasks-done-queued, done, queued, w)
	}
	if queued == 0 && w.Idle() != w.Spawned() {
		p.m.Fatalf("not all workers are parked: %v", w)
	}
	if w.Lingering() != (p.register.Load() != nil) {
		p.m.Fatalf("the register is empty: %v, the word is %v", p.register.Load() == nil, w)
	}
}

// meet returns a task that waits until two tasks run at once.
func meet() func() {
	var sema [2]lfsync.WakeTokens
	sema[0].Init(1)
	sema[1].Init(1)
	var n ghost
	return func() {
		me := n.add(1) & 1
		sema[1-me].Post()
		sema[me].Wait()
	}
}

// TestModelSync2x2 checks that no task is stranded while a worker is parked or can be
// spawned. Two producers push two tasks. Each task waits until the other one runs. Two
// workers are spawned on demand. Z-058, Z-059, Z-068, Z-076, Z-079, Z-081, Z-083.
func TestModelSync2x2(t *testing.T) {
	model := func(r *rules, early bool) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, 2, r)
			p.early = early
			p.task = meet()
			m.Go("p1", p.schedule)
			m.Go("p2", p.schedule)
			m.Final(func() { p.checkEnd(2) })
		}
	}
	explore(t, "sync-word-2x2", three, model(nil, false))
	planted(t, "notify before the push", "stranded", three, model(nil, true))
	planted(t, "the waking worker does not pass its role on", "stranded", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			if waking {
				return lfsync.MakeWord(lfsync.StatePending, w.Notified(), w.Idle(), w.Spawned()), lfsync.ActionNone
			}
			return w.Notify(waking, limit)
		},
	}, false))
	planted(t, "a notification is dropped when it can wake no worker", "stranded", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			next, act := w.Notify(waking, limit)
			if act == lfsync.ActionNone && !waking {
				return w, act
			}
			return next, act
		},
	}, false))
}

// TestModelSync2x2Park checks that no task is stranded in the whole cycle of parking and
// waking. Two workers exist from the start, and two producers push.
func TestModelSync2x2Park(t *testing.T) {
	model := func(r *rules) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, 2, r)
			m.GoDaemon("w1", p.worker(nil))
			m.GoDaemon("w2", p.worker(nil))
			m.Go("p1", p.schedule)
			m.Go("p2", p.schedule)
			m.Final(func() { p.checkEnd(2) })
		}
	}
	explore(t, "sync-word-2x2-park", two, model(nil))
	planted(t, "park on a notification", "stranded", three, model(&rules{
		wait: func(w lfsync.Word, waking, idle bool) (lfsync.Word, lfsync.Outcome) {
			if !idle && w.Notified() && w.State() == lfsync.StatePending {
				return lfsync.MakeWord(lfsync.StatePending, false, w.Idle()+1, w.Spawned()), lfsync.OutcomePark
			}
			return w.Wait(waking, idle)
		},
	}))
	planted(t, "wake while a worker is waking", "waking workers", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			if w.State() == lfsync.StateWaking {
				w = lfsync.MakeWord(lfsync.StatePending, w.Notified(), w.Idle(), w.Spawned())
				waking = false
			}
			return w.Notify(waking, limit)
		},
	}))
	planted(t, "a woken worker stays counted as idle", "parked", three, model(&rules{
		wait: func(w lfsync.Word, waking, idle bool) (lfsync.Word, lfsync.Outcome) {
			next, out := w.Wait(waking, idle)
			if idle && out == lfsync.OutcomeSearch {
				next = lfsync.MakeWord(next.State(), next.Notified(), next.Idle()+1, next.Spawned())
			}
			return next, out
		},
	}))
}

// TestModelSync3x1 checks that exactly one of three workers for one task is the waking
// worker. Z-068.
func TestModelSync3x1(t *testing.T) {
	model := func(r *rules) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, 3, r)
			for _, name := range []string{"w1", "w2"} { // the third worker is spawned
				m.GoDaemon(name, p.worker(nil))
			}
			m.Go("p", p.schedule)
			m.Final(func() { p.checkEnd(1) })
		}
	}
	explore(t, "sync-word-3x1", three, model(nil))
	planted(t, "a parked worker is not counted as idle", "parked", three, model(&rules{
		wait: func(w lfsync.Word, waking, idle bool) (lfsync.Word, lfsync.Outcome) {
			next, out := w.Wait(waking, idle)
			if out == lfsync.OutcomePark {
				next = lfsync.MakeWord(next.State(), next.Notified(), w.Idle(), next.Spawned())
			}
			return next, out
		},
	}))
}

// TestModelSpawnFails checks that a notify after a failed spawn tries again. A notifier
// that is left without a worker learns that. There are two tasks, and up to two spawns
// fail. X-31, Z-061, Z-075.
func TestModelSpawnFails(t *testing.T) {
	model := func(r *rules, workers int) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, 2, r)
			p.fails.set(2)
			if workers > 0 {
				m.GoDaemon("w", p.worker(nil))
			}
			m.Go("p", func() { p.schedule(); p.schedule() })
			m.Final(func() { p.checkEnd(2) })
		}
	}
	explore(t, "sync-spawn-fails", three, model(nil, 0))
	explore(t, "sync-spawn-fails-worker", three, model(nil, 1))
	planted(t, "only the count is taken back", "stranded", three, model(&rules{
		spawnFailed: func(w lfsync.Word) lfsync.Word { return w - lfsync.MakeWord(0, false, 0, 1) },
	}, 0))
	planted(t, "the notification is also taken back", "stranded", three, model(&rules{
		spawnFailed: func(w lfsync.Word) lfsync.Word { return w.SpawnFailed() &^ (1 << 2) },
	}, 1))
}

// TestModelShutdown checks that all workers end after a shutdown. A concurrent notify does
// not change that. There are two workers, and one task is scheduled concurrently. B2, B3,
// Z-088, Z-089, Z-090, Z-091.
func TestModelShutdown(t *testing.T) {
	model := func(r *rules, one bool) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, 2, r)
			m.Go("w1", p.worker(nil))
			m.Go("w2", p.worker(nil))
			m.Go("p", p.schedule)
			m.Go("closer", func() {
				idle, _, first := p.sync.Shutdown()
				if !first {
					m.Fatalf("Shutdown is not the first")
				}
				if one {
					idle = min(idle, 1)
				}
				for range idle {
					p.tokens.Post()
				}
			})
			m.Final(func() {
				if w := p.sync.Load(); w.State() != lfsync.StateShutdown || w.Spawned() != 0 || w.Idle() != 0 {
					m.Fatalf("after the shutdown: %v", w)
				}
			})
		}
	}
	explore(t, "sync-shutdown", two, model(nil, false))
	planted(t, "one wake token for all workers", "deadlock", three, model(nil, true))
	planted(t, "a late notify undoes the shutdown", "deadlock", three, model(&rules{
		notify: func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action) {
			if w.State() == lfsync.StateShutdown && waking {
				w = lfsync.MakeWord(lfsync.StateWaking, true, w.Idle(), w.Spawned())
			}
			return w.Notify(waking, limit)
		},
	}, false))
}

// TestModelLeave checks that a leaver passes on the work that only it would have done. A
// task that is scheduled concurrently therefore runs. The context of one of two workers
// ends while that worker is parked or searches.
func TestModelLeave(t *testing.T) {
	model := func(r *rules, limit int) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, limit, r)
			ctx := make(chan struct{})
			if limit > 1 {
				m.GoDaemon("w1", p.worker(nil))
			}
			m.Go("w2", p.worker(ctx))
			m.Go("p", p.schedule)
			m.Go("cancel", func() {
				p.queue.Load() // a step, so that the cancel can occur at any time
				close(ctx)
			})
			m.Final(func() { p.checkEnd(1) })
		}
	}
	silent := &rules{leave: func(w lfsync.Word, _, idle bool, _ int) (lfsync.Word, lfsync.Action) {
		return lfsync.MakeWord(w.State(), w.Notified(), w.Idle()-b2i(idle), w.Spawned()-1), lfsync.ActionNone
	}}
	keepsRole := &rules{leave: func(w lfsync.Word, waking, idle bool, limit int) (lfsync.Word, lfsync.Action) {
		if waking {
			return lfsync.MakeWord(lfsync.StatePending, w.Notified(), w.Idle(), w.Spawned()-1), lfsync.ActionNone
		}
		return w.Leave(waking, idle, limit)
	}}
	explore(t, "sync-leave", two, model(nil, 2))
	explore(t, "sync-leave-last", three, model(nil, 1))
	planted(t, "nothing is passed on", "stranded", three, model(silent, 2))
	planted(t, "the last worker passes nothing on", "stranded", three, model(silent, 1))
	planted(t, "the role of the waking worker is not passed on", "stranded", three, model(keepsRole, 2))
}

// TestModelLeaveSpawnFails checks that no task is lost when a failed spawn takes the signal
// back while the wake token of a later wake is in flight to a worker that leaves.
func TestModelLeaveSpawnFails(t *testing.T) {
	model := func(r *rules) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newPool(m, 2, r)
			p.fails.set(1)
			ctx := make(chan struct{})
			m.Go("w", p.worker(ctx))
			m.Go("p1", p.schedule)
			m.Go("p2", func() {
				p.schedule()
				close(ctx)
			})
			m.Final(func() { p.checkEnd(2) })
		}
	}
	explore(t, "sync-leave-spawn-fails", two, model(nil))
	planted(t, "only a signal is passed on", "stranded", three, model(&rules{
		leave: func(w lfsync.Word, waking, idle bool, limit int) (lfsync.Word, lfsync.Action) {
			if idle && w.State() == lfsync.StatePending {
				return lfsync.MakeWord(w.State(), w.Notified(), w.Idle()-1, w.Spawned()-1), lfsync.ActionNone
			}
			return w.Leave(waking, idle, limit)
		},
	}))
}

// TestModelNotifyLoad checks that a notify that has nothing to do takes one step. The step
// is a load. Z-077.
func TestModelNotifyLoad(t *testing.T) {
	words := []lfsync.Word{
		lfsync.MakeWord(lfsync.StatePending, true, 0, 2),
		lfsync.MakeWord(lfsync.StateWaking, true, 1, 2),
		lfsync.MakeWord(lfsync.StateSignaled, true, 1, 2),
		lfsync.MakeWord(lfsync.StateShutdown, true, 0, 2),
	}
	steps := func(w lfsync.Word, waking bool, calls int) (n int, same bool) {
		r := interleave.Explore(all, func(m *interleave.M) {
			var s lfsync.Sync
			lfsync.SetWord(&s, w)
			m.Go("p", func() {
				for range calls {
					if act := s.Notify(waking, 2); act != lfsync.ActionNone {
						m.Fatalf("Notify = %v, want none", act)
					}
				}
			})
			m.Final(func() { same = s.Load() == w })
		})
		if r.Failure != nil {
			t.Error(r.Failure)
		}
		return r.Steps, same
	}
	for _, w := range words {
		n, same := steps(w, false, 5)
		if n != 5 || !same {
			t.Errorf("5 calls of Notify on %v take %d steps, want 5; word unchanged: %v", w, n, same)
		}
	}
	// The waking worker makes no fast check. It finds the shutdown in the transition.
	if n, same := steps(words[len(words)-1], true, 5); n != 5 || !same {
		t.Errorf("5 calls of Notify by the waking worker after a shutdown take %d steps, want 5; word unchanged: %v", n, same)
	}
	r := interleave.Explore(all, func(m *interleave.M) { // a wake token left over changes nothing for a worker that stays parked
		var s lfsync.Sync
		lfsync.SetWord(&s, lfsync.MakeWord(lfsync.StatePending, false, 1, 2))
		m.Go("w", func() {
			if out := s.Wait(false, true); out != lfsync.OutcomePark {
				m.Fatalf("Wait = %v, want park", out)
			}
		})
	})
	if r.Failure != nil || r.Steps != 1 {
		t.Errorf("Wait of a worker that stays parked takes %d steps, want 1; %v", r.Steps, r.Failure)
	}
	if n, same := steps(lfsync.MakeWord(lfsync.StatePending, false, 0, 2), false, 1); n != 3 || same {
		t.Errorf("a Notify that stores takes %d steps, want 3; word unchanged: %v", n, same)
	}
}
