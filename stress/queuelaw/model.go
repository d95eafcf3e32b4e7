package queuelaw

// model uses the users of a run from one goroutine, and knows what is in
// the queue.
type model struct {
	run   *trial
	k     Kind
	in    map[uint64]bool // accepted and not popped
	first []int           // by producer: of its values, which comes out next
}

// use pushes and pops in bursts, and empties the queue in the end.
func (m *model) use() {
	rng := m.run.r.Rand
	for left := m.run.todo(); left > 0 && m.ok(); left-- {
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

func (m *model) ok() bool { return !m.run.r.Recorded() && !m.run.r.IsExpired() }

// push reports whether h pushed a value.
func (m *model) push(h *user) bool {
	if h.push == nil || h.sent == h.todo {
		return false
	}
	if h.giveOne() {
		m.in[h.accepted[h.sent-1]] = true
		return true
	}
	if m.k.Capacity == 0 || len(m.in) < m.k.Capacity {
		m.run.r.Record("a push was refused with %d values in the queue, capacity %d", len(m.in), m.k.Capacity)
	}
	return false
}

// pop reports whether h popped a value.
func (m *model) pop(h *user) bool {
	return h.pop != nil && (m.popFrom(h) || m.popAny())
}

// popAny pops from whichever consumer finds something.
func (m *model) popAny() bool {
	for _, h := range m.run.users {
		if h.pop != nil && m.popFrom(h) {
			return true
		}
	}
	if len(m.in) > 0 {
		m.run.r.Record("no consumer finds any of the %d values in the queue", len(m.in))
	}
	return false
}

func (m *model) popFrom(h *user) bool {
	if !h.take() {
		return false
	}
	v := h.popped[len(h.popped)-1]
	if !m.in[v] {
		m.run.r.Record("%s came out and was not in the queue", describe(v))
		return true
	}
	delete(m.in, v)
	if p := producerOf(v); m.k.FIFO && m.run.shape.Consumers == 1 {
		if seqOf(v) != m.first[p] {
			m.run.r.Record("%s came out, value %d was the oldest", describe(v), m.first[p])
		}
		m.first[p]++
	}
	return true
}
