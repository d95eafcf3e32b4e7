package traffic

import (
	"slices"
	"time"
)

// The calls of an order, and the long ones among them.
const (
	MixedCalls = 410
	LongCalls  = 10
)

// MixedWorkers is the number of workers that the calls are meant for.
const MixedWorkers = 4

// Orders returns three orders of the same calls, each as the times that its calls take. The
// long calls are every 4th of the first 40, every 41st, and the last ten. The first order
// gives all long calls to one worker when the workers take calls in turn. The last one leaves
// them to the end.
func Orders(short, long time.Duration) [][]time.Duration {
	isLong := []func(i int) bool{
		func(i int) bool { return i < 4*LongCalls && i%4 == 3 },
		func(i int) bool { return i%41 == 40 },
		func(i int) bool { return i >= MixedCalls-LongCalls },
	}
	orders := make([][]time.Duration, len(isLong))
	for k, is := range isLong {
		for i := range MixedCalls {
			d := short
			if is(i) {
				d = long
			}
			orders[k] = append(orders[k], d)
		}
	}
	return orders
}

// Shares divides calls among that many workers: each call, the longest first, goes to the
// worker with the least to do. With calls of 1 and 200 ms and four workers all shares are
// equal.
func Shares(calls []time.Duration, workers int) [][]time.Duration {
	longestFirst := slices.Sorted(slices.Values(calls))
	slices.Reverse(longestFirst)
	shares := make([][]time.Duration, workers)
	sums := make([]time.Duration, workers)
	for _, d := range longestFirst {
		least := slices.Index(sums, slices.Min(sums))
		shares[least] = append(shares[least], d)
		sums[least] += d
	}
	return shares
}
