//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/sched"
)

// TestModelPlaces: a place has one holder at a time, also when the top of the free list is taken
// and put back during a take. Of three places one thread holds one, and the list holds 0 and 1.
func TestModelPlaces(t *testing.T) {
	interleave.Check(t, "sched-places", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		p := sched.NewPlaces(3, lastTag)
		zero, one, two := p.Take(), p.Take(), p.Take()
		var holders [3]int
		holders[two] = 1
		take := func() int {
			i := p.Take()
			if i >= 0 {
				if holders[i]++; holders[i] > 1 {
					m.Fatalf("place %d has two holders", i)
				}
			}
			return i
		}
		put := func(i int) {
			holders[i]--
			p.Put(i)
		}
		holders[zero], holders[one] = 1, 1
		put(one)
		put(zero)
		m.Go("slow", func() { take(); take() })
		m.Go("quick", func() {
			first := take()
			take() // keeps it
			put(two)
			if first >= 0 {
				put(first)
			}
		})
	})
}

// TestModelPlacesHeld: a place that is held counts as held while another place is made and put back.
func TestModelPlacesHeld(t *testing.T) {
	interleave.Check(t, "sched-places-held", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		p := sched.NewPlaces(2, lastTag)
		p.Take()
		m.Go("maker", func() { p.Put(p.Take()) })
		m.Go("closer", func() {
			if n, _ := p.Held(); n < 1 {
				m.Fatalf("%d places are held, want 1 at least", n)
			}
		})
	})
}
