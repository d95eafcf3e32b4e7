package mpsc_test

import (
	"strconv"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// BenchmarkQueue measures the push and the pop of one node by a single goroutine. The
// empty queue costs loads only (Z-044, Z-053).
func BenchmarkQueue(b *testing.B) {
	b.Run("op=empty", func(b *testing.B) {
		b.ReportAllocs()
		var q mpsc.Queue
		for b.Loop() {
			var c mpsc.Consumer
			if q.TryAcquire(&c, mpsc.LIFO) != mpsc.Empty {
				b.Fatal("not empty")
			}
		}
	})
	b.Run("op=push+visit", func(b *testing.B) {
		b.ReportAllocs()
		var q mpsc.Queue
		n := new(mpsc.Node)
		for b.Loop() {
			q.Push(n)
			var c mpsc.Consumer
			q.TryAcquire(&c, mpsc.LIFO)
			if c.Pop() != n {
				b.Fatal("wrong node")
			}
			c.Release()
		}
	})
	for _, o := range []mpsc.Order{mpsc.LIFO, mpsc.FIFO} {
		for _, size := range []int{16, 256} {
			b.Run("op=push+pop/order="+o.String()+"/queued="+strconv.Itoa(size), func(b *testing.B) {
				b.ReportAllocs()
				var q mpsc.Queue
				nodes := make([]mpsc.Node, size)
				var c mpsc.Consumer
				for b.Loop() {
					for i := range nodes {
						q.Push(&nodes[i])
					}
					q.TryAcquire(&c, o)
					for c.Pop() != nil {
					}
					c.Release()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/node")
			})
		}
	}
}

// BenchmarkQueueParallel measures producers that contend for the head of the queue and
// serve the queue while the token is free.
func BenchmarkQueueParallel(b *testing.B) {
	for _, batch := range []int{1, 16} {
		b.Run("batch="+strconv.Itoa(batch), func(b *testing.B) {
			b.ReportAllocs()
			var q mpsc.Queue
			b.RunParallel(func(pb *testing.PB) {
				var l mpsc.List
				for pb.Next() {
					for range batch {
						l.Push(new(mpsc.Node))
					}
					q.PushList(&l)
					var c mpsc.Consumer
					for q.TryAcquire(&c, mpsc.LIFO) == mpsc.Acquired {
						for c.Pop() != nil {
						}
						if !c.Release() {
							break
						}
					}
				}
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/node")
		})
	}
}
