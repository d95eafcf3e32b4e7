//go:build interleave

package transport_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// publish sends a message with that id and those flags.
func publish(m *interleave.M, e *transport.End, id uint64, flags transport.Flags) {
	slot, ok := e.Claim()
	h := header(id)
	h.Flags = flags
	if !ok || e.Publish(slot, h, nil) != nil {
		m.Fatalf("message %d is not sent", id)
	}
}

// TestModelBorrow has a goroutine that parks for answers, and others that borrow its turn. Each answer is received once,
// and none is left: a lost wake-up is a deadlock. T1 to T3.
func TestModelBorrow(t *testing.T) {
	model := func(borrowers, answers int, limit int64, wakes bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			l := modelLink(m)
			h := &l.Host().End
			var received interleave.Cell[int] // of the holder of the turn
			drain := func() bool {
				_, err := h.Drain(func(*transport.Message, error) { received.Set(received.Get() + 1) })
				if err != nil {
					m.Fatalf("Drain = %v", err)
				}
				return received.Get() == answers
			}
			m.Go("service", func() {
				for deadline := limit; !drain(); deadline = 0 {
					h.ParkUntil(transport.Published, deadline)
				}
			})
			for range borrowers {
				m.Go("borrower", func() {
					if !h.Borrow() {
						return
					}
					for {
						switch {
						case drain():
							h.HandOver() // the service ends as well
							return
						case h.Spin() == 0 && h.Return():
							return
						}
					}
				})
			}
			m.Go("worker", func() {
				for i := range answers {
					publish(m, &l.Worker().End, uint64(i)+1, 0)
				}
			})
			if wakes {
				m.Go("sibling", h.WakeOwn)
			}
		}
	}
	interleave.Check(t, "link-borrow", bounded(3), model(1, 1, 0, false))
	interleave.Check(t, "link-borrow-woken", bounded(1), model(1, 1, 0, true))
	interleave.Check(t, "link-borrow-answers", bounded(2), model(1, 2, 0, false))
	interleave.Check(t, "link-borrow-two", bounded(2), model(2, 1, 0, false))
	o := bounded(1)
	o.Timeouts = true
	interleave.Check(t, "link-borrow-deadline", o, model(1, 1, 1<<60, false))
}

// TestModelLend has a worker side whose leader lends the turn while it runs a call, as package pool does. The call ends only
// when another message has come, which is urgent, or when the host has closed its end. T2: a message that no goroutine
// receives in time is a deadlock.
func TestModelLend(t *testing.T) {
	const call, other = 1, 2
	model := func(flags transport.Flags, closes bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			l := modelLink(m)
			w := &l.Worker().End
			var leaders interleave.Cell[int] // of the holder of the turn
			var seen, came interleave.Sema   // the handler may return; both messages have come
			seen.Init(1)
			came.Init(2)
			var over atomix.Bool
			var lead func()
			start := func() { interleave.Go("runner", lead) }
			lead = func() {
				for {
					leaders.Set(leaders.Get() + 1)
					called := false
					n, err := w.Drain(func(got *transport.Message, _ error) {
						came.Post()
						switch got.ID {
						case call:
							called = true
						case other:
							seen.Post()
						}
					})
					if err != nil {
						m.Fatalf("Drain = %v", err)
					}
					for called {
						v := w.Lend()
						if v&transport.Closed != 0 {
							w.HandOver()
							seen.Wait()
							return
						}
						if v == 0 {
							seen.Wait() // the handler
							if !w.Resume() {
								return
							}
							break
						}
						n, _ = w.Drain(func(*transport.Message, error) {
							came.Post()
							seen.Post()
						})
					}
					switch {
					case n > 0 || called:
					case w.PeerClosed():
						w.HandOver()
						return
					case w.Spin() == 0 && w.Return():
						return
					}
				}
			}
			m.Go("service", func() {
				for w.ParkUntil(transport.Published, 0)&transport.Closed == 0 {
					w.Pass(start)
				}
				if closes {
					seen.Post()
				}
				over.Store(true)
			})
			m.Go("host", func() {
				publish(m, &l.Host().End, call, 0)
				if !closes {
					publish(m, &l.Host().End, other, flags)
					came.Wait()
					came.Wait()
				}
				l.Host().Close()
			})
			m.Final(func() {
				if !over.Load() {
					m.Fatalf("the service has not seen the end")
				}
			})
		}
	}
	interleave.Check(t, "link-lend", bounded(2), model(transport.FlagNotice, false))
	interleave.Check(t, "link-lend-close", bounded(2), model(0, true))
	mustFind(t, "no message is urgent", bounded(1), model(0, false))
}
