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

// TestParkerModel checks that a Parker behaves as a bool does.
func TestParkerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := lfsync.NewParker()
		notified := false
		take := func(name string, got bool) {
			t.Helper()
			if got != notified {
				t.Fatalf("%s with notified %v = %v", name, notified, got)
			}
			notified = false
		}
		t.Repeat(map[string]func(*rapid.T){
			"unpark": func(*rapid.T) { p.Unpark(); notified = true },
			"park": func(t *rapid.T) {
				if !notified {
					t.Skip("would block")
				}
				p.Park()
				notified = false
			},
			"done":     func(*rapid.T) { take("ParkDone(closed)", p.ParkDone(closed)) },
			"for zero": func(*rapid.T) { take("ParkFor(0)", p.ParkFor(0)) },
			"for less": func(*rapid.T) { take("ParkFor(-1)", p.ParkFor(-1)) },
			"for long": func(t *rapid.T) {
				if !notified {
					t.Skip("would block")
				}
				take("ParkFor(1h)", p.ParkFor(time.Hour))
			},
		})
	})
}

// TestParkerTime checks that a timed wait ends by the Unpark or by its time. The earlier
// one ends it. The time is virtual, so a lost wake-up is a deadlock and an hour costs
// nothing.
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
					p.Park() // a notification that came too late is stored for the next Park
				}
				if p.ParkFor(0) {
					t.Error("a second notification is stored")
				}
			})
		})
	}
}

// TestParkerRejectsSecondWaiter checks that a Park panics while another goroutine is
// parked.
func TestParkerRejectsSecondWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lfsync.NewParker()
		first := make(chan struct{})
		go func() {
			defer close(first)
			p.Park()
		}()
		synctest.Wait()
		mustPanic(t, "sync: Parker: two goroutines park", p.Park)
		p.Unpark() // still wakes the first waiter
		<-first
	})
}

// TestParkerStress checks that a waiter that checks its condition after each wait sees
// every change. The law holds for every kind of wait and every unparking goroutine.
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

// TestParkerOrder checks that the waiter sees all writes before each Unpark. The Unpark may
// have found the Parker notified. The race detector checks the plain memory.
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

// TestParkForAnyDuration checks that ParkFor does not block for a duration of 0 or less.
// The greatest duration lasts until the Unpark. V-16c.
func TestParkForAnyDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lfsync.NewParker()
		start := time.Now()
		for _, d := range []time.Duration{0, -1, -time.Hour, math.MinInt64} {
			if p.ParkFor(d) {
				t.Errorf("ParkFor(%d) = true before an Unpark", d)
			}
			p.Unpark()
			if !p.ParkFor(d) {
				t.Errorf("ParkFor(%d) = false after an Unpark", d)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("ParkFor with d <= 0 took %v", d)
		}
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1} {
			start = time.Now()
			go func() {
				time.Sleep(1000 * time.Hour) // virtual
				p.Unpark()
			}()
			if !p.ParkFor(d) {
				t.Errorf("ParkFor(%d) = false, want true", d)
			}
			if got := time.Since(start); got != 1000*time.Hour {
				t.Errorf("ParkFor(%d) took %v", d, got)
			}
		}
	})
}
