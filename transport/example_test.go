package transport_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// One side sends in a mailbox of four slots, and the other one receives.
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

// Slots come back one by one or all at once. Those of one moment are in order by
// their tickets, which the sender puts where the receiver finds them.
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

// Two mailboxes, one in each direction, share two words. A side whose one goroutine
// does everything answers and acknowledges by one store.
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
		question := string(m.Append(nil))
		slot, _ := worker.Claim()
		_ = worker.Publish(slot, &transport.Header{ID: m.ID, Tag: transport.TagString}, []byte(question+" a slot"))
	})

	_, _ = host.Drain(func(m *transport.Message, err error) {
		fmt.Println(m.ID, m.Tag, string(m.Append(nil)), err)
	})
	// Output: 1 string what is it? a slot <nil>
}

// An encoder can build a payload where it will lie, whatever its length.
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

// The receiver copies what it wants to keep.
func ExampleMessage() {
	l, _ := transport.NewLink(transport.Config{})
	slot, _ := l.Worker().Claim()
	_ = l.Worker().Publish(slot, &transport.Header{ID: 9, Tag: transport.TagString}, []byte("kept"))
	var kept []byte
	_, _ = l.Host().Drain(func(m *transport.Message, err error) { kept = m.Append(kept[:0]) })
	fmt.Println(string(kept))
	// Output: kept
}

// The host tells a call to abort, and asks whether it had started.
func ExampleHostEnd() {
	l, _ := transport.NewLink(transport.Config{})
	id, _ := l.Host().Aborts().Acquire()
	l.Host().Aborts().Abort(id)
	fmt.Println(l.Worker().Aborted(id), l.Host().Started(0, 1))
	// Output: true false
}

// The worker says which calls it has begun to run.
func ExampleWorkerEnd() {
	l, _ := transport.NewLink(transport.Config{})
	const call, generation = 12, 1
	l.Worker().Start(call, generation)
	fmt.Println(l.Host().Started(call, generation), l.Host().Started(call, generation+1))
	// Output: true false
}

// What cannot be meant is refused by name.
func ExampleConfig() {
	fmt.Println(transport.Footprint(transport.Config{})>>20, "MiB and some")
	_, err := transport.NewLink(transport.Config{PayloadMax: 1 << 20, PayloadPerValue: 1 << 20})
	fmt.Println(err)
	// Output:
	// 8 MiB and some
	// transport: Config.PayloadPerValue is 1048576, want 1 to 131072
}

// A record has 64 bytes, and is checked when it is read.
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

// An answer that carries an error says so in its flags.
func ExampleFlags() {
	h := transport.Header{Flags: transport.FlagReject}
	fmt.Println(h.Flags&transport.FlagReject != 0, h.Flags&transport.FlagPing != 0)
	// Output: true false
}

// A Link takes its memory from where it is told to.
func ExampleRegion() {
	total := 0
	l, err := transport.NewLink(transport.Config{
		PayloadMax: 1 << 20,
		NewRegion: func(size int) (transport.Region, error) {
			if total += size; total > 2<<20 {
				return nil, errors.New("over budget")
			}
			return transport.NewHeap(size)
		},
	})
	fmt.Println(l != nil, err)
	// Output: false transport: NewLink: over budget
}

// Whoever has news rings, and pays little when nobody is parked.
func ExampleDoorbell() {
	d := transport.NewDoorbell(10 * time.Microsecond)
	news := make(chan string, 1)
	go func() {
		news <- "something"
		d.Ring()
	}()
	d.Wait(func() bool { return len(news) > 0 }, 0)
	fmt.Println(<-news, d.Ring())
	// Output: something false
}
