package stress

import (
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

// A payload is memory that a task keeps reachable.
type payload struct {
	task sched.Task
	data [256]byte
}

// runRetention runs tasks in one of seven ways and drops them. While the scheduler is
// idle, the garbage collector has to free all of them.
func runRetention(r *round) {
	c := sched.Config{MaxWorkers: r.pick(1, 2, 4)}
	if r.rng.IntN(2) == 0 { // workers keep the running task for OnPanic
		c.OnPanic = func(*sched.Task, any, []byte) {}
	}
	s := r.open(c, nil)
	var made, cleaned atomic.Int64
	dropPayloads(r, s, r.rng.IntN(7), func(fn func(*sched.Worker)) *sched.Task {
		b := new(payload)
		made.Add(1)
		runtime.AddCleanup(b, func(*atomic.Int64) { cleaned.Add(1) }, &made)
		b.task.Fn = func(w *sched.Worker, _ *sched.Task) {
			b.data[0]++
			if fn != nil {
				fn(w)
			}
		}
		return &b.task
	})
	for cleaned.Load() < made.Load() {
		runtime.GC()
		runtime.Gosched()
	}
	r.did(int(made.Load()))
	r.end(s, int(made.Load()))
}

// dropPayloads is a separate function, so that its frame keeps no task reachable.
//
//go:noinline
func dropPayloads(r *round, s *sched.Scheduler, mode int, task func(func(*sched.Worker)) *sched.Task) {
	const n = 50
	all := newLatch(n)
	countDown := func(*sched.Worker) { all.countDown() }
	switch mode {
	case 0:
		for range n {
			r.must("Schedule", s.Schedule(task(countDown)))
		}
	case 1:
		var b sched.Batch
		for range n {
			r.must("Add", b.Add(task(countDown)))
		}
		r.must("ScheduleBatch", s.ScheduleBatch(&b))
	case 2:
		g := s.NewGroup(sched.GroupConfig{})
		for range n {
			r.must("Group.Schedule", g.Schedule(nil, task(countDown)))
		}
		r.must("Wait", g.Wait())
	case 3:
		for range n / 2 {
			r.must("Do", s.Do(task(countDown), task(countDown)))
		}
	case 4:
		r.must("Do", s.Do(task(func(w *sched.Worker) {
			var g sched.Group
			for range n {
				r.must("Group.Schedule", g.Schedule(w, task(countDown)))
			}
			r.must("Worker.Wait", w.Wait(&g))
		})))
	case 5: // through the overflow queue
		r.must("Schedule", s.Schedule(task(func(w *sched.Worker) {
			for range 12 * n {
				r.must("Worker.Schedule", w.Schedule(task(nil)))
			}
			for range n {
				r.must("Worker.Schedule", w.Schedule(task(countDown)))
			}
		})))
	case 6:
		for range n {
			r.must("Schedule", s.Schedule(task(func(w *sched.Worker) {
				r.faults.blocks.Add(1)
				w.Blocking(runtime.Gosched)
				r.must("Worker.Schedule", w.Schedule(task(countDown)))
			})))
		}
	}
	<-all.open
}
