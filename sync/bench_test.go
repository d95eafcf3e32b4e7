package sync_test

import (
	"context"
	"fmt"
	"runtime"
	stdsync "sync"
	"testing"

	"github.com/lanewright/lanewright/internal/cpu"
	lfsync "github.com/lanewright/lanewright/sync"
)

// busy is a word with one worker of one and a notification. Notify leaves it unchanged.
var busy = lfsync.MakeWord(lfsync.StatePending, true, 0, 1)

// BenchmarkSync measures a notify while all workers are busy. Such a notify is one load
// that any number of processors share. BenchmarkSync also measures the transitions of one
// wake.
func BenchmarkSync(b *testing.B) {
	b.Run("op=notify-fast/word=busy", func(b *testing.B) {
		b.ReportAllocs()
		var s lfsync.Sync
		lfsync.SetWord(&s, busy)
		n := 0
		for b.Loop() {
			if s.NotifyFast(1) {
				n++
			}
		}
		if n == 0 {
			b.Fatal("NotifyFast has never returned true")
		}
	})
	b.Run("op=notify/word=busy", func(b *testing.B) {
		b.ReportAllocs()
		var s lfsync.Sync
		lfsync.SetWord(&s, busy)
		for b.Loop() {
			s.Notify(false, 1)
		}
	})
	b.Run("op=notify/word=busy/parallel", func(b *testing.B) {
		b.ReportAllocs()
		var s lfsync.Sync
		lfsync.SetWord(&s, busy)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s.Notify(false, 1)
			}
		})
	})
	b.Run("op=notify+wait", func(b *testing.B) { // a worker that is never idle: set the bit, clear it
		b.ReportAllocs()
		var s lfsync.Sync
		lfsync.SetWord(&s, lfsync.MakeWord(lfsync.StatePending, false, 0, 1))
		for b.Loop() {
			s.Notify(false, 1)
			s.Wait(false, false)
		}
	})
	b.Run("op=park+notify+wake", func(b *testing.B) { // all transitions of one wake, without the parking
		b.ReportAllocs()
		var s lfsync.Sync
		lfsync.SetWord(&s, lfsync.MakeWord(lfsync.StatePending, false, 0, 1))
		for b.Loop() {
			s.Wait(false, false)
			s.Notify(false, 1)
			s.Wait(false, true)
			s.Notify(true, 1)
			s.Wait(false, false)
		}
	})
}

// BenchmarkWakeTokens measures a token that is available and a token that a waiter blocks
// for.
func BenchmarkWakeTokens(b *testing.B) {
	b.Run("op=post+wait", func(b *testing.B) {
		b.ReportAllocs()
		var k lfsync.WakeTokens
		k.Init(1)
		for b.Loop() {
			k.Post()
			k.Wait()
		}
	})
	b.Run("op=ping-pong", func(b *testing.B) {
		b.ReportAllocs()
		var ping, pong lfsync.WakeTokens
		ping.Init(1)
		pong.Init(1)
		stop := false
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ping.Wait(); !stop; ping.Wait() {
				pong.Post()
			}
		}()
		for b.Loop() {
			ping.Post()
			pong.Wait()
		}
		stop = true
		ping.Post()
		<-done
	})
}

// BenchmarkParker measures a Park that finds a notification, an Unpark that finds one, and
// a Park that blocks.
func BenchmarkParker(b *testing.B) {
	b.Run("op=unpark+park", func(b *testing.B) {
		b.ReportAllocs()
		p := lfsync.NewParker()
		for b.Loop() {
			p.Unpark()
			p.Park()
		}
	})
	b.Run("op=unpark-again", func(b *testing.B) {
		b.ReportAllocs()
		p := lfsync.NewParker()
		for b.Loop() {
			p.Unpark()
		}
	})
	b.Run("op=ping-pong", func(b *testing.B) {
		b.ReportAllocs()
		ping, pong := lfsync.NewParker(), lfsync.NewParker()
		stop := false
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ping.Park(); !stop; ping.Park() {
				pong.Unpark()
			}
		}()
		for b.Loop() {
			ping.Unpark()
			pong.Park()
		}
		stop = true
		ping.Unpark()
		<-done
	})
}

// BenchmarkSemaphore compares a Semaphore with its usual substitute, a buffered channel.
// Each permit is held for one yield when goroutines contend for it. Some of them therefore
// have to wait.
func BenchmarkSemaphore(b *testing.B) {
	type semaphore interface {
		Acquire(ctx context.Context) error
		Release()
	}
	impls := []struct {
		name string
		make func(n int) semaphore
	}{
		{"lanewright", func(n int) semaphore { s, _ := lfsync.NewSemaphore(n); return s }},
		{"channel", func(n int) semaphore { return make(channelSemaphore, n) }},
	}
	for _, impl := range impls {
		b.Run("op=acquire+release/impl="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			s := impl.make(1)
			ctx := context.Background()
			for b.Loop() {
				_ = s.Acquire(ctx)
				s.Release()
			}
		})
		b.Run("op=acquire+release/context=cancellable/impl="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			s := impl.make(1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for b.Loop() {
				_ = s.Acquire(ctx)
				s.Release()
			}
		})
		b.Run("op=parallel/permits=64/impl="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			s := impl.make(64)
			ctx := context.Background()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = s.Acquire(ctx)
					s.Release()
				}
			})
		})
		b.Run("op=contended/goroutines=16/permits=2/impl="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			s := impl.make(2)
			ctx := context.Background()
			b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = s.Acquire(ctx)
					runtime.Gosched()
					s.Release()
				}
			})
		})
	}
}

type channelSemaphore chan struct{}

func (s channelSemaphore) Acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s channelSemaphore) Release() { <-s }

// BenchmarkBackoff measures all rounds while no other goroutine wants the processor.
func BenchmarkBackoff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var o lfsync.Backoff
		for o.Next() {
		}
	}
}

// BenchmarkPause measures one round of spinning.
func BenchmarkPause(b *testing.B) {
	for _, n := range []uint32{1, 64} {
		b.Run(fmt.Sprintf("rounds=%d", n), func(b *testing.B) {
			for b.Loop() {
				cpu.Pause(n)
			}
		})
	}
}

// BenchmarkPad measures two words that two goroutines write, with and without a Pad.
func BenchmarkPad(b *testing.B) {
	var apart struct {
		_ lfsync.Pad
		a lfsync.Parker
		_ lfsync.Pad
		b lfsync.Parker
		_ lfsync.Pad
	}
	var together struct {
		a, b lfsync.Parker
	}
	run := func(name string, words ...*lfsync.Parker) {
		b.Run("words="+name, func(b *testing.B) {
			for _, w := range words {
				w.Init()
			}
			var wg stdsync.WaitGroup
			for _, w := range words {
				wg.Go(func() {
					for range b.N {
						w.Unpark()
					}
				})
			}
			wg.Wait()
		})
	}
	run("together", &together.a, &together.b)
	run("apart", &apart.a, &apart.b)
}
