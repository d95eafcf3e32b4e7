package runqueue

// Available reports whether the queue holds a node that a thief could take now. Any
// goroutine may call it. It only loads.
//
// A result of false for a queue with nodes means that another goroutine is taking from
// it and reports the nodes that it leaves: see [mpsc.Queue.Available].
func (q *Queue) Available() bool { return q.ring.available() || q.overflow.Available() }

// available reports whether the ring has a node and is not held.
func (r *Ring) available() bool {
	h := head(r.head.Load())
	return !h.held() && h.real() != r.tail.Load()
}

// Quiet reports whether the queue has no node and no goroutine holds its overflow queue, so
// that none can leave nodes there. Only the owner may call it. It only loads, and the result
// does not cover a concurrent PushOverflow.
func (q *Queue) Quiet() bool { return q.ring.Empty() && q.overflow.Quiet() }
