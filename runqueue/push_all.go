package runqueue

import "github.com/lanewright/lanewright/mpsc"

// PushAll adds nodes in order. When all nodes fit into the ring, one store publishes
// them; otherwise PushAll acts as PushList. It reports whether nodes went to the
// overflow queue. Only the owner may call PushAll. It never blocks.
func (q *Queue) PushAll(nodes []*mpsc.Node) (spilled bool) {
	if q.ring.pushAll(nodes) {
		return false
	}
	var l mpsc.List
	for _, n := range nodes {
		l.Push(n)
	}
	return q.PushList(&l)
}

// pushAll adds nodes when all of them fit, and reports whether it did.
func (r *Ring) pushAll(nodes []*mpsc.Node) bool {
	t := r.tail.Load()
	if r.freeSlots(t) < len(nodes) {
		return false
	}
	for i, n := range nodes {
		r.slots[(t+uint32(i))%Capacity].Set(n)
	}
	r.tail.Store(t + uint32(len(nodes))) // publishes all: the edge of Ring.Push
	return true
}
