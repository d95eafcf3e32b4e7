package sync_test

import (
	"math"
	"runtime"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	lfsync "github.com/lanewright/lanewright/sync"
)

// TestParkerModel compares a Parker with a bool.
func TestParkerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := lfsync.NewParker()
		token := false
		take := func(name string, got bool) {
			t.Helper()
			if got != token {
				t.Fatalf("%s with token %v = %v", name, token, got)
			}
			token = false
		}
		t.Repeat(map[string]func(*rapid.T){
			"unpark": func(*rapid.T) { p.Unpark(); token = true },
			"park": func(t *rapid.T) {
				if !token {
					t.Skip("would block")
				}
				p.Park()
				token = false
			},
			"done":     func(*rapid.T) { take("ParkDone(closed)", p.ParkDone(closed)) },
			"for zero": func(*rapid.T) { take("ParkFor(0)", p.ParkFor(0)) },
			"for less": func(*rapid.T) { take("ParkFor(-1)", p.ParkFor(-1)) },
			"for long": func(t *rapid.T) {
				if !token {
					t.Skip("would block")
				}
				take("ParkFor(1h)", p.ParkFor(time.Hour))
			},
		})
	})
}

// TestParkerTime: timed waits in virtual time. A lost wake-up would be a
// deadlock, and an hour costs nothing.
func TestParkerTime(t *testing.T) {
	tests := []struct {
		name   string
		unpark time.Duration // 0: never
		wait   func(p *lfsync.Parker) bool
		want   bool
		after  time.Duration
	}{
		{"in time", time.Minute, func(p *lfsync.Parker) bool { return p.ParkFor(time.Hour) }, true, time.Minute},
		{"never", 0, func(p *lfsync.Parker) bool { return p.ParkFor(time.Hour) }, false, time.Hour},
		{"too late", 2 * time.Hour, func(p *lfsync.Parker) bool { return p.ParkFor(time.Hour) }, false, time.Hour},
		{"untimed", time.Minute, func(p *lfsync.Parker) bool { p.Park(); return true }, true, time.Minute},
		{"done nil", time.Minute, func(p *lfsync.Parker) bool { return p.ParkDone(nil) }, true, time.Minute},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := lfsync.NewParker()
				if tc.unpark > 0 {
					go func() {
						time.Sleep(tc.unpark) // virtual
						p.Unpark()
					}()
				}
				start := time.Now()
				if got := tc.wait(p); got != tc.want {
					t.Errorf("got %v, want %v", got, tc.want)
				}
				if d := time.Since(start); d != tc.after {
					t.Errorf("after %v, want %v", d, tc.after)
				}
				if tc.unpark > tc.after {
					p.Park() // the token that came too late is there for the next one
				}
				if p.ParkFor(0) {
					t.Error("there is a second token")
				}
			})
		})
	}
}

// TestParkerTwo: two goroutines that park at once are told so.
func TestParkerTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lfsync.NewParker()
		first := make(chan struct{})
		go func() {
			defer close(first)
			p.Park()
		}()
		synctest.Wait()
		mustPanic(t, "sync: Parker: two goroutines park", p.Park)
		p.Unpark() // and the first one is none the worse for it
		<-first
	})
}

// TestParkerStress: a waiter that checks what it waits for after each Park sees
// all of it, however it waits, and whoever unparks.
func TestParkerStress(t *testing.T) {
	const producers = 3
	seed := newSeed(t)
	each := rounds(20_000)
	within(t, "the waiter", func() {
		p := lfsync.NewParker()
		var made atomic.Int64
		var wg stdsync.WaitGroup
		for i := range producers {
			rnd := newRand(seed, i)
			wg.Go(func() {
				for range each {
					made.Add(1)
					p.Unpark()
					if rnd.IntN(16) == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		rnd := newRand(seed, producers)
		parks := 0
		for made.Load() < int64(producers*each) {
			switch rnd.IntN(4) {
			case 0:
				p.ParkFor(time.Duration(rnd.IntN(1000)))
			case 1:
				done := make(chan struct{})
				go close(done)
				p.ParkDone(done)
			default:
				p.Park() // hangs when an Unpark is lost
			}
			parks++
		}
		wg.Wait()
		t.Logf("%d waits for %d unparks", parks, producers*each)
	})
}

// TestParkerOrder: what came before an Unpark is seen after the Park, also when
// the Unpark found the token there. The race detector checks the plain memory.
func TestParkerOrder(t *testing.T) {
	within(t, "the waiter", func() {
		for range rounds(2_000) {
			p := lfsync.NewParker()
			var a, b int
			var unparked [2]atomic.Bool
			go func() { a = 1; unparked[0].Store(true); p.Unpark() }()
			go func() { b = 1; unparked[1].Store(true); p.Unpark() }()
			p.Park()
			if unparked[0].Load() && a != 1 || unparked[1].Load() && b != 1 {
				t.Errorf("a = %d, b = %d", a, b)
				return
			}
		}
	})
}

// TestParkerDurations: a park of no or negative length does not block, and the
// longest lasts until the token comes. V-16c.
func TestParkerDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lfsync.NewParker()
		start := time.Now()
		for _, d := range []time.Duration{0, -1, -time.Hour, math.MinInt64} {
			if p.ParkFor(d) {
				t.Errorf("ParkFor(%d) took a token that is not there", d)
			}
			p.Unpark()
			if !p.ParkFor(d) {
				t.Errorf("ParkFor(%d) did not take the token", d)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("parks without a length took %v", d)
		}
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1} {
			start = time.Now()
			go func() {
				time.Sleep(1000 * time.Hour) // virtual
				p.Unpark()
			}()
			if !p.ParkFor(d) {
				t.Errorf("ParkFor(%d) took no token", d)
			}
			if got := time.Since(start); got != 1000*time.Hour {
				t.Errorf("ParkFor(%d) took %v", d, got)
			}
		}
	})
}
