//go:build !interleave

package transport_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// waiting is a goroutine that waits at an end for messages.
type waiting struct {
	end  *transport.End
	got  transport.Event // of the last wait; of the holder of the turn
	ends int             // how many waits have ended
}

// wait parks until an event comes, and then keeps the turn until its goroutine gets leave.
func (w *waiting) wait() {
	w.got = w.end.ParkUntil(transport.Published, 0)
	w.ends++
}

// TestBorrowedTurn: a goroutine that borrows the turn receives in place of the one that is parked, which is not woken by
// messages. After Return it is woken again. Neither Borrow finds a turn that another goroutine has.
func TestBorrowedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(t, small)
		host, worker := &l.Host().End, &l.Worker().End
		w := &waiting{end: host}
		if host.Borrow() {
			t.Error("Borrow of the turn of a receiver that does not wait")
		}
		go w.wait()
		synctest.Wait()
		if !host.Borrow() || host.Borrow() {
			t.Error("one goroutine can borrow the turn of a receiver that is parked")
		}
		if bell, _ := host.Bells(); bell.Parked() {
			t.Error("messages ring although a borrower receives them")
		}
		send(t, worker, 1, nil)
		synctest.Wait()
		if v := host.Spin(); v != transport.Published || w.ends != 0 {
			t.Errorf("Spin = %v, and %d waits have ended", v, w.ends)
		}
		if host.Return() {
			t.Error("Return leaves a message")
		}
		if bell, _ := host.Bells(); bell.Parked() {
			t.Error("messages ring after a Return that keeps the turn")
		}
		if ids := take(t, host); !slices.Equal(ids, []uint64{1}) {
			t.Errorf("the borrower has received %d", ids)
		}
		if v := host.Spin(); v != 0 || !host.Return() || !host.Borrow() {
			t.Errorf("Spin = %v, then Return and Borrow", v)
		}
		if !host.Return() {
			t.Error("Return keeps the turn")
		}
		send(t, worker, 2, nil)
		synctest.Wait()
		if w.ends != 1 || w.got != transport.Published {
			t.Errorf("%d waits have ended, the last with %v", w.ends, w.got)
		}
		take(t, host)
	})
}

// TestReturnWakes: an event other than a message, for which the goroutine that is parked waits, does not concern a borrower,
// and ends the wait after its Return.
func TestReturnWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(t, small)
		host, worker := &l.Host().End, &l.Worker().End
		send(t, host, 1, nil)
		host.NoteFreed()
		var got transport.Event
		go func() { got = host.ParkUntil(transport.Published|transport.Freed, 0) }()
		synctest.Wait()
		if !host.Borrow() {
			t.Fatal("Borrow")
		}
		take(t, worker)
		if v := host.Spin(); v != 0 {
			t.Errorf("Spin = %v, without a message", v)
		}
		if !host.Return() {
			t.Error("Return keeps the turn without a message")
		}
		synctest.Wait()
		if got&transport.Freed == 0 {
			t.Errorf("the wait has ended with %v", got)
		}
	})
}

// TestHandedOverTurn: HandOver ends the wait, also if the borrower has taken a WakeOwn. No borrower comes before.
func TestHandedOverTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &newLink(t, small).Host().End
		w := &waiting{end: host}
		for i, wake := range []func(){func() {}, host.WakeOwn} {
			go w.wait()
			synctest.Wait()
			if !host.Borrow() {
				t.Fatal("Borrow")
			}
			wake()
			host.Spin()
			synctest.Wait()
			if w.ends != i {
				t.Fatal("the wait has ended although a borrower has the turn")
			}
			host.HandOver()
			if host.Borrow() {
				t.Error("Borrow of a turn that was handed over")
			}
			synctest.Wait()
			if w.ends != i+1 || w.got != transport.Woken {
				t.Errorf("%d waits have ended, the last with %v", w.ends, w.got)
			}
		}
	})
}

// TestLentTurn: while a turn is lent, an urgent message and the close of the other side give it to the goroutine that
// waits. A call does not. The borrower takes it back if no goroutine has it.
func TestLentTurn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		act   func(e *transport.End)
		wakes bool
	}{
		{"nothing", func(*transport.End) {}, false},
		{"call", func(e *transport.End) { publishFlags(e, 0) }, false},
		{"urgent call", func(e *transport.End) { publishFlags(e, 0); e.Urge() }, true},
		{"ping", func(e *transport.End) { publishFlags(e, transport.FlagPing) }, true},
		{"notice", func(e *transport.End) { publishFlags(e, transport.FlagNotice) }, true},
		{"close", (*transport.End).Close, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLink(t, small)
				host, worker := &l.Host().End, &l.Worker().End
				back := false
				go func() {
					worker.Pass(func() {})
					back = true
				}()
				synctest.Wait()
				if v := worker.Lend(); v != 0 {
					t.Fatalf("Lend = %v without an event", v)
				}
				tc.act(host)
				synctest.Wait()
				if back != tc.wakes {
					t.Errorf("the goroutine that waits has the turn: %t", back)
				}
				if worker.Resume() == tc.wakes {
					t.Errorf("Resume = %t", !tc.wakes)
				}
				if !back {
					worker.HandOver()
				}
			})
		})
	}
}

// bellWaker is a Waker that parks only on a doorbell that has the value seen, and has no memory of wake-ups.
type bellWaker struct {
	transport.Waker
	parked func(rung bool)
}

func (w bellWaker) Park(bell *atomix.Uint32, seen uint32, _ int64) bool {
	w.parked(bell.Load() != seen)
	return false
}

// TestPassSeesRings: Pass does not park on a doorbell that was rung after the other goroutine has become the receiver,
// because the wake-up may be over by then.
func TestPassSeesRings(t *testing.T) {
	requests, answers := heaps(t, small)
	one, other := transport.NewWakers()
	host, err := transport.NewHost(small, requests, answers, one)
	must(t, err)
	wasRung := false
	worker, err := transport.NewWorker(requests, answers, bellWaker{other, func(rung bool) { wasRung = rung }})
	must(t, err)
	worker.Pass(func() {
		if v := worker.Lend(); v != 0 {
			t.Errorf("Lend = %v without an event", v)
		}
		publishFlags(&host.End, transport.FlagNotice)
	})
	if !wasRung {
		t.Error("the goroutine parks although the message has rung")
	}
}

// publishFlags sends a message with those flags.
func publishFlags(e *transport.End, flags transport.Flags) {
	slot, _ := e.Claim()
	h := header(1)
	h.Flags = flags
	_ = e.Publish(slot, h, nil)
}

// TestLendLooks: Lend keeps the turn if a message has come before, or WakeOwn.
func TestLendLooks(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	send(t, host, 1, nil)
	for _, want := range []transport.Event{transport.Published, transport.Woken, 0} {
		if v := worker.Lend(); v != want {
			t.Errorf("Lend = %v, want %v", v, want)
		}
		take(t, worker)
		if want == transport.Published {
			worker.WakeOwn()
		}
	}
	if !worker.Resume() || worker.Resume() {
		t.Error("Resume takes a turn that is lent, once")
	}
}
