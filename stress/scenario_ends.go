package stress

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

var endScenarios = []scenario{
	{"shutdown-at-every-step", func(r *round) { runEndAtEveryStep(r, false) }},
	{"close-at-every-step", func(r *round) { runEndAtEveryStep(r, true) }},
	{"shutdown-under-load", func(r *round) { runEndUnderLoad(r, false) }},
	{"close-under-load", func(r *round) { runEndUnderLoad(r, true) }},
}

// A trace is the sequence of operations of one caller on a scheduler that is ended
// concurrently, and the record of each task.
type trace struct {
	r      *round
	s      *sched.Scheduler
	closes bool // with Close and Join; otherwise with Shutdown
	group  *sched.Group

	mu    sync.Mutex
	tasks map[*sched.Task]*tracedTask
}

// A tracedTask is accepted or refused. An accepted task runs or is returned.
type tracedTask struct {
	grouped  bool
	refused  bool
	ran      atomic.Int32
	returned int
}

// add makes a task that calls fn.
func (tr *trace) add(grouped bool, fn func(w *sched.Worker)) *sched.Task {
	tt := &tracedTask{grouped: grouped}
	task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		tt.ran.Add(1)
		if fn != nil {
			fn(w)
		}
	}}
	tr.mu.Lock()
	tr.tasks[task] = tt
	tr.mu.Unlock()
	return task
}

// noteResult records the result of scheduling tasks. inside states that a callback
// scheduled them: a drain accepts those.
func (tr *trace) noteResult(err error, inside bool, tasks ...*sched.Task) {
	tr.r.did(1)
	if err == nil || errors.Is(err, sched.ErrQueued) {
		return
	}
	if !errors.Is(err, sched.ErrShutdown) && !errors.Is(err, sched.ErrClosed) || inside && !tr.closes {
		tr.r.Errorf("Schedule: %v", err)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, task := range tasks {
		tr.tasks[task].refused = true
	}
}

// step does one generated operation.
func (tr *trace) step(op, n int) {
	s := tr.s
	switch op {
	case 0:
		task := tr.add(false, nil)
		tr.noteResult(s.Schedule(task), false, task)
	case 1, 2: // a batch
		var b sched.Batch
		var tasks []*sched.Task
		for range n {
			task := tr.add(op == 2, nil)
			tr.r.must("Add", b.Add(task))
			tasks = append(tasks, task)
		}
		var err error
		if op == 1 {
			err = s.ScheduleBatch(&b)
		} else {
			err = tr.group.ScheduleBatch(nil, &b)
		}
		tr.noteResult(err, false, tasks...)
	case 3:
		task := tr.add(true, nil)
		tr.noteResult(tr.group.Schedule(nil, task), false, task)
	case 4: // a task that schedules
		task := tr.add(false, func(w *sched.Worker) {
			for range n {
				child := tr.add(false, nil)
				tr.noteResult(w.Schedule(child), true, child)
			}
		})
		tr.noteResult(s.Schedule(task), false, task)
	case 5: // a task that blocks and then schedules without a place
		task := tr.add(false, func(w *sched.Worker) {
			tr.r.faults.blocks.Add(1)
			w.Blocking(runtime.Gosched)
			child := tr.add(true, nil)
			tr.noteResult(tr.group.Schedule(w, child), true, child)
		})
		tr.noteResult(s.Schedule(task), false, task)
	case 6: // a task that waits
		task := tr.add(false, func(w *sched.Worker) {
			var g sched.Group
			child := tr.add(true, nil)
			tr.noteResult(g.Schedule(w, child), true, child)
			tr.waited(w.Wait(&g))
		})
		tr.noteResult(s.Schedule(task), false, task)
	case 7:
		first, second := tr.add(true, nil), tr.add(true, nil)
		err := s.Do(first, second)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		one, two := tr.tasks[first], tr.tasks[second]
		switch ran := one.ran.Load() + two.ran.Load(); {
		case err == nil && ran != 2, errors.Is(err, sched.ErrShutdown) && ran != 0:
			tr.r.Errorf("Do of two tasks: %v, %d ran", err, ran)
		case err != nil && ran == 0:
			one.refused, two.refused = true, true
		}
		tr.waited(err)
	}
}

const traceOps = 8

// waited checks the error of a wait.
func (tr *trace) waited(err error) {
	tr.r.did(1)
	switch {
	case err == nil, tr.closes && errors.Is(err, sched.ErrClosed), !tr.closes && errors.Is(err, sched.ErrShutdown):
	default:
		tr.r.Errorf("wait: %v", err)
	}
}

// end ends the scheduler.
func (tr *trace) end() {
	if !tr.closes {
		tr.r.faults.shutdowns.Add(1)
		tr.r.must("Shutdown", tr.s.Shutdown(context.Background()))
		return
	}
	tr.r.faults.closes.Add(1)
	now, err := tr.s.Close()
	tr.r.must("Close", err)
	later, err := tr.s.Join(context.Background())
	tr.r.must("Join", err)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, task := range append(now, later...) {
		if tt := tr.tasks[task]; tt != nil {
			tt.returned++
		} else {
			tr.r.Errorf("Close or Join returned a task that was not scheduled")
		}
	}
}

// check checks that each task ran once, was refused, or was returned. The error of the
// wait covers the tasks of the group that did not run.
func (tr *trace) check() {
	err := tr.group.Wait()
	tr.waited(err)
	ran := 0
	for _, tt := range tr.tasks {
		n := int(tt.ran.Load())
		ran += n
		ok := n+tt.returned == 1
		switch {
		case tt.refused:
			ok = n+tt.returned == 0
		case tt.grouped && tr.closes:
			ok = n <= 1 && tt.returned == 0
		}
		if !ok {
			tr.r.Errorf("a task ran %d times and was returned %d times: grouped %v, refused %v", n, tt.returned, tt.grouped, tt.refused)
		}
	}
	tr.r.checkEnded(tr.s, ran)
}

// runEndAtEveryStep runs a generated trace once more than it has steps, and ends the
// scheduler one step later each time. The caller continues with the remaining steps.
func runEndAtEveryStep(r *round, closes bool) {
	for range r.size(32) {
		type step struct{ op, n int }
		steps := make([]step, 1+r.rng.IntN(10))
		for i := range steps {
			steps[i] = step{r.rng.IntN(traceOps), 1 + r.rng.IntN(3)}
		}
		workers, faulty, pause := 1+r.rng.IntN(4), r.rng.IntN(4) == 0, r.rng.IntN(4)
		fault := r.generateFaults()
		for k := range len(steps) + 1 {
			tr := &trace{r: r, closes: closes, tasks: map[*sched.Task]*tracedTask{}}
			if faulty {
				tr.s = r.open(sched.Config{MaxWorkers: workers}, fault)
			} else {
				tr.s = r.open(sched.Config{MaxWorkers: workers}, nil)
			}
			tr.group = tr.s.NewGroup(sched.GroupConfig{})
			for _, st := range steps[:k] {
				tr.step(st.op, st.n)
			}
			var ending sync.WaitGroup
			ending.Go(func() { r.guard("end", tr.end) })
			for range pause {
				runtime.Gosched()
			}
			for _, st := range steps[k:] {
				tr.step(st.op, st.n)
			}
			ending.Wait()
			tr.check()
			if r.Failed() {
				r.Errorf("steps %v, ended after %d of them, MaxWorkers %d, faulty %v", steps, k, workers, faulty)
				return
			}
		}
	}
}

// runEndUnderLoad ends schedulers that several callers and their tasks keep busy. Each
// accepted task runs or is returned.
func runEndUnderLoad(r *round, closes bool) {
	for range r.size(8) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 3, 8)}, nil)
		var accepted, ran atomic.Int64
		isAccepted := func(err error) (ok bool) {
			if err == nil {
				accepted.Add(1)
				return true
			}
			if !errors.Is(err, sched.ErrShutdown) && !errors.Is(err, sched.ErrClosed) {
				r.Errorf("Schedule: %v", err)
			}
			return false
		}
		children := int32(r.rng.IntN(600)) // more than a ring can hold
		load := func() {
			for n := 0; n < 3000; n++ {
				ok := isAccepted(s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					ran.Add(1)
					for range n % 4 {
						if !isAccepted(w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})) && !closes {
							r.Errorf("a drain refused a task of a callback")
						}
					}
				}}))
				if !ok {
					return
				}
			}
		}
		_ = isAccepted(s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			ran.Add(1)
			for range children {
				isAccepted(w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}))
			}
		}}))
		pauses := r.rng.IntN(200)
		var returned int
		r.concurrently(4, func(i int) {
			if i > 0 {
				load()
				return
			}
			for range pauses {
				runtime.Gosched()
			}
			if !closes {
				r.faults.shutdowns.Add(1)
				r.must("Shutdown", s.Shutdown(context.Background()))
				return
			}
			r.faults.closes.Add(1)
			now, err := s.Close()
			r.must("Close", err)
			later, err := s.Join(context.Background())
			r.must("Join", err)
			returned = len(now) + len(later)
		})
		r.did(int(accepted.Load()))
		if got := ran.Load() + int64(returned); got != accepted.Load() || !closes && returned > 0 {
			r.Errorf("%d tasks were accepted, %d ran and %d were returned", accepted.Load(), ran.Load(), returned)
		}
		r.checkEnded(s, int(ran.Load()))
		if r.Failed() {
			return
		}
	}
}
