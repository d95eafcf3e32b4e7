package fuzz_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// noSpawner starts no worker. Tasks then run in Run only, one after another.
type noSpawner struct{}

func (noSpawner) Spawn(func()) error { return errors.New("no workers here") }

// copyOf copies a Batch, which is forbidden. A test then sees the copy refused.
func copyOf(b *sched.Batch) *sched.Batch {
	c := new(sched.Batch)
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(b).Elem())
	return c
}

// The places where a task can be.
const (
	loose   = iota // owned by the caller
	batched        // in a batch
	queued         // in the scheduler, in no group
	grouped        // in the scheduler, in the group
)

// batches is several batches and a sequential scheduler. It also has the model of both.
type batches struct {
	s, ended *sched.Scheduler
	group    *sched.Group // of s
	refusing *sched.Group // of ended

	jobs  [16]sched.Job[int]
	where [16]int
	b     [3]sched.Batch
	ids   [3][]int

	queue    []int // in the order in which the tasks have to run
	ran      []int // in this Run
	executed uint64
	left     int // callbacks that are left until stop ends the Run
	stop     context.CancelFunc
}

// newScheduler returns a scheduler with one place and no workers.
func newScheduler(t *testing.T) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	wantErr(t, "New", err, nil)
	return s
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

func newBatches(t *testing.T) *batches {
	t.Helper()
	m := &batches{s: newScheduler(t), ended: newScheduler(t)}
	wantErr(t, "Shutdown", m.ended.Shutdown(t.Context()), nil)
	m.group = m.s.NewGroup(sched.GroupConfig{})
	m.refusing = m.ended.NewGroup(sched.GroupConfig{})
	for i := range m.jobs {
		m.jobs[i].Value = i
		m.jobs[i].Fn = func(_ *sched.Worker, j *sched.Job[int]) {
			m.ran = append(m.ran, j.Value)
			m.where[j.Value] = loose
			m.done()
		}
	}
	return m
}

// checkRefused checks that every way to schedule refuses a task that is in a batch or
// queued.
func (m *batches) checkRefused(t *testing.T, i int) {
	t.Helper()
	if m.where[i] == loose {
		return
	}
	task := m.jobs[i].Task()
	wantErr(t, "Schedule again", m.s.Schedule(task), sched.ErrAlreadyScheduled)
	wantErr(t, "Group.Schedule again", m.group.Schedule(nil, task), sched.ErrAlreadyScheduled)
	wantErr(t, "Do again", m.s.Do(task), sched.ErrAlreadyScheduled)
}

func (m *batches) add(t *testing.T, b, i int) {
	t.Helper()
	err := m.b[b].Add(m.jobs[i].Task())
	if m.where[i] != loose {
		wantErr(t, "Add again", err, sched.ErrAlreadyScheduled)
		return
	}
	wantErr(t, "Add", err, nil)
	m.where[i] = batched
	m.ids[b] = append(m.ids[b], i)
}

// join appends a batch to another. Then it appends a copy of the appended batch.
func (m *batches) join(t *testing.T, to, from int) {
	t.Helper()
	if to == from {
		wantErr(t, "Append of itself", m.b[to].Append(&m.b[to]), sched.ErrAlreadyScheduled)
		return
	}
	duplicate := copyOf(&m.b[from])
	marked := len(m.ids[to]) > 0 && len(m.ids[from]) > 0 // otherwise both batches begin with the same task
	wantErr(t, "Append", m.b[to].Append(&m.b[from]), nil)
	m.ids[to], m.ids[from] = append(m.ids[to], m.ids[from]...), nil
	if marked {
		wantErr(t, "Append of a copy", m.b[from].Append(duplicate), sched.ErrAlreadyScheduled)
		wantErr(t, "ScheduleBatch of a copy", m.s.ScheduleBatch(duplicate), sched.ErrAlreadyScheduled)
	}
}

// schedule schedules a batch and then a copy of it.
func (m *batches) schedule(t *testing.T, b int, inGroup bool) {
	t.Helper()
	duplicate := copyOf(&m.b[b])
	var err, want error
	at := queued
	if inGroup {
		at = grouped
		err = m.group.ScheduleBatch(nil, &m.b[b])
	} else {
		err = m.s.ScheduleBatch(&m.b[b])
	}
	if len(m.ids[b]) > 0 {
		want = sched.ErrQueued
	}
	wantErr(t, "ScheduleBatch", err, want)
	m.accept(b, at)
	if want != nil {
		wantErr(t, "ScheduleBatch of a copy", m.s.ScheduleBatch(duplicate), sched.ErrAlreadyScheduled)
		wantErr(t, "Group.ScheduleBatch of a copy", m.group.ScheduleBatch(nil, duplicate), sched.ErrAlreadyScheduled)
		wantErr(t, "Append of a copy", m.b[b].Append(duplicate), sched.ErrAlreadyScheduled)
	}
}

// accept records that the tasks of a batch are in the scheduler.
func (m *batches) accept(b, at int) {
	for _, i := range m.ids[b] {
		m.where[i] = at
	}
	m.queue = append(m.queue, m.ids[b]...)
	m.ids[b] = nil
}

// one schedules a task without a batch.
func (m *batches) one(t *testing.T, i int) {
	t.Helper()
	if m.where[i] != loose {
		return
	}
	wantErr(t, "Schedule", m.s.Schedule(m.jobs[i].Task()), sched.ErrQueued)
	m.where[i] = queued
	m.queue = append(m.queue, i)
}

// refuse schedules a batch on a scheduler that was shut down. The batch stays
// unchanged.
func (m *batches) refuse(t *testing.T, b int) {
	t.Helper()
	var want error
	if len(m.ids[b]) > 0 {
		want = sched.ErrShutdown
	}
	wantErr(t, "ScheduleBatch after Shutdown", m.ended.ScheduleBatch(&m.b[b]), want)
	wantErr(t, "Group.ScheduleBatch after Shutdown", m.refusing.ScheduleBatch(nil, &m.b[b]), want)
	wantErr(t, "Wait of a group without tasks", m.refusing.Wait(), nil)
	wantErr(t, "Add(nil)", m.b[b].Add(nil), sched.ErrNilTask)
	wantErr(t, "Add of a task without Fn", m.b[b].Add(new(sched.Task)), sched.ErrNilTask)
	wantErr(t, "Append(nil)", m.b[b].Append(nil), sched.ErrNilTask)
	wantErr(t, "ScheduleBatch(nil)", m.s.ScheduleBatch(nil), sched.ErrNilTask)
}

// inside schedules a batch in a callback and runs all tasks. Tasks that were queued
// before may run before or after the batch.
func (m *batches) inside(t *testing.T, b int, inGroup bool) {
	t.Helper()
	var err error
	parent := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		schedule := w.ScheduleBatch
		if inGroup {
			schedule = func(b *sched.Batch) error { return m.group.ScheduleBatch(w, b) }
		}
		m.left += len(m.ids[b])
		err = schedule(&m.b[b])
		m.accept(b, queued)
		m.done()
	}}
	wantErr(t, "Schedule", m.s.Schedule(parent), sched.ErrQueued)
	m.run(t, len(m.queue)+1)
	wantErr(t, "ScheduleBatch inside", err, nil)
	slices.Sort(m.ran)
	slices.Sort(m.queue)
	m.compare(t)
}

// done counts an entered callback. The last one ends the Run.
func (m *batches) done() {
	m.executed++
	if m.left--; m.left == 0 {
		m.stop()
	}
}

// run runs the n queued callbacks and those that they schedule.
func (m *batches) run(t *testing.T, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m.ran, m.left, m.stop = nil, n, stop
	wantErr(t, "Run", m.s.Run(ctx), context.Canceled)
	wantErr(t, "Wait", m.group.Wait(), nil)
}

// compare compares the tasks that ran with the tasks that were queued. With a small
// ring a part of the injection queue stays there. Its tasks may run before those in the
// ring.
func (m *batches) compare(t *testing.T) {
	t.Helper()
	if capacity/2 < len(m.jobs) {
		slices.Sort(m.ran)
		slices.Sort(m.queue)
	}
	wantIDs(t, "ran", m.ran, m.queue)
	m.queue = nil
}

// end closes the scheduler. A queued task is returned, or it is cancelled with its
// group. The caller then owns the task.
func (m *batches) end(t *testing.T) {
	t.Helper()
	back, err := m.s.Close()
	wantErr(t, "Close", err, nil)
	rest, err := m.s.Join(t.Context())
	wantErr(t, "Join", err, nil)
	var lost error
	var wantBack []*sched.Task
	for _, i := range m.queue {
		if m.where[i] == grouped {
			lost = sched.ErrClosed
		} else {
			wantBack = append(wantBack, m.jobs[i].Task())
		}
		m.where[i] = loose
	}
	back = append(back, rest...)
	want(t, "returned tasks", len(back), len(wantBack))
	for _, task := range wantBack {
		if !slices.Contains(back, task) {
			t.Fatal("a queued task was not returned")
		}
	}
	wantErr(t, "Wait after Close", m.group.Wait(), lost)
	want(t, "Executed", m.s.Stats().Executed, m.executed)
	for i := range m.jobs {
		m.add(t, 0, i)
	}
}

// FuzzBatch runs traces of operations on batches, tasks and copies of batches. It
// compares them with slices. A refused operation changes nothing. Each task runs once
// in the order of the batches, or it is returned. Z-003, Z-009.
func FuzzBatch(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 3, 0, 6, 0})                                     // a batch twice, and its tasks
	f.Add([]byte{0, 0, 0, 1, 1, 1, 2, 1, 0, 0, 3, 2, 1, 3, 0, 4, 0, 6, 0})                      // two joined batches
	f.Add([]byte{0, 0, 0, 3, 0, 1, 5, 3, 0, 2, 9, 4, 0, 1, 5, 1, 0, 7, 7, 3, 2, 1, 5, 0, 0, 6}) // in the group, in a callback
	f.Add([]byte{0, 1, 1, 3, 0, 1, 1, 0, 2, 3, 0, 0, 1, 7, 9, 3, 0, 0, 8, 3})                   // closed while queued
	f.Fuzz(func(t *testing.T, input []byte) {
		m := newBatches(t)
		tr := trace(input)
		tr.steps(func() {
			op, b := tr.below(9), tr.below(len(m.b))
			switch op {
			case 0, 1:
				m.add(t, b, tr.below(len(m.jobs)))
			case 2:
				m.join(t, b, tr.below(len(m.b)))
			case 3:
				m.schedule(t, b, tr.coin())
			case 4:
				m.refuse(t, b)
			case 5:
				m.inside(t, b, tr.coin())
			case 6:
				if len(m.queue) > 0 {
					m.run(t, len(m.queue))
					m.compare(t)
				}
			case 7:
				m.one(t, tr.below(len(m.jobs)))
			case 8:
				m.checkRefused(t, tr.below(len(m.jobs)))
			}
			for b := range m.b {
				want(t, "Len", m.b[b].Len(), len(m.ids[b]))
			}
		})
		m.end(t)
	})
}
