package park

import (
	"testing"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestYielder checks that a Yielder skips twice as many calls after each long yield. The
// number is at most maxSkip. It skips no call after a short yield.
// TestCallsBesideComputation of package pool checks that it measures its yields.
func TestYielder(t *testing.T) {
	perMilli := int64(1000 * cpu.TicksPerMicrosecond())
	var y Yielder
	check := func(want bool, calls int) {
		t.Helper()
		for i := range calls {
			if y.Yield() != want {
				t.Fatalf("call %d of %d: %v, want %v", i, calls, !want, want)
			}
		}
		if y.countdown != 0 {
			t.Fatalf("after %d calls the countdown is %d, want 0", calls, y.countdown)
		}
	}
	for range 2 {
		for _, calls := range []int{1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 16} {
			y.learn(2 * perMilli)
			check(false, calls)
		}
		for _, ticks := range []int64{perMilli / 2, 0, -perMilli} {
			y.learn(ticks)
			check(true, 3)
		}
	}
}

func BenchmarkYield(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			Yield()
		}
	})
	b.Run("yielder", func(b *testing.B) {
		var y Yielder
		for b.Loop() {
			y.Yield()
		}
	})
}
