package stress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

var callerScenarios = []scenario{
	{"run-callers", runCallersOfRun},
	{"do-storm", runDoStorm},
	{"blocking-storm", runBlockingStorm},
	{"group-limit", runGroupLimit},
	{"group-counts", runGroupCounts},
	{"wait-contexts", runWaitContexts},
	{"mixed-ends", runMixedEnds},
}

// runCallersOfRun has callers of Run that enter and leave, and one that stays. When the
// Spawner fails, the staying caller has to find all tasks that the others leave.
func runCallersOfRun(r *round) {
	for range r.size(48) {
		var fault func(uint64) spawnFault
		if r.rng.IntN(2) == 0 {
			fault = func(uint64) spawnFault { return spawnFails }
		}
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 3, 8)}, fault)
		run := func(ctx context.Context) {
			r.want("Run", s.Run(ctx), context.Canceled)
			r.faults.cancels.Add(1)
		}
		background, stop := context.WithCancel(context.Background())
		var staying sync.WaitGroup
		staying.Go(func() { r.guard("Run", func() { run(background) }) })
		const callers, each = 2, 30
		all := newLatch(callers * each)
		transient, period := 1+r.rng.IntN(4), 1+r.rng.IntN(4)
		r.concurrently(callers+transient, func(i int) {
			if i < callers {
				for n := range each {
					r.want("Schedule", s.Go(all.countDown), sched.ErrQueued)
					if n%period == 0 {
						runtime.Gosched()
					}
				}
				return
			}
			for n := range 20 {
				ctx, cancel := context.WithCancel(background)
				if n%period == 0 { // a task ends the Run of its worker
					r.want("Schedule", s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { cancel() }}), sched.ErrQueued)
				} else {
					go cancel()
				}
				run(ctx)
				cancel()
			}
		})
		<-all.open // all tasks have run
		stop()
		staying.Wait()
		r.did(callers * each)
		r.end(s, -1)
	}
}

// runDoStorm has more callers of Do than there are places. Some tasks call Do again.
func runDoStorm(r *round) {
	s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 4)}, nil)
	callers, each, size := r.pick(2, 16, 64), r.size(128), 1+r.rng.IntN(4)
	var entered atomic.Int64
	r.concurrently(callers, func(i int) {
		for n := range each {
			var ran atomic.Int32
			var tasks []*sched.Task
			want := int32(0)
			for k := range size {
				nested := n%8 == 0 && k == 0
				if want++; nested {
					want++
				}
				tasks = append(tasks, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					ran.Add(1)
					if nested {
						r.must("Do inside", s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}))
					}
				}})
			}
			r.must("Do", s.Do(tasks...))
			if ran.Load() != want {
				r.Errorf("caller %d: Do returned after %d of %d tasks", i, ran.Load(), want)
				return
			}
			entered.Add(int64(want))
			r.did(1)
		}
	})
	r.end(s, int(entered.Load()))
}

// runBlockingStorm has many tasks on few places that block until all of them block.
func runBlockingStorm(r *round) {
	for range r.size(16) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 3)}, nil)
		n := 1 + r.rng.IntN(200)
		blocked, done := newLatch(n), newLatch(2*n)
		inside := r.rng.IntN(2) == 0
		task := func(w *sched.Worker, _ *sched.Task) {
			r.faults.blocks.Add(1)
			w.Blocking(func() { blocked.countDown(); <-blocked.open })
			// A worker without a place can schedule.
			r.must("Schedule after Blocking", w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { done.countDown() }}))
			done.countDown()
		}
		if inside {
			r.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				for range n {
					r.must("Worker.Schedule", w.Schedule(&sched.Task{Fn: task}))
				}
			}}))
		} else {
			for range n {
				r.must("Schedule", s.Schedule(&sched.Task{Fn: task}))
			}
		}
		<-done.open
		r.did(2 * n)
		want := 2 * n
		if inside {
			want++
		}
		r.end(s, want)
	}
}

// runGroupLimit checks that a group runs at most its limit of functions at once, that
// each runs once, and that the wait reports all errors.
func runGroupLimit(r *round) {
	for range r.size(16) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 8)}, nil)
		limit := 1 + r.rng.IntN(6)
		g := s.NewGroup(sched.GroupConfig{Limit: limit, AllErrors: true})
		var running, ran, tried atomic.Int32
		var lost sync.Map
		fn := func(id int) func() error {
			return func() error {
				if n := running.Add(1); n > int32(limit) {
					r.Errorf("%d functions run at once, the limit is %d", n, limit)
				}
				ran.Add(1)
				runtime.Gosched()
				running.Add(-1)
				if id%16 == 0 {
					err := fmt.Errorf("error %d", id)
					lost.Store(id, err)
					return err
				}
				return nil
			}
		}
		const callers, each = 3, 40
		r.concurrently(callers, func(i int) {
			for n := range each {
				id := i*each + n
				switch {
				case n%5 == 4: // from a task, where waiting for a permit releases the place
					r.must("Do", s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { g.Go(fn(id)) }}))
				case n%5 == 3:
					if !g.TryGo(fn(id)) {
						tried.Add(1)
					}
				default:
					g.Go(fn(id))
				}
			}
		})
		err := g.Wait()
		if got, want := ran.Load(), callers*each-tried.Load(); got != want {
			r.Errorf("%d functions ran, want %d", got, want)
		}
		lost.Range(func(_, e any) bool {
			if !errors.Is(err, e.(error)) {
				r.Errorf("the wait does not report: %v", e)
			}
			return true
		})
		r.did(callers * each)
		r.end(s, int(ran.Load())+callers*each/5)
	}
}

// runGroupCounts waits for groups whose tasks schedule each other and end after the
// tasks that they have scheduled, on many places. The waiter adds up the counts of the
// group while they change, and must not see an end before there is one.
func runGroupCounts(r *round) {
	s := r.open(sched.Config{MaxWorkers: r.pick(2, 8, 63)}, nil)
	entered := 0
	for range r.size(60) {
		g := s.NewGroup(sched.GroupConfig{})
		roots, depth := 1+r.rng.IntN(4), 10+r.rng.IntN(60)
		var live, ran atomic.Int32
		var task func(left int) *sched.Task
		task = func(left int) *sched.Task {
			live.Add(1)
			return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				before := ran.Add(1)
				if left > 0 {
					r.must("Group.Schedule", g.Schedule(w, task(left-1)))
					for n := 0; n < 20 && ran.Load() == before; n++ {
						runtime.Gosched() // the child may run and end on another worker
					}
				}
				live.Add(-1)
			}}
		}
		for range roots {
			r.must("Group.Schedule", g.Schedule(nil, task(depth)))
		}
		r.concurrently(2, func(int) {
			r.must("Wait", g.Wait())
			if n := live.Load(); n != 0 {
				r.Errorf("the wait ended before %d tasks did", n)
			}
		})
		r.did(roots * (depth + 1))
		if entered += roots * (depth + 1); r.Failed() {
			return
		}
	}
	r.end(s, entered)
}

// runWaitContexts ends waits by their contexts while the tasks of the group run. The
// last wait sees the end of the group.
func runWaitContexts(r *round) {
	for range r.size(32) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 4)}, nil)
		g := s.NewGroup(sched.GroupConfig{})
		n := 1 + r.rng.IntN(40)
		var ran atomic.Int32
		begun, release := newLatch(n), make(chan struct{})
		for range n {
			r.must("Group.Schedule", g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				begun.countDown()
				w.Blocking(func() { <-release })
				ran.Add(1)
			}}))
		}
		<-begun.open // otherwise a wait that helps could run a task that blocks
		r.faults.blocks.Add(uint64(n))
		inside := 1 + r.rng.IntN(3)
		r.concurrently(4, func(i int) {
			ctx, cancel := context.WithCancel(context.Background())
			go cancel()
			if i < inside { // a task that waits as its worker
				done := make(chan struct{})
				r.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					r.want("WaitContext", g.WaitContext(w.Context(ctx)), context.Canceled)
					close(done)
				}}))
				<-done
			} else {
				r.want("WaitContext", g.WaitContext(ctx), context.Canceled)
			}
			r.faults.cancels.Add(1)
		})
		close(release)
		r.must("Wait", g.Wait())
		if ran.Load() != int32(n) {
			r.Errorf("the wait ended after %d of %d tasks", ran.Load(), n)
		}
		r.did(n + 4)
		r.end(s, n+inside)
	}
}

// runMixedEnds has groups of tasks that return, panic, exit and block. The wait has to
// report the failures, and the scheduler has to continue.
func runMixedEnds(r *round) {
	s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 3, 8)}, nil)
	entered := 0
	for range r.size(100) {
		g := s.NewGroup(sched.GroupConfig{})
		var ran atomic.Int32
		panics, exits := 0, 0
		n := 1 + r.rng.IntN(20)
		for range n {
			how := r.rng.IntN(6)
			switch how {
			case 0:
				panics++
			case 1:
				exits++
			}
			r.must("Group.Schedule", g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran.Add(1)
				switch how {
				case 0:
					panic(how)
				case 1:
					runtime.Goexit()
				case 2:
					w.Blocking(runtime.Gosched)
					r.faults.blocks.Add(1)
				}
			}}))
		}
		raised, err := waitRaised(g)
		if ran.Load() != int32(n) || raised != (panics > 0) || err == nil && exits > 0 && !raised || err != nil && !errors.Is(err, sched.ErrGoexit) {
			r.Errorf("%d of %d tasks ran, %d panicked and %d exited: panicked %v, error %v", ran.Load(), n, panics, exits, raised, err)
			return
		}
		r.faults.panics.Add(uint64(panics))
		r.faults.goexits.Add(uint64(exits))
		entered += n
		r.did(n + 1)
	}
	r.end(s, entered)
}

// waitRaised waits for g and reports whether Wait panicked with the panic of a task.
func waitRaised(g *sched.Group) (raised bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			_, raised = p.(*sched.PanicError)
		}
	}()
	return false, g.Wait()
}
