package fuzz_test

import (
	"slices"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

const capacity = runqueue.Capacity

// ringPair is a ring and a slice of its nodes, oldest first.
type ringPair struct {
	r    *runqueue.Ring
	ids  []int
	held bool
	// lost counts the slots without a node that the owner cannot use. While the ring is
	// held, one slot counts and so do the slots popped since then.
	lost int
}

func (p *ringPair) free() int { return max(0, capacity-len(p.ids)-p.lost) }

// drop removes the k oldest numbers from the slice, as the owner.
func (p *ringPair) drop(k int) (ids []int) {
	ids, p.ids = p.ids[:k], p.ids[k:]
	if p.held {
		p.lost += k
	}
	return ids
}

// toggle takes the hold or releases it.
func (p *ringPair) toggle() {
	if p.held {
		unhold(p.r)
		p.held, p.lost = false, 0
	} else if len(p.ids) > 0 {
		hold(p.r)
		p.held, p.lost = true, 1
	}
}

// newest returns the index of the node that TakeNewest takes for a divisor, or -1.
func (p *ringPair) newest(divisor, limit int) int {
	for i := len(p.ids) - 1; i >= max(0, len(p.ids)-limit) && !p.held; i-- {
		if p.ids[i]%divisor == 0 {
			return i
		}
	}
	return -1
}

// steal compares a StealInto with the model.
func (p *ringPair) steal(t *testing.T, dst *ringPair, made *items) {
	t.Helper()
	k, status := min(len(p.ids)-len(p.ids)/2, dst.free()+1), mpsc.Acquired
	switch {
	case p.held:
		k, status = 0, mpsc.Contended
	case len(p.ids) == 0:
		status = mpsc.Empty
	}
	n, moved, s := p.r.StealInto(dst.r)
	want(t, "StealInto: status", s, status)
	want(t, "StealInto: moved", moved, k)
	want(t, "StealInto: node", made.back(n), first(p.ids[:k]))
	if k > 0 {
		dst.ids = append(dst.ids, p.drop(k)[1:]...)
	}
}

// takeNewest compares a TakeNewest of the ring or of the run queue around it. Thieves
// find the ring held during TakeNewest.
func (p *ringPair) takeNewest(t *testing.T, take func(func(*mpsc.Node) bool, int) *mpsc.Node, divisor, limit int, made *items) {
	t.Helper()
	at := p.newest(divisor, limit)
	n := take(func(n *mpsc.Node) bool {
		if _, moved, s := p.r.StealInto(new(runqueue.Ring)); moved != 0 || s != mpsc.Contended {
			t.Fatalf("StealInto during TakeNewest = %d nodes, %v", moved, s)
		}
		return itemOf(n).id%divisor == 0
	}, limit)
	if at < 0 {
		want(t, "TakeNewest", made.back(n), -1)
		return
	}
	want(t, "TakeNewest", made.back(n), p.ids[at])
	p.ids = slices.Delete(slices.Clone(p.ids), at, at+1)
}

// FuzzRing runs traces of two owners that steal from each other and of thieves that
// stall. The indices start anywhere. In most seeds they start right before they wrap.
// Z-021, Z-022, Z-025, Z-027, Z-028, Z-029, Z-030.
func FuzzRing(f *testing.F) {
	const wrap = 1<<32 - 1
	f.Add(uint32(0), uint32(0), []byte{0, 0, 2, 0})
	f.Add(uint32(wrap), uint32(wrap-capacity), []byte{2, 255, 0, 2, 255, 0, 5, 5, 5, 4, 200, 13, 12, 200})              // full, stolen, popped
	f.Add(uint32(wrap-3), uint32(wrap), []byte{2, 9, 0, 14, 4, 3, 2, 255, 0, 5, 13, 14, 2, 255, 0, 5, 12, 255})         // held in between
	f.Add(uint32(wrap-2), uint32(1), []byte{2, 20, 0, 6, 3, 7, 0, 6, 1, 2, 0, 14, 6, 0, 9, 0, 4, 255})                  // from the newest end
	f.Add(uint32(wrap-capacity), uint32(7), []byte{2, 0, 1, 10, 0, 1, 15, 12, 30, 5, 13, 15, 13, 4, 255, 12, 255, 255}) // a thief with few free slots
	f.Fuzz(func(t *testing.T, startA, startB uint32, input []byte) {
		var made items
		rings := [2]ringPair{{r: new(runqueue.Ring)}, {r: new(runqueue.Ring)}}
		startRing(rings[0].r, startA)
		startRing(rings[1].r, startB)
		tr := trace(input)
		tr.steps(func() {
			op := tr.below(16)
			p, other := &rings[op/8], &rings[1-op/8]
			switch op % 8 {
			case 0, 1:
				it := made.next()
				ok := p.r.Push(&it.node)
				want(t, "Push", ok, p.free() > 0)
				if ok {
					p.ids = append(p.ids, it.id)
				}
			case 2:
				l, ids := made.list(tr.below(2*capacity + 1))
				n := p.r.PushList(l)
				want(t, "PushList", n, min(len(ids), p.free()))
				p.ids = append(p.ids, ids[:n]...)
				wantIDs(t, "PushList: left", made.backAll(l.Pop), ids[n:])
			case 3, 4:
				for range 1 + tr.below(capacity) {
					want(t, "Pop", made.back(p.r.Pop()), first(p.ids))
					if len(p.ids) == 0 {
						break
					}
					p.drop(1)
				}
			case 5:
				p.steal(t, other, &made)
			case 6:
				p.toggle()
			case 7:
				p.takeNewest(t, p.r.TakeNewest, 1+tr.below(5), tr.below(capacity+2)-1, &made)
			}
			for _, p := range rings {
				want(t, "Len", p.r.Len(), len(p.ids))
				want(t, "Empty", p.r.Empty(), len(p.ids) == 0)
			}
		})
		for _, p := range rings {
			wantIDs(t, "left", made.backAll(p.r.Pop), p.ids)
		}
	})
}
