package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// sortTask is a part of the array that is to be sorted. It is 40 bytes: a task,
// its function, and two bounds.
type sortTask = sched.Job[bounds]

type bounds struct{ from, to int32 }

// sorter is the quicksort on a scheduler: each part is a task, and one group
// counts them.
type sorter struct {
	s     *sched.Scheduler
	g     *sched.Group
	nodes *nodes[sortTask]
	a     []int32
	parts []partCount // by worker
	err   firstError
}

// partCount is what one worker counts.
type partCount struct {
	internal, leaves int
	_                [128]byte
}

func newSorter(s *sched.Scheduler) *sorter {
	o := &sorter{s: s, g: s.NewGroup(sched.GroupConfig{}), parts: make([]partCount, s.MaxWorkers())}
	part := o.part // bound once, not for each node
	o.nodes = newNodes(s.MaxWorkers(), func(n *sortTask) { n.Fn = part })
	return o
}

// sort sorts a. It returns an error when the scheduler refused a task, or ran
// not as many as there are.
func (o *sorter) sort(a []int32) error {
	o.a = a
	clear(o.parts)
	root := o.nodes.get(-1)
	root.Value = bounds{0, int32(len(a))}
	if err := o.g.Schedule(nil, root.Task()); err != nil {
		return err
	}
	if err := o.g.Wait(); err != nil {
		return err
	}
	return o.err.get()
}

// tasks returns how many parts the last sort handed over: all but the whole.
func (o *sorter) tasks() int {
	internal, leaves := sumParts(o.parts)
	return internal + leaves - 1
}

func sumParts(parts []partCount) (internal, leaves int) {
	for i := range parts {
		internal += parts[i].internal
		leaves += parts[i].leaves
	}
	return internal, leaves
}

// part is one task. It goes on as its own left half, so that only the right one
// needs a node.
func (o *sorter) part(w *sched.Worker, n *sortTask) {
	id := w.ID()
	a := o.a[n.Value.from:n.Value.to]
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		o.parts[id].leaves++
		o.nodes.put(id, n)
		return
	}
	mid := n.Value.from + int32(qsort.Partition(a))
	o.parts[id].internal++
	right := o.nodes.get(id)
	right.Value = bounds{mid, n.Value.to}
	n.Value.to = mid
	if err := o.g.Schedule(w, n.Task()); err != nil {
		o.err.set(err)
	}
	if err := o.g.Schedule(w, right.Task()); err != nil {
		o.err.set(err)
	}
}

// joinTask is a part whose task waits for both halves.
type joinTask = sched.Job[joinPart]

type joinPart struct {
	bounds
	halves sched.Group
}

// joiner is the quicksort on a scheduler in which each task waits for both
// halves in a group of its own.
type joiner struct {
	s     *sched.Scheduler
	nodes *nodes[joinTask]
	a     []int32
	parts []partCount
	err   firstError
}

func newJoiner(s *sched.Scheduler) *joiner {
	o := &joiner{s: s, parts: make([]partCount, s.MaxWorkers())}
	part := o.part
	o.nodes = newNodes(s.MaxWorkers(), func(n *joinTask) { n.Fn = part })
	return o
}

// sort sorts a, as sorter.sort does.
func (o *joiner) sort(a []int32) error {
	o.a = a
	clear(o.parts)
	root := o.nodes.get(-1)
	root.Value.bounds = bounds{0, int32(len(a))}
	if err := o.s.Do(root.Task()); err != nil {
		return err
	}
	o.nodes.put(-1, root)
	return o.err.get()
}

func (o *joiner) tasks() int {
	internal, leaves := sumParts(o.parts)
	return internal + leaves - 1
}

func (o *joiner) part(w *sched.Worker, n *joinTask) {
	v := &n.Value
	id := w.ID()
	a := o.a[v.from:v.to]
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		o.parts[id].leaves++
		return
	}
	mid := v.from + int32(qsort.Partition(a))
	o.parts[id].internal++
	left, right := o.nodes.get(id), o.nodes.get(id)
	left.Value.bounds = bounds{v.from, mid}
	right.Value.bounds = bounds{mid, v.to}
	if err := v.halves.Schedule(w, left.Task()); err != nil {
		o.err.set(err)
	}
	if err := v.halves.Schedule(w, right.Task()); err != nil {
		o.err.set(err)
	}
	if err := w.Wait(&v.halves); err != nil {
		o.err.set(err)
	}
	id = w.ID() // a Wait may have given the place away
	o.nodes.put(id, left)
	o.nodes.put(id, right)
}

// goSort sorts a with a goroutine for each part and one WaitGroup. A goroutine
// that splits its part passes its own count on to one half, which saves a third of
// the operations on the WaitGroup that the plain form (Add(2) and Done) needs.
func goSort(a []int32) {
	var wg sync.WaitGroup
	var part func(a []int32)
	part = func(a []int32) {
		if len(a) <= qsort.Cutoff {
			qsort.Insertion(a)
			wg.Done()
			return
		}
		mid := qsort.Partition(a)
		wg.Add(1)
		go part(a[:mid])
		go part(a[mid:])
	}
	wg.Add(1)
	go part(a)
	wg.Wait()
}

// goJoin sorts a with a goroutine for each part, each of which waits for both
// halves with a WaitGroup of its own, as the Go program of the zap benchmarks
// does.
func goJoin(a []int32) {
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		return
	}
	mid := qsort.Partition(a)
	var halves sync.WaitGroup
	halves.Add(2)
	go func() {
		goJoin(a[:mid])
		halves.Done()
	}()
	go func() {
		goJoin(a[mid:])
		halves.Done()
	}()
	halves.Wait()
}

// poolSort sorts a with the pool that Go programs mostly use: workers goroutines
// that receive parts from one channel. Whoever finds the channel full goes on with
// the part itself: waiting for room there is how such a pool hangs, since all
// workers may be waiting.
func poolSort(workers int, a []int32) {
	parts := make(chan []int32, 1024)
	var open sync.WaitGroup // parts
	var split func(a []int32)
	split = func(a []int32) {
		defer open.Done()
		for len(a) > qsort.Cutoff {
			mid := qsort.Partition(a)
			open.Add(1)
			select {
			case parts <- a[mid:]:
			default:
				split(a[mid:])
			}
			a = a[:mid]
		}
		qsort.Insertion(a)
	}
	open.Add(1)
	parts <- a
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for a := range parts {
				split(a)
			}
		})
	}
	open.Wait()
	close(parts)
	running.Wait()
}

// notCounted stands for the tasks of a sort that counts none.
const notCounted = -1

// firstError keeps the first error that tasks report.
type firstError struct{ p atomic.Pointer[error] }

// set is not part of the tasks that call it: there the error would be on the
// heap in every one.
//
//go:noinline
func (f *firstError) set(err error) { f.p.CompareAndSwap(nil, &err) }

func (f *firstError) get() error {
	if err := f.p.Load(); err != nil {
		return *err
	}
	return nil
}

// checkSort returns an error unless a is sorted and tasks is want or notCounted.
func checkSort(a []int32, tasks, want int) error {
	if !qsort.Sorted(a) {
		return errors.New("the result is not sorted")
	}
	if tasks != notCounted && tasks != want {
		return fmt.Errorf("%d tasks were run, want %d", tasks, want)
	}
	return nil
}

// end shuts s down and waits for it.
func end(s *sched.Scheduler) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Second,
		fmt.Errorf("the scheduler did not shut down within 30 s: %+v", s.Stats()))
	defer cancel()
	return s.Shutdown(ctx)
}
