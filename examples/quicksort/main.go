// Command quicksort sorts random integers by quicksort, first on one goroutine and
// then by fork-join, and prints both times. It shows how to fork and join. A program
// that only needs a sorted slice calls par.Sort.
//
//	go run ./examples/quicksort -n 5000000
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/lanewright/lanewright/sched"
)

func main() {
	n := flag.Int("n", 10_000_000, "how many integers to sort")
	seed := flag.Uint64("seed", 1, "the seed of the random integers")
	workers := flag.Int("workers", 0, "how many workers sort; 0 means one for each processor")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: quicksort [flags]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*n, *seed, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "quicksort:", err)
		os.Exit(1)
	}
}

func run(n int, seed uint64, workers int) error {
	if n < 0 {
		return fmt.Errorf("-n is %d: it must not be negative", n)
	}
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
	defer func() { _, _ = s.Close() }() // ends the workers
	random := rand.New(rand.NewPCG(seed, 0))
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = random.Int()
	}
	parallel := slices.Clone(numbers)

	start := time.Now()
	sequentialSort(numbers)
	before := time.Since(start)
	fmt.Printf("%-12s %8.1f ms\n", "sequential", ms(before))

	start = time.Now()
	parallelSort(s, parallel)
	after := time.Since(start)
	fmt.Printf("%-12s %8.1f ms, %d workers, %.2f times as fast\n", "parallel", ms(after), s.MaxWorkers(), before.Seconds()/after.Seconds())

	if !slices.IsSorted(numbers) || !slices.Equal(numbers, parallel) {
		return fmt.Errorf("the result is not sorted")
	}
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// parallelSort sorts a on the workers of s.
func parallelSort(s *sched.Scheduler, a []int) {
	sched.ForkJoin(s, quicksort, a)
}

// quicksort forks one half, sorts the other, and joins the fork. The two halves share
// no element, so they need no lock.
func quicksort(f *sched.Forks[[]int, struct{}], a []int) (none struct{}) {
	if len(a) <= small {
		slices.Sort(a)
		return none
	}
	mid := partition(a)
	f.Fork(a[mid:])
	quicksort(f, a[:mid])
	if f.TakeBackPointer() { // the common case: no other worker has taken it
		return quicksort(f, a[mid:])
	}
	return f.Await()
}

// sequentialSort is quicksort without forks.
func sequentialSort(a []int) {
	if len(a) <= small {
		slices.Sort(a)
		return
	}
	mid := partition(a)
	sequentialSort(a[:mid])
	sequentialSort(a[mid:])
}

// small is the length up to which a split costs more than it saves. The bound is for
// the sort itself; a fork is cheap enough for shorter slices.
const small = 32

// partition moves the elements below a pivot to the front and those above it to the
// back. It returns mid such that no element of a[:mid] is greater than an element of
// a[mid:]. Neither part is empty. Elements equal to the pivot go to both parts, so
// that a slice of equal elements is cut in the middle. a has at least three elements.
func partition(a []int) (mid int) {
	pivot := median(a[0], a[len(a)/2], a[len(a)-1])
	i, j := 0, len(a)-1
	for {
		for a[i] < pivot {
			i++
		}
		for a[j] > pivot {
			j--
		}
		if i >= j {
			return i
		}
		a[i], a[j] = a[j], a[i]
		i++
		j--
	}
}

func median(a, b, c int) int { return max(min(a, b), min(max(a, b), c)) }
