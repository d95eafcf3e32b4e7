package par_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// nil is the scheduler that the whole program shares.
func ExampleFor() {
	squares := make([]int, 10)
	par.For(nil, len(squares), func(i int) {
		squares[i] = i * i
	})
	fmt.Println(squares)
	// Output: [0 1 4 9 16 25 36 49 64 81]
}

// A scheduler of its own bounds the number of workers of a loop.
func ExampleFor_scheduler() {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := make([]int, 3)
	par.For(s, len(sum), func(i int) {
		for k := range 1000 * i {
			sum[i] += k
		}
	})
	fmt.Println(sum)
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// [0 499500 1999000]
	// <nil>
}

// The body contains the loop over the indices, so the compiler sees it.
func ExampleForRange() {
	x, y := make([]float64, 1000), make([]float64, 1000)
	par.ForRange(nil, len(x), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x[i] = float64(i)
			y[i] = 2*x[i] + 1
		}
	})
	fmt.Println(y[999])
	// Output: 1999
}

func ExampleForEach() {
	type body struct{ position, velocity float64 }
	bodies := []body{{0, 1}, {10, -2}, {5, 0.5}}
	par.ForEach(nil, bodies, func(_ int, b *body) {
		b.position += 2 * b.velocity
	})
	fmt.Println(bodies)
	// Output: [{2 1} {6 -2} {6 0.5}]
}

func ExampleMap() {
	words := []string{"lanes", "feed", "workers"}
	fmt.Println(par.Map(nil, words, strings.ToUpper))
	// Output: [LANES FEED WORKERS]
}

func ExampleMapInto() {
	v := []int{1, 2, 3}
	par.MapInto(nil, v, v, func(i int) int { return i * 10 })
	fmt.Println(v)
	// Output: [10 20 30]
}

// Concatenation of strings is associative and not commutative. Reduce keeps the order.
func ExampleReduce() {
	letters := strings.Split("in this order", "")
	fmt.Println(par.Reduce(nil, letters, "", func(a, b string) string { return a + b }))
	// Output: in this order
}

func ExampleMapReduce() {
	words := strings.Fields("the quick brown fox jumps over the lazy dog")
	longest := par.MapReduce(nil, words, 0, func(w string) int { return len(w) }, func(a, b int) int { return max(a, b) })
	fmt.Println(longest)
	// Output: 5
}

// Each accumulator is a map of its own, into which one worker counts words.
func ExampleFold() {
	words := strings.Fields("to be or not to be")
	counts := par.Fold(nil, words,
		func() map[string]int { return map[string]int{} },
		func(m map[string]int, w string) map[string]int { m[w]++; return m },
		func(a, b map[string]int) map[string]int {
			for w, n := range b {
				a[w] += n
			}
			return a
		})
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		fmt.Println(w, counts[w])
	}
	// Output:
	// be 2
	// not 1
	// or 1
	// to 2
}

// The inner product of two vectors.
func ExampleFoldRange() {
	x, y := []int{1, 2, 3, 4}, []int{10, 20, 30, 40}
	fmt.Println(par.FoldRange(nil, len(x), func() int { return 0 }, func(sum, lo, hi int) int {
		for i := lo; i < hi; i++ {
			sum += x[i] * y[i]
		}
		return sum
	}, func(a, b int) int { return a + b }))
	// Output: 300
}

// The sum has the same digits in every run, on every number of workers.
func ExampleReduceFixed() {
	in := make([]float64, 100_000)
	for i := range in {
		in[i] = 0.1
	}
	add := func(a, b float64) float64 { return a + b }
	fmt.Println(par.ReduceFixed(nil, in, 1000, 0, add) == par.ReduceFixed(nil, in, 1000, 0, add))
	// Output: true
}

func ExampleMapReduceFixed() {
	in := []string{"a", "bb", "ccc"}
	n := par.MapReduceFixed(nil, in, 2, 0, func(s string) int { return len(s) }, func(a, b int) int { return a + b })
	fmt.Println(n)
	// Output: 6
}

func ExampleAny() {
	in := []int{3, 5, 8, 13}
	even := func(i int) bool { return i%2 == 0 }
	fmt.Println(par.Any(nil, in, even), par.All(nil, in, even))
	// Output: true false
}

func ExampleAll() {
	in := []int{3, 5, 8, 13}
	fmt.Println(par.All(nil, in, func(i int) bool { return i > 2 }))
	// Output: true
}

// Find returns the first of several matching elements.
func ExampleFind() {
	in := []string{"anvil", "bellows", "beam", "chisel"}
	fmt.Println(par.Find(nil, in, func(s string) bool { return s[0] == 'b' }))
	// Output: bellows true
}

func ExampleFindIndex() {
	in := []int{3, 5, 8, 13, 20}
	fmt.Println(par.FindIndex(nil, in, func(i int) bool { return i%2 == 0 }))
	// Output: 2
}

func ExampleInvoke() {
	var a, b, c int
	par.Invoke(nil,
		func() { a = 1 },
		func() { b = 2 },
		func() { c = 3 },
	)
	fmt.Println(a, b, c)
	// Output: 1 2 3
}

// The error is that of the lowest index that fails.
func ExampleForContext() {
	err := par.ForContext(context.Background(), nil, 1000, func(i int) error {
		if i%100 == 99 {
			return fmt.Errorf("index %d", i)
		}
		return nil
	})
	fmt.Println(err)
	// Output: index 99
}

func ExampleForRangeContext() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("too late"))
	fmt.Println(par.ForRangeContext(ctx, nil, 1000, func(lo, hi int) error { return nil }))
	// Output: too late
}

func ExampleForEachContext() {
	names := []string{"a", "b", ""}
	fmt.Println(par.ForEachContext(context.Background(), nil, names, func(i int, name *string) error {
		if *name == "" {
			return fmt.Errorf("no name at %d", i)
		}
		*name += ".txt"
		return nil
	}))
	// Output: no name at 2
}

func ExampleMapContext() {
	lengths, err := par.MapContext(context.Background(), nil, []string{"a", "bb"}, func(s string) (int, error) {
		return len(s), nil
	})
	fmt.Println(lengths, err)
	// Output: [1 2] <nil>
}

// Results come in order while the workers compute later ones.
func ExampleMapSeq() {
	lines := strings.SplitSeq("one two three four", " ")
	for upper := range par.MapSeq(nil, lines, strings.ToUpper) {
		fmt.Println(upper)
		if upper == "THREE" {
			break
		}
	}
	// Output:
	// ONE
	// TWO
	// THREE
}

func ExampleForEachSeq() {
	done := make([]bool, 4)
	par.ForEachSeq(nil, slices.Values([]int{0, 1, 3}), func(i int) { done[i] = true })
	fmt.Println(done)
	// Output: [true true false true]
}
