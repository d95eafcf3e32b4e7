package runqueue

import "github.com/lanewright/lanewright/mpsc"

// NewRingAt returns an empty ring whose indices start at i, so that tests can begin
// right before the wrap.
func NewRingAt(i uint32) *Ring {
	r := new(Ring)
	r.startAt(i)
	return r
}

// NewQueueAt returns an empty queue whose ring starts at i.
func NewQueueAt(i uint32) *Queue {
	q := new(Queue)
	q.ring.startAt(i)
	return q
}

func (r *Ring) startAt(i uint32) {
	r.head.Store(uint64(makeHead(i, i)))
	r.tail.Store(i)
}

// Overflow returns the overflow queue of q.
func (q *Queue) Overflow() *mpsc.Queue { return &q.overflow }

// Ring returns the ring of q.
func (q *Queue) Ring() *Ring { return &q.ring }

// Hold takes the hold of r as a thief does.
func (r *Ring) Hold() mpsc.Status { return r.tryHold() }

// Release gives the hold back.
func (r *Ring) Release() { r.release() }
