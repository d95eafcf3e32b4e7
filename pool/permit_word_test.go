package pool_test

import (
	"slices"
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
						s := pool.PermitState{Pick: pick, Picker: picker, Top: top, Tag: tag}
						yield(s)
						s.Surplus = true
						yield(s)
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
			want.Surplus = s.Surplus
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
			if s.Top >= 0 {
				is("remove", pool.RemoveFree(w, other), pool.PermitState{Pick: s.Pick, Picker: s.Picker, Top: other, Tag: s.Tag + 1})
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
			if s.Pick == held {
				both := put
				both.Pick, both.Picker = free, -1
				is("putBoth", pool.PutBoth(w, other), both)
			}
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
		for _, on := range []bool{false, true} {
			want := s
			want.Surplus = on
			if got := pool.PermitStateOf(pool.SetSurplus(w, on)); got != want {
				t.Errorf("withSurplus(%t) of %+v: got %+v", on, s, got)
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
		t.Errorf("the test has %d states, want 100 or more", n)
	}
}

// TestPermitWordHistory takes the transitions in every order. Each permit is free, has one
// runner in use, or is retired. The pick has one holder. No permit is free while there is a
// surplus.
func TestPermitWordHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(t, "permits")
		limit, surplus, retired := most, 0, []int(nil)
		below := make([]int, most)
		for i := range below {
			below[i] = i - 1
		}
		w := pool.PermitWordOf(pool.PermitState{Picker: -1, Top: limit - 1})
		running := map[int]bool{} // handlers with a permit, without the pick
		picker, pick := -1, free  // as the goroutines know them
		freeOnes := func() (n int) {
			for top := pool.PermitStateOf(w).Top; top >= 0 && n <= most; top = below[top] {
				if running[top] || top == picker || slices.Contains(retired, top) {
					t.Fatalf("runner %d is free and in use", top)
				}
				n++
			}
			return n
		}
		retire := func(index int) {
			retired = append(retired, index)
			surplus--
			w = pool.SetSurplus(w, surplus > 0)
		}
		put := func(index int) {
			if pool.PermitStateOf(w).Surplus {
				retire(index)
				return
			}
			below[index] = pool.PermitStateOf(w).Top
			w = pool.Put(w, index)
		}
		anyRunning := func() (int, bool) {
			for i := range most {
				if running[i] && (len(running) == 1 || rapid.Bool().Draw(t, "this")) {
					return i, true
				}
			}
			return 0, false
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				if got, want := pool.CanTake(w), pick == free && len(running) < limit && surplus == 0; got != want {
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
					if pool.PermitStateOf(w).Surplus {
						retire(i)
						return
					}
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
			"set": func(t *rapid.T) {
				n := rapid.IntRange(1, most).Draw(t, "limit")
				surplus += limit - n
				limit = n
				for ; surplus < 0; surplus++ {
					i := retired[len(retired)-1]
					retired = retired[:len(retired)-1]
					w = pool.SetSurplus(w, false)
					put(i)
				}
				w = pool.SetSurplus(w, surplus > 0)
				for surplus > 0 && pool.PermitStateOf(w).Top >= 0 {
					i := pool.PermitStateOf(w).Top
					w = pool.RemoveFree(w, below[i])
					retire(i)
				}
			},
			"": func(t *rapid.T) {
				used := len(running)
				if picker >= 0 {
					used++
				}
				n := freeOnes()
				if n+used != limit+surplus || len(retired) != most-limit-surplus {
					t.Fatalf("%d permits are free, %d in use, %d retired, of %d, with a surplus of %d", n, used, len(retired), limit, surplus)
				}
				if got := pool.PermitStateOf(w).Surplus; got != (surplus > 0) || got && n != 0 {
					t.Fatalf("the bit is %t, the surplus %d, and %d permits are free", got, surplus, n)
				}
			},
		})
	})
}
