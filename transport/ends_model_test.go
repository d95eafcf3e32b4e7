//go:build interleave

package transport_test

import (
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// modelRegions returns the memory of the smallest link.
func modelRegions(m *interleave.M) (c transport.Config, rs [2]transport.Region) {
	c = transport.Config{PayloadMax: 8 << 10, PayloadInitial: 1 << 10, Aborts: 1, Spin: -1, Generation: 5}
	for d := range rs {
		size, err := c.RegionSize(transport.Direction(d))
		if err == nil {
			rs[d], err = transport.NewHeap(size)
		}
		if err != nil {
			m.Fatalf("%v", err)
		}
	}
	return c, rs
}

// TestModelHello checks that a side that has heard anything from the other one has heard all of it.
func TestModelHello(t *testing.T) {
	interleave.Check(t, "link-hello", bounded(3), func(m *interleave.M) {
		c, rs := modelRegions(m)
		one, other := transport.NewWakers()
		var host *transport.HostEnd
		m.Go("host", func() {
			h, err := transport.NewHost(c, rs[0], rs[1], one)
			if err != nil {
				m.Fatalf("NewHost = %v", err)
			}
			host = h
			if d, ok, err := h.Greeting(); err != nil || ok && d != (transport.Digest{31: 9}) {
				m.Fatalf("Greeting = %x, %t, %v", d, ok, err)
			}
		})
		m.Go("worker", func() {
			w, err := transport.NewWorker(rs[0], rs[1], other)
			if err != nil {
				w, err = transport.NewWorker(rs[0], rs[1], other)
			}
			switch {
			case err != nil && !errors.Is(err, transport.ErrHello):
				m.Fatalf("NewWorker = %v", err)
			case err == nil && w.Generation() != 5:
				m.Fatalf("the generation is %d", w.Generation())
			case err == nil:
				w.Greet(transport.Digest{31: 9})
			}
		})
		m.Final(func() { _ = host.Unmap() })
	})
}

// stepped is a region whose Close is a step of the explorer of its own.
type stepped struct {
	transport.Region
	closed *atomix.Uint32
	zeros  bool // it is replaced by zeros
}

func (r stepped) Close() error {
	r.closed.Add(1)
	if r.zeros {
		clear(r.Bytes())
	}
	return nil
}

// unmappable returns the two ends of a link, on which a call and its answer, each of 600 bytes, have gone through slot 0.
// Then the regions of the host are not there any more when it unmaps them.
func unmappable(m *interleave.M, zeros bool) (h *transport.HostEnd, w *transport.WorkerEnd, closed *atomix.Uint32) {
	c, rs := modelRegions(m)
	closed = new(atomix.Uint32)
	one, other := transport.NewWakers()
	h, err := transport.NewHost(c, stepped{rs[0], closed, zeros}, stepped{rs[1], closed, zeros}, process{one, closed})
	if err != nil {
		m.Fatalf("NewHost = %v", err)
	}
	if w, err = transport.NewWorker(rs[0], rs[1], other); err != nil {
		m.Fatalf("NewWorker = %v", err)
	}
	for _, end := range [][2]*transport.End{{&h.End, &w.End}, {&w.End, &h.End}} { // no map: its order would differ
		slot, _ := end[0].Claim()
		_ = end[0].Publish(slot, header(0), make([]byte, 600))
		if n, err := end[1].Drain(func(*transport.Message, error) {}); n != 1 || err != nil {
			m.Fatalf("Drain = %d, %v", n, err)
		}
	}
	return h, w, closed
}

// process is the Waker of a side in a process of its own. After its regions were closed it does not reach the other side,
// which parks on memory.
type process struct {
	transport.Waker
	closed *atomix.Uint32
}

func (p process) WakePeer(bell *atomix.Uint32) {
	if p.closed.Load() == 0 {
		p.Waker.WakePeer(bell)
	}
}

// TestModelUnmap has an end whose memory is replaced by zeros while goroutines send, receive and wait. None panics,
// and each wait ends. A message that arrives is one that was sent.
func TestModelUnmap(t *testing.T) {
	interleave.Check(t, "link-unmap", bounded(2), func(m *interleave.M) {
		h, w, closed := unmappable(m, true)
		slot, _ := w.Claim()
		_ = w.Publish(slot, header(1), nil)
		_ = w.Start(transport.CallID(0, 1))
		m.Go("sender", func() {
			slot, ok := h.Claim()
			if ok {
				if err := h.Publish(slot, header(2), nil); err != nil && !errors.Is(err, transport.ErrClosed) {
					m.Fatalf("Publish = %v", err)
				}
			}
			if !h.Started(transport.CallID(0, 1)) {
				m.Fatalf("a call that has started has not")
			}
		})
		m.Go("receiver", func() {
			for h.WaitUntil(transport.Published, 0)&transport.Closed == 0 {
				_, err := h.Drain(func(got *transport.Message, err error) {
					if err != nil || got.ID != 1 {
						m.Fatalf("message %d, %v", got.ID, err)
					}
				})
				if err != nil && !errors.Is(err, transport.ErrClosed) {
					m.Fatalf("Drain = %v", err)
				}
			}
		})
		m.Go("closer", func() { _ = h.Unmap() })
		m.Final(func() {
			if closed.Load() != 2 || h.Violated() {
				m.Fatalf("%d regions are closed, violated: %t", closed.Load(), h.Violated())
			}
		})
	})
}

// TestModelUnmapBesideClaims has an end whose memory is replaced by zeros, in which each slot is free, while goroutines
// claim slots. No slot gets a second owner, which would free or shrink the payload of the first one.
func TestModelUnmapBesideClaims(t *testing.T) {
	interleave.Check(t, "link-unmap-claims", bounded(2), func(m *interleave.M) {
		h, _, _ := unmappable(m, true)
		var owner [transport.Slots]interleave.Cell[bool]
		m.Go("sender", func() {
			slot, ok := h.Claim()
			if !ok {
				return
			}
			owner[slot].Set(true)
			room, err := h.Reserve(slot, 1000)
			if err == nil {
				err = h.Publish(slot, header(2), room[:520])
			}
			if err != nil && !errors.Is(err, transport.ErrClosed) {
				m.Fatalf("the sender: %v", err)
			}
		})
		m.Go("freer", func() {
			h.FreeAcked()
			if slot, ok := h.Claim(); ok {
				owner[slot].Set(true)
			}
		})
		m.Go("closer", func() { _ = h.Unmap() })
	})
}

// TestModelUnmapReachesTheOtherSide has an end that is unmapped while other goroutines of its side publish and close it.
// The other side, which waits in another process without a deadline, learns of the end.
func TestModelUnmapReachesTheOtherSide(t *testing.T) {
	interleave.Check(t, "link-unmap-other-side", bounded(2), func(m *interleave.M) {
		h, w, _ := unmappable(m, false)
		m.Go("sender", func() {
			if slot, ok := h.Claim(); ok {
				_ = h.Publish(slot, header(2), nil)
			}
		})
		m.Go("closer", h.Close)
		m.Go("unmapper", func() { _ = h.Unmap() })
		m.Go("worker", func() {
			for w.WaitUntil(transport.Published, 0) != transport.Closed {
				_, _ = w.Drain(func(*transport.Message, error) {})
			}
		})
	})
}
