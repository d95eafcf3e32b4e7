package suite

import (
	"errors"
	"runtime"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/sched"
)

// indexTask is a task with its index in an array of tasks.
type indexTask = sched.Job[int]

// treeSetup measures a binary tree of tasks in an array: the children of task i are
// 2i+1 and 2i+2.
func (z sizes) treeSetup(workers int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	g := s.NewGroup(sched.GroupConfig{})
	var refused workload.FirstError
	size := z.tree
	tree := make([]indexTask, size)
	fn := func(w *sched.Worker, j *indexTask) {
		left := 2*j.Value + 1
		if left >= size {
			return
		}
		if err := g.Schedule(w, tree[left].Task()); err != nil {
			refused.Set(err)
		}
		if err := g.Schedule(w, tree[left+1].Task()); err != nil {
			refused.Set(err)
		}
	}
	for i := range tree {
		tree[i].Value, tree[i].Fn = i, fn
	}
	run := func(m *bench.Meter) error {
		before := s.Stats().Executed
		m.Start()
		err := g.Schedule(nil, tree[0].Task())
		err = errors.Join(err, g.Wait())
		m.Stop(size)
		return errors.Join(err, refused.Get(), executed(s, before, size))
	}
	var node func(i int)
	node = func(i int) {
		if left := 2*i + 1; left < size {
			go node(left)
			go node(left + 1)
		}
		refDone.Done()
	}
	reference := func(m *bench.Meter) error {
		m.Start()
		refDone.Add(size)
		go node(0)
		refDone.Wait()
		m.Stop(size)
		return nil
	}
	return &bench.Instance{
		Run:        run,
		References: []bench.Reference{{Name: refGoroutines, Run: reference}},
		Close:      func() error { return workload.Shutdown(s) },
	}, nil
}

// yieldSetup measures one task that schedules itself behind the queued tasks.
func (z sizes) yieldSetup(workers int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	task := &indexTask{Fn: func(w *sched.Worker, j *indexTask) {
		if j.Value--; j.Value == 0 {
			done <- nil
			return
		}
		if err := w.Schedule(j.Task()); err != nil {
			done <- err
		}
	}}
	run := func(m *bench.Meter) error {
		before := s.Stats().Executed
		task.Value = z.yield
		m.Start()
		err := s.Schedule(task.Task())
		if err == nil {
			err = <-done
		}
		m.Stop(z.yield)
		return errors.Join(err, executed(s, before, z.yield))
	}
	reference := func(m *bench.Meter) error {
		m.Start()
		for range z.yield {
			runtime.Gosched()
		}
		m.Stop(z.yield)
		return nil
	}
	return &bench.Instance{
		Run:        run,
		References: []bench.Reference{{Name: refGosched, Run: reference}},
		Close:      func() error { return workload.Shutdown(s) },
	}, nil
}

// chainSetup measures tasks each of which schedules the next one, so that one task is
// queued at a time.
func (z sizes) chainSetup(workers int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	size := z.chain
	chain := make([]indexTask, size)
	fn := func(w *sched.Worker, j *indexTask) {
		next := j.Value + 1
		if next == size {
			done <- nil
			return
		}
		if err := w.Schedule(chain[next].Task()); err != nil {
			done <- err
		}
	}
	for i := range chain {
		chain[i].Value, chain[i].Fn = i, fn
	}
	run := func(m *bench.Meter) error {
		before := s.Stats().Executed
		m.Start()
		err := s.Schedule(chain[0].Task())
		if err == nil {
			err = <-done
		}
		m.Stop(size)
		return errors.Join(err, executed(s, before, size))
	}
	reference := func(m *bench.Meter) error {
		refLeft = size
		m.Start()
		go link()
		<-refSignal
		m.Stop(size)
		if refLeft != 0 {
			return errors.New("some goroutines of the chain did not run")
		}
		return nil
	}
	return &bench.Instance{
		Run:        run,
		References: []bench.Reference{{Name: refGoroutines, Run: reference}},
		Close:      func() error { return workload.Shutdown(s) },
	}, nil
}

// link is one goroutine of a chain, of which only one exists at a time.
func link() {
	if refLeft--; refLeft == 0 {
		refSignal <- struct{}{}
		return
	}
	go link()
}
