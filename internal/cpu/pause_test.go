package cpu_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestPause: Pause ends for every number of rounds. A loop that decrements before its
// first test would run 2^32 rounds for 0, which takes minutes.
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
