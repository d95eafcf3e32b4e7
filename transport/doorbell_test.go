package transport_test

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// TestDoorbellRing: nobody is woken while nobody is parked, and who is parked is
// woken once, however many ring: K-029, K-032, K-040.
func TestDoorbellRing(t *testing.T) {
	d := transport.NewDoorbell(0)
	if d.Ring() {
		t.Error("Ring woke somebody, and nobody waits")
	}
	var news atomic.Bool
	wakes := 0
	d.SetParker(transport.TestParker{
		Unpark: func() { wakes++ },
		Park: func(time.Duration) bool {
			rang := 0
			for range 10 {
				if d.Ring() {
					rang++
				}
			}
			if rang != 1 {
				t.Errorf("%d of 10 rings woke the waiter, want 1", rang)
			}
			news.Store(true)
			return true
		},
	})
	for round := 1; round <= 3; round++ {
		news.Store(false)
		if !d.Wait(news.Load, 0) || wakes != round {
			t.Fatalf("round %d: %d wakes", round, wakes)
		}
		if d.Ring() || d.Parked() {
			t.Fatal("the waiter has left, and looks parked")
		}
	}
}

// spinning returns a doorbell that spins for 46 microseconds by a clock that each
// chunk of spinning moves by one, and a count of the chunks.
func spinning(spin time.Duration) (d *transport.Doorbell, chunks *uint64) {
	d = transport.NewDoorbell(spin)
	chunks = new(uint64)
	d.Clock(func() uint64 { return *chunks * transport.SpinTicks(time.Microsecond) }, func() { *chunks++ })
	return d, chunks
}

// TestSpinTicks: who asks for a longer spin gets no shorter one, however long it is.
func TestSpinTicks(t *testing.T) {
	last := uint64(0)
	for d := time.Duration(1 << 10); d > 0; d <<= 1 {
		if got := transport.SpinTicks(d); got < last {
			t.Errorf("SpinTicks(%v) = %d, less than %d for half of it", d, got, last)
		} else {
			last = got
		}
	}
	if got := transport.SpinTicks(math.MaxInt64); got < last {
		t.Errorf("SpinTicks of the longest time = %d, less than %d", got, last)
	}
}

// TestDoorbellSpin: a wait spins for its time and not longer, ends as soon as there
// are news, and each wait has the whole time again; nobody rings it while it spins:
// K-029, K-044, K-046, K-051.
func TestDoorbellSpin(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one processor")
	}
	d, chunks := spinning(transport.DefaultSpin)
	sleeps := 0
	d.SetParker(transport.TestParker{
		Park:   func(time.Duration) bool { sleeps++; return false },
		Unpark: func() { t.Error("a wake for somebody who spins") },
	})
	for range 3 {
		before := *chunks
		if d.Wait(func() bool { return false }, time.Hour) {
			t.Fatal("Wait = true without news")
		}
		if spun := *chunks - before; spun != 46 {
			t.Errorf("spun for %d microseconds, want 46", spun)
		}
	}
	if sleeps != 3 {
		t.Errorf("slept %d times, want 3", sleeps)
	}
	*chunks = 0
	ready := func() bool {
		if *chunks == 7 {
			return !d.Ring()
		}
		return false
	}
	if !d.Wait(ready, 0) || *chunks != 7 || sleeps != 3 {
		t.Errorf("news after 7 microseconds: spun for %d, slept %d times", *chunks, sleeps-3)
	}
}

// TestDoorbellNoSpin: no time, one processor, or the other side on the processor of
// this one: the wait parks at once: K-042, K-045.
func TestDoorbellNoSpin(t *testing.T) {
	tries := func(t *testing.T, d *transport.Doorbell, chunks *uint64, want uint64) {
		t.Helper()
		d.SetParker(transport.TestParker{Park: func(time.Duration) bool { return false }})
		d.Wait(func() bool { return false }, time.Hour)
		if *chunks != want {
			t.Errorf("spun for %d microseconds, want %d", *chunks, want)
		}
	}
	for _, spin := range []time.Duration{0, -1} {
		d, chunks := spinning(spin)
		tries(t, d, chunks, 0)
	}
	t.Run("one processor", func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		d, chunks := spinning(5 * time.Microsecond)
		tries(t, d, chunks, 0)
	})
	t.Run("processors", func(t *testing.T) {
		if runtime.GOMAXPROCS(0) == 1 {
			t.Skip("one processor")
		}
		for _, tc := range []struct {
			name        string
			here, there uint32
			want        uint64
		}{
			{"the same", 3, 3, 0},
			{"two", 3, 4, 5},
			{"not known", 0, 0, 5},
			{"the other is not known", 1, 0, 5},
		} {
			t.Run(tc.name, func(t *testing.T) {
				d, chunks := spinning(5 * time.Microsecond)
				d.Processors(func() uint32 { return tc.here }, tc.there)
				tries(t, d, chunks, tc.want)
				if got := d.Seen(); got != tc.here {
					t.Errorf("the other side sees processor %d, want %d", got, tc.here)
				}
			})
		}
	})
}

// TestDoorbellSpinners: one processor is left for those who are waited for: of two
// waits on two processors one spins, and the other one leaves after a moment.
func TestDoorbellSpinners(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	outer, outerChunks := spinning(9 * time.Microsecond)
	inner, innerChunks := spinning(9 * time.Microsecond)
	park := transport.TestParker{Park: func(time.Duration) bool { return false }}
	outer.SetParker(park)
	inner.SetParker(park)
	never := func() bool { return false }
	outer.Wait(func() bool {
		if *outerChunks == 1 {
			inner.Wait(never, time.Hour)
		}
		return false
	}, time.Hour)
	if *outerChunks != 9 || *innerChunks != transport.GraceChunks {
		t.Errorf("spun for %d and %d microseconds, want 9 and %d", *outerChunks, *innerChunks, transport.GraceChunks)
	}
	if inner.Wait(never, time.Hour); *innerChunks != transport.GraceChunks+9 {
		t.Errorf("spun for %d microseconds when nobody else does, want 9", *innerChunks-transport.GraceChunks)
	}
}

// TestDoorbellStates: a waiter goes from working to spinning, to parked, to working,
// and takes no other way: K-043, K-051.
func TestDoorbellStates(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one processor")
	}
	type edge [2]uint8
	const working, spins, parked = uint8(transport.LoopWorking), uint8(transport.LoopSpinning), uint8(transport.LoopParked)
	drawn := map[edge]string{
		{working, spins}:  "nothing to do",
		{spins, working}:  "more work while it spins, or right before it parks",
		{spins, parked}:   "the time is up",
		{parked, working}: "woken, or timed out",
		{parked, parked}:  "woken for nothing",
	}
	seen := map[edge]bool{}
	d, _ := spinning(time.Microsecond)
	state := working
	d.Trace(func(next uint8) {
		if e := (edge{state, next}); drawn[e] == "" {
			t.Errorf("from state %d to state %d", state, next)
		} else {
			seen[e] = true
		}
		state = next
	})
	after := func(n int) func() bool { // not ready n times
		return func() bool { n--; return n < 0 }
	}
	for n := range 6 { // the look at first, one while it spins, and two a parking
		for _, woken := range []bool{true, false} {
			d.SetParker(transport.TestParker{Park: func(time.Duration) bool { return woken }})
			d.Wait(after(n), time.Hour)
			if state != working {
				t.Fatalf("Wait returned in state %d", state)
			}
		}
	}
	if len(seen) != len(drawn) {
		t.Errorf("saw %d kinds of steps, want %d: %v", len(seen), len(drawn), seen)
	}
}

// TestDoorbellLimit: a wait ends when it is told and when its time is up, not before,
// and one that has no news costs nothing for an hour: K-042, K-047, K-048, K-049,
// K-050.
func TestDoorbellLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := transport.NewDoorbell(0)
		start := time.Now()
		looks := 0
		if d.Wait(func() bool { looks++; return false }, time.Hour) {
			t.Error("Wait = true without news")
		}
		if got := time.Since(start); got != time.Hour {
			t.Errorf("Wait took %v, want an hour", got)
		}
		if looks > 4 {
			t.Errorf("the waiter looked for news %d times in an hour", looks)
		}
		var news atomic.Bool
		go func() {
			time.Sleep(10 * time.Minute)
			news.Store(true)
			d.Ring()
		}()
		start = time.Now()
		if !d.Wait(news.Load, time.Hour) {
			t.Error("Wait = false with news")
		}
		if got := time.Since(start); got != 10*time.Minute {
			t.Errorf("Wait took %v, want 10 minutes", got)
		}
	})
}

// TestDoorbellNoLostWake: news and parking race, and no wait has a limit: K-036,
// K-047.
// A waiter is woken, and never polls: K-079 to K-082.
func TestDoorbellNoLostWake(t *testing.T) {
	for _, tc := range []struct {
		name string
		spin time.Duration
	}{{"parks at once", 0}, {"spins", time.Microsecond}} {
		t.Run(tc.name, func(t *testing.T) {
			rnd := newRand(t)
			bells := [2]*transport.Doorbell{transport.NewDoorbell(tc.spin), transport.NewDoorbell(tc.spin)}
			n := uint64(rounds(1_000_000))
			var words [2]atomic.Uint64 // how far each side has come
			within(t, "the game", func() {
				var wg sync.WaitGroup
				for side := range bells {
					wg.Go(func() {
						r := rnd(side)
						mine, other := &words[side], &words[1-side]
						for i := uint64(1); i <= n; i++ {
							for range r.IntN(20) {
								other.Load()
							}
							mine.Store(i)
							bells[1-side].Ring()
							bells[side].Wait(func() bool { return other.Load() >= i }, 0)
						}
					})
				}
				wg.Wait()
			})
		})
	}
}
