package transport_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// startID returns the id by which a test marks call n as started.
func startID(n uint64) uint64 {
	return transport.CallID(int(n%transport.Calls), uint32(n>>10)+1)
}

// echo answers each message with its own payload until the host closes. Answers that
// find the mailbox full wait. They go before later ones.
func echo(t *testing.T, worker *transport.WorkerEnd, post bool) {
	t.Helper()
	type answer struct {
		h       transport.Header
		payload []byte
	}
	var backlog []answer
	publish := worker.Publish
	if post {
		publish = worker.Post
	}
	flush := func() {
		for len(backlog) > 0 {
			slot, ok := worker.Claim()
			if !ok {
				break
			}
			if err := publish(slot, &backlog[0].h, backlog[0].payload); err != nil {
				t.Errorf("answer: %v", err)
			}
			backlog[0] = answer{}
			backlog = backlog[1:]
		}
		if post {
			worker.Flush()
		}
	}
	for {
		n, err := worker.Drain(func(m *transport.Message, err error) {
			if err != nil {
				t.Errorf("call %d: %v", m.ID, err)
			}
			if err := worker.Start(startID(m.ID)); err != nil {
				t.Errorf("call %d: %v", m.ID, err)
			}
			backlog = append(backlog, answer{m.Header, payloadOf(m, nil)})
		})
		if err != nil {
			t.Error(err)
			return
		}
		flush()
		if n == 0 {
			if worker.PeerClosed() && len(backlog) == 0 && worker.Pending() == 0 {
				return
			}
			want := transport.Published
			if len(backlog) > 0 {
				want |= transport.Acknowledged
			}
			worker.WaitUntil(want, 0)
		}
	}
}

// TestLinkCalls lets many goroutines call through one link. Its ends park without a
// limit when they have nothing to do. Each call gets its own answer once. K-011, K-023,
// K-031, K-036, K-040, K-047.
func TestLinkCalls(t *testing.T) {
	for _, tc := range []struct {
		name string
		post bool
		spin time.Duration
	}{{"parks at once", false, -1}, {"one store for both", true, -1}, {"spins", true, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			rnd := newRand(t)
			const callers = 64
			each := rounds(1500)
			c := small
			c.Spin = tc.spin
			l := newLink(t, c)
			host := l.Host()

			var calls [callers]chan []byte // the answers that the receiver passes to each caller
			for i := range calls {
				calls[i] = make(chan []byte, 1)
			}
			var wg, worker sync.WaitGroup
			for i := range calls {
				wg.Go(func() { call(t, host, uint64(i), each, rnd(i).IntN, calls[i]) })
			}
			worker.Go(func() { echo(t, l.Worker(), tc.post) })
			within(t, "the receiver", func() {
				for left := callers * each; left > 0; {
					n, err := host.Drain(func(m *transport.Message, err error) {
						if err != nil {
							t.Errorf("answer %d: %v", m.ID, err)
						}
						if !host.Started(startID(m.ID)) && callers*each < 1<<10 {
							t.Errorf("call %d was answered and has not started", m.ID)
						}
						calls[m.ID%callers] <- payloadOf(m, nil)
					})
					if err != nil {
						t.Error(err)
						return
					}
					if left -= n; n == 0 {
						host.WaitUntil(transport.Published, 0)
					}
				}
				wg.Wait()
				host.Close()
				worker.Wait()
			})
			host.FreeAcked()
			l.Worker().FreeAcked()
			if a, b := host.Arena().InUse(), l.Worker().Arena().InUse(); a != 0 || b != 0 {
				t.Errorf("%d and %d bytes of the arenas are in use at the end", a, b)
			}
			if a, b := host.Free(), l.Worker().Free(); a != ^uint32(0) || b != ^uint32(0) {
				t.Errorf("the free slots are %#x and %#x at the end", a, b)
			}
		})
	}
}

// call makes n calls one after another and compares the answers.
func call(t *testing.T, host *transport.HostEnd, caller uint64, n int, choose func(int) int, back <-chan []byte) {
	t.Helper()
	sizes := [...]int{0, 8, 24, 25, 300, 512, 513, 2000}
	for i := range n {
		id := uint64(i)*64 + caller
		payload := pattern(id, sizes[choose(len(sizes))])
		for {
			slot, ok := host.Claim()
			if !ok {
				runtime.Gosched()
				continue
			}
			if err := host.Publish(slot, header(id), payload); err == nil {
				break
			}
			runtime.Gosched() // the arena is full
		}
		if got := <-back; !bytes.Equal(got, payload) {
			t.Errorf("call %d: %d bytes came back, want %d", id, len(got), len(payload))
		}
	}
}
