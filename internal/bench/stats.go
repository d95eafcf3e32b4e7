package bench

import (
	"math"
	"slices"
)

// Median returns the median of values. It is the mean of the middle two if their number is
// even, and NaN if there are none. Median does not change values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// Quantile returns the nearest-rank q-quantile of sorted for q in (0, 1]: the smallest
// element x such that at least the fraction q of all elements is not greater than x. It
// panics if sorted is empty.
func Quantile(sorted []int64, q float64) int64 {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// round4 rounds x to four significant digits, because further digits are noise.
func round4(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	if math.IsInf(scale, 0) || scale == 0 {
		return x
	}
	if scale < 1 { // divide by an integer: 123456 becomes 123500 instead of 123500.00000001
		down := math.Round(1 / scale)
		return math.Round(x/down) * down
	}
	return math.Round(x*scale) / scale
}
