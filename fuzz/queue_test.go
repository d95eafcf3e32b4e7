package fuzz_test

import (
	"slices"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// shelf is an mpsc queue as slices: what was grabbed and not popped, in the order
// in which it will be, and what was pushed since, newest last.
type shelf struct {
	grabbed []int
	pushes  [][]int
	held    bool // a consumer has the token
	sealed  bool
}

// push adds one push.
func (s *shelf) push(ids []int) {
	if len(ids) > 0 {
		s.pushes = append(s.pushes, ids)
	}
}

// size is how many nodes were pushed and not popped.
func (s *shelf) size() int { return len(s.grabbed) + len(slices.Concat(s.pushes...)) }

// empty is what Empty reports: what a consumer has in its hands does not count.
func (s *shelf) empty() bool { return len(s.pushes) == 0 && (s.held || len(s.grabbed) == 0) }

// available is what Available reports.
func (s *shelf) available() bool { return !s.held && s.size() > 0 }

// take returns what at most k pops of the holder of the token return.
func (s *shelf) take(o mpsc.Order, k int) (ids []int) {
	for ; k > 0; k-- {
		if len(s.grabbed) == 0 {
			if o == mpsc.LIFO {
				slices.Reverse(s.pushes)
			}
			s.grabbed, s.pushes = slices.Concat(s.pushes...), nil
		}
		if len(s.grabbed) == 0 {
			break
		}
		ids, s.grabbed = append(ids, s.grabbed[0]), s.grabbed[1:]
	}
	return ids
}

// status is what TryAcquire returns.
func (s *shelf) status() mpsc.Status {
	switch {
	case s.held:
		return mpsc.Contended
	case s.size() == 0:
		return mpsc.Empty
	}
	return mpsc.Acquired
}

// queuePair is a queue, its consumers, and the model of both.
type queuePair struct {
	q      mpsc.Queue
	shelf  shelf
	cons   [3]mpsc.Consumer
	holder int // of cons, while shelf.held
	order  mpsc.Order

	made  items
	lists [2]mpsc.List // that nodes are put into before they are pushed
	ids   [2][]int     // what is in lists
}

func (p *queuePair) push(t *testing.T) {
	t.Helper()
	it := p.made.next()
	want(t, "Push", p.q.Push(&it.node), !p.shelf.sealed)
	if p.shelf.sealed {
		p.made.back(&it.node)
		return
	}
	p.shelf.push([]int{it.id})
}

func (p *queuePair) pushList(t *testing.T, i int) {
	t.Helper()
	want(t, "PushList", p.q.PushList(&p.lists[i]), !p.shelf.sealed)
	if !p.shelf.sealed {
		p.shelf.push(p.ids[i])
		p.ids[i] = nil
	}
}

func (p *queuePair) acquire(t *testing.T, i int, o mpsc.Order) {
	t.Helper()
	if p.shelf.held && i == p.holder {
		return // a consumer has one token at most
	}
	s := p.q.TryAcquire(&p.cons[i], o)
	want(t, "TryAcquire", s, p.shelf.status())
	if s == mpsc.Acquired {
		p.shelf.held, p.holder, p.order = true, i, o
	}
}

// pop pops k nodes as the holder of the token.
func (p *queuePair) pop(t *testing.T, k int) {
	t.Helper()
	for range k {
		n := p.cons[p.holder].Pop()
		want(t, "Pop", p.made.back(n), first(p.shelf.take(p.order, 1)))
		if n != nil && *n != (mpsc.Node{}) {
			t.Fatal("Pop returned a node with a link")
		}
	}
}

func (p *queuePair) release(t *testing.T) {
	t.Helper()
	want(t, "Release", p.cons[p.holder].Release(), p.shelf.size() > 0)
	p.shelf.held = false
}

// seal seals the queue into the list i, behind what is in it.
func (p *queuePair) seal(t *testing.T, i int) {
	t.Helper()
	want(t, "Seal", p.q.Seal(&p.lists[i]), !p.shelf.sealed)
	p.ids[i] = append(p.ids[i], slices.Concat(p.shelf.pushes...)...)
	p.shelf.pushes, p.shelf.sealed = nil, true
}

// drop forgets the list i. Its nodes are used again, linked as they are.
func (p *queuePair) drop(i int) {
	for _, id := range p.ids[i] {
		p.made.loose = append(p.made.loose, p.made.all[id])
	}
	p.lists[i], p.ids[i] = mpsc.List{}, nil
}

// FuzzQueue runs traces of producers and three consumers on one queue, in both
// orders, until it is sealed and after: Z-036, Z-042, Z-044, Z-047, Z-050, Z-052,
// Z-054.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 0, 0, 4, 0, 5, 3, 7, 0})                                                                 // three singles, in and out
	f.Add([]byte{1, 3, 3, 0, 0, 1, 2, 3, 0, 4, 129, 5, 1, 0, 7, 0, 4, 2, 6, 9, 7, 0})                        // lists, and a second consumer
	f.Add([]byte{0, 4, 0, 0, 5, 0, 0, 4, 1, 7, 0, 4, 1, 6, 255, 0, 7, 0, 4, 2})                              // pushed while one consumes
	f.Add([]byte{0, 1, 4, 3, 0, 4, 0, 5, 1, 0, 0, 9, 0, 0, 5, 5, 7, 0, 4, 1, 6, 9, 3, 0, 9, 16, 8, 0})       // sealed in between
	f.Add([]byte{1, 2, 1, 130, 8, 9, 2, 9, 8, 2, 0, 3, 0, 0, 1, 129, 3, 128, 4, 128, 5, 9, 7, 0, 2, 129, 9}) // lists that are joined
	f.Add([]byte{1, 7, 10, 0, 1, 3, 1, 131, 2, 128, 3, 128, 0, 4, 128, 5, 15, 7, 0})                         // nodes with old links
	f.Fuzz(func(t *testing.T, input []byte) {
		var p queuePair
		tr := trace(input)
		tr.steps(func() {
			op, arg := tr.below(11), 0
			if op > 0 {
				arg = tr.below(256)
			}
			i := arg >> 7
			switch op {
			case 0:
				p.push(t)
			case 1: // a list grows
				for range 1 + arg%8 {
					it := p.made.next()
					p.lists[i].Push(&it.node)
					p.ids[i] = append(p.ids[i], it.id)
				}
			case 2: // a list joins the other
				p.lists[i].Append(&p.lists[1-i])
				p.ids[i], p.ids[1-i] = append(p.ids[i], p.ids[1-i]...), nil
			case 3:
				p.pushList(t, i)
			case 4:
				p.acquire(t, arg%len(p.cons), mpsc.Order(i))
			case 5, 6:
				if p.shelf.held {
					p.pop(t, 1+arg%16)
				}
			case 7:
				if p.shelf.held {
					p.release(t)
				}
			case 8: // a list shrinks
				want(t, "List.Pop", p.made.back(p.lists[i].Pop()), first(p.ids[i]))
				p.ids[i] = p.ids[i][min(1, len(p.ids[i])):]
			case 9:
				if arg%16 == 0 {
					p.seal(t, i)
				}
			case 10:
				p.drop(i)
			}
			want(t, "Empty", p.q.Empty(), p.shelf.empty())
			want(t, "Available", p.q.Available(), p.shelf.available())
			for i := range p.lists {
				want(t, "List.Len", p.lists[i].Len(), len(p.ids[i]))
				want(t, "List.Empty", p.lists[i].Empty(), len(p.ids[i]) == 0)
			}
		})
		if p.shelf.held {
			p.release(t)
		}
		p.acquire(t, 0, mpsc.FIFO)
		if p.shelf.held {
			p.pop(t, p.shelf.size()+1)
			p.release(t)
		}
		for i := range p.lists {
			wantIDs(t, "left in a list", p.made.backAll(p.lists[i].Pop), p.ids[i])
		}
	})
}
