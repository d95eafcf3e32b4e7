package stress

// queueModel uses the hands of a run from one goroutine, and knows what is in
// the queue.
type queueModel struct {
	run   *queueRun
	k     QueueKind
	in    map[uint64]bool // accepted and not popped
	first []int           // by producer: of its values, which comes out next
}

// use pushes and pops in bursts, and empties the queue in the end.
func (m *queueModel) use() {
	rng := m.run.r.rng
	for left := m.run.todo(); left > 0 && m.ok(); left-- {
		h := m.run.hands[rng.IntN(len(m.run.hands))]
		for n := rng.IntN(h.burst + 1); n > 0 && m.ok() && m.push(h); n-- {
		}
		h = m.run.hands[rng.IntN(len(m.run.hands))]
		for n := rng.IntN(h.burst + 1); n > 0 && m.ok() && m.pop(h); n-- {
		}
	}
	for m.ok() && m.popAny() {
	}
}

func (m *queueModel) ok() bool { return m.run.r.seen.Load() == nil && !m.run.r.over() }

// push reports whether h pushed a value.
func (m *queueModel) push(h *queueHand) bool {
	if h.push == nil || h.sent == h.todo {
		return false
	}
	if h.giveOne() {
		m.in[h.accepted[h.sent-1]] = true
		return true
	}
	if m.k.Capacity == 0 || len(m.in) < m.k.Capacity {
		m.run.r.saw("a push was refused with %d values in the queue, capacity %d", len(m.in), m.k.Capacity)
	}
	return false
}

// pop reports whether h popped a value.
func (m *queueModel) pop(h *queueHand) bool {
	return h.pop != nil && (m.popFrom(h) || m.popAny())
}

// popAny pops from whichever consumer finds something.
func (m *queueModel) popAny() bool {
	for _, h := range m.run.hands {
		if h.pop != nil && m.popFrom(h) {
			return true
		}
	}
	if len(m.in) > 0 {
		m.run.r.saw("no consumer finds any of the %d values in the queue", len(m.in))
	}
	return false
}

func (m *queueModel) popFrom(h *queueHand) bool {
	if !h.take() {
		return false
	}
	v := h.popped[len(h.popped)-1]
	if !m.in[v] {
		m.run.r.saw("%s came out and was not in the queue", queueText(v))
		return true
	}
	delete(m.in, v)
	if p := queueProducerOf(v); m.k.FIFO && m.run.shape.Consumers == 1 {
		if queueSeqOf(v) != m.first[p] {
			m.run.r.saw("%s came out, value %d was the oldest", queueText(v), m.first[p])
		}
		m.first[p]++
	}
	return true
}
