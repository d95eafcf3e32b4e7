//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// demand is a searcher that asks once, and what the owner finds out about it.
type demandModel struct {
	m           *interleave.M
	s           *sched.Scheduler
	requestedIn atomix.Uint32 // the epoch in which the searcher asked, once it has
}

// newDemandModel makes the threads. Nobody comes for a fork: the searcher is neither a
// beggar nor a worker, and no worker can be started.
func newDemandModel(m *interleave.M, owner func(d *demandModel)) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: spawnFunc(func(func()) error { return errSpawn })})
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	d := &demandModel{m: m, s: s}
	m.Go("owner", func() { owner(d) })
	m.Go("searcher", func() {
		if epoch := s.SetDemand(0); epoch != 0 {
			d.requestedIn.Store(epoch)
		}
	})
}

// ended is the body of a fork.
const emptyFork = 1

// root runs body as a computation, on top of what the caller runs.
func (d *demandModel) root(body func(f *forks)) {
	sched.ForkJoin(d.s, func(f *forks, i int) int {
		if i != emptyFork {
			body(f)
		}
		return 0
	}, 0)
}

// check makes a fork and joins it. The law: a demand that was complete before, and
// in this epoch, has been met by then.
func (d *demandModel) check(f *forks) {
	met := d.requestedIn.Load() == f.Worker().Epoch()
	if met && f.Worker().MissesDemand() {
		d.m.Fatalf("somebody asks, and the next fork would not be fed")
	}
	f.Push(emptyFork)
	if f.Wanted() {
		f.Promote()
	}
	if met && f.Worker().PromotedEver() == 0 {
		d.m.Fatalf("somebody has asked, and the next fork was not promoted")
	}
	if !f.TakeBack() {
		f.Await()
	}
}

// TestModelForkDemand: who asks for a fork gets one of the next that are made, also
// when the owner enters or leaves a nested computation meanwhile, or ends one and
// begins another.
func TestModelForkDemand(t *testing.T) {
	o := interleave.Options{Preemptions: 4}
	interleave.Check(t, "fork-demand", o, func(m *interleave.M) {
		newDemandModel(m, func(d *demandModel) {
			d.root(func(f *forks) {
				d.check(f)
				d.check(f)
			})
		})
	})
	interleave.Check(t, "fork-demand-again", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		newDemandModel(m, func(d *demandModel) {
			d.root(func(f *forks) {
				promote(f, emptyFork) // for somebody else
				d.check(f)
				f.TakeBack()
				f.Await()
			})
		})
	})
	interleave.Check(t, "fork-demand-nested", o, func(m *interleave.M) {
		newDemandModel(m, func(d *demandModel) {
			d.root(func(f *forks) {
				d.root(d.check)
				d.check(f)
			})
		})
	})
	interleave.Check(t, "fork-demand-roots", o, func(m *interleave.M) {
		newDemandModel(m, func(d *demandModel) {
			d.root(d.check)
			d.root(d.check)
		})
	})
}

// TestModelForkOldest: what is fed is the oldest fork, that of the outer computation.
func TestModelForkOldest(t *testing.T) {
	interleave.Check(t, "fork-oldest", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		m.Go("owner", func() {
			d := &demandModel{m: m, s: md.s}
			d.root(func(outer *forks) {
				outer.Fork(emptyFork)
				d.root(func(inner *forks) {
					promote(inner, emptyFork)
					if outer.Promoted() != 1 || inner.Promoted() != 0 {
						m.Fatalf("promoted: %d of the outer, %d of the inner", outer.Promoted(), inner.Promoted())
					}
					if !inner.TakeBack() {
						m.Fatalf("the inner fork was promoted")
					}
				})
				outer.TakeBackPointer()
				outer.Await()
			})
		})
	})
}

// TestModelForkRequested: a watch asks, a worker comes, and the computation ends with
// the right result, whoever runs what.
func TestModelForkRequested(t *testing.T) {
	interleave.Check(t, "fork-requested", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			interleave.Go("observer", func() {
				var o sched.Observer
				o.Observe(fm.s)
				o.Observe(fm.s)
			})
			f.Fork(1)
			f.Fork(2)
			n := fm.join(f, 2)
			return n + fm.join(f, 1)
		}, result(10), result(100))
		m.Go("root", func() { fm.runs(110) })
	})
}

// TestModelForkPromotion: a fork is fed while a worker comes, begs, gives up or parks. The
// owner does not go on before somebody has run it.
func TestModelForkPromotion(t *testing.T) {
	interleave.Check(t, "fork-promotion", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var ran park.Sema
		ran.Init(1)
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			ran.Wait()
			return fm.join(f, 1)
		}, func(*forks) int { ran.Post(); return 1 })
		fm.must(fm.s.Schedule(fm.task("task", nil)))
		m.Go("root", func() { fm.runs(1) })
	})
}

// TestModelForkForeign: a joiner finds a task of somebody else, which needs what the
// body does after the join. It does not run that on top.
func TestModelForkForeign(t *testing.T) {
	interleave.Check(t, "fork-foreign", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var begun, joined park.Sema
		begun.Init(1)
		joined.Init(1)
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			begun.Wait() // another worker runs it
			n := fm.join(f, 1)
			joined.Post()
			return n
		}, func(f *forks) int {
			begun.Post()
			fm.must(f.Worker().Schedule(fm.task("foreign", func(*sched.Worker) { joined.Wait() })))
			return 10
		})
		m.Go("root", func() { fm.runs(10) })
	})
}

// TestModelForkTwoRequesters: two workers want a fork each, and never give up; the owner
// does not go on before both have one.
func TestModelForkTwoRequesters(t *testing.T) {
	defer sched.SetRequestRounds(1 << 20)()
	o := interleave.Options{Strategy: interleave.Random, Executions: 2_000}
	interleave.Check(t, "fork-two-requesters", o, func(m *interleave.M) {
		md := newModel(m, 3, 0)
		a, b := md.task("a", nil), md.task("b", nil)
		var owner, begun atomix.Uint32
		m.Go("root", func() {
			sched.ForkJoin(md.s, func(f *forks, i int) int {
				if i == 0 {
					owner.Store(uint32(f.Worker().ID()) + 1)
					md.must(md.s.Schedule(a)) // so that workers come, and see that it is open
					md.must(md.s.Schedule(b))
				} else if uint32(f.Worker().ID())+1 == owner.Load() {
					return 0 // nobody wanted it
				} else {
					begun.Add(1)
				}
				open := 0
				for begun.Load() < 2 {
					if i == 0 {
						f.Push(1)
						if f.Wanted() {
							f.Promote()
						}
						if f.Promoted() > open {
							open++
						} else {
							f.TakeBack()
						}
					}
					park.Yield()
				}
				for ; open > 0; open-- {
					f.TakeBack()
					f.Await()
				}
				return 0
			}, 0)
		})
	})
}
