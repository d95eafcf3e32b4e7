//go:build !interleave

package transport_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// The host of a link between two processes, and its worker side, which are both in one program here.
func ExampleWaker() {
	c := transport.Config{PayloadMax: 64 << 10}
	var memory [2]transport.Region // of two processes: memory that both have mapped
	for d := range memory {
		size, _ := c.RegionSize(transport.Direction(d))
		memory[d], _ = transport.NewHeap(size)
	}
	a, b, origin := make(bell, 1), make(bell, 1), time.Now()
	host, _ := transport.NewHost(c, memory[transport.Requests], memory[transport.Answers], side{a, b, origin})
	worker, _ := transport.NewWorker(memory[transport.Requests], memory[transport.Answers], side{b, a, origin})

	go func() {
		slot, _ := host.Claim()
		_ = host.Publish(slot, &transport.Header{Tag: transport.TagString}, []byte("request"))
	}()
	fmt.Println(worker.WaitUntil(transport.Published, 0))
	// Output: published
}

// bell wakes the side that waits for it.
type bell chan struct{}

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default: // it has been rung
	}
}

// side is a Waker of two goroutines. That of a process waits for the doorbell in memory.
type side struct {
	own, peer bell
	origin    time.Time
}

func (s side) Park(_ *atomic.Uint32, _ uint32, until int64) (timeout bool) {
	var limit <-chan time.Time
	if until != 0 {
		limit = time.After(time.Duration(until - s.Now()))
	}
	select {
	case <-s.own:
		return false
	case <-limit:
		return true
	}
}

func (s side) WakeOwn()                { s.own.ring() }
func (s side) WakePeer(*atomic.Uint32) { s.peer.ring() }
func (s side) Now() int64              { return int64(time.Since(s.origin)) + 1 } // of the monotonic clock
