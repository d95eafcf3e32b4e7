package pool_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// inc is the handler of the benchmarks.
func inc(_ context.Context, n int) (int, error) { return n + 1, nil }

// BenchmarkCall is one call after another. The call runs on the goroutine of the caller, by a
// worker, in a lane with several permits, or on the inline lane. A pair of channels is the
// comparison.
func BenchmarkCall(b *testing.B) {
	benchCall(b, func() (stop func()) { return func() {} })
}

// BenchmarkCallBesideComputation is the same beside a goroutine for each processor that
// computes all the time.
func BenchmarkCallBesideComputation(b *testing.B) {
	benchCall(b, func() (stop func()) {
		var over atomic.Bool
		var wg sync.WaitGroup
		for range gomaxprocs() {
			wg.Go(func() {
				for !over.Load() {
				}
			})
		}
		return func() {
			over.Store(true)
			wg.Wait()
		}
	})
}

func benchCall(b *testing.B, start func() (stop func())) {
	b.Helper()
	for _, way := range everyWay {
		if way.config.LockOSThread {
			continue
		}
		if way.name == "inline" {
			way.opts.Remote = false // it needs a goroutine of its own
		}
		b.Run("way="+way.name, func(b *testing.B) {
			var h pool.Handlers
			f := pool.Register(&h, "inc", inc, way.opts)
			newPool(b, &h, way.config)
			defer start()()
			b.ReportAllocs()
			for n := 0; b.Loop(); {
				v, err := f.Call(bg, n)
				if v != n+1 || err != nil {
					b.Fatalf("Call = %d, %v", v, err)
				}
				n = v
			}
		})
	}
	b.Run("way=channels", func(b *testing.B) {
		requests, answers := make(chan int), make(chan int)
		defer close(requests)
		go func() {
			for n := range requests {
				answers <- n + 1
			}
		}()
		defer start()()
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			requests <- n
			if v := <-answers; v != n+1 {
				b.Fatal(v)
			}
		}
	})
}

// BenchmarkHardLimit is a remote call with a hard limit and without, and one with a Timeout as well.
func BenchmarkHardLimit(b *testing.B) {
	for _, way := range []struct {
		name           string
		limit, timeout time.Duration
	}{{"none", 0, 0}, {"limit", time.Hour, 0}, {"both", time.Hour, time.Minute}} {
		b.Run(way.name, func(b *testing.B) {
			var h pool.Handlers
			f := pool.Register(&h, "inc", inc, pool.TaskOptions{Remote: true})
			newPool(b, &h, pool.Config{Lanes: 1, HardLimit: way.limit, Timeout: way.timeout})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Call(bg, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPipeline keeps a number of calls of one caller under way.
func BenchmarkPipeline(b *testing.B) {
	for _, depth := range []int{1, 32, 256} {
		b.Run(fmt.Sprint("depth=", depth), func(b *testing.B) {
			var h pool.Handlers
			f := pool.Register(&h, "inc", inc)
			newPool(b, &h, pool.Config{Lanes: 1})
			b.ReportAllocs()
			ring := make([]*pool.Future[int], depth)
			n := 0
			wait := func() {
				if fu := ring[n%depth]; fu != nil {
					if v, err := fu.Wait(bg); v != n-depth+1 || err != nil {
						b.Fatalf("%d, %v", v, err)
					}
				}
			}
			for b.Loop() {
				wait()
				ring[n%depth] = f.Go(bg, n)
				n++
			}
			for range min(depth, n) {
				wait()
				n++
			}
		})
	}
}

// BenchmarkCallers is many goroutines that call two lanes.
func BenchmarkCallers(b *testing.B) {
	for _, remote := range []bool{false, true} {
		b.Run(fmt.Sprint("remote=", remote), func(b *testing.B) {
			var h pool.Handlers
			f := pool.Register(&h, "inc", inc, pool.TaskOptions{Remote: remote})
			newPool(b, &h, pool.Config{Lanes: 2})
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for n := 0; pb.Next(); {
					v, err := f.Call(bg, n)
					if v != n+1 || err != nil {
						b.Errorf("%d, %v", v, err)
						return
					}
					n = v
				}
			})
		})
	}
}

// BenchmarkAborted is what a handler pays to ask whether its call was aborted.
func BenchmarkAborted(b *testing.B) {
	var h pool.Handlers
	f := pool.Register(&h, "asks", func(ctx context.Context, _ int) (int, error) {
		s, n := pool.AbortSignalOf(ctx), 0
		for b.Loop() {
			if s.Aborted() {
				n++
			}
		}
		return n, nil
	}, pool.TaskOptions{Abortable: true})
	newPool(b, &h, pool.Config{Lanes: 1})
	if v, err := f.Call(bg, 1); v != 0 || err != nil {
		b.Fatalf("Call = %d, %v", v, err)
	}
}

// BenchmarkFreeLane looks for the only lane without a call: a balancer and a lease.
func BenchmarkFreeLane(b *testing.B) {
	for _, lanes := range []int{1, 256, 4096} {
		var h pool.Handlers
		g := newGate()
		stand := pool.Register(&h, "stand", g.enter, pool.TaskOptions{Remote: true})
		quick := pool.Register(&h, "quick", double)
		p := newPool(b, &h, pool.Config{Lanes: lanes, Balancer: pool.FirstFree()})
		for n := range lanes - 1 { // the last lane stays free
			stand.Go(bg, n)
			g.entered(b, 1)
		}
		b.Run(fmt.Sprintf("FirstFree/lanes=%d", lanes), func(b *testing.B) {
			for b.Loop() {
				if _, err := quick.Call(bg, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("Acquire/lanes=%d", lanes), func(b *testing.B) {
			for b.Loop() {
				l, err := p.Acquire(bg)
				if err != nil {
					b.Fatal(err)
				}
				l.Release()
			}
		})
		g.release()
	}
}

// BenchmarkBlocked is a call without space that ends, beside others without space. The call of After does
// not wait for space.
func BenchmarkBlocked(b *testing.B) {
	for _, blocked := range []int{1, 64, 1024, 4096} {
		b.Run(fmt.Sprint("blocked=", blocked), func(b *testing.B) {
			var h pool.Handlers
			g := newGate()
			stand := pool.Register(&h, "stand", g.enter, pool.TaskOptions{Remote: true})
			quick := pool.Register(&h, "quick", double)
			p := newPool(b, &h, pool.Config{Lanes: 1, Backlog: 1})
			argument := quick.Go(bg, 1)
			result(b, argument)
			must(b, p.Wait(bg))
			stand.Go(bg, 0)
			g.entered(b, 1)
			stand.Go(bg, 1)
			var others []*pool.Future[int]
			for range blocked {
				others = append(others, quick.After(bg, argument))
			}
			for b.Loop() {
				quick.After(bg, argument).Abort(nil)
			}
			for _, o := range others {
				o.Abort(nil)
			}
			g.release()
		})
	}
}

// BenchmarkFull is a call that finds all permits in use and the backlog full.
func BenchmarkFull(b *testing.B) {
	for _, lanes := range []int{1, 64, 1024, 4096} {
		b.Run(fmt.Sprint("lanes=", lanes), func(b *testing.B) {
			g, f, _ := gated(b, pool.Config{Lanes: lanes, Backlog: 1})
			for n := range lanes {
				f.Go(bg, n)
				g.entered(b, 1)
			}
			f.Go(bg, lanes)
			for b.Loop() {
				f.TryGo(bg, 0)
			}
			g.release()
		})
	}
}

// BenchmarkFirstFree is the pick of a balancer beside lanes that handlers have. free says which lanes no
// handler has.
func BenchmarkFirstFree(b *testing.B) {
	for _, concurrency := range []int{1, 2} {
		for _, lanes := range []int{1, 2, 64, 1024, 4096} {
			for _, free := range []string{"all", "last", "none"} {
				b.Run(fmt.Sprintf("concurrency=%d/lanes=%d/free=%s", concurrency, lanes, free), func(b *testing.B) {
					g, f, p := gated(b, pool.Config{Lanes: lanes, Concurrency: concurrency, Balancer: pool.FirstFree()})
					busy := map[string]int{"all": 0, "last": lanes - 1, "none": lanes}[free]
					for n := range busy {
						f.Go(bg, n)
						g.entered(b, 1)
					}
					v, balancer := p.View(), pool.FirstFree()
					for b.Loop() {
						balancer.Pick(v)
					}
					g.release()
				})
			}
		}
	}
}

// BenchmarkFirstFreeCallers is goroutines that call the lanes of a pool whose balancer looks for a free one.
func BenchmarkFirstFreeCallers(b *testing.B) {
	for _, lanes := range []int{2, 64} {
		for _, remote := range []bool{false, true} {
			b.Run(fmt.Sprintf("lanes=%d/remote=%v", lanes, remote), func(b *testing.B) {
				var h pool.Handlers
				f := pool.Register(&h, "inc", inc, pool.TaskOptions{Remote: remote})
				newPool(b, &h, pool.Config{Lanes: lanes, Balancer: pool.FirstFree()})
				b.SetParallelism(4)
				b.RunParallel(func(pb *testing.PB) {
					for n := 0; pb.Next(); n++ {
						if _, err := f.Call(bg, n); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
