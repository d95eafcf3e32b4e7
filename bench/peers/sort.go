package peers

import (
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/qsort"
)

// sorting returns an instance that sorts n integers. A figure is that of one of ops
// operations.
func sorting(n, ops int, sort func(a []int32)) *bench.Instance {
	shuffled, a := make([]int32, n), make([]int32, n)
	qsort.Fill(shuffled)
	qsort.Shuffle(shuffled)
	variant := func(sort func(a []int32)) func(*bench.Meter) error {
		run := timed(ops, func() { sort(a) }, func() error { return errUnless(qsort.Sorted(a)) })
		return func(m *bench.Meter) error {
			copy(a, shuffled)
			return run(m)
		}
	}
	return &bench.Instance{
		Run:        variant(sort),
		References: []bench.Reference{{Name: refSequential, Run: variant(qsort.Sequential)}},
	}
}

// parts returns how many parts the quicksort of n elements schedules.
func parts(n int) int {
	if n == qsort.Size {
		return qsort.Scheduled
	}
	a := make([]int32, n)
	qsort.Fill(a)
	qsort.Shuffle(a)
	var split func(a []int32) int
	split = func(a []int32) int {
		if len(a) <= qsort.Cutoff {
			qsort.Insertion(a)
			return 0
		}
		mid := qsort.Partition(a)
		return 2 + split(a[:mid]) + split(a[mid:])
	}
	return max(split(a), 1)
}

// quicksort schedules every part, and only the caller waits. A task that divides its part
// passes its own count to one half.
func (z Sizes) quicksort(p *Pool) *bench.Instance {
	var part func(a []int32)
	part = func(a []int32) {
		if len(a) <= qsort.Cutoff {
			qsort.Insertion(a)
			p.Done()
			return
		}
		mid := qsort.Partition(a)
		p.Add(1)
		p.spawn(func() { part(a[:mid]) })
		p.spawn(func() { part(a[mid:]) })
	}
	return sorting(z.sort, parts(z.sort), func(a []int32) {
		p.Add(1)
		p.schedule(func() { part(a) })
		p.Wait()
	})
}

// quicksortJoin schedules both halves of every part and waits for both.
func (z Sizes) quicksortJoin(p *Pool) *bench.Instance {
	var part func(a []int32)
	part = func(a []int32) {
		if len(a) <= qsort.Cutoff {
			qsort.Insertion(a)
			return
		}
		mid := qsort.Partition(a)
		left := p.forked(func() { part(a[:mid]) })
		right := p.forked(func() { part(a[mid:]) })
		left.Wait()
		right.Wait()
	}
	return sorting(z.sort, parts(z.sort), part)
}

// forkedSort forks one half of every part and sorts the other half itself. A figure is
// that of one element.
func (z Sizes) forkedSort(p *Pool) *bench.Instance {
	var part func(a []int32)
	part = func(a []int32) {
		if len(a) <= qsort.Cutoff {
			qsort.Insertion(a)
			return
		}
		mid := qsort.Partition(a)
		right := p.forked(func() { part(a[mid:]) })
		part(a[:mid])
		right.Wait()
	}
	return sorting(z.joinSort, z.joinSort, part)
}
