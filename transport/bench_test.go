package transport_test

import (
	"math/bits"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// BenchmarkMailbox measures the bits alone. One goroutine is sender and receiver.
func BenchmarkMailbox(b *testing.B) {
	b.Run("op=claim+publish+ack", func(b *testing.B) {
		b.ReportAllocs()
		x := newBox(transport.Slots, 0)
		n := 0
		for b.Loop() {
			slot, _, ok := x.s.Claim()
			if !ok {
				b.Fatal("no slot")
			}
			x.s.Publish(slot)
			x.r.Ack(slot)
			n++
		}
		if x.s.Busy() != 0 || x.s.Free() != ^uint32(0) {
			b.Fatal("slots are missing")
		}
	})
	b.Run("op=exchange", func(b *testing.B) {
		b.ReportAllocs()
		var host, worker transport.Side
		requests := transport.NewSender(&host, &worker, transport.Slots)
		taken := transport.NewReceiver(&worker, &host, transport.Slots)
		answers := transport.NewSender(&worker, &host, transport.Slots)
		settled := transport.NewReceiver(&host, &worker, transport.Slots)
		for b.Loop() {
			slot, _, _ := requests.Claim()
			requests.Publish(slot)
			answer, _, _ := answers.Claim()
			transport.Exchange(answers, taken, 1<<answer, taken.Pending())
			settled.AckAll(settled.Pending())
		}
		if requests.Busy() != 0 || answers.Busy() != 0 {
			b.Fatal("slots are missing")
		}
	})
	for _, n := range []int{1, 8, 32} {
		b.Run("op=order/pending="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			var tickets [transport.Slots]uint32
			for i := range tickets {
				tickets[i] = uint32(i * 5 % 32)
			}
			var room [transport.Slots]uint8
			for b.Loop() {
				if got := transport.InOrder(1<<n-1, &tickets, &room); len(got) != n {
					b.Fatal(got)
				}
			}
		})
	}
}

// BenchmarkMailboxParallel measures several senders on one mailbox with one receiver.
// Every letter is counted.
func BenchmarkMailboxParallel(b *testing.B) {
	b.ReportAllocs()
	x := newBox(transport.Slots, 0)
	var slots [transport.Slots]uint64
	var sent, stop atomix.Uint64
	var receiver sync.WaitGroup
	came := uint64(0)
	receiver.Go(func() {
		for {
			last := stop.Load() != 0
			set := x.r.Pending()
			for rest := set; rest != 0; rest &= rest - 1 {
				came += slots[bits.TrailingZeros32(rest)]
			}
			x.r.AckAll(set)
			if set == 0 {
				if last {
					return
				}
				runtime.Gosched()
			}
		}
	})
	b.RunParallel(func(pb *testing.PB) {
		n := uint64(0)
		for pb.Next() {
			slot, _, ok := x.s.Claim()
			for ; !ok; slot, _, ok = x.s.Claim() {
				runtime.Gosched()
			}
			slots[slot] = 1
			x.s.Publish(slot)
			n++
		}
		sent.Add(n)
	})
	stop.Store(1)
	receiver.Wait()
	if came != sent.Load() {
		b.Fatalf("%d of %d letters came", came, sent.Load())
	}
}

// BenchmarkSidePadding measures one word for each side. Each word is written by its
// side and read by the other one. The two words are on separate lines or on one. K-018,
// K-019.
func BenchmarkSidePadding(b *testing.B) {
	var padded [2]transport.Side
	var packed struct {
		_     transport.Side // a line without other data
		words [2]atomix.Uint64
		_     transport.Side
	}
	for _, tc := range []struct {
		name string
		step func(side int) uint32 // inverts one bit of that side and loads the word of the other side
	}{
		{"padded", func(side int) uint32 {
			transport.NewReceiver(&padded[side], &padded[1-side], 1).Ack(0)
			_, acked := padded[1-side].Load()
			return acked
		}},
		{"packed", func(side int) uint32 {
			if w := &packed.words[side]; w.Load() != 0 {
				w.And(0)
			} else {
				w.Or(1 << 32)
			}
			return uint32(packed.words[1-side].Load() >> 32)
		}},
	} {
		b.Run("words="+tc.name, func(b *testing.B) {
			b.ReportAllocs()
			var other sync.WaitGroup
			var stop atomix.Bool
			other.Go(func() {
				for !stop.Load() {
					tc.step(1)
				}
			})
			for b.Loop() {
				if tc.step(0) > 1 {
					b.Fatal("a bit that no side has set")
				}
			}
			stop.Store(true)
			other.Wait()
		})
	}
}

// BenchmarkHeader measures the encoding and the decoding of a record.
func BenchmarkHeader(b *testing.B) {
	buf := make([]byte, transport.HeaderBytes)
	h := transport.Header{Fn: 7, ID: 1 << 40, Tag: transport.TagInt64, Len: 8}
	b.Run("op=encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.Encode(buf)
		}
	})
	b.Run("op=decode", func(b *testing.B) {
		b.ReportAllocs()
		h.Encode(buf)
		var got transport.Header
		for b.Loop() {
			if err := got.Decode(buf, limits); err != nil {
				b.Fatal(err)
			}
		}
		if got != h {
			b.Fatalf("got %+v", got)
		}
	})
}

// BenchmarkDoorbell measures a ring without a waiter, which is a cost of each
// publication. It also measures the round trip to a parked goroutine. K-032, K-049,
// K-050.
func BenchmarkDoorbell(b *testing.B) {
	b.Run("op=ring/parked=no", func(b *testing.B) {
		b.ReportAllocs()
		d := transport.NewDoorbell(0)
		for b.Loop() {
			if d.Ring() {
				b.Fatal("Ring = true without a waiter")
			}
		}
	})
	for _, spin := range []string{"no", "yes"} {
		b.Run("op=roundtrip/spin="+spin, func(b *testing.B) {
			b.ReportAllocs()
			bells := [2]*transport.Doorbell{transport.NewDoorbell(0), transport.NewDoorbell(0)}
			if spin == "yes" {
				bells = [2]*transport.Doorbell{transport.NewDoorbell(transport.DefaultSpin), transport.NewDoorbell(transport.DefaultSpin)}
			}
			var asked, answered atomix.Uint64
			const end = 1 << 63
			var other sync.WaitGroup
			other.Go(func() {
				for i := uint64(1); ; i++ {
					bells[1].Wait(func() bool { return asked.Load() >= i }, 0)
					if asked.Load() >= end {
						return
					}
					answered.Store(i)
					bells[0].Ring()
				}
			})
			i := uint64(0)
			for b.Loop() {
				i++
				asked.Store(i)
				bells[1].Ring()
				bells[0].Wait(func() bool { return answered.Load() == i }, 0)
			}
			asked.Store(end)
			bells[1].Ring()
			other.Wait()
		})
	}
}

// BenchmarkLink measures a call and its answer. One goroutine on both sides shows the
// cost of the code. Two goroutines show the whole cost. K-008.
func BenchmarkLink(b *testing.B) {
	for _, n := range []int{8, 100, 1024, 64 << 10} {
		b.Run("sides=one/bytes="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			l := newLink(b, transport.Config{})
			host, worker := &l.Host().End, &l.Worker().End
			x := newEcho(worker, n)
			for b.Loop() {
				x.ask(host)
				_, _ = worker.Drain(x.answer)
				_, _ = host.Drain(x.settle)
			}
			x.check(b)
		})
	}
	for _, depth := range []int{1, 32} {
		b.Run("sides=two/bytes=8/outstanding="+strconv.Itoa(depth), func(b *testing.B) {
			b.ReportAllocs()
			l := newLink(b, transport.Config{})
			host, worker := &l.Host().End, &l.Worker().End
			x := newEcho(worker, 8)
			var other sync.WaitGroup
			other.Go(func() {
				for !worker.PeerClosed() {
					if n, _ := worker.Drain(x.answer); n == 0 {
						worker.WaitUntil(transport.Published, 0)
					}
				}
			})
			for b.Loop() {
				x.ask(host)
				for x.asked-x.settled >= uint64(depth) {
					if n, _ := host.Drain(x.settle); n == 0 {
						host.WaitUntil(transport.Published, 0)
					}
				}
			}
			for x.asked != x.settled {
				_, _ = host.Drain(x.settle)
			}
			host.Close()
			other.Wait()
			x.check(b)
		})
	}
}

// caller is a caller and a worker that answers with the payload that it gets.
type caller struct {
	asked, settled, sum uint64
	request, reply      transport.Header
	payload, in, out    []byte
	answer, settle      func(*transport.Message, error)
}

func newEcho(worker *transport.End, n int) *caller {
	x := &caller{payload: make([]byte, n), in: make([]byte, 0, n), out: make([]byte, 0, n)}
	x.request.Tag, x.reply.Tag = transport.TagBytes, transport.TagBytes
	x.answer = func(m *transport.Message, err error) {
		slot, ok := worker.Claim()
		for ; !ok; slot, ok = worker.Claim() {
		}
		x.out = payloadOf(m, x.out[:0])
		x.reply.ID = m.ID
		if err != nil || worker.Post(slot, &x.reply, x.out) != nil {
			panic("the worker failed")
		}
	}
	x.settle = func(m *transport.Message, err error) {
		x.in = payloadOf(m, x.in[:0])
		x.settled++
		x.sum += m.ID
		if err != nil || len(x.in) != n {
			panic("the answer differs")
		}
	}
	return x
}

func (x *caller) ask(host *transport.End) {
	slot, ok := host.Claim()
	for ; !ok; slot, ok = host.Claim() {
		_, _ = host.Drain(x.settle)
	}
	x.asked++
	x.request.ID = x.asked
	if err := host.Publish(slot, &x.request, x.payload); err != nil {
		panic(err)
	}
}

func (x *caller) check(b *testing.B) {
	b.Helper()
	if x.asked != x.settled || x.sum != x.asked*(x.asked+1)/2 {
		b.Fatalf("%d asked, %d answered", x.asked, x.settled)
	}
}
