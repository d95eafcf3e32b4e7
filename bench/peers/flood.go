package peers

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
)

// noCheck is the check for empty tasks. The WaitGroup of the pool has shown that all of
// them ended, and they have no other result.
func noCheck() error { return nil }

// external schedules empty tasks from external callers.
func (z Sizes) external(p *Pool, callers int) *bench.Instance {
	return &bench.Instance{Run: timed(z.flood, func() { p.flood(z.flood, callers, p.Done) }, noCheck)}
}

// flood schedules the same task many times, from that many callers, and waits for all.
// The task must call Done.
func (p *Pool) flood(tasks, callers int, task func()) {
	p.Add(tasks)
	scheduleShare := func(i int) {
		for range tasks*(i+1)/callers - tasks*i/callers {
			p.schedule(task)
		}
	}
	for i := 1; i < callers; i++ {
		go scheduleShare(i)
	}
	scheduleShare(0)
	p.Wait()
}

// noBatches returns why a peer has no batches, or "". Goroutines have none either; they
// show the cost of a program without batches.
func noBatches(p *Peer) string {
	if p.Name == "pond" || p.Name == "goroutines" {
		return ""
	}
	return "it schedules tasks one by one: see sched/external-1"
}

// batches schedules empty tasks in batches, or one by one if the pool has no batches.
func (z Sizes) batches(p *Pool) *bench.Instance {
	if p.batch == nil {
		return z.external(p, 1)
	}
	tasks := make([]func(), z.batch)
	for i := range tasks {
		tasks[i] = p.Done
	}
	return &bench.Instance{Run: timed(z.flood, func() {
		p.Add(z.flood)
		for left := z.flood; left > 0; left -= z.batch {
			p.batch(tasks[:min(left, z.batch)])
		}
		p.Wait()
	}, noCheck)}
}

// efficiency compares tasks that work for d with the ideal: one goroutine for each worker,
// with its share of the work in one loop.
func efficiency(p *Pool, tasks int, d time.Duration) *bench.Instance {
	work := bench.NewWork(d)
	var wrong atomic.Bool
	do := func() {
		if !work.Do() {
			wrong.Store(true)
		}
	}
	check := func() error {
		if wrong.Load() {
			return errors.New("a task computed a wrong result")
		}
		return nil
	}
	task := func() {
		do()
		p.Done()
	}
	ideal := func() {
		var loops sync.WaitGroup
		for i := range p.workers {
			loops.Go(func() {
				for range tasks*(i+1)/p.workers - tasks*i/p.workers {
					do()
				}
			})
		}
		loops.Wait()
	}
	return &bench.Instance{
		Run:        timed(tasks, func() { p.flood(tasks, 1, task) }, check),
		References: []bench.Reference{{Name: refIdeal, Run: timed(tasks, ideal, check)}},
	}
}
