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

// TestDoorbellRing checks that a ring wakes a parked waiter once, however many
// goroutines ring. It wakes nothing when no waiter is parked. K-029, K-032, K-040.
func TestDoorbellRing(t *testing.T) {
	d := transport.NewDoorbell(0)
	if d.Ring() {
		t.Error("Ring = true without a waiter")
	}
	var changed atomic.Bool
	wakes := 0
	d.SetWaker(transport.TestWaker{
		Wake: func() { wakes++ },
		OnPark: func(int64) bool {
			rang := 0
			for range 10 {
				if d.Ring() {
					rang++
				}
			}
			if rang != 1 {
				t.Errorf("%d of 10 rings returned true, want 1", rang)
			}
			changed.Store(true)
			return false
		},
	})
	for round := 1; round <= 3; round++ {
		changed.Store(false)
		if !d.Wait(changed.Load, 0) || wakes != round {
			t.Fatalf("round %d: %d wakes", round, wakes)
		}
		if d.Ring() || d.Parked() {
			t.Fatal("the waiter has returned and looks parked")
		}
	}
}

// spinning returns a doorbell and the number of chunks of spinning. The clock of the
// doorbell advances by one microsecond with each chunk. A wait that reads the clock too often
// spins for ever, or without a pause.
func spinning(spin time.Duration) (d *transport.Doorbell, chunks *uint64) {
	d = transport.NewDoorbell(spin)
	chunks = new(uint64)
	reads := 0
	ticks := func() uint64 {
		if reads++; reads > 10_000 {
			panic("the wait spins for ever, or without a pause")
		}
		return *chunks * transport.SpinTicks(time.Microsecond)
	}
	d.Clock(ticks, func() { *chunks++ })
	return d, chunks
}

// TestSpinTicks checks that a longer spin never has fewer ticks than a shorter one. The
// law holds up to the longest duration.
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

// TestDoorbellSpin checks that a wait spins for its whole time and no longer. Each wait
// has the whole time again. The spin ends as soon as the condition holds. No ring wakes
// a waiter that spins. K-029, K-042, K-044, K-045, K-046, K-051.
func TestDoorbellSpin(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one processor")
	}
	d, chunks := spinning(transport.DefaultSpin)
	parks := 0
	d.SetWaker(transport.TestWaker{
		OnPark: func(int64) bool { parks++; return true },
		Wake:   func() { t.Error("a waiter that spins was unparked") },
	})
	for range 3 {
		before := *chunks
		if d.Wait(func() bool { return false }, time.Hour) {
			t.Fatal("Wait = true without a change")
		}
		if spun := *chunks - before; spun != 46 {
			t.Errorf("spun for %d microseconds, want 46", spun)
		}
	}
	if parks != 3 {
		t.Errorf("parked %d times, want 3", parks)
	}
	*chunks = 0
	ready := func() bool {
		if *chunks == 7 {
			return !d.Ring()
		}
		return false
	}
	if !d.Wait(ready, 0) || *chunks != 7 || parks != 3 {
		t.Errorf("change after 7 microseconds: spun for %d, parked %d times", *chunks, parks-3)
	}
}

// TestDoorbellNoSpin checks that a wait parks at once if its spin time is 0 or
// negative. It also parks at once if there is one processor, or if the other side was
// last seen on the same processor. K-042, K-045.
func TestDoorbellNoSpin(t *testing.T) {
	wantSpin := func(t *testing.T, d *transport.Doorbell, chunks *uint64, want uint64) {
		t.Helper()
		d.SetWaker(transport.TestWaker{OnPark: func(int64) bool { return true }})
		d.Wait(func() bool { return false }, time.Hour)
		if *chunks != want {
			t.Errorf("spun for %d microseconds, want %d", *chunks, want)
		}
	}
	for _, spin := range []time.Duration{0, -1} {
		d, chunks := spinning(spin)
		wantSpin(t, d, chunks, 0)
	}
	t.Run("one processor", func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		d, chunks := spinning(5 * time.Microsecond)
		wantSpin(t, d, chunks, 0)
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
			{"same processor", 3, 3, 0},
			{"two processors", 3, 4, 5},
			{"both unknown", 0, 0, 5},
			{"other unknown", 1, 0, 5},
		} {
			t.Run(tc.name, func(t *testing.T) {
				d, chunks := spinning(5 * time.Microsecond)
				d.Processors(func() uint32 { return tc.here }, tc.there)
				wantSpin(t, d, chunks, tc.want)
				if got := d.Seen(); got != tc.here {
					t.Errorf("the other side sees processor %d, want %d", got, tc.here)
				}
			})
		}
	})
}

// TestDoorbellSpinners checks that one processor stays free for the goroutines that are
// waited for. Two waits run on two processors. One of them spins for its whole time,
// and the other one parks after a moment.
func TestDoorbellSpinners(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	outer, outerChunks := spinning(9 * time.Microsecond)
	inner, innerChunks := spinning(9 * time.Microsecond)
	park := transport.TestWaker{OnPark: func(int64) bool { return true }}
	outer.SetWaker(park)
	inner.SetWaker(park)
	never := func() bool { return false }
	began := false
	outer.Wait(func() bool {
		if *outerChunks == 1 && !began {
			began = true
			inner.Wait(never, time.Hour)
		}
		return false
	}, time.Hour)
	if *outerChunks != 9 || *innerChunks != transport.GraceChunks {
		t.Errorf("spun for %d and %d microseconds, want 9 and %d", *outerChunks, *innerChunks, transport.GraceChunks)
	}
	if inner.Wait(never, time.Hour); *innerChunks != transport.GraceChunks+9 {
		t.Errorf("spun for %d microseconds as the only spinner, want 9", *innerChunks-transport.GraceChunks)
	}
}

// TestDoorbellStates checks that the state of a waiter changes in the listed ways only.
// It goes from working to spinning, then to parked or back to working. A parked waiter
// that is woken without a change parks again. K-043, K-051.
func TestDoorbellStates(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one processor")
	}
	type edge [2]uint8
	const working, spins, parked = uint8(transport.LoopWorking), uint8(transport.LoopSpinning), uint8(transport.LoopParked)
	allowed := map[edge]string{
		{working, spins}:  "nothing to do",
		{spins, working}:  "the condition holds while it spins, or right before it parks",
		{spins, parked}:   "the spin time is over",
		{parked, working}: "woken, or the limit has passed",
		{parked, parked}:  "woken without a change",
	}
	seen := map[edge]bool{}
	d, _ := spinning(time.Microsecond)
	state := working
	d.Trace(func(next uint8) {
		if e := (edge{state, next}); allowed[e] == "" {
			t.Errorf("from state %d to state %d", state, next)
		} else {
			seen[e] = true
		}
		state = next
	})
	after := func(n int) func() bool { // not ready n times
		return func() bool { n--; return n < 0 }
	}
	// The condition is checked first, in each round while the waiter spins, and twice for each
	// parking.
	for n := range transport.ChunkRounds + 6 {
		for _, timeout := range []bool{false, true} {
			d.SetWaker(transport.TestWaker{OnPark: func(int64) bool { return timeout }})
			d.Wait(after(n), time.Hour)
			if state != working {
				t.Fatalf("Wait returned in state %d", state)
			}
		}
	}
	if len(seen) != len(allowed) {
		t.Errorf("saw %d kinds of transitions, want %d: %v", len(seen), len(allowed), seen)
	}
}

// TestDoorbellLimit checks that a wait ends when it is woken or when its limit has
// passed. It does not end before. A wait without a change does no work for an hour.
// K-042, K-047 to K-050, K-079 to K-082.
func TestDoorbellLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := transport.NewDoorbell(0)
		start := time.Now()
		checks := 0
		check := func() bool {
			if checks++; checks > 4 {
				t.Fatalf("the waiter has checked its condition %d times in %v", checks, time.Since(start))
			}
			return false
		}
		if d.Wait(check, time.Hour) {
			t.Error("Wait = true without a change")
		}
		if got := time.Since(start); got != time.Hour {
			t.Errorf("Wait took %v, want an hour", got)
		}
		var changed atomic.Bool
		go func() {
			time.Sleep(10 * time.Minute)
			changed.Store(true)
			d.Ring()
		}()
		start = time.Now()
		if !d.Wait(changed.Load, time.Hour) {
			t.Error("Wait = false after a change")
		}
		if got := time.Since(start); got != 10*time.Minute {
			t.Errorf("Wait took %v, want 10 minutes", got)
		}
	})
}

// TestDoorbellLimitIsForAllParkings checks that a wait ends at its limit although the other side rings again and
// again without a change, or changes the doorbell so fast that no parking blocks. K-048.
func TestDoorbellLimitIsForAllParkings(t *testing.T) {
	for _, every := range []time.Duration{20 * time.Millisecond, time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			d := transport.NewDoorbell(0)
			const limit = 50 * time.Millisecond
			parks := 0
			deadline := d.Now() + int64(limit)
			d.SetWaker(transport.TestWaker{
				Wake: func() {},
				OnPark: func(until int64) bool {
					if until != deadline {
						t.Errorf("parking %d ends at %d, want %d", parks, until, deadline)
					}
					if parks++; parks > int(limit/every)+transport.NoisyWakes {
						t.Error("the wait parks again after its limit")
						return true
					}
					if every < time.Millisecond { // the doorbell has changed already, whatever the time is
						time.Sleep(every)
						return false
					}
					left := time.Duration(until - d.Now())
					time.Sleep(min(left, every))
					return left <= every
				},
			})
			start := time.Now()
			if d.Wait(func() bool { return false }, limit) {
				t.Error("Wait = true without a change")
			}
			if got := time.Since(start); got < limit || got > limit+transport.NoisyWakes*time.Microsecond {
				t.Errorf("Wait took %v, want %v", got, limit)
			}
		})
	}
}

// TestDoorbellNoLostWake checks that no wake-up is lost when changes and parkings race
// and no wait has a limit. K-036, K-047. The rings alone end the waits, without polling.
// K-079 to K-082.
func TestDoorbellNoLostWake(t *testing.T) {
	for _, tc := range []struct {
		name string
		spin time.Duration
	}{{"parks at once", 0}, {"spins", time.Microsecond}} {
		t.Run(tc.name, func(t *testing.T) {
			rnd := newRand(t)
			bells := [2]*transport.Doorbell{transport.NewDoorbell(tc.spin), transport.NewDoorbell(tc.spin)}
			n := uint64(rounds(1_000_000))
			var words [2]atomic.Uint64 // the number of rounds that each side has completed
			within(t, "the exchange of rounds", func() {
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
