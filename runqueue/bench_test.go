package runqueue_test

import (
	"strconv"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// perNode reports the time per node of a benchmark whose operation handles n nodes.
func perNode(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
}

// BenchmarkQueue measures the paths of an owner and of a thief without contention.
func BenchmarkQueue(b *testing.B) {
	nodes := make([]mpsc.Node, 8*capacity)
	b.Run("op=push+pop", func(b *testing.B) {
		b.ReportAllocs()
		q, n := new(runqueue.Queue), &nodes[0]
		for b.Loop() {
			q.Push(n)
			if q.Pop() != n {
				b.Fatal("wrong node")
			}
		}
	})
	b.Run("op=pop/queued=0", func(b *testing.B) {
		b.ReportAllocs()
		q := new(runqueue.Queue)
		for b.Loop() {
			if q.Pop() != nil {
				b.Fatal("not empty")
			}
		}
	})
	b.Run("op=dequeue/queued=0", func(b *testing.B) {
		b.ReportAllocs()
		q, victim := new(runqueue.Queue), new(runqueue.Queue)
		for b.Loop() {
			if q.Pop() != nil {
				b.Fatal("not empty")
			}
			if n, _ := q.Refill(); n != nil {
				b.Fatal("not empty")
			}
			if n, _ := q.StealFrom(victim); n != nil {
				b.Fatal("not empty")
			}
		}
	})
	for _, size := range []int{16, capacity} {
		queued := "/queued=" + strconv.Itoa(size)
		b.Run("op=push-pop"+queued, func(b *testing.B) {
			b.ReportAllocs()
			q := new(runqueue.Queue)
			for b.Loop() {
				for i := range nodes[:size] {
					q.Push(&nodes[i])
				}
				for q.Pop() != nil {
				}
			}
			perNode(b, size)
		})
		b.Run("op=pushlist-pop"+queued, func(b *testing.B) {
			b.ReportAllocs()
			q := new(runqueue.Queue)
			for b.Loop() {
				var l mpsc.List
				for i := range nodes[:size] {
					l.Push(&nodes[i])
				}
				q.PushList(&l)
				for q.Pop() != nil {
				}
			}
			perNode(b, size)
		})
		b.Run("op=pushall-pop"+queued, func(b *testing.B) {
			b.ReportAllocs()
			q := new(runqueue.Queue)
			all := make([]*mpsc.Node, size)
			for i := range all {
				all[i] = &nodes[i]
			}
			for b.Loop() {
				q.PushAll(all)
				for q.Pop() != nil {
				}
			}
			perNode(b, size)
		})
	}
	for _, size := range []int{1, 16, capacity} {
		b.Run("op=steal/queued="+strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			q, thief := new(runqueue.Queue), new(runqueue.Queue)
			for b.Loop() {
				for i := range nodes[:size] {
					q.Push(&nodes[i])
				}
				for n, _ := thief.StealFrom(q); n != nil; n, _ = thief.StealFrom(q) {
					for thief.Pop() != nil {
					}
				}
			}
			perNode(b, size)
		})
	}
	for _, size := range []int{2 * capacity, 8 * capacity} { // Z-038
		b.Run("op=overflow-refill/queued="+strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			q := new(runqueue.Queue)
			for b.Loop() {
				for i := range nodes[:size] {
					q.Push(&nodes[i])
				}
				for more := true; more; {
					for q.Pop() != nil {
					}
					n, _ := q.Refill()
					more = n != nil
				}
			}
			perNode(b, size)
		})
	}
	b.Run("op=push+takenewest", func(b *testing.B) {
		b.ReportAllocs()
		q, n := new(runqueue.Queue), &nodes[0]
		for b.Loop() {
			q.Push(n)
			if q.TakeNewest(func(x *mpsc.Node) bool { return x == n }, 1) != n {
				b.Fatal("wrong node")
			}
		}
	})
}

// BenchmarkQueueStolen measures an owner that pushes and pops while another goroutine
// steals continuously.
func BenchmarkQueueStolen(b *testing.B) {
	b.ReportAllocs()
	q, thief := new(runqueue.Queue), new(runqueue.Queue)
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		steals := 0
		for {
			select {
			case <-stop:
				done <- steals
				return
			default:
			}
			if n, _ := thief.StealFrom(q); n != nil {
				steals++
				for thief.Pop() != nil {
				}
			}
		}
	}()
	var nodes []mpsc.Node
	i := 0
	for b.Loop() {
		if len(nodes) == 0 { // not reused: a stalled thief may hold some of them
			nodes = make([]mpsc.Node, 8*capacity)
		}
		q.Push(&nodes[0])
		nodes = nodes[1:]
		i++
		if i%4 == 0 {
			q.Pop()
		}
		if i%capacity == 0 {
			for n, _ := q.Refill(); n != nil; n, _ = q.Refill() {
				for q.Pop() != nil {
				}
			}
		}
	}
	close(stop)
	b.ReportMetric(float64(<-done)/float64(b.N), "steals/op")
}
