//go:build interleave

package transport_test

import (
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/transport"
)

// modelRegions returns the memory of the smallest link.
func modelRegions(m *interleave.M) (c transport.Config, rs [2]transport.Region) {
	c = transport.Config{PayloadMax: 512, PayloadInitial: 64, Aborts: 1, Spin: -1, Generation: 5}
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

// TestModelUnmap has an end whose memory is replaced by zeros while goroutines send, receive and wait. None panics,
// and each wait ends.
func TestModelUnmap(t *testing.T) {
	interleave.Check(t, "link-unmap", bounded(3), func(m *interleave.M) {
		c, rs := modelRegions(m)
		closed := 0
		one, other := transport.NewWakers()
		h, err := transport.NewHost(c, zeros{rs[0], &closed}, zeros{rs[1], &closed}, one)
		if err != nil {
			m.Fatalf("NewHost = %v", err)
		}
		w, err := transport.NewWorker(rs[0], rs[1], other)
		if err != nil {
			m.Fatalf("NewWorker = %v", err)
		}
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
				if _, err := h.Drain(func(*transport.Message, error) {}); err != nil && !errors.Is(err, transport.ErrClosed) {
					m.Fatalf("Drain = %v", err)
				}
			}
		})
		m.Go("closer", func() { _ = h.Unmap() })
		m.Final(func() {
			if closed != 2 || h.Violated() {
				m.Fatalf("%d regions are closed, violated: %t", closed, h.Violated())
			}
		})
	})
}
