package par

import (
	"math/bits"

	"github.com/lanewright/lanewright/sched"
)

// Filter returns a new slice of the elements of in that keep holds for, in their
// order, on the workers of s. The result is nil if
// there are none. Several workers call keep at once; it is called once for each
// element, and some elements in a row are one worker's: up to 64 elements are
// the caller's alone.
func Filter[T any](s *sched.Scheduler, in []T, keep func(T) bool) []T {
	if keep == nil {
		panic("par: Filter: nil keep")
	}
	s = on(s)
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
	n := sched.ForkJoin(s, c.ask, words{hi: len(c.kept)})
	if n == 0 {
		return nil
	}
	c.out = make([]T, n)
	c.count()
	sched.ForkJoin(s, c.move, words{hi: len(c.kept)})
	return c.out
}

// filter is a filter under way. It asks keep for all elements first, and notes the
// answers, one bit each. So keep is called once, the result is made as long as it
// has to be, and each word of answers says where its elements go.
type filter[T any] struct {
	in   []T
	keep func(T) bool
	kept []uint64 // the answers
	out  []T
	from []int // where block i of the answers goes in out
}

const (
	wordBits   = 64
	blockWords = 64 // in a block of answers
)

// words is a range of words of answers.
type words struct{ lo, hi int }

// ask asks for the elements of p, and returns how many are kept.
func (c *filter[T]) ask(f *sched.Forks[words, int], p words) int {
	n := 0
	for p.hi-p.lo > 1 {
		mid := int(uint(p.lo+p.hi) / 2)
		f.Push(words{mid, p.hi})
		if f.Wanted() {
			f.Promote()
		}
		n += c.ask(f, words{p.lo, mid})
		if !f.TakeBack() {
			return n + f.Await()
		}
		p.lo = mid
	}
	keep, word := c.keep, uint64(0)
	first := p.lo * wordBits
	for i, v := range c.in[first:min(first+wordBits, len(c.in))] {
		word |= uint64(one(keep(v))) << i
	}
	c.kept[p.lo] = word
	return n + bits.OnesCount64(word)
}

// count finds out where each block goes.
func (c *filter[T]) count() {
	n := 0
	for i, word := range c.kept {
		if i%blockWords == 0 {
			c.from = append(c.from, n)
		}
		n += bits.OnesCount64(word)
	}
}

// move copies the kept elements of p, which begins with a block.
func (c *filter[T]) move(f *sched.Forks[words, struct{}], p words) (none struct{}) {
	for p.hi-p.lo > blockWords {
		mid := p.lo + (p.hi-p.lo+blockWords)/(2*blockWords)*blockWords
		f.Push(words{mid, p.hi})
		if f.Wanted() {
			f.Promote()
		}
		c.move(f, words{p.lo, mid})
		if !f.TakeBack() {
			return f.Await()
		}
		p.lo = mid
	}
	out, n := c.out, c.from[p.lo/blockWords]
	for i, word := range c.kept[p.lo:p.hi] {
		in := c.in[(p.lo+i)*wordBits:]
		for ; word != 0; word &= word - 1 {
			out[n] = in[bits.TrailingZeros64(word)]
			n++
		}
	}
	return
}
