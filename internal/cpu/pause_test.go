package cpu_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestPause: it ends, also with no rounds, where a loop that counts down first
// would go on for minutes.
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
