package sched

import (
	"slices"
	"testing"
)

// TestCallPace: a caller yields before a call if its calls without a pause have taken five
// milliseconds. The clock is read in each 31st call while 31 calls take less than a millisecond, and in
// every call otherwise. Times are in microseconds.
func TestCallPace(t *testing.T) {
	each := func(us ...uint64) func(int) uint64 { return func(i int) uint64 { return us[i%len(us)] } }
	for _, tc := range []struct {
		name   string
		took   func(i int) uint64 // how long call i takes
		gap    func(i int) uint64 // and the time after it
		calls  int
		yields []int // the calls before which the caller yields
		read   int   // calls that read the clock
	}{
		{"long calls", each(10_000), each(1), 5, []int{1, 2, 3, 4}, 5},
		{"calls of two milliseconds", each(2000), each(1), 10, []int{3, 6, 9}, 10},
		{"pauses", each(2000), each(200), 100, nil, 100},
		{"a pause after each fourth call", each(2000), each(1, 1, 1, 200), 12, []int{3, 7, 11}, 12},
		{"short calls", each(1), each(0), 31 * 200, []int{30 + 31*161}, 2*31 + 198},
		{"short calls with pauses", each(1), each(150), 310, nil, 310},
		{"one call of two is long", each(1, 3000), each(1), 8, []int{4}, 8},
		{"long calls after short ones", func(i int) uint64 {
			if i < 62 {
				return 1
			}
			return 4000
		}, each(0), 96, []int{92, 94}, 62 + 1 + 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const milli = 1000
			var c callPace
			now, read := uint64(1<<40), 0 // the counter of ticks has any value at first
			var yields []int
			for i := range tc.calls {
				if c.count() {
					read++
					if c.beginAt(now, milli) {
						yields = append(yields, i)
					}
				}
				now += tc.took(i)
				if !c.short {
					c.ended = now
				}
				now += tc.gap(i)
			}
			if !slices.Equal(yields, tc.yields) {
				t.Errorf("the caller yields before the calls %v, want %v", yields, tc.yields)
			}
			if read != tc.read {
				t.Errorf("%d calls have read the clock, want %d", read, tc.read)
			}
		})
	}
}
