package par

import (
	"context"
	"sync"

	"github.com/lanewright/lanewright/sched"
)

// SortStableFunc sorts x in the order of cmp on the workers of s. Equal elements keep
// their order, as with [slices.SortStableFunc]. Several workers call cmp at once.
//
// It takes as much memory again as x has, while it works. A panic of cmp passes to
// the caller, as with [SortFunc]; x holds all its elements then, in some order.
func SortStableFunc[S ~[]E, E any](s *sched.Scheduler, x S, cmp func(a, b E) int) {
	if cmp == nil {
		panic("par: SortStableFunc: nil cmp")
	}
	s = on(s)
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

// SortStableFuncContext is [SortStableFunc] with a context. When ctx ends before x
// is sorted, it returns the cause of ctx and leaves x in some order, with all its
// elements.
func SortStableFuncContext[S ~[]E, E any](ctx context.Context, s *sched.Scheduler, x S, cmp func(a, b E) int) error {
	if cmp == nil {
		panic("par: SortStableFuncContext: nil cmp")
	}
	m := &mergeSort[E]{cmp: cmp}
	if ctx == nil {
		panic("par: nil context")
	}
	s = on(s)
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

// mergeSort sorts by merging, with a buffer as long as the slice. Each part of the
// slice has its part of the buffer.
//
// Invariants:
//
//	I1  a part holds all its elements but while the buffer is merged into it
//	I2  what is merged stays where it is until the merge has ended
//
// So a part whose merge did not end is copied from the buffer again, when all has
// come to an end, and then nothing is lost.
type mergeSort[E any] struct {
	cmp func(a, b E) int

	mu   sync.Mutex
	torn []merging[E]
}

// merging is a step of the sort: to sort x, into buf if toBuf, or, when x is nil, to
// merge a and b into dst.
type merging[E any] struct {
	x, buf []E
	toBuf  bool

	dst, a, b []E
}

const (
	stableFew  = 12      // so many are sorted by insertion
	stableLeaf = 1 << 11 // so many are sorted, or merged, by one worker
)

func (m *mergeSort[E]) whole(x []E) merging[E] {
	return merging[E]{x: x, buf: make([]E, len(x))}
}

// fork does the step p, and forks a half of it.
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
	whole := false
	defer func() {
		if !whole { // I1
			m.tear(p)
		}
	}()
	m.fork(f, merging[E]{dst: p.x, a: p.buf[:n], b: p.buf[n:]}) // I2
	whole = !f.Cancelled()
}

// forkMerge merges p.a and p.b into p.dst, in halves of p.dst.
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

// tear notes that p.x may not hold all its elements.
func (m *mergeSort[E]) tear(p merging[E]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.torn = append(m.torn, p)
}

// restore makes x hold all its elements, after the sort has ended in whatever way.
func (m *mergeSort[E]) restore() {
	for _, p := range m.torn {
		copy(p.x, p.buf)
	}
}

// sort sorts x on the caller, into buf if toBuf. It makes a buffer if that is nil.
func (m *mergeSort[E]) sort(x, buf []E, toBuf bool) {
	if buf == nil && len(x) > stableFew {
		buf = make([]E, len(x))
	}
	var torn []E // the part of the buffer that is merged into x[from:]
	from := 0
	defer func() { copy(x[from:], torn) }()
	var step func(lo, hi int, toBuf bool)
	step = func(lo, hi int, toBuf bool) {
		if hi-lo <= stableFew {
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
		from, torn = lo, buf[lo:hi]
		merge(x[lo:hi], buf[lo:mid], buf[mid:hi], m.cmp)
		torn = nil
	}
	step(0, len(x), toBuf)
}
