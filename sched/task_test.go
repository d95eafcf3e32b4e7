package sched_test

import (
	"errors"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestBatch: a batch of n tasks runs n tasks, and an empty batch runs none. Z-003.
func TestBatch(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, n := range []int{0, 1, 2, 127, 128, 129, 255, 256, 257, 1000, 5000} {
		l := newLatch(n + 1)
		tasks := make([]sched.Task, n)
		var b, other sched.Batch
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) { l.hit() }
			to := &b
			if i >= n/2 {
				to = &other
			}
			must(t, to.Add(&tasks[i]))
		}
		must(t, b.Append(&other))
		if b.Len() != n || other.Len() != 0 {
			t.Fatalf("Len = %d and %d, want %d and 0", b.Len(), other.Len(), n)
		}
		must(t, s.ScheduleBatch(&b))
		if b.Len() != 0 {
			t.Fatalf("a scheduled batch still has %d tasks", b.Len())
		}
		l.hit()
		l.wait(t)
	}
}

// TestBatchFromInside: a callback schedules batches through its worker, and each task runs.
// Z-018.
func TestBatchFromInside(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, n := range []int{1, 255, 256, 257, 3000} {
		l := newLatch(n)
		tasks := make([]sched.Task, n)
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) { l.hit() }
		}
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			var b sched.Batch
			for i := range tasks {
				if err := b.Add(&tasks[i]); err != nil {
					t.Error(err)
				}
			}
			if err := w.ScheduleBatch(&b); err != nil {
				t.Error(err)
			}
		}}))
		l.wait(t)
	}
}

// TestJob: a Job passes its value to its function, and may be run again.
func TestJob(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	j := &sched.Job[[]int]{}
	j.Fn = func(w *sched.Worker, j *sched.Job[[]int]) { j.Value = append(j.Value, w.ID()) }
	for range 3 {
		must(t, s.Do(j.Task()))
	}
	if len(j.Value) != 3 || j.Value[0] != 0 {
		t.Fatalf("Value = %v", j.Value)
	}
}

// TestRescheduleItself: one task schedules itself 10^6 times from its callback. Z-009, B4.
// V-02b.
func TestRescheduleItself(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 20_000
	}
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		l := newLatch(1)
		left := n
		task := &sched.Task{}
		task.Fn = func(w *sched.Worker, self *sched.Task) {
			if left--; left == 0 {
				l.hit()
				return
			}
			if err := w.Schedule(self); err != nil {
				t.Error(err)
			}
		}
		must(t, s.Schedule(task))
		l.wait(t)
	}
}

// TestScheduledFromItsOwnCallback: a callback may schedule its own task again from its first
// instruction on, through every function that schedules. V-02b.
func TestScheduledFromItsOwnCallback(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{})
	batch := func(task *sched.Task) *sched.Batch {
		b := new(sched.Batch)
		if err := b.Add(task); err != nil {
			t.Error(err)
		}
		return b
	}
	modes := []func(w *sched.Worker, self *sched.Task) error{
		func(w *sched.Worker, self *sched.Task) error { return w.Schedule(self) },
		func(_ *sched.Worker, self *sched.Task) error { return s.Schedule(self) },
		func(_ *sched.Worker, self *sched.Task) error { return s.Do(self) },
		func(w *sched.Worker, self *sched.Task) error { return g.Schedule(w, self) },
		func(_ *sched.Worker, self *sched.Task) error { return g.Schedule(nil, self) },
		func(w *sched.Worker, self *sched.Task) error { return w.ScheduleBatch(batch(self)) },
		func(_ *sched.Worker, self *sched.Task) error { return s.ScheduleBatch(batch(self)) },
		func(w *sched.Worker, self *sched.Task) error { return g.ScheduleBatch(w, batch(self)) },
	}
	const rounds = 50
	l := newLatch(1 + rounds*len(modes))
	at := 0 // written by the callback only, which never runs twice at a time
	task := &sched.Task{}
	task.Fn = func(w *sched.Worker, self *sched.Task) {
		if at < rounds*len(modes) {
			mode := modes[at%len(modes)]
			at++
			if err := mode(w, self); err != nil {
				t.Error(err)
			}
		}
		l.hit()
	}
	must(t, s.Schedule(task))
	l.wait(t)
	must(t, g.Wait())
	atRest(t, s)
}

// TestScheduledTwice: a queued task is refused, and it may be scheduled again when it runs.
// Z-009, B4. V-02a.
func TestScheduledTwice(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	release, blocked := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { blocked.hit(); <-release }))
	blocked.wait(t)
	l := newLatch(1)
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	must(t, s.Schedule(task))
	var b sched.Batch
	mustBe(t, s.Schedule(task), sched.ErrAlreadyScheduled)
	mustBe(t, b.Add(task), sched.ErrAlreadyScheduled)
	mustBe(t, s.Do(task), sched.ErrAlreadyScheduled)
	close(release)
	l.wait(t)
}

// TestQueuedTaskIsRefused: every function that schedules refuses a queued task together with the
// other tasks of the call, and the queued task runs once. V-02a, V-03a.
func TestQueuedTaskIsRefused(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	must(t, err)
	other := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := s.NewGroup(sched.GroupConfig{})
	var ran, free int
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
	fresh := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { free++ }}
	must(t, queuedOrNil(s.Schedule(task)))
	var b sched.Batch
	check := func(w *sched.Worker, where string) {
		for name, err := range map[string]error{
			"Schedule":              s.Schedule(task),
			"Schedule, last":        s.Schedule(fresh, task),
			"Schedule, twice":       s.Schedule(fresh, fresh),
			"Do":                    s.Do(task),
			"Do, last":              s.Do(fresh, task),
			"Group.Schedule":        g.Schedule(nil, fresh, task),
			"Batch.Add":             b.Add(task),
			"another scheduler":     other.Schedule(task),
			"another scheduler, Do": other.Do(task),
		} {
			if !errors.Is(err, sched.ErrAlreadyScheduled) {
				t.Errorf("%s %s = %v, want ErrAlreadyScheduled", name, where, err)
			}
		}
		if w == nil {
			return
		}
		for name, err := range map[string]error{
			"Worker.Schedule": w.Schedule(fresh, task),
			"Group.Schedule":  g.Schedule(w, fresh, task),
		} {
			if !errors.Is(err, sched.ErrAlreadyScheduled) {
				t.Errorf("%s %s = %v, want ErrAlreadyScheduled", name, where, err)
			}
		}
	}
	check(nil, "outside of callbacks")
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { check(w, "in a callback") }}))
	if b.Len() != 0 || ran+free != 0 {
		t.Errorf("the batch holds %d tasks, and the tasks ran %d and %d times; want 0", b.Len(), ran, free)
	}
	must(t, queuedOrNil(s.Schedule(fresh)))
	atRest(t, s)
	must(t, g.Wait())
	if ran != 1 || free != 1 {
		t.Errorf("the tasks ran %d and %d times, want once", ran, free)
	}
}

// TestCopyOfAQueuedTaskIsRefused: the copy of a queued task has the mark of the task and is
// refused. The task itself runs once. V-04b.
func TestCopyOfAQueuedTaskIsRefused(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	must(t, err)
	ran := 0
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
	job := &sched.Job[int]{Fn: func(*sched.Worker, *sched.Job[int]) { ran++ }}
	must(t, queuedOrNil(s.Schedule(task, job.Task())))
	taskCopy, jobCopy := *task, *job
	atRest(t, s)
	live := newScheduler(t, sched.Config{MaxWorkers: 1})
	var b sched.Batch
	for _, c := range []*sched.Task{&taskCopy, jobCopy.Task()} {
		mustBe(t, live.Schedule(c), sched.ErrAlreadyScheduled)
		mustBe(t, live.Do(c), sched.ErrAlreadyScheduled)
		mustBe(t, b.Add(c), sched.ErrAlreadyScheduled)
	}
	if ran != 2 {
		t.Errorf("%d runs, want 2", ran)
	}
	// A copy of a task that is not queued is a task of its own.
	idle := *task
	must(t, live.Do(&idle))
	if ran != 3 {
		t.Errorf("%d runs, want 3", ran)
	}
}

// TestBatchesThatShareTasksOrCycle: a task is in at most one batch, and no batch is appended to
// itself. V-02a, V-03a, V-03b.
func TestBatchesThatShareTasksOrCycle(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	l := newLatch(1)
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	var a, b sched.Batch
	must(t, a.Add(task))
	mustBe(t, a.Add(task), sched.ErrAlreadyScheduled)
	mustBe(t, b.Add(task), sched.ErrAlreadyScheduled)
	mustBe(t, a.Append(&a), sched.ErrAlreadyScheduled)
	mustBe(t, s.Schedule(task), sched.ErrAlreadyScheduled)
	must(t, s.ScheduleBatch(&a))
	must(t, s.ScheduleBatch(&a)) // empty now
	l.wait(t)
}

// TestAppendMakesNoCycle: two batches that are appended to each other form no cycle. A batch is
// scheduled by one scheduler, and each copy of it is refused. V-03a, V-03b, V-03c.
func TestAppendMakesNoCycle(t *testing.T) {
	a := newScheduler(t, sched.Config{MaxWorkers: 1})
	b := newScheduler(t, sched.Config{MaxWorkers: 1})
	const n = 10
	l := newLatch(n)
	var ran [n]atomic.Int32
	tasks := make([]sched.Task, n)
	var one, two sched.Batch
	for i := range tasks {
		tasks[i].Fn = func(*sched.Worker, *sched.Task) { ran[i].Add(1); l.hit() }
		to := &one
		if i%2 == 0 {
			to = &two
		}
		must(t, to.Add(&tasks[i]))
		mustBe(t, one.Add(&tasks[i]), sched.ErrAlreadyScheduled)
		mustBe(t, two.Add(&tasks[i]), sched.ErrAlreadyScheduled)
	}
	for range 3 {
		must(t, one.Append(&two))
		must(t, two.Append(&one))
	}
	if one.Len() != 0 || two.Len() != n {
		t.Fatalf("the batches have %d and %d tasks, want 0 and %d", one.Len(), two.Len(), n)
	}
	copied := new(sched.Batch) // a plain copy fails go vet
	reflect.ValueOf(copied).Elem().Set(reflect.ValueOf(&two).Elem())
	release, blocked := make(chan struct{}), newLatch(1)
	must(t, a.Go(func() { blocked.hit(); <-release })) // so that the batch stays queued
	blocked.wait(t)
	must(t, a.ScheduleBatch(&two))
	must(t, b.ScheduleBatch(&two)) // empty by now
	mustBe(t, b.ScheduleBatch(copied), sched.ErrAlreadyScheduled)
	mustBe(t, a.ScheduleBatch(copied), sched.ErrAlreadyScheduled)
	mustBe(t, one.Append(copied), sched.ErrAlreadyScheduled)
	close(release)
	l.wait(t)
	for i := range ran {
		if got := ran[i].Load(); got != 1 {
			t.Errorf("task %d ran %d times", i, got)
		}
	}
}

// TestCopyOfAScheduledBatchIsRefused: a copy of a scheduled batch is refused while the tasks are
// queued.
func TestCopyOfAScheduledBatchIsRefused(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	must(t, err)
	var b sched.Batch
	ran := 0
	for range 2 {
		must(t, b.Add(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}))
	}
	clone := copyBatch(&b)
	must(t, queuedOrNil(s.ScheduleBatch(&b)))
	wantIn(t, "ScheduleBatch(copy)", s.ScheduleBatch(clone), sched.ErrAlreadyScheduled)
	must(t, s.Shutdown(t.Context()))
	if ran != 2 {
		t.Errorf("%d tasks ran, want 2", ran)
	}
}

// TestCopyOfAnAppendedBatchIsRefused: a copy of a batch that was appended to another one is
// refused while the tasks are queued. V-04b.
func TestCopyOfAnAppendedBatchIsRefused(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	release, started := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { started.hit(); <-release }))
	started.wait(t)
	var a, b sched.Batch
	must(t, a.Add(noTask()))
	must(t, b.Add(noTask()))
	must(t, b.Add(noTask()))
	c := new(sched.Batch) // a plain copy fails go vet
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(&b).Elem())
	must(t, a.Append(&b))
	must(t, s.ScheduleBatch(&a))
	if err := s.ScheduleBatch(c); err == nil {
		t.Error("the copy of an appended batch was scheduled although its tasks are queued")
	}
	close(release)
}
