package fuzz_test

import (
	"slices"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// maxSteps bounds the operations of one trace. A long input then does not run for long.
const maxSteps = 400

// trace reads choices from the bytes of an input. Each choice is 0 when no byte is
// left.
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

// below returns a number from 0 to n-1. It reads one byte if one byte can represent all
// of them. Otherwise it reads two.
func (tr *trace) below(n int) int {
	if n <= 1<<8 {
		return int(tr.byte()) % n
	}
	return int(tr.uint16()) % n
}

// coin returns false or true.
func (tr *trace) coin() bool { return tr.byte()&1 == 1 }

// item is what the queues hold. The node is the first field, as in a task.
type item struct {
	node mpsc.Node
	id   int
}

// items makes items with ascending numbers. A returned item is used again, with the
// link that it has.
type items struct {
	all   []*item // by number: the item that had it
	loose []*item
}

// next returns an item. Every second time it is a used one, if there is one.
func (s *items) next() *item {
	it := new(item)
	if len(s.loose) > 0 && len(s.all)%2 == 0 {
		it, s.loose = s.loose[0], s.loose[1:]
	}
	it.id = len(s.all)
	s.all = append(s.all, it)
	return it
}

// list returns a list of n items and their numbers.
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

// back returns the number of a popped node, or -1 for nil, and keeps its item for
// reuse.
func (s *items) back(n *mpsc.Node) int {
	if n == nil {
		return -1
	}
	it := itemOf(n)
	s.loose = append(s.loose, it)
	return it.id
}

// backAll calls back for the nodes that pop returns until nil, and returns their
// numbers.
func (s *items) backAll(pop func() *mpsc.Node) []int {
	var ids []int
	for n := pop(); n != nil; n = pop() {
		ids = append(ids, s.back(n))
	}
	return ids
}

// first returns the first number of ids, or -1 if ids is empty.
func first(ids []int) int {
	if len(ids) == 0 {
		return -1
	}
	return ids[0]
}

// want fails the test unless got equals want.
func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// wantIDs is want for the numbers of items.
func wantIDs(t *testing.T, what string, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
