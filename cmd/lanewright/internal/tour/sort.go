package tour

import (
	"context"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// tourSort is the first part of the tour.
func (t tour) tourSort(ctx context.Context, r *report) error {
	r.printf(`
1. Quicksort of %s integers, divided in two down to %d

   Each of the %s halves is a task of its own; most take less than a microsecond.

`, thousands(int64(t.size)), qsort.Cutoff, thousands(int64(t.parts)))
	a := make([]int32, t.size)
	run := func(sort func(l *lap) error) func(*lap) error {
		return func(l *lap) error {
			qsort.Fill(a)
			qsort.Shuffle(a)
			return sort(l)
		}
	}
	s := stage{name: "quicksort", ways: []way{
		{name: waySequential, run: run(func(l *lap) error {
			l.start()
			qsort.Sequential(a)
			l.stop()
			return workload.CheckSort(a, workload.NotCounted, t.parts)
		})},
		{name: wayGoroutines, run: run(func(l *lap) error {
			l.start()
			workload.GoSort(a)
			l.stop()
			l.tasks = int64(t.parts)
			return workload.CheckSort(a, workload.NotCounted, t.parts)
		})},
		{name: wayLanewright, run: run(func(l *lap) error { return t.sortTasks(l, a, r.Workers) })},
	}}
	if err := s.race(ctx, r, 4*time.Second); err != nil {
		return err
	}
	s.result = fmt.Sprintf("%016x", qsort.Checksum(a))
	if err := s.write(r); err != nil {
		return err
	}
	r.printf(`
   The tour checked every result and counted every task. Checksum %s.
   %s
   The memory of the tasks belongs to the program, which allocates many at a time. Scheduling a
   task needs a wake-up only while a worker is parked. A worker without tasks steals half of the
   queue of another.
`, s.result, s.verdict())
	return nil
}

// sortTasks sorts a on a scheduler of its own. The time includes the start of the
// scheduler.
func (t tour) sortTasks(l *lap, a []int32, workers int) error {
	l.start()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
	o := workload.NewSorter(s)
	err = o.Sort(a)
	l.stop()
	if err != nil {
		return err
	}
	l.tasks = int64(o.Tasks())
	if err := workload.Shutdown(s); err != nil {
		return err
	}
	l.stats = s.Stats()
	return workload.CheckSort(a, o.Tasks(), t.parts)
}
