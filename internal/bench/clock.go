package bench

import (
	"slices"
	"time"
)

var epoch = time.Now()

// Now returns a monotonic time in nanoseconds since a moment of this process. It reads the
// clock of the system with the smallest step: see [ClockStep].
func Now() int64 { return now() }

// ClockCost returns the time that one reading of the clock adds to a measurement, in
// nanoseconds. It is the median time between two consecutive readings.
func ClockCost() int64 {
	d := make([]int64, 1001)
	for i := range d {
		t := now()
		d[i] = now() - t
	}
	slices.Sort(d)
	return Quantile(d, 0.5)
}

// ClockStep returns the smallest difference between two readings of the clock that is not
// zero, in nanoseconds.
func ClockStep() int64 {
	step := int64(time.Second)
	for range 1001 {
		t := now()
		d := now() - t
		for d == 0 {
			d = now() - t
		}
		step = min(step, d)
	}
	return step
}
