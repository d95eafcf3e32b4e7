package transport_test

import (
	"strconv"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// BenchmarkArena measures one Alloc and one Free, without other goroutines and with
// other live blocks. The oldest block is freed first, as in a mailbox. K-140.
func BenchmarkArena(b *testing.B) {
	sizes := [...]int{1000, 64, 5000, 700, 1 << 16, 2048, 513}
	for _, live := range []int{0, 3, 31} {
		b.Run("live="+strconv.Itoa(live), func(b *testing.B) {
			b.ReportAllocs()
			a, err := transport.NewArena(4*mib, 64*mib, 8*mib)
			if err != nil {
				b.Fatal(err)
			}
			var queue [32]uint32
			n := 0
			alloc := func() {
				off, err := a.Alloc(sizes[n%len(sizes)])
				if err != nil {
					b.Fatal(err)
				}
				queue[n%len(queue)] = off
				n++
			}
			for range live {
				alloc()
			}
			for b.Loop() {
				alloc()
				a.Free(queue[(n-1-live)%len(queue)])
			}
			for i := range live {
				a.Free(queue[(n-live+i)%len(queue)])
			}
			if a.InUse() != 0 {
				b.Fatalf("%d bytes are left", a.InUse())
			}
			b.ReportMetric(float64(a.HighWater()), "high-B")
		})
	}
}

// BenchmarkArenaParallel measures several goroutines on one arena.
func BenchmarkArenaParallel(b *testing.B) {
	b.ReportAllocs()
	a, err := transport.NewArena(4*mib, 64*mib, 8*mib)
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			off, err := a.Alloc(1000)
			if err != nil {
				b.Error(err)
				return
			}
			a.Free(off)
		}
	})
	if a.InUse() != 0 {
		b.Fatalf("%d bytes are left", a.InUse())
	}
}
