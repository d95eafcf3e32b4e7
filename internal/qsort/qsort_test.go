package qsort_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/internal/qsort"
)

// count sorts a as Sequential does and counts the parts.
func count(a []int32) (internal, leaves int) {
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		return 0, 1
	}
	mid := qsort.Partition(a)
	i1, l1 := count(a[:mid])
	i2, l2 := count(a[mid:])
	return i1 + i2 + 1, l1 + l2
}

// TestShape: the input has the counts that every variant of the sort must have (Z-099).
func TestShape(t *testing.T) {
	a := make([]int32, qsort.Size)
	qsort.Fill(a)
	qsort.Shuffle(a)
	if qsort.Sorted(a) {
		t.Fatal("the shuffled input is sorted")
	}
	internal, leaves := count(a)
	if internal != qsort.Internal || leaves != qsort.Leaves {
		t.Errorf("parts = %d + %d, want %d + %d", internal, leaves, qsort.Internal, qsort.Leaves)
	}
	if got, want := internal+leaves-1, 1_211_202; got != want || qsort.Scheduled != want {
		t.Errorf("scheduled = %d, the constant is %d, want %d", got, qsort.Scheduled, want)
	}
	if !qsort.Sorted(a) {
		t.Error("not sorted")
	}
}

// TestShuffle: the permutation does not change, because another one is another benchmark.
func TestShuffle(t *testing.T) {
	// Computed by another program from the definition: the first numbers of xorshift32 after
	// 0xdeadbeef are 1199382711, 2384302402, 3129746520, 4276113467, 1745748808.
	x, want := uint32(0xdeadbeef), []int32{}
	for i := range int32(100) {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		j := int(x % uint32(i+1))
		want = append(want, i)
		want[i], want[j] = want[j], want[i]
		if first := []uint32{1199382711, 2384302402, 3129746520, 4276113467, 1745748808}; int(i) < len(first) && x != first[i] {
			t.Fatalf("number %d of xorshift32 = %d, want %d", i, x, first[i])
		}
	}
	got := make([]int32, len(want))
	qsort.Fill(got)
	qsort.Shuffle(got)
	if !slices.Equal(got, want) {
		t.Errorf("Shuffle = %v, want %v", got, want)
	}
}

func TestSequential(t *testing.T) {
	for _, n := range []int{0, 1, 2, qsort.Cutoff, qsort.Cutoff + 1, 1000, 50_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			a := make([]int32, n)
			qsort.Fill(a)
			sum := qsort.Checksum(a)
			qsort.Shuffle(a)
			if n > 2 && qsort.Checksum(a) == sum {
				t.Error("the checksum does not depend on the order")
			}
			qsort.Sequential(a)
			if !qsort.Sorted(a) || qsort.Checksum(a) != sum {
				t.Errorf("%d elements are not sorted", n)
			}
		})
	}
}

// TestPartition: both halves are right even if elements are equal.
func TestPartition(t *testing.T) {
	for _, in := range [][]int32{{1}, {2, 1}, {1, 2}, {3, 3, 3}, {5, 1, 4, 1, 3}, {1, 2, 3, 4, 0}, {0, 9, 8, 7, 9}} {
		a := slices.Clone(in)
		mid := qsort.Partition(a)
		pivot := in[len(in)-1]
		if a[mid] != pivot {
			t.Errorf("Partition(%v): a[mid] = %d, want the pivot %d", in, a[mid], pivot)
		}
		for i, v := range a {
			if i < mid && v > pivot || i > mid && v <= pivot {
				t.Errorf("Partition(%v) = %v, mid %d: %d is on the wrong side", in, a, mid, v)
			}
		}
		slices.Sort(a)
		want := slices.Sorted(slices.Values(in))
		if !slices.Equal(a, want) {
			t.Errorf("Partition(%v) lost elements: %v", in, a)
		}
	}
}

func TestSorted(t *testing.T) {
	for _, tc := range []struct {
		name string
		a    []int32
		want bool
	}{
		{"empty", nil, true},
		{"sorted", []int32{0, 1, 2}, true},
		{"order", []int32{0, 2, 1}, false},
		{"doubled", []int32{0, 1, 1}, false},
		{"lost", []int32{0, 1, 3}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := qsort.Sorted(tc.a); got != tc.want {
				t.Errorf("Sorted(%v) = %t, want %t", tc.a, got, tc.want)
			}
		})
	}
}
