//go:build interleave

package transport_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/transport"
)

// tiny is the smallest Link. Each execution makes one.
var tiny = transport.Config{PayloadInitial: 64, PayloadMax: 8192, Functions: 1, Aborts: 1, Spin: -1}

func modelLink(m *interleave.M) *transport.Link {
	l, err := transport.NewLink(tiny)
	if err != nil {
		m.Fatalf("NewLink: %v", err)
	}
	return l
}

// serve answers the given number of calls through Post or Publish.
func serve(m *interleave.M, worker *transport.WorkerEnd, calls int, post bool) {
	publish := worker.Publish
	if post {
		publish = worker.Post
	}
	for {
		n, err := worker.Drain(func(got *transport.Message, err error) {
			if err := worker.Start(transport.CallID(int(got.ID), 1)); err != nil {
				m.Fatalf("call %d: %v", got.ID, err)
			}
			slot, ok := worker.Claim()
			if err != nil || !ok || publish(slot, &got.Header, payloadOf(got, nil)) != nil {
				m.Fatalf("call %d: %v, slot %v", got.ID, err, ok)
			}
		})
		if err != nil {
			m.Fatalf("the worker: %v", err)
		}
		if calls -= n; calls == 0 {
			return
		}
		worker.WaitUntil(transport.Published, 0)
	}
}

// TestModelLink has two callers, a receiver and a worker that park when they have
// nothing to do. Each call is answered. A lost wake-up is a deadlock. K-011, K-031,
// K-033, K-036, K-040. A receiver that sees a slot sees its payload. K-025.
func TestModelLink(t *testing.T) {
	model := func(callers int, post bool) func(*interleave.M) {
		return func(m *interleave.M) {
			l := modelLink(m)
			host := l.Host()
			for id := range callers {
				m.Go("caller", func() {
					slot, ok := host.Claim()
					if !ok || host.Publish(slot, header(uint64(id)), pattern(uint64(id), 600*id)) != nil {
						m.Fatalf("call %d was not sent", id)
					}
				})
			}
			m.Go("worker", func() { serve(m, l.Worker(), callers, post) })
			m.Go("receiver", func() {
				seen := map[uint64]bool{}
				for len(seen) < callers {
					_, err := host.Drain(func(got *transport.Message, err error) {
						if err != nil || seen[got.ID] || len(payloadOf(got, nil)) != 600*int(got.ID) || !host.Started(transport.CallID(int(got.ID), 1)) {
							m.Fatalf("answer %d: %v", got.ID, err)
						}
						seen[got.ID] = true
					})
					if err != nil {
						m.Fatalf("the host: %v", err)
					}
					if len(seen) < callers {
						host.WaitUntil(transport.Published, 0)
					}
				}
			})
		}
	}
	interleave.Check(t, "link-call", bounded(2), model(1, false))
	interleave.Check(t, "link-two-calls", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: 20_000}, model(2, true))
}

// TestModelLinkClose lets one side close while the other side sends, receives, or
// parks. The other side sees the end. It also receives the messages that were published
// before the end.
func TestModelLinkClose(t *testing.T) {
	interleave.Check(t, "link-close", bounded(2), func(m *interleave.M) {
		l := modelLink(m)
		host, worker := l.Host(), l.Worker()
		m.Go("worker", func() {
			slot, _ := worker.Claim()
			_ = worker.Publish(slot, header(1), nil)
			worker.Close()
		})
		m.Go("caller", func() {
			slot, _ := host.Claim()
			_ = host.Publish(slot, header(2), nil)
		})
		m.Go("receiver", func() {
			came := 0
			for host.WaitUntil(transport.Published, 0) != transport.Closed {
				n, err := host.Drain(func(*transport.Message, error) {})
				if came += n; err != nil {
					m.Fatalf("Drain: %v", err)
				}
			}
			if came != 1 {
				m.Fatalf("%d messages of a worker that has sent one", came)
			}
		})
	})
}

// TestModelCloseEndsTheOwnWait lets a goroutine of the waiter's side close the end at any step of its wait.
func TestModelCloseEndsTheOwnWait(t *testing.T) {
	interleave.Check(t, "link-close-own-wait", bounded(4), func(m *interleave.M) {
		host := modelLink(m).Host()
		m.Go("closer", host.Close)
		m.Go("waiter", func() {
			if got := host.WaitUntil(transport.Published, 0); got != transport.Closed {
				m.Fatalf("WaitUntil = %v", got)
			}
		})
	})
}

// TestModelWakeOwn lets a goroutine of the waiter's side end its wait at any step, beside a message or alone. The
// waiter sees both.
func TestModelWakeOwn(t *testing.T) {
	model := func(wants transport.Event) func(*interleave.M) {
		return func(m *interleave.M) {
			l := modelLink(m)
			host, worker := l.Host(), l.Worker()
			if wants&transport.Published != 0 {
				m.Go("worker", func() {
					slot, _ := worker.Claim()
					_ = worker.Publish(slot, header(1), nil)
				})
			}
			m.Go("sibling", host.WakeOwn)
			m.Go("waiter", func() {
				for left := wants; left != 0; {
					got := host.WaitUntil(transport.Published, 0)
					if left &^= got; got&transport.Published != 0 {
						_, _ = host.Drain(func(*transport.Message, error) {})
					}
				}
				if host.Pending() != 0 {
					m.Fatalf("a message is left")
				}
			})
		}
	}
	interleave.Check(t, "link-wake-own", bounded(4), model(transport.Woken))
	interleave.Check(t, "link-wake-own-and-message", bounded(2), model(transport.Woken|transport.Published))
}

// TestModelLinkWaitForSlot checks that an acknowledgement wakes a sender that is parked
// until a slot is free.
func TestModelLinkWaitForSlot(t *testing.T) {
	interleave.Check(t, "link-wait-for-slot", bounded(3), func(m *interleave.M) {
		l := modelLink(m)
		host, worker := l.Host(), l.Worker()
		full(host)
		m.Go("sender", func() {
			host.WaitUntil(transport.Published|transport.Acknowledged, 0)
			if _, ok := host.Claim(); !ok {
				m.Fatalf("woken, and no slot is free")
			}
		})
		m.Go("worker", func() {
			if n, err := worker.Drain(func(*transport.Message, error) {}); n != transport.Slots || err != nil {
				m.Fatalf("Drain = %d, %v", n, err)
			}
		})
	})
}

// TestModelLinkCancel checks that a sender that waits for a slot gets one that is
// cancelled. Other goroutines of its side hold all slots at first.
func TestModelLinkCancel(t *testing.T) {
	interleave.Check(t, "link-cancel", bounded(3), func(m *interleave.M) {
		host := modelLink(m).Host()
		for _, ok := host.Claim(); ok; _, ok = host.Claim() {
		}
		m.Go("claimer", func() { host.Cancel(17) })
		m.Go("sender", func() {
			for {
				if _, ok := host.Claim(); ok {
					return
				}
				host.WaitUntil(transport.Published|transport.Acknowledged, 0)
				interleave.Yield()
			}
		})
	})
}

// full claims all free slots of host and publishes them.
func full(host *transport.HostEnd) {
	for slot, ok := host.Claim(); ok; slot, ok = host.Claim() {
		_ = host.Publish(slot, header(1), nil)
	}
}

// TestModelLinkWaitForOwnSlot has a sender that is parked until a slot is free while
// the worker holds other slots. The sender is woken when its own side gives a slot
// back. It is also woken when the claim of that slot was only a part of FreeAcked.
func TestModelLinkWaitForOwnSlot(t *testing.T) {
	model := func(act func(host *transport.HostEnd, mine int)) func(*interleave.M) {
		return func(m *interleave.M) {
			host := modelLink(m).Host()
			mine, _ := host.Claim()
			full(host)
			m.Go("claimer", func() { act(host, mine) })
			m.Go("sender", func() {
				host.WaitUntil(transport.Published|transport.Acknowledged, 0)
				if host.Free() == 0 {
					host.WaitUntil(transport.Published|transport.Acknowledged, 0)
				}
			})
		}
	}
	interleave.Check(t, "link-cancel-wakes", bounded(3), model(func(host *transport.HostEnd, mine int) { host.Cancel(mine) }))
	interleave.Check(t, "link-publish-fails", bounded(2), model(func(host *transport.HostEnd, mine int) {
		if host.Publish(mine, header(1), make([]byte, tiny.PayloadMax)) == nil {
			panic("published")
		}
	}))
	interleave.Check(t, "link-free-acked-wakes", bounded(3), model(func(host *transport.HostEnd, mine int) {
		host.Cancel(mine)
		host.FreeAcked()
	}))
}

// TestModelLinkReserveTail lets each of two senders publish the end of its reserved
// memory. No sender writes to a block that the other sender owns.
func TestModelLinkReserveTail(t *testing.T) {
	interleave.Check(t, "link-reserve-tail", bounded(2), func(m *interleave.M) {
		l := modelLink(m)
		host := l.Host()
		for id := range uint64(2) {
			m.Go("sender", func() {
				const skip, n = 64, 600
				slot, _ := host.Claim()
				buf, err := host.Reserve(slot, skip+n)
				if err != nil {
					m.Fatalf("Reserve: %v", err)
				}
				buf = append(append(buf, make([]byte, skip)...), pattern(id, n)...)
				if err := host.Publish(slot, header(id), buf[skip:]); err != nil {
					m.Fatalf("Publish: %v", err)
				}
			})
		}
		m.Final(func() {
			n, err := l.Worker().Drain(func(got *transport.Message, err error) {
				if err != nil || !bytes.Equal(payloadOf(got, nil), pattern(got.ID, 600)) {
					m.Fatalf("call %d: the payload is not that of the call: %v", got.ID, err)
				}
			})
			if n != 2 || err != nil {
				m.Fatalf("Drain = %d, %v", n, err)
			}
		})
	})
}

// TestModelLinkViolation checks that a host that claims, publishes and drains never
// takes a step of an honest worker for a violation.
func TestModelLinkViolation(t *testing.T) {
	interleave.Check(t, "link-honest", bounded(2), func(m *interleave.M) {
		l := modelLink(m)
		host, worker := l.Host(), l.Worker()
		drain := func(e *transport.End) {
			if _, err := e.Drain(func(*transport.Message, error) {}); errors.Is(err, transport.ErrViolation) {
				m.Fatalf("a violation between honest ends")
			}
		}
		for range 2 {
			m.Go("caller", func() {
				slot, _ := host.Claim()
				_ = host.Publish(slot, header(1), nil)
			})
		}
		m.Go("receiver", func() { drain(&host.End); drain(&host.End) })
		m.Go("worker", func() { drain(&worker.End); drain(&worker.End) })
	})
}
