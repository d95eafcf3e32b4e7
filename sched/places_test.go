package sched_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// lastTag is the last tag before the wrap.
const lastTag = 1<<31 - 1

// TestFreeWord: the packed word of the free list behaves like its four fields. Z-093. V-15c.
func TestFreeWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.Uint32Range(0, 1<<16-1).Draw(t, "top")
		n := rapid.IntRange(0, 1<<16-1).Draw(t, "len")
		closed := rapid.Bool().Draw(t, "closed")
		tag := rapid.OneOf(rapid.Uint32Range(0, lastTag), rapid.Just(uint32(lastTag))).Draw(t, "tag")
		next := rapid.Uint32Range(0, 1<<16-1).Draw(t, "next")
		check := func(what string, f sched.FreeWord, top uint32, n int, tag uint32) {
			t.Helper()
			if f.Top() != top || f.Len() != n || f.Closed() != closed || f.Tag() != tag&lastTag {
				t.Fatalf("%s: top %d, len %d, closed %v, tag %d; want %d, %d, %v, %d",
					what, f.Top(), f.Len(), f.Closed(), f.Tag(), top, n, closed, tag&lastTag)
			}
		}
		f := sched.MakeFreeWord(top, n, closed, tag)
		check("pack", f, top, n, tag)
		if n > 0 {
			check("pop", f.Pop(next), next, n-1, tag+1)
		}
		if n < 1<<16-1 {
			check("push", f.Push(next), next, n+1, tag+1)
		}
	})
}

// TestPlacesModel: the free list of places behaves like a slice. Z-093. V-15c.
func TestPlacesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "places")
		tag := lastTag - rapid.Uint32Range(0, 20).Draw(t, "tag")
		p := sched.NewPlaces(limit, tag)
		free, held := []int{0}, []int(nil) // the top of free is last
		made, closed := 1, false
		old := p.Word()
		changes := func(want bool) {
			t.Helper()
			if got := p.Word() != old; got != want {
				t.Fatalf("the word has changed: %v, want %v", got, want)
			}
			old = p.Word()
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				want := -1
				switch {
				case closed:
				case len(free) > 0:
					want, free = free[len(free)-1], free[:len(free)-1]
				case made < limit:
					want = made
					made++
				}
				if got := p.Take(); got != want {
					t.Fatalf("Take = %d, want %d", got, want)
				}
				if want >= 0 {
					held = append(held, want)
				}
				changes(want >= 0)
			},
			"put": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("no place is held")
				}
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				if got := p.Put(held[i]); got != closed {
					t.Fatalf("Put = %v, want %v", got, closed)
				}
				free = append(free, held[i])
				held = slices.Delete(held, i, i+1)
				changes(true)
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") != 9 {
					t.Skip("rarely closed")
				}
				var want []int
				if !closed {
					want = slices.Clone(free)
					slices.Reverse(want)
				}
				if got := p.Close(); !slices.Equal(got, want) {
					t.Fatalf("Close = %v, want %v", got, want)
				}
				changes(!closed)
				closed = true
			},
			"close at an old word": func(t *rapid.T) {
				_, at := p.Held()
				i := p.Take()
				if i < 0 {
					t.Skip("no place is free")
				}
				p.Put(i)
				if !slices.Contains(free, i) { // a new place
					free = append(free, i)
					made++
				}
				if p.CloseAt(at) {
					t.Fatal("CloseAt succeeded at a word from before a take and a put")
				}
				old = p.Word()
			},
			"close at this word": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") != 19 {
					t.Skip("rarely closed")
				}
				n, at := p.Held()
				if n != len(held) {
					t.Fatalf("Held = %d, want %d", n, len(held))
				}
				if got := p.CloseAt(at); got == closed {
					t.Fatalf("CloseAt = %v, closed before: %v", got, closed)
				}
				changes(!closed)
				closed = true
			},
			"": func(t *rapid.T) {
				if n, at := p.Held(); n != len(held) || at != p.Word() || at.Closed() != closed || at.Len() != len(free) {
					t.Fatalf("Held = %d, %#x; want %d, %#x, closed %v", n, at, len(held), p.Word(), closed)
				}
				if p.Made() != made {
					t.Fatalf("%d places were made, want %d", p.Made(), made)
				}
			},
		})
	})
}

// TestPlacesHaveOneHolder: a place has one holder at a time while many goroutines take and put
// places across the wrap of the tag. The race detector checks the edge from put to take. Z-093.
// V-15c.
func TestPlacesHaveOneHolder(t *testing.T) {
	const places = 3
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	p := sched.NewPlaces(places, lastTag-1000)
	var plain [places]int // written by the holder only
	var failed, turned atomic.Int64
	var wg sync.WaitGroup
	for range places + 2 {
		wg.Go(func() {
			for range rounds {
				i := p.Take()
				if i < 0 {
					turned.Add(1)
					continue
				}
				plain[i]++
				if p.Put(i) {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	sum := int(turned.Load())
	for _, n := range plain {
		sum += n
	}
	if n, _ := p.Held(); n != 0 || failed.Load() != 0 || sum != (places+2)*rounds {
		t.Errorf("%d held, %d closed, %d takes, want %d", n, failed.Load(), sum, (places+2)*rounds)
	}
	if got := p.Close(); len(got) != p.Made() {
		t.Errorf("Close found %v of %d places", got, p.Made())
	}
}
