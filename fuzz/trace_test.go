package fuzz_test

import (
	"slices"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// maxSteps bounds the operations of one trace, so that a long input does not take
// long.
const maxSteps = 400

// trace reads choices off the bytes of an input. When none are left, each further
// choice is 0.
type trace []byte

// steps calls step until the input is used up.
func (tr *trace) steps(step func()) {
	for n := 0; n < maxSteps && len(*tr) > 0; n++ {
		step()
	}
}

// byte returns the next byte.
func (tr *trace) byte() byte {
	if len(*tr) == 0 {
		return 0
	}
	b := (*tr)[0]
	*tr = (*tr)[1:]
	return b
}

// uint16 returns the next two bytes, the low one first.
func (tr *trace) uint16() uint16 { return uint16(tr.byte()) | uint16(tr.byte())<<8 }

// below returns a number from 0 to n-1. It reads one byte if that can tell all of
// them apart, else two.
func (tr *trace) below(n int) int {
	if n <= 1<<8 {
		return int(tr.byte()) % n
	}
	return int(tr.uint16()) % n
}

// coin returns false or true.
func (tr *trace) coin() bool { return tr.byte()&1 == 1 }

// item is what the queues hold: a node first, as in a task.
type item struct {
	node mpsc.Node
	id   int
}

// items makes items with ascending numbers. What comes back is used again, with
// the link that it came back with.
type items struct {
	all   []*item // by number: what had it
	loose []*item
}

// next returns an item, an old one every other time if there is one.
func (s *items) next() *item {
	it := new(item)
	if len(s.loose) > 0 && len(s.all)%2 == 0 {
		it, s.loose = s.loose[0], s.loose[1:]
	}
	it.id = len(s.all)
	s.all = append(s.all, it)
	return it
}

// list returns a list of n items, and their numbers.
func (s *items) list(n int) (*mpsc.List, []int) {
	l := new(mpsc.List)
	var ids []int
	for range n {
		it := s.next()
		l.Push(&it.node)
		ids = append(ids, it.id)
	}
	return l, ids
}

// back takes what a queue gave back, and returns its number; -1 for nil.
func (s *items) back(n *mpsc.Node) int {
	if n == nil {
		return -1
	}
	it := itemOf(n)
	s.loose = append(s.loose, it)
	return it.id
}

// backAll takes what pop returns until nil, and returns the numbers.
func (s *items) backAll(pop func() *mpsc.Node) []int {
	var ids []int
	for n := pop(); n != nil; n = pop() {
		ids = append(ids, s.back(n))
	}
	return ids
}

// first returns the first number of ids, or -1 when there is none.
func first(ids []int) int {
	if len(ids) == 0 {
		return -1
	}
	return ids[0]
}

// want fails the test unless got is what was wanted.
func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// wantIDs is want for numbers of items.
func wantIDs(t *testing.T, what string, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
