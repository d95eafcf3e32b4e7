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
type demand struct {
	m     *interleave.M
	s     *sched.Scheduler
	asked atomix.Uint32 // the epoch in which the searcher asked, once it has
}

// newDemand makes the threads. Nobody comes for a fork: the searcher is neither a
// beggar nor a worker, and no worker can be started.
func newDemand(m *interleave.M, owner func(d *demand)) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: spawnFunc(func(func()) error { return errSpawn })})
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	d := &demand{m: m, s: s}
	m.Go("owner", func() { owner(d) })
	m.Go("searcher", func() {
		if epoch := s.Raise(0); epoch != 0 {
			d.asked.Store(epoch)
		}
	})
}

// ended is the body of a fork.
const ended = 1

// root runs body as a computation, on top of what the caller runs.
func (d *demand) root(body func(f *forks)) {
	sched.ForkJoin(d.s, func(f *forks, i int) int {
		if i != ended {
			body(f)
		}
		return 0
	}, 0)
}

// check makes a fork and joins it. The law: a demand that was complete before, and
// in this epoch, has been met by then.
func (d *demand) check(f *forks) {
	met := d.asked.Load() == f.Worker().Epoch()
	f.Push(ended)
	if f.Hungry() {
		f.Feed()
	}
	if met && f.Worker().PromotedEver() == 0 {
		d.m.Fatalf("somebody has asked, and the next fork was not promoted")
	}
	if !f.Mine() {
		f.Await()
	}
}

// TestModelForkDemand: who asks for a fork gets one of the next that are made, also
// when the owner enters or leaves a nested computation meanwhile, or ends one and
// begins another.
func TestModelForkDemand(t *testing.T) {
	o := interleave.Options{Preemptions: 4}
	interleave.Check(t, "fork-demand", o, func(m *interleave.M) {
		newDemand(m, func(d *demand) {
			d.root(func(f *forks) {
				d.check(f)
				d.check(f)
			})
		})
	})
	interleave.Check(t, "fork-demand-nested", o, func(m *interleave.M) {
		newDemand(m, func(d *demand) {
			d.root(func(f *forks) {
				d.root(d.check)
				d.check(f)
			})
		})
	})
	interleave.Check(t, "fork-demand-roots", o, func(m *interleave.M) {
		newDemand(m, func(d *demand) {
			d.root(d.check)
			d.root(d.check)
		})
	})
}

// TestModelForkOuter: what is fed is the oldest fork, that of the outer computation.
func TestModelForkOuter(t *testing.T) {
	interleave.Check(t, "fork-outer", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		m.Go("owner", func() {
			d := &demand{m: m, s: md.s}
			d.root(func(outer *forks) {
				outer.Fork(ended)
				d.root(func(inner *forks) {
					promote(inner, ended)
					if outer.Promoted() != 1 || inner.Promoted() != 0 {
						m.Fatalf("promoted: %d of the outer, %d of the inner", outer.Promoted(), inner.Promoted())
					}
					if !inner.Mine() {
						m.Fatalf("the inner fork was promoted")
					}
				})
				outer.Unfork()
				outer.Await()
			})
		})
	})
}

// TestModelForkAsked: a watch asks, a worker comes, and the computation ends with
// the right result, whoever runs what.
func TestModelForkAsked(t *testing.T) {
	interleave.Check(t, "fork-asked", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			interleave.Go("watch", func() {
				var w sched.Watch
				w.Look(fm.s)
				w.Look(fm.s)
			})
			f.Fork(1)
			f.Fork(2)
			n := fm.join(f, 2)
			return n + fm.join(f, 1)
		}, result(10), result(100))
		m.Go("root", func() { fm.runs(110) })
	})
}

// TestModelForkFed: a fork is fed while a worker comes, begs, gives up or parks. The
// owner does not go on before somebody has run it.
func TestModelForkFed(t *testing.T) {
	interleave.Check(t, "fork-fed", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
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

// TestModelForkFedTwice: two computations are fed while one beggar is counted, on
// which both rely. The forks need each other, so a worker has to come, too.
func TestModelForkFedTwice(t *testing.T) {
	defer sched.BegFor(0)()
	interleave.Check(t, "fork-fed-twice", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 4, 0)
		var open, begin park.Sema
		open.Init(2)
		begin.Init(2)
		var ran [2]park.Sema
		for i := range ran {
			ran[i].Init(3)
		}
		for me, name := range []string{"one", "other"} {
			m.Go(name, func() {
				sched.ForkJoin(md.s, func(f *forks, i int) int {
					if i == ended {
						for range 3 {
							ran[me].Post()
						}
						ran[1-me].Wait()
						return 0
					}
					open.Post()
					begin.Wait()
					promote(f, ended)
					ran[0].Wait()
					ran[1].Wait()
					f.Mine()
					return f.Await()
				}, 0)
			})
		}
		m.Go("beggar", func() {
			open.Wait()
			open.Wait()
			begin.Post()
			begin.Post()
			md.s.BegOnce()
		})
	})
}

// TestModelForkFedJoiner: two forks are fed while a joiner is counted as a beggar. It
// takes one, which needs the other: a worker has to come for that.
func TestModelForkFedJoiner(t *testing.T) {
	interleave.Check(t, "fork-fed-joiner", interleave.Options{}, func(m *interleave.M) {
		var begun, two, three park.Sema
		begun.Init(1)
		two.Init(1)
		three.Init(2)
		var fm *forkModel
		fm = newForkModel(m, 3, func(f *forks) int {
			promote(f, 1)
			begun.Wait() // another one runs it
			return fm.join(f, 1)
		}, func(f *forks) int {
			begun.Post()
			promote(f, 2)
			promote(f, 3)
			two.Wait()
			three.Wait()
			n := fm.join(f, 3)
			return n + fm.join(f, 2)
		}, func(*forks) int {
			two.Post()
			three.Wait()
			return 10
		}, func(*forks) int {
			three.Post()
			three.Post()
			return 100
		})
		m.Go("root", func() { fm.runs(110) })
		m.Go("beggar", func() { fm.s.BegOnce() })
	})
}

// TestModelForkTwoBeggars: two workers want a fork each, and never give up; the owner
// does not go on before both have one.
func TestModelForkTwoBeggars(t *testing.T) {
	defer sched.BegFor(1 << 20)()
	o := interleave.Options{Strategy: interleave.Random, Executions: 2_000}
	interleave.Check(t, "fork-two-beggars", o, func(m *interleave.M) {
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
						if f.Hungry() {
							f.Feed()
						}
						if f.Promoted() > open {
							open++
						} else {
							f.Mine()
						}
					}
					park.Yield()
				}
				for ; open > 0; open-- {
					f.Mine()
					f.Await()
				}
				return 0
			}, 0)
		})
	})
}
