package transport_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// One side sends in a mailbox of four slots, and the other side receives.
func ExampleSender() {
	var host, worker transport.Side
	s := transport.NewSender(&host, &worker, 4)
	r := transport.NewReceiver(&worker, &host, 4)
	var slots [4]string

	slot, ticket, ok := s.Claim()
	fmt.Println(slot, ticket, ok)
	slots[slot] = "hello"
	s.Publish(slot)
	fmt.Printf("%04b free, %04b pending: %s\n", s.Free(), r.Pending(), slots[slot])
	r.Ack(slot)
	fmt.Printf("%04b free, %04b pending\n", s.Free(), r.Pending())
	// Output:
	// 0 0 true
	// 1110 free, 0001 pending: hello
	// 1111 free, 0000 pending
}

// Slots are acknowledged one by one or all at once. Tickets give the order of the
// pending slots. The sender puts them where the receiver finds them.
func ExampleReceiver() {
	var host, worker transport.Side
	s := transport.NewSender(&host, &worker, transport.Slots)
	r := transport.NewReceiver(&worker, &host, transport.Slots)
	var tickets [transport.Slots]uint32

	first, ticket, _ := s.Claim()
	tickets[first] = ticket
	second, ticket, _ := s.Claim()
	tickets[second] = ticket
	s.Publish(second)
	s.Publish(first)

	pending := r.Pending()
	var room [transport.Slots]uint8
	fmt.Println(transport.InOrder(pending, &tickets, &room))
	r.AckAll(pending)
	fmt.Println(s.Busy())
	// Output:
	// [0 1]
	// 0
}

// Two mailboxes, one for each direction, share two words. A side with one goroutine
// answers and acknowledges with one store.
func ExampleSide() {
	var host, worker transport.Side
	requests := transport.NewSender(&host, &worker, transport.Slots)
	taken := transport.NewReceiver(&worker, &host, transport.Slots)
	answers := transport.NewSender(&worker, &host, transport.Slots)
	settled := transport.NewReceiver(&host, &worker, transport.Slots)

	slot, _, _ := requests.Claim()
	requests.Publish(slot)
	answer, _, _ := answers.Claim()
	transport.Exchange(answers, taken, 1<<answer, taken.Pending())
	fmt.Println(requests.Busy(), settled.Pending())
	// Output: 0 1
}

// A call and its answer.
func ExampleLink() {
	l, err := transport.NewLink(transport.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = l.Close() }()
	host, worker := l.Host(), l.Worker()

	slot, _ := host.Claim()
	_ = host.Publish(slot, &transport.Header{ID: 1, Tag: transport.TagString}, []byte("what is it?"))

	_, _ = worker.Drain(func(m *transport.Message, err error) {
		question, _ := m.Append(nil)
		slot, _ := worker.Claim()
		_ = worker.Publish(slot, &transport.Header{ID: m.ID, Tag: transport.TagString}, append(question, " a slot"...))
	})

	_, _ = host.Drain(func(m *transport.Message, err error) {
		answer, _ := m.Append(nil)
		fmt.Println(m.ID, m.Tag, string(answer), err)
	})
	// Output: 1 string what is it? a slot <nil>
}

// An encoder builds a payload in its final position, whatever its length.
func ExampleEnd() {
	l, _ := transport.NewLink(transport.Config{})
	host := l.Host()
	for _, n := range []int{10, 100, 1000} {
		slot, _ := host.Claim()
		room, _ := host.Reserve(slot, n)
		h := transport.Header{Tag: transport.TagBytes}
		_ = host.Publish(slot, &h, append(room, make([]byte, n)...))
		fmt.Println(n, transport.TierOf(n), host.Arena().InUse())
	}
	// Output:
	// 10 header 0
	// 100 inline 0
	// 1000 arena 1024
}

// The receiver copies the bytes that it keeps.
func ExampleMessage() {
	l, _ := transport.NewLink(transport.Config{})
	slot, _ := l.Worker().Claim()
	_ = l.Worker().Publish(slot, &transport.Header{ID: 9, Tag: transport.TagString}, []byte("kept"))
	var kept []byte
	_, _ = l.Host().Drain(func(m *transport.Message, err error) { kept, _ = m.Append(kept[:0]) })
	fmt.Println(string(kept))
	// Output: kept
}

// The host asks a call to abort, and checks whether the call had started.
func ExampleHostEnd() {
	l, _ := transport.NewLink(transport.Config{})
	id, _ := l.Host().Aborts().Acquire()
	l.Host().Aborts().Abort(id)
	fmt.Println(l.Worker().Aborted(id), l.Host().Started(transport.CallID(0, 1)))
	// Output: true false
}

// The worker waits for a request until its side tells it to stop.
func ExampleEnd_WaitUntil() {
	l, _ := transport.NewLink(transport.Config{})
	host, worker := l.Host(), l.Worker()
	slot, _ := host.Claim()
	_ = host.Publish(slot, &transport.Header{Tag: transport.TagString}, []byte("request"))

	fmt.Println(worker.WaitUntil(transport.Published, 0))
	_, _ = worker.Drain(func(*transport.Message, error) {})
	fmt.Println(worker.WaitUntil(transport.Published, worker.Now()+int64(time.Millisecond)))
	worker.WakeOwn()
	fmt.Println(worker.WaitUntil(transport.Published, 0))
	// Output:
	// published
	// expired
	// woken
}

// An end that may send and receive waits for both. The result is a set.
func ExampleEvent() {
	l, _ := transport.NewLink(transport.Config{})
	l.Worker().Close()
	got := l.Host().WaitUntil(transport.Published|transport.Acknowledged, 0)
	fmt.Println(got, got&transport.Acknowledged != 0)
	// Output: acknowledged and closed true
}

// Both sides learn of the digest of the other one.
func ExampleDigest() {
	l, _ := transport.NewLink(transport.Config{Digest: sha256.Sum256([]byte("add, multiply"))})
	l.Worker().Greet(sha256.Sum256([]byte("add")))
	digest, ok, err := l.Host().Greeting()
	fmt.Println(digest == l.Worker().Digest(), ok, err)
	// Output: false true <nil>
}

// The worker marks a call as started.
func ExampleWorkerEnd() {
	l, _ := transport.NewLink(transport.Config{})
	call, next := transport.CallID(12, 1), transport.CallID(12, 2)
	fmt.Println(l.Worker().Start(call))
	fmt.Println(l.Host().Started(call), l.Host().Started(next))
	// Output:
	// <nil>
	// true false
}

// A size that is not valid is refused, and the error names the field.
func ExampleConfig() {
	fmt.Println(transport.Footprint(transport.Config{})>>20, "MiB and some")
	_, err := transport.NewLink(transport.Config{PayloadMax: 1 << 20, PayloadPerValue: 1 << 20})
	fmt.Println(err)
	// Output:
	// 8 MiB and some
	// transport: Config.PayloadPerValue is 1048576, want 1 to 131072
}

// A record has 64 bytes and is checked when it is decoded.
func ExampleHeader() {
	b := make([]byte, transport.HeaderBytes)
	(&transport.Header{Fn: 3, ID: 77, Tag: transport.TagNil}).Encode(b)
	var h transport.Header
	err := h.Decode(b, transport.Limits{Functions: 10})
	fmt.Println(h.Fn, h.ID, h.Tag, err)
	// Output: 3 77 nil <nil>
}

// A header that the limits do not allow is an error, not a panic.
func ExampleLimits() {
	b := make([]byte, transport.HeaderBytes)
	(&transport.Header{Fn: 3, Tag: transport.TagNil}).Encode(b)
	var h transport.Header
	fmt.Println(h.Decode(b, transport.Limits{Functions: 3}))
	// Output: transport: no such function
}

// A flag marks an answer that carries an error.
func ExampleFlags() {
	h := transport.Header{Flags: transport.FlagReject}
	fmt.Println(h.Flags&transport.FlagReject != 0, h.Flags&transport.FlagPing != 0)
	// Output: true false
}

// Config.NewRegion decides where the memory of a Link comes from.
func ExampleRegion() {
	total := 0
	l, err := transport.NewLink(transport.Config{
		PayloadMax: 1 << 20,
		NewRegion: func(_ transport.Direction, size int) (transport.Region, error) {
			if total += size; total > 2<<20 {
				return nil, errors.New("over budget")
			}
			return transport.NewHeap(size)
		},
	})
	fmt.Println(l != nil, err)
	// Output: false transport: NewLink: over budget
}

// Config.NewRegion gives the two directions different memory.
func ExampleDirection() {
	l, err := transport.NewLink(transport.Config{
		PayloadMax: 1 << 20,
		NewRegion: func(d transport.Direction, size int) (transport.Region, error) {
			fmt.Println(d)
			return transport.NewHeap(size)
		},
	})
	fmt.Println(l != nil, err)
	// Output:
	// requests
	// answers
	// true <nil>
}

// A goroutine that has made a change rings. That is cheap when no waiter is parked.
func ExampleDoorbell() {
	d := transport.NewDoorbell(10 * time.Microsecond)
	changes := make(chan string, 1)
	go func() {
		changes <- "something"
		d.Ring()
	}()
	d.Wait(func() bool { return len(changes) > 0 }, 0)
	fmt.Println(<-changes, d.Ring())
	// Output: something false
}
