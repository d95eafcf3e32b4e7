package peers

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
)

// noCheck is for tasks that do nothing: that all have ended, which the WaitGroup of
// the pool tells, is the whole result.
func noCheck() error { return nil }

// external hands over empty tasks from outside.
func (z Sizes) external(p *Pool, callers int) *bench.Instance {
	return &bench.Instance{Run: timed(z.flood, func() { p.flood(z.flood, callers, p.Done) }, noCheck)}
}

// flood hands over that many times the same task, which calls Done, from as many
// goroutines as there are callers, and waits for all.
func (p *Pool) flood(tasks, callers int, task func()) {
	p.Add(tasks)
	feed := func(i int) {
		for range tasks*(i+1)/callers - tasks*i/callers {
			p.hand(task)
		}
	}
	for i := 1; i < callers; i++ {
		go feed(i)
	}
	feed(0)
	p.Wait()
}

// noBatches tells which peers have no way to hand over many tasks at once.
// Goroutines stand for what a program does that has none.
func noBatches(p *Peer) string {
	if p.Name == "pond" || p.Name == "goroutines" {
		return ""
	}
	return "it takes tasks one by one: see sched/external-1"
}

// batches hands over empty tasks in batches, or one by one where there are none.
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

// efficiency compares tasks that work for d each with the ideal: as many goroutines
// as there are workers, each with its share of the work in one loop.
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
			return errors.New("the work of a task gave a wrong result")
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
