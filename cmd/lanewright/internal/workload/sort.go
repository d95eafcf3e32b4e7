package workload

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// sortTask is a task that sorts one part of the array. It has 40 bytes: the task, its
// function and two bounds.
type sortTask = sched.Job[bounds]

type bounds struct{ from, to int32 }

// Sorter is the quicksort on a scheduler with a task for each part. One group counts all
// tasks. A Sorter runs one sort at a time.
type Sorter struct {
	s     *sched.Scheduler
	g     *sched.Group
	nodes *nodes[sortTask]
	a     []int32
	parts []partCount // by worker
	err   FirstError
}

// partCount holds the parts that one worker counted.
type partCount struct {
	internal, leaves int
	_                [128]byte // keeps the counts of the next worker off these cache lines
}

// NewSorter returns a Sorter on s.
func NewSorter(s *sched.Scheduler) *Sorter {
	o := &Sorter{s: s, g: s.NewGroup(sched.GroupConfig{}), parts: make([]partCount, s.MaxWorkers())}
	part := o.part // one method value for all nodes
	o.nodes = newNodes(s.MaxWorkers(), func(n *sortTask) { n.Fn = part })
	return o
}

// Sort sorts a and waits for all tasks. It returns an error when the scheduler refused a
// task.
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

// Tasks returns how many parts the last sort scheduled: all parts but the whole array.
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

// part is one task. Its node becomes that of the left half, so that only the right half
// needs a new node.
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

// joinTask is a task that sorts one part and waits for both halves.
type joinTask = sched.Job[joinPart]

type joinPart struct {
	bounds
	halves sched.Group
}

// Joiner is the quicksort on a scheduler with a task for each part. Each task waits for
// its halves with a group of its own. A Joiner runs one sort at a time.
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

// Tasks returns how many parts the last sort scheduled, as [Sorter.Tasks] does.
func (o *Joiner) Tasks() int {
	internal, leaves := sumParts(o.parts)
	return internal + leaves - 1
}

// part is one task.
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
	id = w.ID() // Wait may have released the place
	o.nodes.put(id, left)
	o.nodes.put(id, right)
}

// GoSort sorts a with a goroutine for each part and one WaitGroup. A goroutine that
// divides its part passes its own count to one half. This saves a third of the
// operations of the plain form, which calls Add(2) and Done.
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

// GoJoin sorts a with a goroutine for each part. Each goroutine waits for both halves with
// a WaitGroup of its own, as the Go program of the zap benchmarks does.
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

// PoolSort sorts a on the most common pool of Go programs: goroutines, one for each
// worker, that receive parts from one channel. A worker that finds the channel full
// sorts the part itself. It must not wait for a free slot, because the pool hangs when
// all workers wait.
func PoolSort(workers int, a []int32) {
	parts := make(chan []int32, 1024)
	var open sync.WaitGroup // counts unsorted parts
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

// NotCounted is the number of tasks of a sort that does not count them.
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

// Parts returns how many parts the sort of size shuffled integers schedules. It performs
// that sort. For qsort.Size the result is qsort.Scheduled.
func Parts(size int) int {
	a := make([]int32, size)
	qsort.Fill(a)
	qsort.Shuffle(a)
	return countParts(a)
}

// countParts sorts a and returns the number of scheduled parts.
func countParts(a []int32) int {
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		return 0
	}
	mid := qsort.Partition(a)
	return 2 + countParts(a[:mid]) + countParts(a[mid:])
}
