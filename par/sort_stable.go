package par

import (
	"context"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// SortStableFunc sorts x in the order of cmp. Equal elements keep their order, as in
// [slices.SortStableFunc]. Several workers call cmp at once.
//
// While it works, it uses as much additional memory as x has. A panic of cmp is raised
// again on the goroutine of the caller, as in [SortFunc]. x then holds all its elements, in
// some order.
func SortStableFunc[S ~[]E, E any](s *sched.Scheduler, x S, cmp func(a, b E) int) {
	if cmp == nil {
		panic("par: SortStableFunc: nil cmp")
	}
	s = orDefault(s)
	m := &mergeSort[E]{cmp: cmp}
	if ascendingFunc(x, cmp) >= len(x) {
		return
	}
	if len(x) <= stableLeaf {
		m.sort(x, nil, false)
		return
	}
	defer m.restore()
	sched.ForkJoin(s, m.fork, m.whole(x))
}

// SortStableFuncContext is [SortStableFunc] with a context. When ctx ends before x is
// sorted, it returns the cause of ctx. x then holds all its elements, in some order.
func SortStableFuncContext[S ~[]E, E any](ctx context.Context, s *sched.Scheduler, x S, cmp func(a, b E) int) error {
	if cmp == nil {
		panic("par: SortStableFuncContext: nil cmp")
	}
	m := &mergeSort[E]{cmp: cmp}
	if ctx == nil {
		panic("par: nil context")
	}
	s = orDefault(s)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ascendingFunc(x, cmp) >= len(x) {
		return nil
	}
	defer m.restore()
	_, err := sched.ForkJoinContext(ctx, s, m.fork, m.whole(x))
	return err
}

// mergeSort sorts by merging, with a buffer as long as the slice. Each part of the slice
// has its part of the buffer.
//
// Invariants:
//
//	I1  a part holds all its elements, except while the buffer is merged into it
//	I2  the sources of a merge keep their elements until the merge has ended
//
// A part whose merge did not end is copied from the buffer after all workers have stopped.
// By I1 and I2 no element is lost.
type mergeSort[E any] struct {
	cmp func(a, b E) int

	mu         park.Mutex
	incomplete []merging[E] // under mu: the merges into x that did not end
}

// merging is one step of the sort. If x is not nil, the step sorts x, into buf if toBuf.
// Otherwise it merges a and b into dst.
type merging[E any] struct {
	x, buf []E
	toBuf  bool

	dst, a, b []E
}

const (
	insertionMax = 12      // the length up to which insertion sorts
	stableLeaf   = 1 << 11 // the length up to which one worker sorts or merges alone
)

// whole returns the step that sorts x.
func (m *mergeSort[E]) whole(x []E) merging[E] {
	return merging[E]{x: x, buf: make([]E, len(x))}
}

// fork runs the step p and forks a half of it.
func (m *mergeSort[E]) fork(f *sched.Forks[merging[E], struct{}], p merging[E]) (none struct{}) {
	switch {
	case f.Cancelled():
	case p.dst != nil:
		m.forkMerge(f, p)
	case len(p.x) <= stableLeaf:
		m.sort(p.x, p.buf, p.toBuf)
	default:
		m.forkSort(f, p)
	}
	return
}

// forkSort sorts the halves of p.x at the same time and merges them.
func (m *mergeSort[E]) forkSort(f *sched.Forks[merging[E], struct{}], p merging[E]) {
	n := len(p.x) / 2
	right := merging[E]{x: p.x[n:], buf: p.buf[n:], toBuf: !p.toBuf}
	f.Fork(right)
	m.fork(f, merging[E]{x: p.x[:n], buf: p.buf[:n], toBuf: !p.toBuf})
	if f.TakeBackPointer() {
		m.fork(f, right)
	} else {
		f.Await()
	}
	if f.Cancelled() {
		return
	}
	if p.toBuf {
		m.fork(f, merging[E]{dst: p.buf, a: p.x[:n], b: p.x[n:]})
		return
	}
	merged := false
	defer func() {
		if !merged { // I1: p.x may lack elements
			m.markIncomplete(p)
		}
	}()
	m.fork(f, merging[E]{dst: p.x, a: p.buf[:n], b: p.buf[n:]}) // I2: p.buf keeps its elements
	merged = !f.Cancelled()
}

// forkMerge merges p.a and p.b into p.dst. It forks halves of p.dst.
func (m *mergeSort[E]) forkMerge(f *sched.Forks[merging[E], struct{}], p merging[E]) {
	for len(p.dst) > stableLeaf && !f.Cancelled() {
		n := len(p.dst) / 2
		i := corank(n, p.a, p.b, m.cmp)
		j := n - i
		right := merging[E]{dst: p.dst[n:], a: p.a[i:], b: p.b[j:]}
		f.Fork(right)
		m.forkMerge(f, merging[E]{dst: p.dst[:n], a: p.a[:i], b: p.b[:j]})
		if !f.TakeBackPointer() {
			f.Await()
			return
		}
		p = right
	}
	if !f.Cancelled() {
		merge(p.dst, p.a, p.b, m.cmp)
	}
}

// markIncomplete records that p.x may not hold all its elements.
func (m *mergeSort[E]) markIncomplete(p merging[E]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incomplete = append(m.incomplete, p)
}

// restore makes x hold all its elements, after the sort has ended for any reason.
func (m *mergeSort[E]) restore() {
	for _, p := range m.incomplete {
		copy(p.x, p.buf)
	}
}

// sort sorts x on the caller, into buf if toBuf. It makes a buffer if buf is nil.
func (m *mergeSort[E]) sort(x, buf []E, toBuf bool) {
	if buf == nil && len(x) > insertionMax {
		buf = make([]E, len(x))
	}
	var pending []E // the part of the buffer that is merged into x[from:]
	from := 0
	defer func() { copy(x[from:], pending) }()
	var step func(lo, hi int, toBuf bool)
	step = func(lo, hi int, toBuf bool) {
		if hi-lo <= insertionMax {
			insertionFunc(x[lo:hi], m.cmp)
			if toBuf {
				copy(buf[lo:hi], x[lo:hi])
			}
			return
		}
		mid := int(uint(lo+hi) / 2)
		step(lo, mid, !toBuf)
		step(mid, hi, !toBuf)
		if toBuf {
			merge(buf[lo:hi], x[lo:mid], x[mid:hi], m.cmp)
			return
		}
		from, pending = lo, buf[lo:hi]
		merge(x[lo:hi], buf[lo:mid], buf[mid:hi], m.cmp)
		pending = nil
	}
	step(0, len(x), toBuf)
}
