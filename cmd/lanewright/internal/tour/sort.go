package tour

import (
	"context"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// tourSort is the first job.
func (t tour) tourSort(ctx context.Context, r *report) error {
	r.printf(`
1. Quicksort of %s integers, cut in two down to %d

   Each of the %s halves is handed over on its own; most take less than a microsecond.

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
		{name: wayOurs, run: run(func(l *lap) error { return t.sortOurs(l, a, r.Workers) })},
	}}
	if err := s.race(ctx, r, 4*time.Second); err != nil {
		return err
	}
	s.result = fmt.Sprintf("%016x", qsort.Checksum(a))
	if err := s.write(r); err != nil {
		return err
	}
	r.printf(`
   Every result was checked, and every task counted. Checksum %s.
   %s
   A task is memory of the program itself: none was allocated one by one, and handing one over
   woke nobody who was awake. A worker without work took half of what another had queued.
`, s.result, s.verdict())
	return nil
}

// sortOurs sorts a on a scheduler of its own: what it costs to start one is part
// of the time.
func (t tour) sortOurs(l *lap, a []int32, workers int) error {
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
