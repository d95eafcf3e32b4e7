package fuzz_test

import (
	"testing"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

const half = capacity / 2

// runPair is a run queue and its model.
type runPair struct {
	q        *runqueue.Queue
	ring     ringPair
	over     queueModel
	consumer mpsc.Consumer // holds the token of the overflow queue while over.held
}

func newRunPair(start uint32) *runPair {
	q := new(runqueue.Queue)
	startRing(ringOf(q), start)
	return &runPair{q: q, ring: ringPair{r: ringOf(q)}}
}

// push models a push of the owner. As many nodes as slots are free go to the ring. The
// others go to the overflow queue. The older half of the ring goes there before them
// unless the ring is held.
func (p *runPair) push(ids []int) (spilled bool) {
	fits := min(p.ring.free(), len(ids))
	p.ring.ids = append(p.ring.ids, ids[:fits]...)
	rest := ids[fits:]
	if len(rest) == 0 {
		return false
	}
	var out []int
	if !p.ring.held {
		out = p.ring.drop(half)
	}
	p.over.push(append(append([]int(nil), out...), rest...))
	return true
}

// refill models a refill from s and returns what Refill returns.
func (p *runPair) refill(s *queueModel, o mpsc.Order) (id int, pushed bool) {
	if s.status() != mpsc.Acquired {
		return -1, false
	}
	ids := s.take(o, 1+min(half-1, p.ring.free()))
	p.ring.ids = append(p.ring.ids, ids[1:]...)
	return ids[0], len(ids) > 1 || s.size() > 0
}

// steal models a steal from victim and returns what StealFrom returns.
func (p *runPair) steal(victim *runPair) (id int, pushed bool) {
	if id, pushed = p.refill(&victim.over, mpsc.LIFO); id >= 0 {
		return id, pushed
	}
	v := &victim.ring
	if v.held || len(v.ids) == 0 {
		return -1, false
	}
	k := min(len(v.ids)-len(v.ids)/2, p.ring.free()+1)
	ids := v.drop(k)
	p.ring.ids = append(p.ring.ids, ids[1:]...)
	return ids[0], k > 1 || len(v.ids) > 0
}

// takenOverflow models TakeOverflow.
func (p *runPair) takenOverflow() (id int, more bool) {
	if p.over.status() != mpsc.Acquired {
		return -1, false
	}
	return p.over.take(mpsc.LIFO, 1)[0], p.over.size() > 0
}

// drainAll models Drain, or StealAll of a thief.
func (p *runPair) drainAll(thief bool) (ids []int, done bool) {
	done = true
	if thief && p.ring.held {
		done = false
	} else {
		ids = append(ids, p.ring.drop(len(p.ring.ids))...)
	}
	if p.over.held {
		return ids, false
	}
	return append(ids, p.over.take(mpsc.LIFO, p.over.size())...), done
}

// toggleConsumer takes the token of the overflow queue and pops k nodes. If it has the
// token, it releases the token.
func (p *runPair) toggleConsumer(t *testing.T, k int, made *items) {
	t.Helper()
	if p.over.held {
		want(t, "Release", p.consumer.Release(), p.over.size() > 0)
		p.over.held = false
		return
	}
	s := overflowOf(p.q).TryAcquire(&p.consumer, mpsc.LIFO)
	want(t, "TryAcquire", s, p.over.status())
	if s != mpsc.Acquired {
		return
	}
	p.over.held = true
	for range k {
		want(t, "Pop of the overflow queue", made.back(p.consumer.Pop()), first(p.over.take(mpsc.LIFO, 1)))
	}
}

// FuzzRunQueue runs traces of two owners that steal from each other and use an
// injection queue. Other goroutines hold a ring or consume an overflow queue at the
// same time. The documentation determines where each node is and what the owners' calls
// return. Z-025, Z-028, Z-036, Z-037, Z-039, Z-041, Z-055.
func FuzzRunQueue(f *testing.F) {
	const wrap = 1<<32 - 1
	f.Add(uint32(0), uint32(wrap), []byte{0, 0, 1, 255, 1, 4, 4, 5, 9, 9, 22, 4})                                           // spill, refill, steal
	f.Add(uint32(wrap-2), uint32(wrap-5), []byte{1, 255, 0, 14, 1, 9, 0, 0, 25, 2, 40, 0, 14, 4, 11, 11, 25, 25, 12})       // a ring that is held
	f.Add(uint32(wrap-capacity), uint32(9), []byte{3, 7, 0, 15, 2, 5, 25, 8, 12, 13, 15, 25, 25, 20, 9})                    // an overflow queue in use
	f.Add(uint32(1), uint32(2), []byte{6, 6, 6, 7, 1, 22, 0, 6, 7, 0, 23, 1, 4, 20})                                        // injection in both orders
	f.Add(uint32(wrap/2), uint32(wrap-1), []byte{2, 255, 1, 10, 2, 9, 10, 0, 255, 16, 26, 3, 4, 0, 28, 29, 12, 0, 1, 2, 3}) // taken from the newest end, drained
	f.Fuzz(func(t *testing.T, startA, startB uint32, input []byte) {
		var made items
		var inj mpsc.Queue
		var injected queueModel
		queues := [2]*runPair{newRunPair(startA), newRunPair(startB)}
		// took compares a taken node, and whether more can be taken, with the model.
		took := func(what string, take func() (*mpsc.Node, bool), model func() (int, bool)) {
			t.Helper()
			n, pushed := take()
			id, wantPushed := model()
			want(t, what, made.back(n), id)
			want(t, what+": pushed", pushed, wantPushed)
		}
		tr := trace(input)
		tr.steps(func() {
			op := tr.below(32)
			p, other := queues[op/16], queues[1-op/16]
			switch op % 16 {
			case 0:
				it := made.next()
				want(t, "Push: spilled", p.q.Push(&it.node), p.push([]int{it.id}))
			case 1:
				l, ids := made.list(tr.below(2*capacity + 1))
				want(t, "PushList: spilled", p.q.PushList(l), p.push(ids))
				want(t, "PushList: left", l.Len(), 0)
			case 2:
				var nodes []*mpsc.Node
				var ids []int
				for range tr.below(2*capacity + 1) {
					it := made.next()
					nodes, ids = append(nodes, &it.node), append(ids, it.id)
				}
				want(t, "PushAll: spilled", p.q.PushAll(nodes), p.push(ids))
			case 3:
				l, ids := made.list(tr.below(capacity + 1))
				want(t, "PushOverflow", p.q.PushOverflow(l), true)
				p.over.push(ids)
			case 4, 5:
				for range 1 + tr.below(capacity) {
					want(t, "Pop", made.back(p.q.Pop()), first(p.ring.ids))
					if len(p.ring.ids) == 0 {
						break
					}
					p.ring.drop(1)
				}
			case 6: // a producer pushes
				it := made.next()
				inj.Push(&it.node)
				injected.push([]int{it.id})
			case 7:
				o := mpsc.Order(tr.below(2))
				took("RefillFrom",
					func() (*mpsc.Node, bool) { return p.q.RefillFrom(&inj, o) },
					func() (int, bool) { return p.refill(&injected, o) })
			case 8:
				took("Refill", p.q.Refill, func() (int, bool) { return p.refill(&p.over, mpsc.LIFO) })
			case 9, 10:
				took("StealFrom",
					func() (*mpsc.Node, bool) { return p.q.StealFrom(other.q) },
					func() (int, bool) { return p.steal(other) })
			case 11:
				took("TakeOverflow", p.q.TakeOverflow, p.takenOverflow)
			case 12:
				p.ring.takeNewest(t, p.q.TakeNewest, 1+tr.below(5), tr.below(capacity+2)-1, &made)
			case 13:
				p.drain(t, tr.coin(), &made)
			case 14:
				p.ring.toggle()
			case 15:
				p.toggleConsumer(t, tr.below(8), &made)
			}
			for _, p := range queues {
				want(t, "Len", p.q.Len(), len(p.ring.ids))
				want(t, "Empty", p.q.Empty(), len(p.ring.ids) == 0 && p.over.empty())
				want(t, "Available", p.q.Available(), !p.ring.held && len(p.ring.ids) > 0 || p.over.available())
			}
		})
		for _, p := range queues {
			if p.ring.held {
				p.ring.toggle()
			}
			if p.over.held {
				p.toggleConsumer(t, 0, &made)
			}
			p.drain(t, true, &made)
		}
	})
}

// drain compares a Drain of the owner, or a StealAll of a thief.
func (p *runPair) drain(t *testing.T, thief bool, made *items) {
	t.Helper()
	var l mpsc.List
	what, drain := "Drain", p.q.Drain
	if thief {
		what, drain = "StealAll", p.q.StealAll
	}
	done := drain(&l)
	ids, wantDone := p.drainAll(thief)
	want(t, what+": done", done, wantDone)
	wantIDs(t, what, made.backAll(l.Pop), ids)
}
