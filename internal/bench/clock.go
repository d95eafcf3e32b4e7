package bench

import (
	"slices"
	"time"
)

var epoch = time.Now()

// Now returns a monotonic time in nanoseconds since some moment of this process.
// Its step is that of the best clock of the system; see [ClockStep].
func Now() int64 { return now() }

// ClockCost returns the median time between two readings of the clock that follow
// each other, in nanoseconds: what one reading adds to what it measures.
func ClockCost() int64 {
	d := make([]int64, 1001)
	for i := range d {
		t := now()
		d[i] = now() - t
	}
	slices.Sort(d)
	return Quantile(d, 0.5)
}

// ClockStep returns the smallest time above zero that the clock was seen to tell,
// in nanoseconds.
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
