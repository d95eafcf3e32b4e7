package peers

import (
	"slices"

	"github.com/lanewright/lanewright/internal/bench"
)

// localTree runs a binary tree of tasks. Task i schedules its children, which are the
// tasks 2i+1 and 2i+2.
func (z Sizes) localTree(p *Pool) *bench.Instance {
	tasks := make([]func(), z.tree)
	ran := make([]int32, z.tree) // task i writes ran[i]
	for i := range tasks {
		left := 2*i + 1
		tasks[i] = func() {
			ran[i]++
			if left < len(tasks) {
				p.spawn(tasks[left])
				p.spawn(tasks[left+1])
			}
			p.Done()
		}
	}
	return &bench.Instance{Run: timed(z.tree, func() {
		p.Add(z.tree)
		p.schedule(tasks[0])
		p.Wait()
	}, func() error { return once(ran) })}
}

// once returns an error unless each task ran once. It clears the counts.
func once(ran []int32) error {
	wrong := slices.ContainsFunc(ran, func(n int32) bool { return n != 1 })
	clear(ran)
	return errUnless(!wrong)
}

// yields runs one task that schedules itself behind the queued tasks.
func (z Sizes) yields(p *Pool) *bench.Instance {
	left := 0
	work := func() {
		done := make(chan struct{})
		var task func()
		task = func() {
			if left--; left == 0 {
				close(done)
				return
			}
			p.spawn(task)
		}
		p.schedule(task)
		<-done
	}
	if p.yield != nil {
		work = func() {
			for ; left > 0; left-- {
				p.yield()
			}
		}
	}
	run := timed(z.yield, work, func() error { return errUnless(left == 0) })
	return &bench.Instance{Run: func(m *bench.Meter) error {
		left = z.yield
		return run(m)
	}}
}

// chains runs tasks each of which schedules the next one, so that one is queued at a time.
func (z Sizes) chains(p *Pool) *bench.Instance {
	tasks := make([]func(), z.chain)
	ran := make([]int32, z.chain)
	done := make(chan struct{}, 1)
	for i := range tasks {
		tasks[i] = func() {
			ran[i]++
			if i+1 == len(tasks) {
				done <- struct{}{}
				return
			}
			p.spawn(tasks[i+1])
		}
	}
	return &bench.Instance{Run: timed(z.chain, func() {
		p.schedule(tasks[0])
		<-done
	}, func() error { return once(ran) })}
}
