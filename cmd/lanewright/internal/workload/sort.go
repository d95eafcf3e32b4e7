package workload

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// sortTask is a part of the array that is to be sorted. It is 40 bytes: a task,
// its function, and two bounds.
type sortTask = sched.Job[bounds]

type bounds struct{ from, to int32 }

// Sorter is the quicksort on a scheduler: each part is a task, and one group
// counts them.
type Sorter struct {
	s     *sched.Scheduler
	g     *sched.Group
	nodes *nodes[sortTask]
	a     []int32
	parts []partCount // by worker
	err   FirstError
}

// partCount is what one worker counts.
type partCount struct {
	internal, leaves int
	_                [128]byte
}

// NewSorter returns a Sorter on s.
func NewSorter(s *sched.Scheduler) *Sorter {
	o := &Sorter{s: s, g: s.NewGroup(sched.GroupConfig{}), parts: make([]partCount, s.MaxWorkers())}
	part := o.part // bound once, not for each node
	o.nodes = newNodes(s.MaxWorkers(), func(n *sortTask) { n.Fn = part })
	return o
}

// Sort sorts a. It returns an error when the scheduler refused a task, or ran
// not as many as there are.
func (o *Sorter) Sort(a []int32) error {
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
	return o.err.Get()
}

// Tasks returns how many parts the last sort handed over: all but the whole.
func (o *Sorter) Tasks() int {
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
func (o *Sorter) part(w *sched.Worker, n *sortTask) {
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
		o.err.Set(err)
	}
	if err := o.g.Schedule(w, right.Task()); err != nil {
		o.err.Set(err)
	}
}

// joinTask is a part whose task waits for both halves.
type joinTask = sched.Job[joinPart]

type joinPart struct {
	bounds
	halves sched.Group
}

// Joiner is the quicksort on a scheduler in which each task waits for both
// halves in a group of its own.
type Joiner struct {
	s     *sched.Scheduler
	nodes *nodes[joinTask]
	a     []int32
	parts []partCount
	err   FirstError
}

// NewJoiner returns a Joiner on s.
func NewJoiner(s *sched.Scheduler) *Joiner {
	o := &Joiner{s: s, parts: make([]partCount, s.MaxWorkers())}
	part := o.part
	o.nodes = newNodes(s.MaxWorkers(), func(n *joinTask) { n.Fn = part })
	return o
}

// Sort sorts a, as [Sorter.Sort] does.
func (o *Joiner) Sort(a []int32) error {
	o.a = a
	clear(o.parts)
	root := o.nodes.get(-1)
	root.Value.bounds = bounds{0, int32(len(a))}
	if err := o.s.Do(root.Task()); err != nil {
		return err
	}
	o.nodes.put(-1, root)
	return o.err.Get()
}

// Tasks returns how many parts the last sort handed over.
func (o *Joiner) Tasks() int {
	internal, leaves := sumParts(o.parts)
	return internal + leaves - 1
}

func (o *Joiner) part(w *sched.Worker, n *joinTask) {
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
		o.err.Set(err)
	}
	if err := v.halves.Schedule(w, right.Task()); err != nil {
		o.err.Set(err)
	}
	if err := w.Wait(&v.halves); err != nil {
		o.err.Set(err)
	}
	id = w.ID() // a Wait may have given the place away
	o.nodes.put(id, left)
	o.nodes.put(id, right)
}

// GoSort sorts a with a goroutine for each part and one WaitGroup. A goroutine
// that splits its part passes its own count on to one half, which saves a third of
// the operations on the WaitGroup that the plain form (Add(2) and Done) needs.
func GoSort(a []int32) {
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

// GoJoin sorts a with a goroutine for each part, each of which waits for both
// halves with a WaitGroup of its own, as the Go program of the zap benchmarks
// does.
func GoJoin(a []int32) {
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		return
	}
	mid := qsort.Partition(a)
	var halves sync.WaitGroup
	halves.Add(2)
	go func() {
		GoJoin(a[:mid])
		halves.Done()
	}()
	go func() {
		GoJoin(a[mid:])
		halves.Done()
	}()
	halves.Wait()
}

// PoolSort sorts a with the pool that Go programs mostly use: workers goroutines
// that receive parts from one channel. Whoever finds the channel full goes on with
// the part itself: waiting for room there is how such a pool hangs, since all
// workers may be waiting.
func PoolSort(workers int, a []int32) {
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

// NotCounted stands for the tasks of a sort that counts none.
const NotCounted = -1

// CheckSort returns an error unless a is sorted and tasks is want or NotCounted.
func CheckSort(a []int32, tasks, want int) error {
	if !qsort.Sorted(a) {
		return errors.New("the result is not sorted")
	}
	if tasks != NotCounted && tasks != want {
		return fmt.Errorf("%d tasks were run, want %d", tasks, want)
	}
	return nil
}

// Parts sorts size shuffled integers and returns how many parts that hands over:
// for qsort.Size it is qsort.Scheduled.
func Parts(size int) int {
	a := make([]int32, size)
	qsort.Fill(a)
	qsort.Shuffle(a)
	return countParts(a)
}

// countParts sorts a and returns how many parts are handed over.
func countParts(a []int32) int {
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		return 0
	}
	mid := qsort.Partition(a)
	return 2 + countParts(a[:mid]) + countParts(a[mid:])
}
