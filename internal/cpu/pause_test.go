package cpu_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestPause: Pause ends, with zero rounds as well. A loop that decrements before its
// first test would run 2^32 rounds then, which takes minutes.
func TestPause(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, n := range []uint32{0, 1, 2, 64, 1000} {
			cpu.Pause(n)
		}
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("Pause did not end")
	}
}
