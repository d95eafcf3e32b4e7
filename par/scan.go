package par

import "github.com/lanewright/lanewright/sched"

// Scan stores the running folds of src into dst, on the workers of s: dst[i] becomes
// op(op(src[0], src[1]), ... src[i]). op must be associative; it need not be
// commutative, and must not change its arguments. Where it is not quite associative,
// as the addition of floats, results differ by what it is not, from run to run.
//
// dst must be as long as src. It may be src, but not overlap it otherwise. Several
// workers call op at once. When op panics, the contents of dst are undefined.
//
// One worker calls op once for each element. What other workers take over costs a
// second call: where it begins is not known before what precedes it has ended.
func Scan[T any](s *sched.Scheduler, dst, src []T, op func(a, b T) T) {
	if op == nil {
		panic("par: Scan: nil op")
	}
	s = on(s)
	checkScan("Scan", len(dst), len(src))
	if len(src) == 0 {
		return
	}
	dst[0] = src[0]
	(&scan[T]{dst: dst[1:], src: src[1:], op: op, inclusive: true}).run(s, src[0])
}

// ScanExclusive is [Scan] from init, and with each element left out of its own fold:
// dst[0] becomes init, and dst[i] becomes op(op(init, src[0]), ... src[i-1]). It
// returns the fold of all.
func ScanExclusive[T any](s *sched.Scheduler, dst, src []T, init T, op func(a, b T) T) T {
	if op == nil {
		panic("par: ScanExclusive: nil op")
	}
	checkScan("ScanExclusive", len(dst), len(src))
	return (&scan[T]{dst: dst, src: src, op: op}).run(on(s), init)
}

func checkScan(name string, dst, src int) {
	if dst != src {
		panic("par: " + name + ": dst and src differ in length")
	}
}

// scan is a scan under way.
//
// A worker scans from the front, and offers the rest. What nobody takes it scans
// next, and knows what has come before. What another worker takes is scanned there
// without, and then corrected by all.
//
// So one worker makes one pass, and two take three quarters of its time. Rejected:
// two passes by blocks, first folds, then scans, as two workers take all of it then.
type scan[T any] struct {
	dst, src  []T
	op        func(a, b T) T
	inclusive bool
}

// scanLeaf is how many elements one worker scans at least.
const scanLeaf = 512

// stretch is a part of a scan.
type stretch[T any] struct {
	lo, hi int
	before T // the fold of what comes before lo
	kind   stretchKind
}

type stretchKind uint8

const (
	scanKnown   stretchKind = iota // scan
	scanUnknown                    // scan, without before
	correct                        // put before in front of each element
)

func (c *scan[T]) run(s *sched.Scheduler, first T) T {
	all := stretch[T]{hi: len(c.src), before: first}
	if all.hi <= scanLeaf {
		return c.leaf(all)
	}
	return sched.ForkJoin(s, c.fork, all)
}

// fork does p, and returns the fold of all up to its end, for a scan.
func (c *scan[T]) fork(f *sched.Forks[stretch[T], T], p stretch[T]) T {
	for p.hi-p.lo > scanLeaf {
		left, right := p, p
		left.hi = int(uint(p.lo+p.hi) / 2)
		right.lo = left.hi
		if p.kind != correct {
			right.kind = scanUnknown
		}
		f.Fork(right)
		before := c.fork(f, left)
		if f.TakeBackPointer() {
			p = right
			if p.kind != correct {
				p.kind, p.before = scanKnown, before
			}
			continue
		}
		rest := f.Await()
		if p.kind == correct {
			return rest
		}
		right.kind, right.before = correct, before
		c.correctFirst(&right)
		c.fork(f, right)
		return c.op(before, rest)
	}
	return c.leaf(p)
}

// leaf does p on the caller.
func (c *scan[T]) leaf(p stretch[T]) T {
	dst, src, op, fold := c.dst[p.lo:p.hi], c.src[p.lo:p.hi], c.op, p.before
	switch {
	case p.kind == correct:
		for i, v := range dst {
			dst[i] = op(fold, v)
		}
		return fold
	case p.kind == scanUnknown:
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

// correctFirst corrects the first element of p where that has no fold of its own.
func (c *scan[T]) correctFirst(p *stretch[T]) {
	if !c.inclusive {
		c.dst[p.lo] = p.before
		p.lo++
	}
}
