//go:build interleave

package runqueue

import "github.com/lanewright/lanewright/mpsc"

// Each function below is a function of the package with one planted bug. The models
// must find every bug.

// PushOverHeld counts slots as free that the holder may be emptying.
func (r *Ring) PushOverHeld(n *mpsc.Node) bool {
	t := r.tail.Load()
	if t-head(r.head.Load()).real() >= Capacity {
		return false
	}
	r.slots[t%Capacity].Set(n)
	r.tail.Store(t + 1)
	return true
}

// PushEarly publishes the slot before it fills the slot.
func (r *Ring) PushEarly(n *mpsc.Node) bool {
	t := r.tail.Load()
	if t-head(r.head.Load()).steal() >= Capacity {
		return false
	}
	r.tail.Store(t + 1)
	r.slots[t%Capacity].Set(n)
	return true
}

// PopStore stores head instead of a CAS.
func (r *Ring) PopStore() *mpsc.Node {
	h := head(r.head.Load())
	if h.real() == r.tail.Load() {
		return nil
	}
	r.head.Store(uint64(h.take(1)))
	return r.takeSlot(h.real())
}

// PopCarry lets an index that wraps carry into the other half of the word.
func (r *Ring) PopCarry() *mpsc.Node {
	for {
		h := head(r.head.Load())
		if h.real() == r.tail.Load() {
			return nil
		}
		next := h + 1
		if !h.held() {
			next = h + 1<<32 + 1
		}
		if r.head.CompareAndSwap(uint64(h), uint64(next)) {
			return r.takeSlot(h.real())
		}
	}
}

// steal is StealInto. The caller gives the steps that differ between the mutants.
func (r *Ring) steal(dst *Ring, hold func() bool, claim func() (at, k uint32), done func()) (*mpsc.Node, int, mpsc.Status) {
	t := dst.tail.Load()
	if !hold() {
		return nil, 0, mpsc.Contended
	}
	at, k := claim()
	if k == 0 {
		done()
		return nil, 0, mpsc.Empty
	}
	n := r.takeSlot(at)
	for i := uint32(1); i < k; i++ {
		dst.slots[(t+i-1)%Capacity].Set(r.takeSlot(at + i))
	}
	done()
	if k > 1 {
		dst.tail.Store(t + k - 1)
	}
	return n, int(k), mpsc.Acquired
}

func (r *Ring) claimHalf() (at, k uint32) { return r.claim(half, Capacity) }
func (r *Ring) hold() bool                { return r.tryHold() == mpsc.Acquired }

// StealReleaseEarly gives the hold back before it empties the slots.
func (r *Ring) StealReleaseEarly(dst *Ring) (*mpsc.Node, int, mpsc.Status) {
	return r.steal(dst, r.hold, func() (at, k uint32) {
		at, k = r.claimHalf()
		r.release()
		return at, k
	}, func() {})
}

// StealReleaseStore gives the hold back by a store, which undoes pops of the owner.
func (r *Ring) StealReleaseStore(dst *Ring) (*mpsc.Node, int, mpsc.Status) {
	var real uint32
	return r.steal(dst, r.hold, func() (at, k uint32) {
		at, k = r.claimHalf()
		real = head(r.head.Load()).real()
		return at, k
	}, func() { r.head.Store(uint64(makeHead(real, real))) })
}

// StealHoldStore takes the hold by a store.
func (r *Ring) StealHoldStore(dst *Ring) (*mpsc.Node, int, mpsc.Status) {
	return r.steal(dst, func() bool {
		h := head(r.head.Load())
		if h.held() || h.real() == r.tail.Load() {
			return false
		}
		r.head.Store(uint64(h.hold()))
		return true
	}, r.claimHalf, func() { r.release() })
}

// StealUnheld claims without the hold, as the owner does.
func (r *Ring) StealUnheld(dst *Ring) (*mpsc.Node, int, mpsc.Status) {
	return r.steal(dst, func() bool { return true }, func() (at, k uint32) {
		h := head(r.head.Load())
		n := r.tail.Load() - h.real()
		if k = half(n); h.held() || n > Capacity || k == 0 || !r.head.CompareAndSwap(uint64(h), uint64(h.take(k))) {
			return 0, 0
		}
		return h.real(), k
	}, func() {})
}

// StealStaleTail decides how many nodes to take before it has the hold.
func (r *Ring) StealStaleTail(dst *Ring) (*mpsc.Node, int, mpsc.Status) {
	h := head(r.head.Load())
	n := r.tail.Load() - h.real()
	return r.steal(dst, func() bool {
		return !h.held() && n != 0 && r.head.CompareAndSwap(uint64(h), uint64(h.hold()))
	}, func() (at, k uint32) {
		for {
			h := head(r.head.Load())
			if r.head.CompareAndSwap(uint64(h), uint64(h.take(half(n)))) {
				return h.real(), half(n)
			}
		}
	}, func() { r.release() })
}

// TakeNewestUnheld lowers tail without the hold.
func (r *Ring) TakeNewestUnheld(match func(*mpsc.Node) bool, _ int) *mpsc.Node {
	t := r.tail.Load()
	if head(r.head.Load()).real() == t {
		return nil
	}
	if n := r.slots[(t-1)%Capacity].Get(); n != nil && match(n) {
		r.tail.Store(t - 1)
		return r.takeSlot(t - 1)
	}
	return nil
}

// TakeNewestGap gives the hold back before it closes the gap.
func (r *Ring) TakeNewestGap(match func(*mpsc.Node) bool, _ int) *mpsc.Node {
	if r.tryHold() != mpsc.Acquired {
		return nil
	}
	t := r.tail.Load()
	n := r.slots[(t-1)%Capacity].Get()
	ok := match(n)
	r.release()
	if !ok {
		return nil
	}
	r.tail.Store(t - 1)
	return r.takeSlot(t - 1)
}

// StealFromSilent does not report the nodes that it leaves in the ring of the victim.
func (q *Queue) StealFromSilent(victim *Queue) (n *mpsc.Node, pushed bool) {
	if n, pushed = q.fill(&victim.overflow, mpsc.LIFO); n != nil {
		return n, pushed
	}
	n, moved, _ := victim.ring.StealInto(&q.ring)
	return n, moved > 1
}

// RefillSilent does not report the nodes that the consumer token hid.
func (q *Queue) RefillSilent() (n *mpsc.Node, pushed bool) {
	var c mpsc.Consumer
	if q.overflow.TryAcquire(&c, mpsc.LIFO) != mpsc.Acquired {
		return nil, false
	}
	if n = c.Pop(); n != nil {
		pushed = q.ring.fill(&c)
	}
	c.Release()
	return n, pushed
}

// StealOnce returns Empty when the owner has emptied the ring under its hold.
func (r *Ring) StealOnce(dst *Ring) (*mpsc.Node, int, mpsc.Status) {
	return r.steal(dst, r.hold, r.claimHalf, func() { r.release() })
}
