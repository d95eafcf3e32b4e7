package queuelaw

// model uses all handles of a trial from one goroutine and knows which values are
// queued.
type model struct {
	run  *trial
	k    Kind
	in   map[uint64]bool // accepted and not popped
	next []int           // by producer: the sequence number of its oldest queued value
}

// use pushes and pops in bursts until all values are pushed, and then empties the
// queue.
func (m *model) use() {
	rng := m.run.r.Rand
	for left := m.run.total(); left > 0 && m.ok(); left-- {
		h := m.run.users[rng.IntN(len(m.run.users))]
		for n := rng.IntN(h.burst + 1); n > 0 && m.ok() && m.push(h); n-- {
		}
		h = m.run.users[rng.IntN(len(m.run.users))]
		for n := rng.IntN(h.burst + 1); n > 0 && m.ok() && m.pop(h); n-- {
		}
	}
	for m.ok() && m.popAny() {
	}
}

// ok reports whether the law is still kept and its deadline has not passed.
func (m *model) ok() bool { return !m.run.r.Recorded() && !m.run.r.IsExpired() }

// push pushes a value with h and reports whether the queue accepted it.
func (m *model) push(h *user) bool {
	if h.push == nil || h.sent == h.todo {
		return false
	}
	if h.pushOne() {
		m.in[h.accepted[h.sent-1]] = true
		return true
	}
	if m.k.Capacity == 0 || len(m.in) < m.k.Capacity {
		m.run.r.Record("a push was refused with %d queued values, capacity %d", len(m.in), m.k.Capacity)
	}
	return false
}

// pop pops a value, with h if possible, and reports whether there was one.
func (m *model) pop(h *user) bool {
	return h.pop != nil && (m.popFrom(h) || m.popAny())
}

// popAny pops a value with the first consumer that finds one. No consumer may miss a
// queued value.
func (m *model) popAny() bool {
	for _, h := range m.run.users {
		if h.pop != nil && m.popFrom(h) {
			return true
		}
	}
	if len(m.in) > 0 {
		m.run.r.Record("no consumer finds any of the %d queued values", len(m.in))
	}
	return false
}

// popFrom pops a value with h, compares it with the model, and reports whether there
// was one.
func (m *model) popFrom(h *user) bool {
	if !h.popOne() {
		return false
	}
	v := h.popped[len(h.popped)-1]
	if !m.in[v] {
		m.run.r.Record("%s was popped and was not queued", describe(v))
		return true
	}
	delete(m.in, v)
	if p := producerOf(v); m.k.FIFO && m.run.shape.Consumers == 1 {
		if seqOf(v) != m.next[p] {
			m.run.r.Record("%s was popped, and value %d was the oldest", describe(v), m.next[p])
		}
		m.next[p]++
	}
	return true
}
