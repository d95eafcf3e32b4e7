package runqueue

// Available reports whether there is a node that a thief could take now. Anybody
// may call it. It only loads. False for a queue that is not empty means that
// somebody is taking from it, who tells of what is left: see
// [mpsc.Queue.Available].
func (q *Queue) Available() bool { return q.ring.available() || q.overflow.Available() }

// available reports whether the ring has a node and is not held.
func (r *Ring) available() bool {
	h := head(r.head.Load())
	return !h.held() && h.real() != r.tail.Load()
}
