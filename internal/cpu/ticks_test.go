package cpu_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestTicks: the counter increases at about the rate of TicksPerMicrosecond. The bounds
// are wide, because the rate is a guess where the processor does not report it.
func TestTicks(t *testing.T) {
	const long = 20 * time.Millisecond
	from, began := cpu.Ticks(), time.Now()
	for time.Since(began) < long {
		cpu.Pause(10)
	}
	ticks, took := cpu.Ticks()-from, time.Since(began)
	micros := ticks / cpu.TicksPerMicrosecond()
	if lo, hi := took.Microseconds()/4, took.Microseconds()*4; int64(micros) < lo || int64(micros) > hi {
		t.Errorf("%d ticks of %d a microsecond in %v, want %d to %d microseconds", ticks, cpu.TicksPerMicrosecond(), took, lo, hi)
	}
}
