package runqueue_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

const (
	capacity = runqueue.Capacity
	half     = capacity / 2

	// nearWrap is an index from which two fills of the ring reach 2^32.
	nearWrap = 1<<32 - 2*capacity
)

var seed = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// newRand returns a function that makes one source of choices per goroutine. It logs
// the command that replays the choices.
func newRand(tb testing.TB) func(goroutine int) *rand.Rand {
	tb.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	tb.Logf("replay with -run '^%s$' -stress.seed=%d", tb.Name(), s)
	return func(goroutine int) *rand.Rand { return rand.New(rand.NewPCG(s, uint64(goroutine))) }
}

// newItems returns n items numbered from 0.
func newItems(n int) []*item {
	items := make([]*item, n)
	for i := range items {
		items[i] = &item{seq: i}
	}
	return items
}

// listOf returns a list of the items.
func listOf(items ...*item) *mpsc.List {
	l := new(mpsc.List)
	for _, it := range items {
		l.Push(&it.node)
	}
	return l
}

// seqs calls pop until it returns nil. It returns the numbers of the nodes.
func seqs(pop func() *mpsc.Node) []int {
	var got []int
	for n := pop(); n != nil; n = pop() {
		got = append(got, itemOf(n).seq)
	}
	return got
}

// span returns the numbers from a to b-1.
func span(a, b int) []int {
	var s []int
	for ; a < b; a++ {
		s = append(s, a)
	}
	return s
}

// wantSeqs fails unless got is the sequence want.
func wantSeqs(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []int,
) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// wantPanic fails unless f panics with the message.
func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Fatalf("got panic %v, want %q", got, want)
		}
	}()
	f()
}

// popOverflow empties the overflow queue of q and returns the numbers of its nodes.
func popOverflow(tb testing.TB, q *runqueue.Queue) []int {
	tb.Helper()
	var c mpsc.Consumer
	if q.Overflow().TryAcquire(&c, mpsc.LIFO) != mpsc.Acquired {
		return nil
	}
	defer c.Release()
	return seqs(c.Pop)
}

// beforeWrap calls fn with every index from which at most two fills of the ring reach
// 2^32. It also calls fn with index 0.
func beforeWrap(t *testing.T, fn func(t *testing.T, start uint32)) {
	t.Helper()
	for k := range uint32(2*capacity + 1) {
		t.Run(fmt.Sprintf("2^32-%d", k), func(t *testing.T) { fn(t, -k) })
		if t.Failed() {
			return
		}
	}
}
