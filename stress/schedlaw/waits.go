package schedlaw

import (
	"fmt"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// lawWaits has more waiting goroutines than workers.
func lawWaits(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		g, ok := run.s.(Grouper)
		if !ok {
			run.without("Group")
			return
		}
		var fns []func()
		var waiting atomic.Int64
		n := run.workers + r.Between(0, 3)
		r.Shape += fmt.Sprintf(", %d goroutines wait", n)
		for range n {
			rng := r.Split()
			fns = append(fns, func() {
				for left := operations / n; left > 0 && !r.IsExpired(); {
					tasks := 1 + rng.IntN(min(left, 64))
					left -= tasks
					waiting.Add(1)
					run.wait(g.NewGroup(), nil, make([]bool, tasks))
					waiting.Add(-1)
				}
			})
		}
		done := r.Await(harness.Start(fns...), func() string {
			return fmt.Sprintf("%d Waits of external callers have not returned", waiting.Load())
		})
		if done {
			run.shutdown()
		}
	})
}

// wait schedules a task for each cell in g and waits for them. The cells are plain
// memory: Wait has to order the writes of the tasks before the reads of its caller.
func (run *trial) wait(g Group, w Worker, cells []bool) {
	run.mark(g, w, cells)
	run.checkWait(g, w, cells)
}

// checkWait waits for the tasks of the cells.
func (run *trial) checkWait(g Group, w Worker, cells []bool) {
	g.Wait(w)
	done := 0
	for _, ok := range cells {
		if ok {
			done++
		}
	}
	if done < len(cells) {
		run.r.Record("a Wait returned when %d of %d tasks of its group had run", done, len(cells))
	}
}

// mark schedules a task that sets the first cell and schedules the tasks of the other
// cells.
func (run *trial) mark(g Group, w Worker, cells []bool) {
	ok := g.Schedule(w, func(w Worker) {
		harness.Divide(1, len(cells), run.fan, func(lo, hi int) { run.mark(g, w, cells[lo:hi]) })
		cells[0] = true
	})
	if !ok {
		run.r.Record("a task of a group was refused by a scheduler that was not shut down")
	}
}

// lawShared has all workers schedule to a group without tasks, at the same time.
func lawShared(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		g, ok := run.s.(Grouper)
		if !ok {
			run.without("Group")
			return
		}
		tasks := []int{1, 8, 300}[r.Rand.IntN(3)] // of each worker
		r.Shape += fmt.Sprintf(", each worker schedules %d tasks to a group", tasks)
		for left := operations; left > 0 && !r.Recorded(); left -= tasks * run.workers {
			group, cells := g.NewGroup(), make([]bool, tasks*run.workers)
			begun, scheduled := newMeeting(r, run.workers), newMeeting(r, run.workers)
			gate := make(chan struct{})
			held := r.Rand.IntN(2) == 0 // no task of the group runs before the Wait
			run.invite(scheduled, run.workers, func(w Worker) {
				lo := begun.arrive() * tasks
				r.Hold(begun.all)
				harness.Divide(lo, lo+tasks, 4, func(lo, hi int) { run.mark(group, w, cells[lo:hi]) })
				if scheduled.arrive(); held {
					r.Hold(gate)
				}
			})
			if !scheduled.await("tasks of external callers") {
				return
			}
			wait := harness.Start(func() {
				close(gate)
				run.checkWait(group, nil, cells)
			})
			if !r.Await(wait, func() string { return "a Wait of an external caller has not returned" }) {
				return
			}
		}
		run.shutdown()
	})
}

// lawNested runs trees of tasks, each of which waits for its children.
func lawNested(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		g, ok := run.s.(Grouper)
		if !ok {
			run.without("Group")
			return
		}
		depth := []int{1, 2, 10, 100}[r.Rand.IntN(4)]
		roots := r.Between(1, 3*run.workers)
		fan := r.Between(1, max(1, 8/depth))
		r.Shape = fmt.Sprintf("%d workers, %d tasks wait at once, %d deep, each for %d", run.workers, roots, depth, fan)
		var waiting atomic.Int64
		tree := func() {
			for left := operations; left > 0 && !r.IsExpired(); left -= roots * depth {
				run.nest(g, nil, roots, fan, depth, &waiting)
			}
		}
		done := r.Await(harness.Start(tree), func() string {
			return fmt.Sprintf("%d Waits of tasks have not returned", waiting.Load())
		})
		if done {
			run.shutdown()
		}
	})
}

// nest schedules n tasks that nest one level less, and waits for them.
func (run *trial) nest(g Grouper, w Worker, n, fan, depth int, waiting *atomic.Int64) {
	cells := make([]bool, n)
	group := g.NewGroup()
	for i := range cells {
		group.Schedule(w, func(w Worker) {
			if depth > 1 {
				run.nest(g, w, fan, fan, depth-1, waiting)
			}
			cells[i] = true
		})
	}
	waiting.Add(1)
	group.Wait(w)
	waiting.Add(-1)
	for i := range cells {
		if !cells[i] {
			run.r.Record("a Wait of a task returned before task %d of %d had run", i, n)
		}
	}
}
