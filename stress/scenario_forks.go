package stress

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/sched"
)

var forkScenarios = []scenario{
	{"fork-trees", runForkTrees},
	{"fork-ends", runForkEnds},
	{"fork-small", runForkSmall},
	{"fork-again", runForkAgain},
}

// runForkTrees computes generated trees from several goroutines and from tasks, while
// other tasks run. It then checks that no place was lost.
func runForkTrees(r *round) {
	for range r.size(32) {
		p := newForkRun(r, 1+r.rng.IntN(8), false)
		plans := p.plans()
		tasks := r.pick(0, 20, 100)
		r.concurrently(len(plans)+1, func(i int) {
			if i < len(plans) {
				p.computeAll(plans[i])
			} else {
				p.traffic(tasks)
			}
		})
		p.repaired.Store(true)
		for kind := range burstKinds {
			p.burst((kind + tasks) % burstKinds)
		}
		r.must("Shutdown", p.s.Shutdown(context.Background()))
		if p.checkEnd(0, slices.Concat(plans...)); r.Failed() {
			return
		}
	}
}

// plans generates the plans of several callers.
func (p *forkRun) plans() [][]plan {
	plans := make([][]plan, 1+p.r.rng.IntN(4))
	for i := range plans {
		for range 1 + p.r.rng.IntN(6) {
			plans[i] = append(plans[i], p.generatePlan())
		}
	}
	return plans
}

// runForkEnds computes generated trees while their contexts end, and while the
// scheduler is shut down or closed. Each ForkJoin returns the right result, or the
// cause of its context.
func runForkEnds(r *round) {
	for range r.size(32) {
		p := newForkRun(r, 1+r.rng.IntN(8), true)
		plans := p.plans()
		for _, pl := range slices.Concat(plans...) {
			switch r.rng.IntN(4) {
			case 0:
				pl.tree.withContext()
				pl.tree.cancel(errForkCancel)
			case 1, 2:
				pl.tree.withContext()
			}
		}
		closes, pauses, tasks := r.rng.IntN(2) == 0, r.rng.IntN(r.pick(1, 20, 200)), r.pick(0, 20)
		var returned int
		r.concurrently(len(plans)+3, func(i int) {
			switch i - len(plans) {
			case 0:
				p.traffic(tasks)
			case 1:
				for range pauses {
					runtime.Gosched()
				}
				returned = p.end(closes)
			case 2:
				for _, pl := range slices.Concat(plans...) {
					if runtime.Gosched(); pl.tree.cancel != nil {
						r.faults.cancels.Add(1)
						pl.tree.cancel(errForkCancel)
					}
				}
			default:
				p.computeAll(plans[i])
			}
		})
		p.computeAll([]plan{{p.generatePlan().tree, byCaller}}) // after the end
		if p.checkEnd(returned, slices.Concat(plans...)); r.Failed() {
			r.Errorf("closed: %v", closes)
			return
		}
	}
}

// end ends the scheduler and returns the number of tasks that it returned.
func (p *forkRun) end(closes bool) int {
	if !closes {
		p.r.faults.shutdowns.Add(1)
		p.r.must("Shutdown", p.s.Shutdown(context.Background()))
		return 0
	}
	p.r.faults.closes.Add(1)
	now, err := p.s.Close()
	p.r.must("Close", err)
	later, err := p.s.Join(context.Background())
	p.r.must("Join", err)
	return len(now) + len(later)
}

// runForkSmall has callers of many small computations, and pauses. In a pause the
// scheduler becomes idle. After it, a longer computation is shared among the workers
// again.
func runForkSmall(r *round) {
	monitors := forkMonitors()
	for range r.size(6) {
		p := newForkRun(r, 2+r.rng.IntN(7), false)
		p.repaired.Store(true)
		for range 3 {
			callers, each, depth := r.pick(1, 2, 4, 16), r.size(r.pick(1, 100, 2000)), 1+r.rng.IntN(8)
			inside := r.rng.IntN(2) == 0
			small := func() {
				for range each {
					if got, want := sched.ForkJoin(p.s, smallBody, depth), 1<<depth; got != want {
						r.Errorf("a small computation returned %d, want %d", got, want)
						return
					}
				}
			}
			r.concurrently(callers, func(i int) {
				if inside && i%2 == 0 {
					r.must("Do", p.s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { small() }}))
				} else {
					small()
				}
			})
			r.did(callers * each)
			if p.pause(monitors); r.Failed() {
				return
			}
			p.burst(2)
		}
		r.must("Shutdown", p.s.Shutdown(context.Background()))
		p.checkEnd(0, nil)
	}
}

// smallBody counts the leaves of a tree.
func smallBody(f *sched.Forks[int, int], depth int) int {
	if depth == 0 {
		return 1
	}
	f.Push(depth - 1)
	if f.Wanted() {
		f.Promote()
	}
	n := smallBody(f, depth-1)
	if f.TakeBack() {
		return n + smallBody(f, depth-1)
	}
	return n + f.Await()
}

// pause waits until all workers are parked and no more fork monitors run than before.
func (p *forkRun) pause(monitors int) {
	limit := time.Now().Add(p.r.hangTimeout / 2)
	for {
		st := p.s.Stats()
		if st.Held == 0 && st.Parked == st.Workers && forkMonitors() <= monitors {
			return
		}
		if time.Now().After(limit) {
			p.r.Errorf("after the last computation the scheduler is not idle: %+v\n%s", st, stuckGoroutines())
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// forkMonitors counts the fork monitors of all schedulers.
func forkMonitors() int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "sched.(*Scheduler).startForkMonitor in goroutine")
}

// runForkAgain has computations whose root blocks, waits and joins, and then offers a fork.
// Each time the root gets a place again, and another worker takes the fork.
func runForkAgain(r *round) {
	for range r.size(16) {
		s := r.open(sched.Config{MaxWorkers: 2 + r.rng.IntN(3)}, nil)
		a := &forkAgain{r: r, s: s, ways: make([]int, 1+r.rng.IntN(8)), limit: time.Now().Add(r.hangTimeout / 2)}
		for i := range a.ways {
			a.ways[i] = r.rng.IntN(len(waysToBlock))
		}
		done, want := make(chan struct{}), len(a.ways)
		compute := func(*sched.Worker, *sched.Task) {
			defer close(done)
			if got := sched.ForkJoin(s, a.body, 0); got != want && !r.Failed() {
				r.Errorf("the results of the forks add up to %d, want %d", got, want)
			}
		}
		if r.rng.IntN(2) == 0 {
			compute(nil, nil)
		} else {
			r.must("Schedule", s.Schedule(&sched.Task{Fn: compute}))
		}
		<-done
		r.did(want)
		if r.end(s, -1); r.Failed() {
			return
		}
	}
}

// A forkAgain is one computation of runForkAgain.
type forkAgain struct {
	r     *round
	s     *sched.Scheduler
	ways  []int // indices of waysToBlock: how the root blocks, one time after the other
	limit time.Time
	begun atomic.Bool // a worker has begun the last fork
}

// waysToBlock names how a root blocks.
var waysToBlock = [...]string{"Blocking", "Worker.Wait", "Group.Wait", "a join"}

// body is the root for 0, and a fork for 1.
func (a *forkAgain) body(f *sched.Forks[int, int], n int) (sum int) {
	if n == 1 {
		a.begun.Store(true)
		runtime.Gosched() // the root may wait for the fork by then
		return 1
	}
	for _, way := range a.ways {
		a.block(f, way)
		for f.Worker().ID() < 0 { // another worker may have had the free place for a moment
			if a.reportLate("a body has no place again after %s", way) {
				return sum
			}
			a.block(f, way)
		}
		sum += a.share(f, way)
	}
	return sum
}

// block releases the place of the root for a moment.
func (a *forkAgain) block(f *sched.Forks[int, int], way int) {
	a.r.faults.blocks.Add(1)
	g := a.s.NewGroup(sched.GroupConfig{})
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { runtime.Gosched() }}
	switch way {
	case 0:
		f.Worker().Blocking(runtime.Gosched)
	case 1: // for a task in the injection queue, which this wait does not run
		a.r.must("Group.Schedule", g.Schedule(nil, task))
		a.r.must("Worker.Wait", f.Worker().Wait(g))
	case 2:
		a.r.must("Group.Schedule", g.Schedule(f.Worker(), task))
		a.r.must("Group.Wait", g.Wait())
	case 3:
		if f.Worker().ID() >= 0 {
			a.share(f, way)
		} else {
			f.Worker().Blocking(runtime.Gosched)
		}
	}
}

// share forks and returns the result of the fork, which another worker takes.
func (a *forkAgain) share(f *sched.Forks[int, int], way int) int {
	a.begun.Store(false)
	f.Fork(1)
	for !a.begun.Load() && !a.reportLate("no worker takes a fork of a body after %s", way) {
		if f.Wanted() {
			f.Promote()
		}
		runtime.Gosched()
	}
	if f.TakeBack() {
		return a.body(f, 1)
	}
	return f.Await()
}

// reportLate records a violation when the limit has passed, and reports whether it has.
func (a *forkAgain) reportLate(format string, way int) bool {
	late := time.Now().After(a.limit)
	if late && !a.r.Failed() {
		a.r.Errorf(format, waysToBlock[way])
	}
	return late
}
