//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// TestModelForkAwait: a joiner that parks, and the runner: the joiner is woken, and
// sees what was written before.
func TestModelForkAwait(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, SleepSets: true}
	interleave.Check(t, "fork-await", all, func(m *interleave.M) {
		s := placeless(m)
		k := &fork[int, int]{}
		k.root = new(forkRoot)
		var result atomix.Cell[int]
		m.Go("runner", func() {
			result.Set(1)
			k.finish()
		})
		m.Go("joiner", func() {
			w := &Worker{s: s, callerWorker: true}
			w.parkForFork(&k.forkTask)
			if n := result.Get(); n != 1 {
				m.Fatalf("result %d", n)
			}
		})
	})
}

// placeless returns a scheduler for workers without a place, which it is not asked for.
func placeless(m *interleave.M) *Scheduler {
	s, err := New(Config{MaxWorkers: 1, Spawner: sureSpawn{}})
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	return s
}

// sureSpawn is a Spawner that is not asked.
type sureSpawn struct{ Infallible }

func (sureSpawn) Spawn(func()) error { panic("no worker is wanted") }

// fedTwice is two computations, one of which is fed and then the other. Their forks need
// each other, so two have to come for them.
type fedTwice struct {
	s   *Scheduler
	of  [2]*Forks[int, int]
	ran [2]park.Sema
}

// newFedTwice makes them. With pause, others go on between the two feeds in any case.
func newFedTwice(m *interleave.M, pause bool) *fedTwice {
	s, err := New(Config{MaxWorkers: 4, Spawner: daemonSpawn{}})
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	fed := &fedTwice{s: s}
	for i := range fed.of {
		fed.ran[i].Init(2)
		w := &Worker{s: s, callerWorker: true}
		w.attach(s.takePlace())
		f := takeForks[int, int](w)
		f.body = fed.body
		w.enterForks(&f.forkHead)
		f.Push(i)
		fed.of[i] = f
	}
	m.Go("owners", func() {
		for i, f := range fed.of {
			f.Ask()
			f.Promote()
			if pause {
				interleave.Yield()
			}
			defer fed.ran[i].Wait()
		}
	})
	return fed
}

func (fed *fedTwice) body(_ *Forks[int, int], me int) int {
	fed.ran[me].Post()
	fed.ran[me].Post()
	fed.ran[1-me].Wait()
	return 0
}

// TestModelForkFedTwice: both rely on one beggar, or on one joiner that counts as such.
func TestModelForkFedTwice(t *testing.T) {
	t.Run("beggar", func(t *testing.T) {
		defer BegFor(0)()
		interleave.Check(t, "fork-fed-twice", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
			fed := newFedTwice(m, false)
			m.Go("beggar", fed.s.BegOnce)
		})
	})
	t.Run("joiner", func(t *testing.T) {
		defer BegFor(2)()
		interleave.Check(t, "fork-fed-joiner", interleave.Options{}, func(m *interleave.M) {
			fed := newFedTwice(m, interleave.Choose(2) == 1)
			k := &forkTask{root: new(forkRoot)}
			fed.of[interleave.Choose(2)].root = k.root // this one it may help
			m.Go("joiner", func() {
				w := fed.s.enterAsCaller()
				if w == nil {
					return
				}
				defer w.endDo()
				w.helpFork(k, true)
			})
		})
	})
}

// TestModelForkRequesterLeaves: the owner promotes a fork while a requester gives up. The
// owner does not continue before another worker has run the fork, so either the requester
// finds the task, or the owner notifies.
func TestModelForkRequesterLeaves(t *testing.T) {
	defer BegFor(1)()
	interleave.Check(t, "fork-requester-leaves", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 3, Spawner: daemonSpawn{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		var ran park.Sema
		ran.Init(1)
		w := &Worker{s: s, callerWorker: true}
		w.attach(s.takePlace())
		f := takeForks[int, int](w)
		f.body = func(*Forks[int, int], int) int { ran.Post(); return 0 }
		w.enterForks(&f.forkHead)
		f.Push(0)
		m.Go("owner", func() {
			f.Ask()
			f.Promote()
			ran.Wait()
		})
		m.Go("requester", s.BegOnce)
	})
}

// daemonSpawn makes each worker a daemon of the model.
type daemonSpawn struct{ Infallible }

func (daemonSpawn) Spawn(run func()) error { interleave.GoDaemon("worker", run); return nil }

// TestModelForkComeBackTells: a callback that comes back from a join counts as a
// worker for a moment, and finds no place. It looks at what was pushed meanwhile.
func TestModelForkComeBackTells(t *testing.T) {
	interleave.Check(t, "fork-come-back-tells", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 1, Spawner: daemonSpawn{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		var begun, held, pushed, ran park.Sema
		for _, sema := range []*park.Sema{&begun, &held, &pushed, &ran} {
			sema.Init(1)
		}
		m.Go("callback", func() {
			w := &Worker{s: s, counted: s.sync.Enter(1)}
			w.attach(s.takePlace())
			w.releasePlace()
			begun.Post()
			held.Wait()
			w.retakePlace()
			w.releasePlace()
			ran.Wait()
			w.endWorker()
		})
		m.Go("do", func() {
			begun.Wait()
			if err := s.Do(&Task{Fn: func(*Worker, *Task) { pushed.Post(); held.Post() }}); err != nil {
				m.Fatalf("Do: %v", err)
			}
		})
		m.Go("caller", func() {
			pushed.Wait()
			if err := s.Schedule(&Task{Fn: func(*Worker, *Task) { ran.Post() }}); err != nil {
				m.Fatalf("Schedule: %v", err)
			}
		})
	})
}

// stealing is how a thief takes a fork from a deque whose slots hold arguments. Here
// no thief does: see Forks.
type stealing func(s *dequeSlot) (arg int32, ok bool)

// dequeSlot is such a slot. Its owner uses it again.
type dequeSlot struct {
	ready atomix.Bool
	arg   atomix.Int32
}

func (s *dequeSlot) push(arg int32) {
	s.arg.Store(arg)
	s.ready.Store(true)
}

func (s *dequeSlot) claim() bool { return s.ready.CompareAndSwap(true, false) }

// claimThenCopy is sound as long as the owner of a slot that was claimed leaves it
// alone until the thief has the argument, as the one of stealModel does.
func claimThenCopy(s *dequeSlot) (arg int32, ok bool) {
	if !s.claim() {
		return 0, false
	}
	return s.arg.Load(), true
}

func copyThenClaim(s *dequeSlot) (arg int32, ok bool) {
	arg = s.arg.Load()
	return arg, s.claim()
}

// stealModel is an owner that forks and joins twice in one slot, and a thief. Each
// fork runs once.
func stealModel(steal stealing) func(m *interleave.M) {
	return func(m *interleave.M) {
		var s dequeSlot
		var byOwner, byThief [2]int
		m.Go("owner", func() {
			for i := range int32(2) {
				s.push(i)
				if !s.claim() {
					return // stolen
				}
				byOwner[i]++
			}
		})
		m.Go("thief", func() {
			if arg, ok := steal(&s); ok {
				byThief[arg]++
			}
		})
		m.Final(func() {
			for i := range byOwner {
				if n := byOwner[i] + byThief[i]; n > 1 || n == 0 && byThief[0] == 0 {
					m.Fatalf("fork %d ran %d times", i, n)
				}
			}
		})
	}
}

// TestModelForkCopyThenClaim: a thief that reads a slot before it claims it may have
// the argument of a fork that was joined, and claim the next one in that slot. The
// explorer sees it. It is why no thief ever reads a slot here.
func TestModelForkCopyThenClaim(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, SleepSets: true}
	interleave.Check(t, "fork-claim-then-copy", all, stealModel(claimThenCopy))
	if r := interleave.Explore(all, stealModel(copyThenClaim)); r.Failure == nil {
		t.Errorf("copy, then claim: not found in %d executions", r.Executions)
	}
}

// What the models of fork-join do beside its public part.

// Ask raises the flag of the place that runs the caller, as a searcher does that
// finds it: the next Promote promotes a fork.
func (h *forkHead) Ask() {
	if p := h.w.place; p != nil {
		p.forks.setDemand()
	}
}

// Group returns the group that the promoted forks are counted in.
func (h *forkHead) Group() *Group { return &h.root.group }

// Promoted returns how many of the open forks are promoted.
func (h *forkHead) Promoted() int { return int(h.prom) }

// Observer is the memory of an observer, and Observe makes one observation. It reports whether a
// computation is open.
type Observer struct{ observer observer }

// Look is described there.
func (o *Observer) Observe(s *Scheduler) (open bool) { return o.observer.observe(s, nil, true).open }

// BegFor makes workers beg for so many rounds, until restore is called.
func BegFor(rounds int) (restore func()) {
	was := requestRounds
	requestRounds = rounds
	return func() { requestRounds = was }
}

// BegOnce takes a place if one is free, begs, and runs what it gets, as a worker does that is not the
// waking one, and has found nothing.
func (s *Scheduler) BegOnce() {
	w := s.enterAsCaller()
	if w == nil {
		return
	}
	defer w.endDo()
	if n, pushed := w.requestFork(); n != nil {
		if pushed {
			s.notify(false)
		}
		w.runNested(taskOf(n))
	}
}

// Idle returns how many workers are parked.
func (s *Scheduler) Idle() int { return s.sync.Load().Idle() }

// Deaf reports whether somebody asks the place of w for a fork, and the stack in use
// does not know.
func (w *Worker) Deaf() bool {
	return w.place.forks.demand.Load() && w.forks.limit.Load() != limitDemanded
}

// Cancel is a context that ends without a goroutine.
type Cancel struct{ root forkRoot }

// End ends it.
func (c *Cancel) End() { c.root.cancelled.Store(true) }

// ForkJoinCancel is ForkJoinContext with c.
func ForkJoinCancel[A, R any](c *Cancel, s *Scheduler, body func(*Forks[A, R], A) R, arg A) R {
	return forkJoin(s, &c.root, body, arg)
}

// Raise asks the place with that index for a fork, once, as a searcher does that
// finds a computation open there. It returns the epoch in which it was, or 0.
func (s *Scheduler) SetDemand(index int) (epoch uint32) {
	p := s.places.all[index].Load()
	if epoch = p.forks.epoch.Load(); epoch&1 == 0 {
		return 0
	}
	p.forks.setDemand()
	return epoch
}

// Epoch returns the epoch of the place that runs the caller, and PromotedEver how
// many forks were promoted there, by all its holders.
func (w *Worker) Epoch() uint32 { return w.place.forks.epoch.Load() }

// PromotedEver is described there.
func (w *Worker) PromotedEver() uint64 { return w.place.counts.promoted }
