package peers

import (
	"slices"

	"github.com/sourcegraph/conc/iter"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
)

// looper is the parallel loops of a library.
type looper interface {
	each(n int, body func(i int))
	transform(in []float64, f func(float64) float64) []float64
}

// concLoops are the loops of conc/iter, which call a function for each element.
type concLoops struct{}

func (concLoops) each(n int, body func(i int)) {
	iter.ForEachIdx(make([]struct{}, n), func(i int, _ *struct{}) { body(i) })
}

func (concLoops) transform(in []float64, f func(float64) float64) []float64 {
	return iter.Map(in, func(x *float64) float64 { return f(*x) })
}

// chunksPerWorker is the number of chunks for each worker. Several of them let a worker
// that begins late run fewer.
const chunksPerWorker = 4

// tasks runs body for each index below n, each in a task, and waits for all.
func (p *Pool) tasks(n int, body func(i int)) {
	p.Add(n)
	for i := range n {
		p.schedule(func() {
			body(i)
			p.Done()
		})
	}
	p.Wait()
}

// chunks divides [0, n) into chunksPerWorker ranges for each worker, and runs body for each.
func (p *Pool) chunks(n int, body func(lo, hi int)) {
	parts := chunksPerWorker * p.workers
	p.tasks(parts, func(i int) { body(n*i/parts, n*(i+1)/parts) })
}

// each calls body for each index below n.
func (p *Pool) each(n int, body func(i int)) {
	if p.loop != nil {
		p.loop.each(n, body)
		return
	}
	p.chunks(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			body(i)
		}
	})
}

// parFor calls a small func value for each index. The reference calls it in a loop.
func (z Sizes) parFor(p *Pool) *bench.Instance {
	out := make([]uint32, z.loop)
	body := func(i int) { out[i] += kernel.Value(i) }
	plain := func(n int, body func(i int)) {
		for i := range n {
			body(i)
		}
	}
	variant := func(loop func(n int, body func(i int))) func(*bench.Meter) error {
		return timed(z.loop*z.loopRounds, func() {
			for range z.loopRounds {
				loop(z.loop, body)
			}
		}, func() error {
			ok := true
			for i, x := range out {
				ok = ok && x == kernel.Value(i)*uint32(z.loopRounds)
			}
			clear(out)
			return errUnless(ok)
		})
	}
	return &bench.Instance{
		Run:        variant(p.each),
		References: []bench.Reference{{Name: refLoop, Run: variant(plain)}},
	}
}

// parMap computes kernel.Norm of all elements of a slice. The figure of a loop that
// allocates its result includes the allocation.
func (z Sizes) parMap(p *Pool) *bench.Instance {
	in, out := make([]float64, z.mapped), make([]float64, z.mapped)
	for i := range in {
		in[i] = float64(i)
	}
	var got []float64
	check := func() error {
		ok := len(got) == len(in)
		for i := range got {
			ok = ok && got[i] == kernel.Norm(in[i])
		}
		got = nil
		clear(out)
		return errUnless(ok)
	}
	plain := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = kernel.Norm(in[i])
		}
	}
	solve := func() {
		p.chunks(len(in), plain)
		got = out
	}
	if p.loop != nil {
		solve = func() { got = p.loop.transform(in, kernel.Norm) }
	}
	return &bench.Instance{
		Run: timed(len(in), solve, check),
		References: []bench.Reference{{Name: refLoop, Run: timed(len(in), func() {
			plain(0, len(in))
			got = out
		}, check)}},
	}
}

// sortChunks sorts one chunk for each worker with slices.Sort and then merges pairs of
// chunks, as a program without a parallel sort does.
func (z Sizes) sortChunks(p *Pool) *bench.Instance {
	random := make([]int32, z.parSort)
	x := uint32(0x9e3779b9)
	for i := range random {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		random[i] = int32(x)
	}
	want := slices.Clone(random)
	slices.Sort(want)
	a, spare := make([]int32, len(random)), make([]int32, len(random))
	var got []int32
	variant := func(sort func() []int32) func(*bench.Meter) error {
		run := timed(len(a), func() { got = sort() }, func() error { return errUnless(slices.Equal(got, want)) })
		return func(m *bench.Meter) error {
			copy(a, random)
			return run(m)
		}
	}
	return &bench.Instance{
		Run: variant(func() []int32 { return p.mergeSort(a, spare) }),
		References: []bench.Reference{{Name: refSlicesSort, Run: variant(func() []int32 {
			slices.Sort(a)
			return a
		})}},
	}
}

// mergeSort sorts a. It returns the sorted slice, which is a or spare.
func (p *Pool) mergeSort(a, spare []int32) []int32 {
	parts := 1
	for parts < p.workers {
		parts *= 2
	}
	bound := func(i int) int { return len(a) * i / parts }
	p.tasks(parts, func(i int) { slices.Sort(a[bound(i):bound(i+1)]) })
	for ; parts > 1; parts /= 2 {
		p.tasks(parts/2, func(i int) {
			lo, mid, hi := bound(2*i), bound(2*i+1), bound(2*i+2)
			merge(spare[lo:hi], a[lo:mid], a[mid:hi])
		})
		a, spare = spare, a
	}
	return a
}

// merge stores the elements of a and b to out in order. a and b are sorted.
func merge(out, a, b []int32) {
	for i := range out {
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			out[i], a = a[0], a[1:]
		} else {
			out[i], b = b[0], b[1:]
		}
	}
}
