package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
	"github.com/lanewright/lanewright/sched"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

func scheduler(t *testing.T, workers int) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSort checks that both forms sort as the standard library does. The slices have many
// equal numbers or few.
func TestSort(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		s := scheduler(t, workers)
		for seed := range uint64(60) {
			random := rand.New(rand.NewPCG(seed, 0))
			numbers := make([]int, random.IntN(5000))
			limit := 1 + random.IntN(1+random.IntN(10_000))
			for i := range numbers {
				numbers[i] = random.IntN(limit)
			}
			want := slices.Sorted(slices.Values(numbers))
			parallel := slices.Clone(numbers)
			parallelSort(s, parallel)
			if !slices.Equal(parallel, want) {
				t.Errorf("seed %d, %d workers: the parallel form has not sorted %d numbers below %d", seed, workers, len(want), limit)
			}
			sequentialSort(numbers)
			if !slices.Equal(numbers, want) {
				t.Errorf("seed %d: the sequential form has not sorted %d numbers below %d", seed, len(want), limit)
			}
		}
	}
}

// TestShapes checks that slices that are in order, in reverse order, equal or in two runs
// are sorted.
func TestShapes(t *testing.T) {
	const n = 20_000
	s := scheduler(t, 2)
	for name, number := range map[string]func(i int) int{
		"ascending":  func(i int) int { return i },
		"descending": func(i int) int { return n - i },
		"equal":      func(int) int { return 7 },
		"organ pipe": func(i int) int { return min(i, n-i) },
	} {
		a := make([]int, n)
		for i := range a {
			a[i] = number(i)
		}
		want := slices.Sorted(slices.Values(a))
		if parallelSort(s, a); !slices.Equal(a, want) {
			t.Errorf("%s: not sorted", name)
		}
	}
}

// TestShared checks that the result is right when another worker has taken a fork. It
// repeats the sort until that has happened. It does so for one second at most.
func TestShared(t *testing.T) {
	s := scheduler(t, 2)
	random := rand.New(rand.NewPCG(1, 0))
	for deadline := time.Now().Add(time.Second); s.Stats().Promoted == 0 && time.Now().Before(deadline); {
		a := random.Perm(20_000)
		parallelSort(s, a)
		for i, v := range a {
			if v != i {
				t.Fatalf("element %d is %d", i, v)
			}
		}
	}
}

// TestPartition checks the result of partition for all short slices of three values.
func TestPartition(t *testing.T) {
	for n := 3; n <= 8; n++ {
		total := 1
		for range n {
			total *= 3
		}
		for code := range total {
			a := make([]int, n)
			for i, c := 0, code; i < n; i, c = i+1, c/3 {
				a[i] = c % 3
			}
			before := slices.Clone(a)
			mid := partition(a)
			if mid < 1 || mid >= n || slices.Max(a[:mid]) > slices.Min(a[mid:]) {
				t.Fatalf("partition(%v) = %d, and left %v", before, mid, a)
			}
			if !slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(before))) {
				t.Fatalf("partition(%v) left %v", before, a)
			}
		}
	}
}

// TestCut checks that slices that are in order, in reverse order or equal are cut in the
// middle.
func TestCut(t *testing.T) {
	const n = 1000
	for name, number := range map[string]func(i int) int{
		"ascending":  func(i int) int { return i },
		"descending": func(i int) int { return n - i },
		"equal":      func(int) int { return 7 },
	} {
		a := make([]int, n)
		for i := range a {
			a[i] = number(i)
		}
		if mid := partition(a); mid < n/2-1 || mid > n/2+1 {
			t.Errorf("%s: cut at %d of %d", name, mid, n)
		}
	}
}

func TestProgram(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		want string // a part of the output
	}{
		{"-n 50000 -workers 2", 0, "parallel"},
		{"-n 50000 -workers 2", 0, "2 workers"},
		{"-n 0", 0, "sequential"},
		{"-n -1", 1, "-n is -1"},
		{"-workers -1", 1, "MaxWorkers"},
		{"-n many", 2, "invalid value"},
		{"-n 0 1000", 2, "usage: quicksort"},
		{"-h", 0, "how many integers"},
	} {
		stdout, stderr, code := cmdtest.Run(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.want) {
			t.Errorf("quicksort %s: exit code %d, want %d and %q in\n%s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}
