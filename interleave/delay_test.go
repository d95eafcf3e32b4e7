package interleave_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestDelayYieldsToOtherGoroutines: with -interleave.delay an operation yields to other
// goroutines, and without it an operation does not yield.
func TestDelayYieldsToOtherGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, one := range []uint{0, 1} {
		defer interleave.SetDelay(one)()
		var x interleave.Int32
		var ran atomic.Bool
		go ran.Store(true)
		for range 100 { // the runtime sometimes continues the goroutine that has yielded
			x.Load()
		}
		if ran.Load() != (one == 1) {
			t.Errorf("one in %d: the other goroutine ran: %t", one, ran.Load())
		}
	}
}
