//go:build interleave

package mpsc

// Each function below is a function of the package with one planted bug. The models
// must find every bug.

// ReleaseUnchecked does not load head after it gives the token back.
func (c *Consumer) ReleaseUnchecked() (more bool) {
	q, n := c.q, c.next
	c.q, c.next = nil, nil
	if n != nil {
		q.cache.Set(n)
		q.consumerToken.Store(tokenCached)
		return true
	}
	q.consumerToken.Store(tokenFree)
	return false
}

// ReleaseEarly loads head before it gives the token back.
func (c *Consumer) ReleaseEarly() (more bool) {
	q, n := c.q, c.next
	c.q, c.next = nil, nil
	if n != nil {
		q.cache.Set(n)
		q.consumerToken.Store(tokenCached)
		return true
	}
	more = q.pushed()
	q.consumerToken.Store(tokenFree)
	return more
}

// ReleaseCacheLate gives the token back before it writes the cache.
func (c *Consumer) ReleaseCacheLate() (more bool) {
	q, n := c.q, c.next
	c.q, c.next = nil, nil
	if n != nil {
		q.consumerToken.Store(tokenCached)
		q.cache.Set(n)
		return true
	}
	q.consumerToken.Store(tokenFree)
	return q.pushed()
}

// PopLinked leaves the link in the popped node.
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

// PushLinked keeps the stale link of the node.
func (l *List) PushLinked(n *Node) {
	if l.tail == nil {
		l.head = n
	} else {
		l.tail.setSame(n)
	}
	l.tail = n
	l.n++
}

// PushStore stores head instead of a CAS.
func (q *Queue) PushStore(n *Node) bool {
	h := q.head.Load()
	if h == &sealed {
		return false
	}
	n.setLink(h)
	q.head.Store(n)
	return true
}

// TryAcquireStore stores the consumer token instead of a CAS.
func (q *Queue) TryAcquireStore(c *Consumer, o Order) Status {
	s := q.consumerToken.Load()
	if s == tokenHeld {
		return Contended
	}
	if s == tokenFree && !q.pushed() {
		return Empty
	}
	q.consumerToken.Store(tokenHeld)
	c.q, c.order = q, o
	if s == tokenCached {
		c.next = q.cache.Get()
		q.cache.Set(nil)
	}
	return Acquired
}
