package sched_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/runqueue"
	"github.com/lanewright/lanewright/sched"
)

// mustIn is must for a test of rapid.
func mustIn(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantIn checks that err is want, or nil.
func wantIn(t rapid.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// copyBatch copies a batch, which go vet refuses.
func copyBatch(b *sched.Batch) *sched.Batch {
	c := new(sched.Batch)
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(b).Elem())
	return c
}

// TestBatchModel: batches behave like slices. A refused call leaves the batch unchanged, a copy
// of a scheduled batch is refused, and tasks run once and in the order of the batch. Z-003,
// Z-009.
func TestBatchModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
		mustIn(t, err)
		ended, err := sched.New(sched.Config{MaxWorkers: 1})
		mustIn(t, err)
		mustIn(t, ended.Shutdown(context.Background()))
		group := open.NewGroup(sched.GroupConfig{})
		refused := ended.NewGroup(sched.GroupConfig{})

		var ran, queued []int
		var cancel context.CancelFunc
		batches := [3]*sched.Batch{new(sched.Batch), new(sched.Batch), new(sched.Batch)}
		var model [3][]int
		jobs := make([]*sched.Job[int], 12)
		inside := make([]bool, len(jobs)) // queued, or in a batch
		for i := range jobs {
			jobs[i] = &sched.Job[int]{Value: i, Fn: func(_ *sched.Worker, j *sched.Job[int]) {
				ran = append(ran, j.Value)
				inside[j.Value] = false
				if len(ran) == len(queued) {
					cancel()
				}
			}}
		}
		pick := func(t *rapid.T) int { return rapid.IntRange(0, len(batches)-1).Draw(t, "batch") }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				b, i := pick(t), rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
				var want error
				if inside[i] {
					want = sched.ErrAlreadyScheduled
				} else {
					model[b] = append(model[b], i)
					inside[i] = true
				}
				wantIn(t, "Add", batches[b].Add(jobs[i].Task()), want)
			},
			"add nothing": func(t *rapid.T) {
				wantIn(t, "Add(nil)", batches[pick(t)].Add(nil), sched.ErrNilTask)
				wantIn(t, "Add(zero)", batches[pick(t)].Add(new(sched.Task)), sched.ErrNilTask)
			},
			"schedule a task in a batch": func(t *rapid.T) {
				b := pick(t)
				if len(model[b]) == 0 {
					t.Skip("empty")
				}
				task := jobs[rapid.SampledFrom(model[b]).Draw(t, "job")].Task()
				wantIn(t, "Schedule", open.Schedule(task), sched.ErrAlreadyScheduled)
				wantIn(t, "Group.Schedule", group.Schedule(nil, task), sched.ErrAlreadyScheduled)
				wantIn(t, "Do", open.Do(task), sched.ErrAlreadyScheduled)
			},
			"append": func(t *rapid.T) {
				to, from := pick(t), pick(t)
				if to == from {
					wantIn(t, "Append(itself)", batches[to].Append(batches[to]), sched.ErrAlreadyScheduled)
					return
				}
				wantIn(t, "Append", batches[to].Append(batches[from]), nil)
				model[to] = append(model[to], model[from]...)
				model[from] = nil
			},
			"refuse": func(t *rapid.T) {
				b := pick(t)
				var want error
				if len(model[b]) > 0 {
					want = sched.ErrShutdown
				}
				wantIn(t, "ScheduleBatch", ended.ScheduleBatch(batches[b]), want)
				wantIn(t, "Group.ScheduleBatch", refused.ScheduleBatch(nil, batches[b]), want)
				wantIn(t, "Wait", refused.Wait(), nil)
			},
			"schedule": func(t *rapid.T) {
				b := pick(t)
				clone := copyBatch(batches[b])
				schedule := open.ScheduleBatch
				if rapid.Bool().Draw(t, "grouped") {
					schedule = func(b *sched.Batch) error { return group.ScheduleBatch(nil, b) }
				}
				var want error
				if len(model[b]) > 0 {
					want = sched.ErrQueued
				}
				wantIn(t, "ScheduleBatch", schedule(batches[b]), want)
				if want != nil { // the copy still links tasks that are queued
					wantIn(t, "ScheduleBatch(copy)", open.ScheduleBatch(clone), sched.ErrAlreadyScheduled)
					wantIn(t, "Group.ScheduleBatch(copy)", group.ScheduleBatch(nil, clone), sched.ErrAlreadyScheduled)
					wantIn(t, "Append(copy)", batches[b].Append(clone), sched.ErrAlreadyScheduled)
				}
				queued = append(queued, model[b]...)
				model[b] = nil
			},
			"run": func(t *rapid.T) {
				if len(queued) == 0 {
					t.Skip("no task is queued")
				}
				ran = nil
				var ctx context.Context
				ctx, cancel = context.WithCancel(context.Background())
				wantIn(t, "Run", open.Run(ctx), context.Canceled)
				if runqueue.Capacity < 64 { // small rings: refills and fairness ticks change the order
					slices.Sort(ran)
					slices.Sort(queued)
				}
				if !slices.Equal(ran, queued) {
					t.Fatalf("ran %v, want %v", ran, queued)
				}
				queued = nil
				wantIn(t, "Wait", group.Wait(), nil)
			},
			"": func(t *rapid.T) {
				for b := range batches {
					if batches[b].Len() != len(model[b]) {
						t.Fatalf("batch %d: Len = %d, want %d", b, batches[b].Len(), len(model[b]))
					}
				}
			},
		})
	})
}
