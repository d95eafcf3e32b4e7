//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// demandModel is a searcher that requests a fork once and an owner that must answer.
type demandModel struct {
	m           *interleave.M
	s           *sched.Scheduler
	requestedIn atomix.Uint32 // the epoch of the request, once the searcher has made it
}

// newDemandModel makes the threads. No worker takes a fork: the searcher is neither a
// requester nor a worker, and no worker can be started.
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

// emptyFork is the argument of a fork whose body returns at once.
const emptyFork = 1

// root runs body as a computation, nested in the computation of the caller if there is
// one.
func (d *demandModel) root(body func(f *forks)) {
	sched.ForkJoin(d.s, func(f *forks, i int) int {
		if i != emptyFork {
			body(f)
		}
		return 0
	}, 0)
}

// check makes a fork and joins it. The law: this fork or an earlier one answers a request
// that was made in this epoch and was complete before the fork.
func (d *demandModel) check(f *forks) {
	requested := d.requestedIn.Load() == f.Worker().Epoch()
	if requested && f.Worker().MissesDemand() {
		d.m.Fatalf("a fork is requested, and the next fork would not be promoted")
	}
	f.Push(emptyFork)
	if f.Wanted() {
		f.Promote()
	}
	if requested && f.Worker().PromotedEver() == 0 {
		d.m.Fatalf("a fork was requested, and the next fork was not promoted")
	}
	if !f.TakeBack() {
		f.Await()
	}
}

// TestModelForkDemand: the next fork at the latest answers a request. The owner may enter
// or leave a nested computation in between. It may also end a computation and begin
// another one.
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
				promote(f, emptyFork) // for another requester
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

// TestModelForkOldest: a promotion promotes the oldest fork, which belongs to the outer
// computation.
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

// TestModelForkRequested: a computation ends with the right result while an observer
// requests a fork and a worker takes it.
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

// TestModelForkPromotion: a fork that is promoted while a worker searches, requests forks
// or parks is run by a worker. The owner does not continue before.
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

// TestModelForkForeign: a joiner does not run a task of another origin on top of its wait.
// The task waits for a step that the body takes after the join.
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

// TestModelForkTwoRequesters: each of two workers that request forks without end gets one.
// The owner does not continue before.
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
					md.must(md.s.Schedule(a)) // so that workers start and observe the computation
					md.must(md.s.Schedule(b))
				} else if uint32(f.Worker().ID())+1 == owner.Load() {
					return 0 // no worker has taken it
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
