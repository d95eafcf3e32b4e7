package par_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lanewright/lanewright/par"
)

func ExampleSort() {
	x := []float64{2.5, -1, 10, 0}
	par.Sort(nil, x)
	fmt.Println(x)
	// Output: [-1 0 2.5 10]
}

func ExampleSortContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := []int{3, 1, 2}
	fmt.Println(par.SortContext(ctx, nil, x), x)
	// Output: context canceled [3 1 2]
}

func ExampleSortFunc() {
	words := []string{"banana", "kiwi", "cherry", "fig"}
	par.SortFunc(nil, words, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	fmt.Println(words)
	// Output: [fig kiwi banana cherry]
}

func ExampleSortFuncContext() {
	x := []int{3, 1, 2}
	err := par.SortFuncContext(context.Background(), nil, x, func(a, b int) int { return b - a })
	fmt.Println(x, err)
	// Output: [3 2 1] <nil>
}

func ExampleSortStableFunc() {
	words := []string{"kiwi", "fig", "plum", "nut", "date"}
	par.SortStableFunc(nil, words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	fmt.Println(words)
	// Output: [fig nut kiwi plum date]
}

func ExampleSortStableFuncContext() {
	words := []string{"kiwi", "fig", "plum"}
	byLength := func(a, b string) int { return cmp.Compare(len(a), len(b)) }
	err := par.SortStableFuncContext(context.Background(), nil, words, byLength)
	fmt.Println(words, err)
	// Output: [fig kiwi plum] <nil>
}

func ExampleScan() {
	x := []int{1, 2, 3, 4}
	sums := make([]int, len(x))
	par.Scan(nil, sums, x, func(a, b int) int { return a + b })
	fmt.Println(sums)
	// Output: [1 3 6 10]
}

// The start of each piece when all pieces are placed one after another.
func ExampleScanExclusive() {
	lengths := []int{5, 2, 7}
	starts := make([]int, len(lengths))
	total := par.ScanExclusive(nil, starts, lengths, 0, func(a, b int) int { return a + b })
	fmt.Println(starts, total)
	// Output: [0 5 7] 14
}

func ExampleFilter() {
	even := par.Filter(nil, []int{1, 2, 3, 4, 5, 6}, func(v int) bool { return v%2 == 0 })
	fmt.Println(even)
	// Output: [2 4 6]
}
