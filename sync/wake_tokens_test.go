package sync_test

import (
	"context"
	"runtime"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	lfsync "github.com/lanewright/lanewright/sync"
)

// closed is a closed channel.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// TestWakeTokensModel checks that WakeTokens behaves as a bounded count does.
func TestWakeTokensModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "n")
		var k lfsync.WakeTokens
		k.Init(limit)
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				if got, want := k.Post(), n < limit; got != want {
					t.Fatalf("Post with %d of %d = %v", n, limit, got)
				}
				n = min(n+1, limit)
			},
			"try": func(t *rapid.T) {
				if got, want := k.TryWait(), n > 0; got != want {
					t.Fatalf("TryWait with %d = %v", n, got)
				}
				n = max(n-1, 0)
			},
			"wait": func(t *rapid.T) {
				if n == 0 {
					t.Skip("would block")
				}
				k.Wait()
				n--
			},
			"wait, done": func(t *rapid.T) {
				if got, want := k.WaitDone(closed), n > 0; got != want {
					t.Fatalf("WaitDone with %d and a closed channel = %v", n, got)
				}
				n = max(n-1, 0)
			},
			"": func(t *rapid.T) {
				if got := lfsync.TokenCount(&k); got != n {
					t.Fatalf("count is %d, want %d", got, n)
				}
			},
		})
	})
}

// TestWakeTokensMisuse checks that Init panics for a number that does not fit. V-14b.
func TestWakeTokensMisuse(t *testing.T) {
	for _, n := range []int{-1, 0, lfsync.MaxWorkers + 1} {
		mustPanic(t, "sync: WakeTokens.Init: n must be 1 to MaxWorkers", func() { new(lfsync.WakeTokens).Init(n) })
	}
}

// TestWakeTokensTime checks that a wait that gives up takes no token. A wait that ends by a
// Post takes one. The time is virtual, so a lost wake-up is a deadlock.
func TestWakeTokensTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k lfsync.WakeTokens
		k.Init(2)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if k.WaitDone(ctx.Done()) {
			t.Error("took a token before any Post")
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("waited %v, want an hour", d)
		}
		if n := lfsync.TokenCount(&k); n != 0 {
			t.Errorf("count is %d after a wait that gave up", n)
		}
		go func() {
			time.Sleep(time.Minute) // virtual: lets the waiters block
			k.Post()
			k.Post()
		}()
		start = time.Now()
		var wg stdsync.WaitGroup
		for range 2 {
			wg.Go(k.Wait)
		}
		wg.Wait()
		if d := time.Since(start); d != time.Minute {
			t.Errorf("waited %v, want a minute", d)
		}
		if k.TryWait() {
			t.Error("a token is left")
		}
	})
}

// TestWakeTokensStress checks that each posted token is taken exactly once while waiters
// give up at any moment.
func TestWakeTokensStress(t *testing.T) {
	const waiters, posters = 4, 3
	seed := newSeed(t)
	each := rounds(20_000)
	within(t, "posting and taking", func() {
		var k lfsync.WakeTokens
		k.Init(waiters)
		var taken atomic.Int64
		stop := make(chan struct{})
		var wg stdsync.WaitGroup
		for w := range waiters {
			rnd := newRand(seed, w)
			wg.Go(func() {
				for {
					got := false
					switch rnd.IntN(4) {
					case 0:
						got = k.TryWait()
					case 1: // gives up at once, or while a token is in flight
						done := make(chan struct{})
						go close(done)
						got = k.WaitDone(done)
					default:
						got = k.WaitDone(stop)
					}
					if got && taken.Add(1) == int64(posters*each) {
						close(stop)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range posters {
			wg.Go(func() {
				for range each {
					for !k.Post() {
						runtime.Gosched()
					}
				}
			})
		}
		wg.Wait()
		if n := taken.Load(); n != int64(posters*each) || lfsync.TokenCount(&k) != 0 {
			t.Errorf("took %d of %d tokens, the count is %d", n, posters*each, lfsync.TokenCount(&k))
		}
	})
}

// TestWakeTokensDropAboveLimit checks that MaxWorkers tokens are kept. One more is dropped.
// V-15b.
func TestWakeTokensDropAboveLimit(t *testing.T) {
	var k lfsync.WakeTokens
	k.Init(maxWorkers)
	for i := range maxWorkers {
		if !k.Post() {
			t.Fatalf("Post = false with %d tokens", i)
		}
	}
	if k.Post() {
		t.Error("a token above the limit was kept")
	}
	for i := range maxWorkers {
		if !k.TryWait() {
			t.Fatalf("TryWait = false after %d of %d tokens", i, maxWorkers)
		}
	}
	if k.TryWait() {
		t.Error("a token above the limit was taken")
	}
}
