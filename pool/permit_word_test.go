package pool_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/pool"
)

// The states of the pick.
const (
	free = iota
	queuedPick
	held
)

// everyPermitState calls yield for the states of the permits of a lane.
func everyPermitState(yield func(pool.PermitState)) {
	indices := []int{-1, 0, 1, 2, 1<<14 - 2}
	for _, tag := range []uint32{0, 1, 1<<32 - 1} {
		for _, top := range indices {
			for _, picker := range indices {
				for pick := free; pick <= held; pick++ {
					switch {
					case pick == free && picker >= 0, pick == queuedPick && picker < 0:
					default:
						yield(pool.PermitState{Pick: pick, Picker: picker, Top: top, Tag: tag})
					}
				}
			}
		}
	}
}

// TestPermitWord compares each transition of every state of the permits of a lane with the table.
func TestPermitWord(t *testing.T) {
	n := 0
	everyPermitState(func(s pool.PermitState) {
		n++
		w := pool.PermitWordOf(s)
		if got := pool.PermitStateOf(w); got != s {
			t.Fatalf("the word of %+v is that of %+v", s, got)
		}
		is := func(what string, got pool.PermitWord, want pool.PermitState) {
			t.Helper()
			if pool.PermitStateOf(got) != want {
				t.Errorf("%s of %+v: got %+v, want %+v", what, s, pool.PermitStateOf(got), want)
			}
		}
		can := s.Pick == free && s.Top >= 0
		if pool.CanTake(w) != can {
			t.Errorf("%+v can be taken: %t", s, !can)
		}
		for _, other := range []int{-1, 0, 1<<14 - 2} {
			if can {
				is("take", pool.TakePick(w, other), pool.PermitState{Pick: queuedPick, Picker: s.Top, Top: other, Tag: s.Tag + 1})
			}
			if other < 0 {
				continue
			}
			put := s
			put.Top = other
			is("put", pool.Put(w, other), put)
			next, picks := pool.PickOrPut(w, other)
			want := put
			if s.Pick == free {
				want = pool.PermitState{Pick: held, Picker: other, Top: s.Top, Tag: s.Tag}
			}
			is("pickOrPut", next, want)
			if picks != (s.Pick == free) {
				t.Errorf("pickOrPut of %+v: %t", s, picks)
			}
		}
		for from := free; from <= queuedPick; from++ {
			next, ok := pool.Hold(w, from)
			if ok != (s.Pick == from) {
				t.Errorf("hold of %+v from %d: %t", s, from, ok)
			}
			if ok {
				is("hold", next, pool.PermitState{Pick: held, Picker: s.Picker, Top: s.Top, Tag: s.Tag})
			}
		}
		if s.Pick == held {
			is("give", pool.Give(w, free), pool.PermitState{Picker: -1, Top: s.Top, Tag: s.Tag})
			if s.Picker >= 0 {
				is("give back", pool.Give(w, queuedPick), pool.PermitState{Pick: queuedPick, Picker: s.Picker, Top: s.Top, Tag: s.Tag})
			}
		}
	})
	if n < 100 {
		t.Errorf("%d states", n)
	}
}

// TestPermitWordHistory: in every order of the transitions, each permit is free or has one runner in
// use, and the pick has one holder.
func TestPermitWordHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		below := make([]int, limit)
		for i := range below {
			below[i] = i - 1
		}
		w := pool.PermitWordOf(pool.PermitState{Picker: -1, Top: limit - 1})
		running := map[int]bool{} // handlers with a permit, without the pick
		picker, pick := -1, free  // as the goroutines know them
		freeOnes := func() (n int) {
			for top := pool.PermitStateOf(w).Top; top >= 0 && n <= limit; top = below[top] {
				if running[top] || top == picker {
					t.Fatalf("runner %d is free and in use", top)
				}
				n++
			}
			return n
		}
		put := func(index int) {
			below[index] = pool.PermitStateOf(w).Top
			w = pool.Put(w, index)
		}
		anyRunning := func() (int, bool) {
			for i := range limit {
				if running[i] && (len(running) == 1 || rapid.Bool().Draw(t, "this")) {
					return i, true
				}
			}
			return 0, false
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				if got, want := pool.CanTake(w), pick == free && len(running) < limit; got != want {
					t.Fatalf("can take: %t, want %t", got, want)
				}
				if pool.CanTake(w) {
					picker, pick = pool.PermitStateOf(w).Top, queuedPick
					w = pool.TakePick(w, below[picker])
				}
			},
			"hold": func(t *rapid.T) {
				for from := free; from <= queuedPick; from++ {
					if next, ok := pool.Hold(w, from); ok {
						if pick != from {
							t.Fatalf("hold from %d of a pick that is %d", from, pick)
						}
						w, pick = next, held
						return
					}
				}
				if pick != held {
					t.Fatalf("hold of a pick that is %d: no", pick)
				}
			},
			"start": func(*rapid.T) {
				if pick == held && picker >= 0 {
					running[picker] = true
					w = pool.Give(w, free)
					picker, pick = -1, free
				}
			},
			"give up": func(*rapid.T) {
				if pick == held {
					if picker >= 0 {
						put(picker)
					}
					w = pool.Give(w, free)
					picker, pick = -1, free
				}
			},
			"queue": func(*rapid.T) {
				if pick == held && picker >= 0 {
					w, pick = pool.Give(w, queuedPick), queuedPick
				}
			},
			"end": func(t *rapid.T) {
				if i, ok := anyRunning(); ok {
					delete(running, i)
					put(i)
				}
			},
			"next": func(t *rapid.T) {
				if i, ok := anyRunning(); ok {
					delete(running, i)
					old := pool.PermitStateOf(w).Top
					next, picks := pool.PickOrPut(w, i)
					if picks != (pick == free) {
						t.Fatalf("pickOrPut: %t while the pick is %d", picks, pick)
					}
					if w = next; picks {
						picker, pick = i, held
					} else {
						below[i] = old
					}
				}
			},
			"": func(t *rapid.T) {
				used := len(running)
				if picker >= 0 {
					used++
				}
				if n := freeOnes(); n+used != limit {
					t.Fatalf("%d permits are free, %d in use, of %d", n, used, limit)
				}
			},
		})
	})
}
