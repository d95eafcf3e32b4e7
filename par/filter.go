package par

import (
	"math/bits"

	"github.com/lanewright/lanewright/sched"
)

// Filter returns a new slice of the elements of in for which keep returns true, in
// their order. The result is nil if there are none, also when in is empty or nil.
// Several workers call keep at once, each for some elements in a row. It is called once
// for each element. A slice of up to 64 elements is filtered by the caller alone.
func Filter[T any](s *sched.Scheduler, in []T, keep func(T) bool) []T {
	if keep == nil {
		panic("par: Filter: nil keep")
	}
	s = orDefault(s)
	if len(in) <= wordBits {
		var out []T
		for _, v := range in {
			if keep(v) {
				out = append(out, v)
			}
		}
		return out
	}
	c := &filter[T]{in: in, keep: keep, kept: make([]uint64, (len(in)+wordBits-1)/wordBits)}
	n := sched.ForkJoin(s, c.test, wordRange{hi: len(c.kept)})
	if n == 0 {
		return nil
	}
	c.out = make([]T, n)
	c.offsets()
	sched.ForkJoin(s, c.copyKept, wordRange{hi: len(c.kept)})
	return c.out
}

// filter is the state of one call of Filter. The first pass calls keep for all elements
// and stores the results, one bit each. The second pass copies. keep is thereby called
// once for each element, and the output is allocated with its final length. The bits
// determine the position of each element in the output.
type filter[T any] struct {
	in     []T
	keep   func(T) bool
	kept   []uint64 // the results of keep
	out    []T
	starts []int // the index in out of the first element of block i
}

const (
	wordBits   = 64
	blockWords = 64 // words of kept in a block
)

// wordRange is a range of words of filter.kept.
type wordRange struct{ lo, hi int }

// test calls keep for the elements of p and returns the number of elements kept.
func (c *filter[T]) test(f *sched.Forks[wordRange, int], p wordRange) int {
	n := 0
	for p.hi-p.lo > 1 {
		mid := int(uint(p.lo+p.hi) / 2)
		f.Push(wordRange{mid, p.hi})
		if f.Wanted() {
			f.Promote()
		}
		n += c.test(f, wordRange{p.lo, mid})
		if !f.TakeBack() {
			return n + f.Await()
		}
		p.lo = mid
	}
	keep, word := c.keep, uint64(0)
	first := p.lo * wordBits
	for i, v := range c.in[first:min(first+wordBits, len(c.in))] {
		word |= uint64(boolInt(keep(v))) << i
	}
	c.kept[p.lo] = word
	return n + bits.OnesCount64(word)
}

// offsets computes starts.
func (c *filter[T]) offsets() {
	n := 0
	for i, word := range c.kept {
		if i%blockWords == 0 {
			c.starts = append(c.starts, n)
		}
		n += bits.OnesCount64(word)
	}
}

// copyKept copies the kept elements of p. The range p begins with a block.
func (c *filter[T]) copyKept(f *sched.Forks[wordRange, struct{}], p wordRange) (none struct{}) {
	for p.hi-p.lo > blockWords {
		mid := p.lo + (p.hi-p.lo+blockWords)/(2*blockWords)*blockWords
		f.Push(wordRange{mid, p.hi})
		if f.Wanted() {
			f.Promote()
		}
		c.copyKept(f, wordRange{p.lo, mid})
		if !f.TakeBack() {
			return f.Await()
		}
		p.lo = mid
	}
	out, n := c.out, c.starts[p.lo/blockWords]
	for i, word := range c.kept[p.lo:p.hi] {
		in := c.in[(p.lo+i)*wordBits:]
		for ; word != 0; word &= word - 1 {
			out[n] = in[bits.TrailingZeros64(word)]
			n++
		}
	}
	return
}
