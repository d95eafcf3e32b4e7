package fuzz_test

import (
	"slices"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// queueModel is an mpsc queue as slices. One slice has the grabbed nodes in the order
// of their pops. The other one has the later pushes, newest last.
type queueModel struct {
	grabbed []int
	pushes  [][]int
	held    bool // a consumer holds the token
	sealed  bool
}

// push adds one push.
func (s *queueModel) push(ids []int) {
	if len(ids) > 0 {
		s.pushes = append(s.pushes, ids)
	}
}

// size returns the number of nodes that were pushed and not popped.
func (s *queueModel) size() int { return len(s.grabbed) + len(slices.Concat(s.pushes...)) }

// empty returns what Empty reports. Nodes that a consumer has grabbed do not count.
func (s *queueModel) empty() bool { return len(s.pushes) == 0 && (s.held || len(s.grabbed) == 0) }

// available returns what Available reports.
func (s *queueModel) available() bool { return !s.held && s.size() > 0 }

// take returns the nodes that up to k pops of the token holder return.
func (s *queueModel) take(o mpsc.Order, k int) (ids []int) {
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

// status returns what TryAcquire returns.
func (s *queueModel) status() mpsc.Status {
	switch {
	case s.held:
		return mpsc.Contended
	case s.size() == 0:
		return mpsc.Empty
	}
	return mpsc.Acquired
}

// queuePair is a queue with its consumers and the model of both.
type queuePair struct {
	q      mpsc.Queue
	model  queueModel
	cons   [3]mpsc.Consumer
	holder int // index into cons, while model.held
	order  mpsc.Order

	made  items
	lists [2]mpsc.List // nodes that are not pushed yet
	ids   [2][]int     // the contents of lists
}

func (p *queuePair) push(t *testing.T) {
	t.Helper()
	it := p.made.next()
	want(t, "Push", p.q.Push(&it.node), !p.model.sealed)
	if p.model.sealed {
		p.made.back(&it.node)
		return
	}
	p.model.push([]int{it.id})
}

func (p *queuePair) pushList(t *testing.T, i int) {
	t.Helper()
	want(t, "PushList", p.q.PushList(&p.lists[i]), !p.model.sealed)
	if !p.model.sealed {
		p.model.push(p.ids[i])
		p.ids[i] = nil
	}
}

func (p *queuePair) acquire(t *testing.T, i int, o mpsc.Order) {
	t.Helper()
	if p.model.held && i == p.holder {
		return // a consumer has at most one token
	}
	s := p.q.TryAcquire(&p.cons[i], o)
	want(t, "TryAcquire", s, p.model.status())
	if s == mpsc.Acquired {
		p.model.held, p.holder, p.order = true, i, o
	}
}

// pop pops k nodes as the holder of the token.
func (p *queuePair) pop(t *testing.T, k int) {
	t.Helper()
	for range k {
		n := p.cons[p.holder].Pop()
		want(t, "Pop", p.made.back(n), first(p.model.take(p.order, 1)))
		if n != nil && *n != (mpsc.Node{}) {
			t.Fatal("Pop returned a node with a link")
		}
	}
}

func (p *queuePair) release(t *testing.T) {
	t.Helper()
	want(t, "Release", p.cons[p.holder].Release(), p.model.size() > 0)
	p.model.held = false
}

// seal seals the queue and appends its nodes to list i.
func (p *queuePair) seal(t *testing.T, i int) {
	t.Helper()
	want(t, "Seal", p.q.Seal(&p.lists[i]), !p.model.sealed)
	p.ids[i] = append(p.ids[i], slices.Concat(p.model.pushes...)...)
	p.model.pushes, p.model.sealed = nil, true
}

// drop drops list i. Its nodes are used again with the links that they have.
func (p *queuePair) drop(i int) {
	for _, id := range p.ids[i] {
		p.made.loose = append(p.made.loose, p.made.all[id])
	}
	p.lists[i], p.ids[i] = mpsc.List{}, nil
}

// FuzzQueue runs traces of producers and three consumers on one queue. The traces use
// both orders, before and after the queue is sealed. Z-036, Z-042, Z-044, Z-047, Z-050,
// Z-052, Z-054.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 0, 0, 4, 0, 5, 3, 7, 0})                                                                 // three single nodes, pushed and popped
	f.Add([]byte{1, 3, 3, 0, 0, 1, 2, 3, 0, 4, 129, 5, 1, 0, 7, 0, 4, 2, 6, 9, 7, 0})                        // lists, and a second consumer
	f.Add([]byte{0, 4, 0, 0, 5, 0, 0, 4, 1, 7, 0, 4, 1, 6, 255, 0, 7, 0, 4, 2})                              // pushes while a consumer pops
	f.Add([]byte{0, 1, 4, 3, 0, 4, 0, 5, 1, 0, 0, 9, 0, 0, 5, 5, 7, 0, 4, 1, 6, 9, 3, 0, 9, 16, 8, 0})       // a seal in between
	f.Add([]byte{1, 2, 1, 130, 8, 9, 2, 9, 8, 2, 0, 3, 0, 0, 1, 129, 3, 128, 4, 128, 5, 9, 7, 0, 2, 129, 9}) // joined lists
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
			case 1: // append nodes to a list
				for range 1 + arg%8 {
					it := p.made.next()
					p.lists[i].Push(&it.node)
					p.ids[i] = append(p.ids[i], it.id)
				}
			case 2: // append a list to the other
				p.lists[i].Append(&p.lists[1-i])
				p.ids[i], p.ids[1-i] = append(p.ids[i], p.ids[1-i]...), nil
			case 3:
				p.pushList(t, i)
			case 4:
				p.acquire(t, arg%len(p.cons), mpsc.Order(i))
			case 5, 6:
				if p.model.held {
					p.pop(t, 1+arg%16)
				}
			case 7:
				if p.model.held {
					p.release(t)
				}
			case 8: // pop from a list
				want(t, "List.Pop", p.made.back(p.lists[i].Pop()), first(p.ids[i]))
				p.ids[i] = p.ids[i][min(1, len(p.ids[i])):]
			case 9:
				if arg%16 == 0 {
					p.seal(t, i)
				}
			case 10:
				p.drop(i)
			}
			want(t, "Empty", p.q.Empty(), p.model.empty())
			want(t, "Available", p.q.Available(), p.model.available())
			for i := range p.lists {
				want(t, "List.Len", p.lists[i].Len(), len(p.ids[i]))
				want(t, "List.Empty", p.lists[i].Empty(), len(p.ids[i]) == 0)
			}
		})
		if p.model.held {
			p.release(t)
		}
		p.acquire(t, 0, mpsc.FIFO)
		if p.model.held {
			p.pop(t, p.model.size()+1)
			p.release(t)
		}
		for i := range p.lists {
			wantIDs(t, "left in a list", p.made.backAll(p.lists[i].Pop), p.ids[i])
		}
	})
}
