package stress

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

var loadScenarios = []scenario{
	{"wake-all", runWakeAll},
	{"overflow", runOverflow},
	{"reschedule", runReschedule},
	{"nested-1000", runNested},
	{"ring-of-two", func(r *round) { runRing(r, 2) }},
	{"ring-of-three", func(r *round) { runRing(r, 3) }},
	{"oversubscribed", runOversubscribed},
	{"gc", runGC},
	{"retention", runRetention},
	{"max-workers", runMaxWorkers},
}

// runWakeAll wakes all workers of an idle scheduler repeatedly. It schedules as many
// tasks as there are workers, and no task ends before all have begun. A task that stays
// queued while a worker is parked never begins.
func runWakeAll(r *round) {
	workers := 1 + r.rng.IntN(8)
	s := r.open(sched.Config{MaxWorkers: workers}, nil)
	entered := 0
	for range r.size(200) {
		begun, done := newLatch(workers), newLatch(workers)
		tasks := make([]*sched.Task, workers)
		for i := range tasks {
			tasks[i] = &sched.Task{Fn: func(*sched.Worker, *sched.Task) { begun.countDown(); <-begun.open; done.countDown() }}
		}
		switch entered += workers; r.rng.IntN(4) {
		case 0:
			r.must("Schedule", s.Schedule(tasks...))
		case 1:
			for _, task := range tasks {
				r.must("Schedule", s.Schedule(task))
			}
		case 2:
			r.concurrently(workers, func(i int) { r.must("Schedule", s.Schedule(tasks[i])) })
		case 3: // from a task: the other workers have to steal
			entered++
			r.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				r.must("Worker.Schedule", w.Schedule(tasks...))
			}}))
		}
		<-done.open
		r.did(workers)
		for range r.rng.IntN(8) {
			runtime.Gosched() // some workers may park
		}
	}
	r.end(s, entered)
}

// runOverflow has tasks that schedule more tasks than their ring holds, in each of
// three ways, while other workers steal.
func runOverflow(r *round) {
	for range r.size(8) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 4)}, nil)
		parents, n := 1+r.rng.IntN(3), 600+r.rng.IntN(600)
		all := newLatch(parents * (n + 1))
		ran := make([]atomic.Int32, parents*n)
		mode := r.rng.IntN(3)
		for i := range parents {
			r.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				var b sched.Batch
				var tasks []*sched.Task
				for k := range n {
					task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran[i*n+k].Add(1); all.countDown() }}
					switch mode {
					case 0:
						r.must("Worker.Schedule", w.Schedule(task))
					case 1:
						r.must("Add", b.Add(task))
					case 2:
						tasks = append(tasks, task)
					}
				}
				r.must("ScheduleBatch", w.ScheduleBatch(&b))
				r.must("Schedule", w.Schedule(tasks...))
				all.countDown()
			}}))
		}
		<-all.open
		r.did(parents * n)
		r.end(s, parents*(n+1))
		for i := range ran {
			if c := ran[i].Load(); c != 1 {
				r.Errorf("task %d of %d ran %d times", i, len(ran), c)
				return
			}
		}
	}
}

// runReschedule has tasks that schedule themselves without end, and external callers
// whose calls have to return.
func runReschedule(r *round) {
	workers := r.pick(1, 2, 4)
	s := r.open(sched.Config{MaxWorkers: workers}, nil)
	var stop atomic.Bool
	selves := r.pick(1, workers, 40, 300)
	external, yields := r.rng.IntN(4) == 0, r.rng.IntN(2) == 0
	done := newLatch(selves)
	self := func(w *sched.Worker, t *sched.Task) {
		switch {
		case stop.Load():
			done.countDown()
			return
		case yields:
			runtime.Gosched()
		}
		if external {
			r.must("Schedule", s.Schedule(t))
		} else {
			r.must("Worker.Schedule", w.Schedule(t))
		}
	}
	for range selves {
		r.must("Schedule", s.Schedule(&sched.Task{Fn: self}))
	}
	r.concurrently(3, func(i int) {
		for range r.size(10) {
			switch i {
			case 0:
				run := newLatch(1)
				r.must("Go", s.Go(run.countDown))
				<-run.open
			case 1:
				r.must("Do", s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
			case 2:
				g := s.NewGroup(sched.GroupConfig{})
				r.must("Group.Schedule", g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
				r.must("Wait", g.Wait())
			}
			r.did(1)
		}
	})
	stop.Store(true)
	<-done.open
	r.end(s, -1)
}

// runNested nests waits a thousand deep.
func runNested(r *round) {
	s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 8)}, nil)
	depth, mode := r.size(1000), r.rng.IntN(4)
	var ran int // each task runs while the outer one waits
	var level func(w *sched.Worker, left int)
	level = func(w *sched.Worker, left int) {
		if ran++; left == 0 {
			return
		}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { level(w, left-1) }}
		switch how := (mode + left*mode) % 4; how {
		case 0:
			var g sched.Group
			r.must("Group.Schedule", g.Schedule(w, task))
			r.must("Worker.Wait", w.Wait(&g))
		case 1:
			g := s.NewGroup(sched.GroupConfig{})
			r.must("Group.Schedule", g.Schedule(nil, task))
			r.must("Group.Wait", g.Wait())
		case 2:
			r.must("Do", s.Do(task))
		case 3:
			done := make(chan struct{})
			r.must("Worker.Schedule", w.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				level(w, left-1)
				close(done)
			}}))
			r.faults.blocks.Add(1)
			w.Blocking(func() { <-done })
		}
	}
	r.must("Do", s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { level(w, depth) }}))
	if ran != depth+1 {
		r.Errorf("%d levels ran, want %d", ran, depth+1)
	}
	r.did(depth + 1)
	r.end(s, depth+1)
}

// runRing has n schedulers in a ring. The tasks of each schedule tasks into the next
// one, and wait there.
func runRing(r *round, n int) {
	ss := make([]*sched.Scheduler, n)
	for i := range ss {
		ss[i] = r.open(sched.Config{MaxWorkers: r.pick(1, 2, 3)}, nil)
	}
	tokens, hops, depth := 1+r.rng.IntN(16), r.size(200), 1+r.rng.IntN(12)
	home := newLatch(tokens)
	var hop func(left int) *sched.Task
	hop = func(left int) *sched.Task {
		return &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			if left == 0 {
				home.countDown()
				return
			}
			r.must("Schedule", ss[left%n].Schedule(hop(left-1)))
		}}
	}
	for range tokens {
		r.must("Schedule", ss[0].Schedule(hop(hops)))
	}
	var wait func(at, left int) func(*sched.Worker, *sched.Task)
	var waited atomic.Int32
	wait = func(at, left int) func(*sched.Worker, *sched.Task) {
		return func(w *sched.Worker, _ *sched.Task) {
			if waited.Add(1); left == 0 {
				return
			}
			next := (at + 1) % n
			g := ss[next].NewGroup(sched.GroupConfig{})
			r.must("Group.Schedule", g.Schedule(w, &sched.Task{Fn: wait(next, left-1)}))
			r.must("Worker.Wait", w.Wait(g))
		}
	}
	r.concurrently(n, func(i int) {
		r.must("Do", ss[i].Do(&sched.Task{Fn: wait(i, depth)}))
	})
	if got, want := waited.Load(), int32(n*(depth+1)); got != want {
		r.Errorf("%d tasks waited, want %d", got, want)
	}
	<-home.open
	r.did(tokens*hops + n*depth)
	for _, s := range ss {
		r.end(s, -1)
	}
}

// runOversubscribed runs a tree on 64 workers while as many goroutines compute as there
// are processors.
func runOversubscribed(r *round) {
	var stop atomic.Bool
	var busyLoops sync.WaitGroup
	computing := newLatch(runtime.GOMAXPROCS(0))
	for range runtime.GOMAXPROCS(0) {
		busyLoops.Go(func() {
			computing.countDown()
			for n := 1; !stop.Load(); n++ {
				if n%(1<<20) == 0 { // some systems do not preempt goroutines
					runtime.Gosched()
				}
			}
		})
	}
	<-computing.open
	s := r.open(sched.Config{MaxWorkers: 64}, nil)
	entered := 0
	for range r.size(16) {
		depth := 6 + r.rng.IntN(4)
		nodes := 1<<(depth+1) - 1
		all := newLatch(nodes)
		var node func(left int) *sched.Task
		node = func(left int) *sched.Task {
			return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if left > 0 {
					r.must("Worker.Schedule", w.Schedule(node(left-1), node(left-1)))
				}
				all.countDown()
			}}
		}
		r.must("Schedule", s.Schedule(node(depth)))
		r.must("Do", s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
		<-all.open
		entered += nodes + 1
	}
	stop.Store(true)
	busyLoops.Wait()
	r.did(entered)
	r.end(s, entered)
}

// runGC runs programs while the garbage collector runs without a pause.
func runGC(r *round) {
	var stop atomic.Bool
	var collector sync.WaitGroup
	collector.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	defer collector.Wait()
	defer stop.Store(true)
	p := newProgram(r)
	s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 4)}, nil)
	p.use(s, false)
	entries := 0
	for range r.size(100) {
		p.read(r.generateScript())
		p.run(nil)
		entries += p.entries()
	}
	// These tasks are reachable from a queue only.
	n := 2000
	all := newLatch(n)
	r.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		for range n {
			r.must("Worker.Schedule", w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { all.countDown() }}))
		}
	}}))
	<-all.open
	r.did(n)
	r.end(s, entries+n+1)
}

// runMaxWorkers has the highest possible MaxWorkers.
func runMaxWorkers(r *round) {
	s := r.open(sched.Config{MaxWorkers: maxWorkers}, nil)
	if _, err := sched.New(sched.Config{MaxWorkers: maxWorkers + 1}); err == nil {
		r.Errorf("New takes more than %d workers", maxWorkers)
	}
	n := r.size(200)
	for range 2 {
		begun, done := newLatch(n), newLatch(n)
		for range n {
			r.must("Go", s.Go(func() { begun.countDown(); <-begun.open; done.countDown() }))
		}
		<-done.open
	}
	r.did(2 * n)
	r.end(s, 2*n)
}
