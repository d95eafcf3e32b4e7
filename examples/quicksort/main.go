// Command quicksort sorts random integers by quicksort, first on one goroutine and
// then by fork-join, and prints both times. It shows how to fork and join; who only
// wants a slice sorted calls par.Sort.
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
	seed := flag.Uint64("seed", 1, "what the integers are drawn from")
	workers := flag.Int("workers", 0, "how many workers sort; 0 means one a processor")
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
		return fmt.Errorf("-n is %d, and must not be negative", n)
	}
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
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

// quicksort forks one half, sorts the other, and joins the fork. Nobody else touches
// a[mid:] meanwhile, so the two need no lock.
func quicksort(f *sched.Forks[[]int, struct{}], a []int) (none struct{}) {
	if len(a) <= small {
		slices.Sort(a)
		return none
	}
	mid := partition(a)
	f.Fork(a[mid:])
	quicksort(f, a[:mid])
	if f.TakeBackPointer() { // nobody has taken it, as mostly
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

// small is the length up to which splitting costs more than it saves. It is there
// for the sort itself: a fork would be cheap enough for less.
const small = 32

// partition moves what is less than a pivot to the front and what is greater to the
// back, and returns where to cut: nothing in a[:mid] is greater than anything in
// a[mid:], and neither is empty. Elements equal to the pivot go to both sides, so
// that many of them do no harm. It needs three elements at least.
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
