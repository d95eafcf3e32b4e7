//go:build interleave

package mpsc

// The functions below are those of the package with one bug each. The models
// must find every one of them.

// ReleaseUnchecked does not look at the queue again.
func (c *Consumer) ReleaseUnchecked() (more bool) {
	q, n := c.q, c.next
	c.q, c.next = nil, nil
	if n != nil {
		q.cache.Set(n)
		q.state.Store(tokenCached)
		return true
	}
	q.state.Store(0)
	return false
}

// ReleaseEarly looks at the queue before it gives the token back.
func (c *Consumer) ReleaseEarly() (more bool) {
	q, n := c.q, c.next
	c.q, c.next = nil, nil
	if n != nil {
		q.cache.Set(n)
		q.state.Store(tokenCached)
		return true
	}
	more = q.pushed()
	q.state.Store(0)
	return more
}

// ReleaseCacheLate gives the token back before it writes the cache.
func (c *Consumer) ReleaseCacheLate() (more bool) {
	q, n := c.q, c.next
	c.q, c.next = nil, nil
	if n != nil {
		q.state.Store(tokenCached)
		q.cache.Set(n)
		return true
	}
	q.state.Store(0)
	return q.pushed()
}

// PopLinked leaves the link in the node.
func (c *Consumer) PopLinked() *Node {
	n := c.next
	if n == nil {
		if n = c.grab(); n == nil {
			return nil
		}
	}
	c.next, _ = n.link()
	return n
}

// PopSwap grabs with a swap.
func (c *Consumer) PopSwap() *Node {
	n := c.next
	if n == nil {
		if !c.q.pushed() {
			return nil
		}
		if n = c.q.head.Swap(nil); n == &sealed || n == nil {
			return nil
		}
	}
	c.next = n.take()
	return n
}

// PushLinked trusts the link of the node.
func (l *List) PushLinked(n *Node) {
	if l.tail == nil {
		l.head = n
	} else {
		l.tail.setSame(n)
	}
	l.tail = n
	l.n++
}

// PushStore stores the head that it should compare and swap.
func (q *Queue) PushStore(n *Node) bool {
	h := q.head.Load()
	if h == &sealed {
		return false
	}
	n.setLink(h)
	q.head.Store(n)
	return true
}

// TryAcquireStore stores the state that it should compare and swap.
func (q *Queue) TryAcquireStore(c *Consumer, o Order) Status {
	s := q.state.Load()
	if s == tokenHeld {
		return Contended
	}
	if s == 0 && !q.pushed() {
		return Empty
	}
	q.state.Store(tokenHeld)
	c.q, c.order = q, o
	if s == tokenCached {
		c.next = q.cache.Get()
		q.cache.Set(nil)
	}
	return Acquired
}
