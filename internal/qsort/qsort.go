package qsort

// The shape of the benchmark. The counts follow from the input, and a test checks them.
// A run on the scheduler with other counts is wrong.
const (
	Size   = 10_000_000 // elements
	Cutoff = 32         // the largest part that is sorted by insertion, in elements

	Internal  = 605_601               // parts that are partitioned
	Leaves    = 605_602               // parts that are sorted by insertion
	Scheduled = Internal + Leaves - 1 // parts that are scheduled: all but the whole slice
)

// Fill stores the index of each element in the element.
func Fill(a []int32) {
	for i := range a {
		a[i] = int32(i)
	}
}

// Shuffle brings a into the order of the benchmark. It is an inside-out shuffle with the
// random numbers of xorshift32, seeded with 0xdeadbeef.
func Shuffle(a []int32) {
	x := uint32(0xdeadbeef)
	for i := range a {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		j := x % uint32(i+1)
		a[i], a[j] = a[j], a[i]
	}
}

// Partition takes the last element of a as the pivot. It moves the elements that are not
// greater than the pivot to the front and the pivot behind them, and returns the index of
// the pivot. a must not be empty. The halves to sort are a[:mid] and a[mid:].
func Partition(a []int32) (mid int) {
	last := len(a) - 1
	pivot := a[last]
	for i, v := range a[:last] {
		if v <= pivot {
			a[i], a[mid] = a[mid], v
			mid++
		}
	}
	a[last], a[mid] = a[mid], pivot
	return mid
}

// Insertion sorts a by insertion.
func Insertion(a []int32) {
	for i := 1; i < len(a); i++ {
		for n := i; n > 0 && a[n] < a[n-1]; n-- {
			a[n], a[n-1] = a[n-1], a[n]
		}
	}
}

// Sequential sorts a on the calling goroutine.
func Sequential(a []int32) {
	if len(a) <= Cutoff {
		Insertion(a)
		return
	}
	mid := Partition(a)
	Sequential(a[:mid])
	Sequential(a[mid:])
}

// Sorted reports whether each element is its index. That is the only right result for a
// shuffled [Fill]: the elements are in order and none is lost or doubled.
func Sorted(a []int32) bool {
	for i, v := range a {
		if v != int32(i) {
			return false
		}
	}
	return true
}

// Checksum returns a number that depends on each element and on its position. It is
// FNV-1a over the elements.
func Checksum(a []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range a {
		h = (h ^ uint64(uint32(v))) * 1099511628211
	}
	return h
}
