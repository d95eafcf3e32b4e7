package runqueue

// head is the value of [Ring.head]. It packs two indices, from low to high bits: real
// (32 bits), steal (32 bits).
type head uint64

func makeHead(steal, real uint32) head { return head(steal)<<32 | head(real) }

// real is the next index to take.
func (h head) real() uint32 { return uint32(h) }

// steal is the index below which no slot is in use.
func (h head) steal() uint32 { return uint32(h >> 32) }

// held reports whether a goroutine has the hold of the ring.
func (h head) held() bool { return h.steal() != h.real() }

// hold returns the head with the hold taken; h is not held.
func (h head) hold() head { return makeHead(h.real()-1, h.real()) }

// take returns the head after the n oldest nodes were taken. It is held exactly when h
// is held.
func (h head) take(n uint32) head {
	if h.held() {
		return makeHead(h.steal(), h.real()+n)
	}
	return makeHead(h.real()+n, h.real()+n)
}

// release returns the head with the hold given back.
func (h head) release() head { return makeHead(h.real(), h.real()) }
