package park

import (
	"testing"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestYielder: it does without for longer and longer while yields take long, and has
// forgotten that after a quick one. That it finds out what a yield takes is for
// TestCallsBesideComputation of package pool: here nothing depends on it.
func TestYielder(t *testing.T) {
	perMilli := int64(1000 * cpu.TicksPerMicrosecond())
	var y Yielder
	does := func(want bool, calls int) {
		t.Helper()
		for i := range calls {
			if y.Yield() != want {
				t.Fatalf("call %d of %d: %v, want %v", i, calls, !want, want)
			}
		}
		if y.turns != 0 {
			t.Fatalf("after %d calls there are %d to come", calls, y.turns)
		}
	}
	for range 2 {
		for _, calls := range []int{1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 16} {
			y.learn(2 * perMilli)
			does(false, calls)
		}
		for _, ticks := range []int64{perMilli / 2, 0, -perMilli} {
			y.learn(ticks)
			does(true, 3)
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
