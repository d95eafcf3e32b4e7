package transport_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// newAbortSet returns a set and its words.
func newAbortSet(tb testing.TB, capacity int) (*transport.AbortSet, []atomix.Uint32) {
	tb.Helper()
	words := make([]atomix.Uint32, (capacity+31)/32)
	s, err := transport.NewAbortSet(capacity, words)
	if err != nil {
		tb.Fatal(err)
	}
	return s, words
}

// TestAbortSetCapacity checks that the capacity is 1 to 65,534. An id travels in 16
// bits, which gives the upper limit. There is a word for each 32 ids. K-105, K-113.
func TestAbortSetCapacity(t *testing.T) {
	for _, tc := range []struct {
		name            string
		capacity, words int
		ok              bool
	}{
		{"none", 0, 1, false},
		{"negative", -1, 1, false},
		{"one", 1, 1, true},
		{"a word", 32, 1, true},
		{"a word and a bit", 33, 2, true},
		{"no word", 1, 0, false},
		{"a word too few", 33, 1, false},
		{"default", transport.DefaultAborts, 9, true},
		{"a whole line", transport.DefaultAborts, transport.AbortBytes(transport.DefaultAborts) / 4, true},
		{"most", 65_534, 2048, true},
		{"too many", 65_535, 2048, false},
		{"far too many", 1 << 30, 1 << 10, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := transport.NewAbortSet(tc.capacity, make([]atomix.Uint32, tc.words))
			if (err == nil) != tc.ok || (s != nil) != tc.ok {
				t.Fatalf("NewAbortSet = %v, %v, want ok = %v", s, err, tc.ok)
			}
			if !tc.ok {
				return
			}
			full := max(0, tc.capacity/32-20) // words, to save time
			transport.FillAbortSet(s, full)
			for i := 32 * full; i <= tc.capacity; i++ {
				if id, ok := s.Acquire(); ok != (i < tc.capacity) || ok && int(id) != i {
					t.Fatalf("Acquire %d of %d = %d, %v", i, tc.capacity, id, ok)
				}
			}
		})
	}
}

// TestAbortSetExhausted checks that the 259th call that can be aborted gets no id. Each
// id that is released serves the next call. K-105.
func TestAbortSetExhausted(t *testing.T) {
	s, _ := newAbortSet(t, transport.DefaultAborts)
	for i := range 258 {
		if id, ok := s.Acquire(); !ok || int(id) != i {
			t.Fatalf("Acquire %d = %d, %v", i, id, ok)
		}
	}
	for _, id := range []transport.AbortID{257, 0, 100} {
		if id, ok := s.Acquire(); ok {
			t.Fatalf("Acquire of a 259th = %d", id)
		}
		s.Abort(id)
		s.Release(id)
		if got, ok := s.Acquire(); !ok || got != id || s.Aborted(id) {
			t.Fatalf("Acquire after Release(%d) = %d, %v, aborted = %v", id, got, ok, s.Aborted(id))
		}
	}
}

// TestAbortSetNeighbours checks that no operation on one flag changes another one. 32
// flags share a word. K-104.
func TestAbortSetNeighbours(t *testing.T) {
	s, _ := newAbortSet(t, 96)
	for range 96 {
		id, _ := s.Acquire()
		s.Abort(id)
	}
	for id := range transport.AbortID(96) {
		if id%3 == 0 {
			s.Release(id)
		}
	}
	for id := range transport.AbortID(96) {
		if got, want := s.Aborted(id), id%3 != 0; got != want {
			t.Errorf("Aborted(%d) = %v, want %v", id, got, want)
		}
	}
}

// TestAbortSetOldFlags checks that a set begins with clear flags whatever its words
// contained.
func TestAbortSetOldFlags(t *testing.T) {
	words := make([]atomix.Uint32, 3)
	for i := range words {
		words[i].Store(^uint32(0))
	}
	s, err := transport.NewAbortSet(40, words)
	if err != nil {
		t.Fatal(err)
	}
	for id := range transport.AbortID(40) {
		if s.Aborted(id) {
			t.Errorf("%d is aborted", id)
		}
	}
	if words[2].Load() != ^uint32(0) {
		t.Error("a word behind the flags was written to")
	}
}

// TestAbortSetMisuse checks that an id that is not acquired cannot be aborted or
// released. Aborted returns false for it. Aborted also accepts a number that is no id
// of the set.
func TestAbortSetMisuse(t *testing.T) {
	const misuse = "transport: AbortSet: the id is not acquired"
	s, words := newAbortSet(t, 40)
	id, _ := s.Acquire()
	s.Abort(id)
	for _, bad := range []transport.AbortID{1, 31, 39, 40, 63, 64, 65_535} {
		wantPanic(t, misuse, func() { s.Abort(bad) })
		wantPanic(t, misuse, func() { s.Release(bad) })
		if s.Aborted(bad) {
			t.Errorf("%d is aborted", bad)
		}
	}
	if !s.Aborted(id) || words[0].Load() != 1 || words[1].Load() != 0 {
		t.Errorf("the flags are %#x, %#x", words[0].Load(), words[1].Load())
	}
	s.Release(id)
	wantPanic(t, misuse, func() { s.Release(id) })
	wantPanic(t, misuse, func() { s.Abort(id) })
}

// TestAbortSetMachine compares a set with two lists. One list has the ids in use, and
// the lowest free id is next. The other one has the flags that are set. K-104, K-106,
// K-107.
func TestAbortSetMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.SampledFrom([]int{1, 31, 32, 33, 70}).Draw(t, "capacity")
		words := make([]atomix.Uint32, (capacity+31)/32)
		s, err := transport.NewAbortSet(capacity, words)
		if err != nil {
			t.Fatal(err)
		}
		used, flags := make([]bool, capacity), make([]bool, capacity)
		pick := func(t *rapid.T) transport.AbortID {
			id := rapid.IntRange(0, capacity-1).Draw(t, "id")
			if !used[id] {
				t.Skip("not acquired")
			}
			return transport.AbortID(id)
		}
		acquire := func(t *rapid.T) {
			want := 0
			for want < capacity && used[want] {
				want++
			}
			id, ok := s.Acquire()
			if ok != (want < capacity) || ok && int(id) != want {
				t.Fatalf("Acquire = %d, %v, want %d of %d", id, ok, want, capacity)
			}
			if ok {
				used[id] = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": acquire,
			"acquire some": func(t *rapid.T) {
				for range rapid.IntRange(1, 32).Draw(t, "n") {
					acquire(t)
				}
			},
			"abort": func(t *rapid.T) {
				id := pick(t)
				s.Abort(id)
				flags[id] = true
			},
			"release": func(t *rapid.T) {
				id := pick(t)
				s.Release(id)
				used[id], flags[id] = false, false
			},
			"": func(t *rapid.T) {
				for id := range capacity {
					if got := s.Aborted(transport.AbortID(id)); got != flags[id] {
						t.Fatalf("Aborted(%d) = %v, want %v", id, got, flags[id])
					}
					if got := words[id/32].Load()>>(id%32)&1 != 0; got != flags[id] {
						t.Fatalf("bit %d of the words is %v, want %v", id, got, flags[id])
					}
				}
			},
		})
	})
}

// TestAbortSetStress checks that each caller gets an id of its own when there are as
// many ids as callers. Its flag is clear and only its own Abort sets it. The ids are in
// several words. K-104, K-105, K-107.
func TestAbortSetStress(t *testing.T) {
	const callers, idle = 8, 60
	rnd := newRand(t)
	each := rounds(50_000)
	s, words := newAbortSet(t, idle+callers)
	for range idle { // the remaining ids are in two words
		s.Acquire()
	}
	var users [idle + callers]atomic.Int32
	within(t, "aborting", func() {
		var wg sync.WaitGroup
		for g := range callers {
			rng := rnd(g)
			wg.Go(func() {
				for range each {
					id, ok := s.Acquire()
					if !ok {
						t.Error("there is no id, and as many as callers")
						return
					}
					if n := users[id].Add(1); n != 1 {
						t.Errorf("%d callers have id %d", n, id)
					}
					abort := rng.IntN(2) == 0
					if s.Aborted(id) {
						t.Errorf("id %d was aborted before", id)
					}
					if abort {
						s.Abort(id)
					}
					if s.Aborted(id) != abort {
						t.Errorf("Aborted(%d) = %v, want %v", id, !abort, abort)
					}
					users[id].Add(-1)
					s.Release(id)
				}
			})
		}
		wg.Wait()
	})
	for w := range words {
		if f := words[w].Load(); f != 0 {
			t.Errorf("the flags of word %d are %#x at the end", w, f)
		}
	}
	for i := range callers {
		if _, ok := s.Acquire(); !ok {
			t.Errorf("%d ids of %d are free at the end", i, callers)
		}
	}
	if _, ok := s.Acquire(); ok {
		t.Error("an id too many is free at the end")
	}
}
