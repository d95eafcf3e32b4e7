package self_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/self"
)

// inside makes n goroutines that are inside a frame until the benchmark ends.
func inside(b *testing.B, n int) {
	b.Helper()
	self.Process.Clear()
	var in, out sync.WaitGroup
	end := make(chan struct{})
	in.Add(n)
	for range n {
		out.Go(func() {
			var f self.Frame
			f.Enter()
			defer f.Leave()
			in.Done()
			<-end
		})
	}
	in.Wait()
	b.Cleanup(func() { close(end); out.Wait() })
}

// BenchmarkFrame measures the operations of one goroutine while others are inside. The
// operation nested is Enter and Leave in a goroutine that has another frame.
func BenchmarkFrame(b *testing.B) {
	for _, n := range []int{0, 1, 1_000, 10_000} {
		for _, op := range []string{"absent", "present", "enter+leave", "nested"} {
			b.Run(fmt.Sprintf("op=%s/inside=%d", op, n), func(b *testing.B) {
				inside(b, n)
				var outer, f self.Frame
				if op == "present" || op == "nested" {
					outer.Enter()
					defer outer.Leave()
				}
				b.ReportAllocs()
				if op == "absent" || op == "present" {
					for b.Loop() {
						self.Top()
					}
					return
				}
				for b.Loop() {
					f.Enter()
					f.Leave()
				}
			})
		}
	}
}

// BenchmarkFrameParallel measures the same while all processors do it.
func BenchmarkFrameParallel(b *testing.B) {
	for _, op := range []string{"absent", "present", "enter+leave"} {
		b.Run("op="+op, func(b *testing.B) {
			self.Process.Clear()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var outer, f self.Frame
				if op == "present" {
					outer.Enter()
					defer outer.Leave()
				}
				for pb.Next() {
					if op == "enter+leave" {
						f.Enter()
						f.Leave()
					} else {
						self.Top()
					}
				}
			})
		})
	}
}
