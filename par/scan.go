package par

import "github.com/lanewright/lanewright/sched"

// Scan stores the running folds of src in dst: dst[i] becomes
// op(op(src[0], src[1]), ... src[i]). op must be associative and must not change its
// arguments. It need not be commutative. If op is not quite associative, such as the
// addition of floats, the results differ accordingly from run to run.
//
// dst must be as long as src: otherwise Scan panics. dst may be src, and must not overlap
// src in any other way. Several workers call op at once. When op panics, the contents of
// dst are undefined.
//
// On one worker, op is called once for each element. A part that another worker takes
// costs a second call for each of its elements, because its prefix is known only when the
// parts before it have ended.
func Scan[T any](s *sched.Scheduler, dst, src []T, op func(a, b T) T) {
	if op == nil {
		panic("par: Scan: nil op")
	}
	s = orDefault(s)
	checkScan("Scan", len(dst), len(src))
	if len(src) == 0 {
		return
	}
	dst[0] = src[0]
	(&scan[T]{dst: dst[1:], src: src[1:], op: op, inclusive: true}).run(s, src[0])
}

// ScanExclusive is [Scan] from init, with each element left out of its own fold: dst[0]
// becomes init, and dst[i] becomes op(op(init, src[0]), ... src[i-1]). It returns the fold
// of all elements.
func ScanExclusive[T any](s *sched.Scheduler, dst, src []T, init T, op func(a, b T) T) T {
	if op == nil {
		panic("par: ScanExclusive: nil op")
	}
	checkScan("ScanExclusive", len(dst), len(src))
	return (&scan[T]{dst: dst, src: src, op: op}).run(orDefault(s), init)
}

// checkScan panics when dst and src differ in length.
func checkScan(name string, dst, src int) {
	if dst != src {
		panic("par: " + name + ": dst and src differ in length")
	}
}

// scan is the state of one call of Scan or ScanExclusive.
//
// A worker scans from the front and forks the rest. If no other worker takes a fork, it
// scans that part next, and knows the prefix. Another worker scans the part that it takes
// without the prefix. All workers then prepend the prefix to the elements of that part.
//
// One worker therefore makes one pass. Two workers take three quarters of its time.
//
// Rejected: two passes by blocks, the folds first and then the scans. Two workers then
// take as long as one.
type scan[T any] struct {
	dst, src  []T
	op        func(a, b T) T
	inclusive bool
}

// scanLeaf is the length up to which one worker scans a part alone.
const scanLeaf = 512

// scanRange is a part of a scan.
type scanRange[T any] struct {
	lo, hi int
	prefix T // the fold of the elements before lo
	kind   rangeKind
}

type rangeKind uint8

const (
	withPrefix    rangeKind = iota // scan from prefix
	withoutPrefix                  // scan from the first element
	prepend                        // combine prefix with each element, which has been scanned
)

func (c *scan[T]) run(s *sched.Scheduler, first T) T {
	all := scanRange[T]{hi: len(c.src), prefix: first}
	if all.hi <= scanLeaf {
		return c.leaf(all)
	}
	return sched.ForkJoin(s, c.fork, all)
}

// fork runs p. For a scan, it returns the fold of all elements up to the end of p.
func (c *scan[T]) fork(f *sched.Forks[scanRange[T], T], p scanRange[T]) T {
	for p.hi-p.lo > scanLeaf {
		left, right := p, p
		left.hi = int(uint(p.lo+p.hi) / 2)
		right.lo = left.hi
		if p.kind != prepend {
			right.kind = withoutPrefix
		}
		f.Fork(right)
		prefix := c.fork(f, left)
		if f.TakeBackPointer() {
			p = right
			if p.kind != prepend {
				p.kind, p.prefix = withPrefix, prefix
			}
			continue
		}
		rest := f.Await()
		if p.kind == prepend {
			return rest
		}
		right.kind, right.prefix = prepend, prefix
		c.prependFirst(&right)
		c.fork(f, right)
		return c.op(prefix, rest)
	}
	return c.leaf(p)
}

// leaf runs p on the caller.
func (c *scan[T]) leaf(p scanRange[T]) T {
	dst, src, op, fold := c.dst[p.lo:p.hi], c.src[p.lo:p.hi], c.op, p.prefix
	switch {
	case p.kind == prepend:
		for i, v := range dst {
			dst[i] = op(fold, v)
		}
		return fold
	case p.kind == withoutPrefix:
		fold = src[0]
		if c.inclusive {
			dst[0] = fold
		}
		dst, src = dst[1:], src[1:]
	}
	if c.inclusive {
		for i, v := range src {
			fold = op(fold, v)
			dst[i] = fold
		}
		return fold
	}
	for i, v := range src {
		dst[i] = fold
		fold = op(fold, v)
	}
	return fold
}

// prependFirst stores the prefix in the first element of p, if that element has no fold
// of its own. It removes the element from p.
func (c *scan[T]) prependFirst(p *scanRange[T]) {
	if !c.inclusive {
		c.dst[p.lo] = p.prefix
		p.lo++
	}
}
