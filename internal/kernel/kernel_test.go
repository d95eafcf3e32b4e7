package kernel_test

import (
	"testing"

	"github.com/lanewright/lanewright/internal/kernel"
)

func TestFib(t *testing.T) {
	if got := kernel.Fib(kernel.FibN); got != kernel.FibValue {
		t.Errorf("Fib = %d, want %d", got, kernel.FibValue)
	}
}

func TestTree(t *testing.T) {
	for depth := 1; depth < 12; depth++ {
		if got, want := kernel.Sum(kernel.NewTree(depth)), 1<<depth-1; got != want {
			t.Errorf("depth %d: Sum = %d, want %d", depth, got, want)
		}
	}
}

func TestQueens(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 0, 4: 2, 6: 4, 8: 92, 10: 724, kernel.QueensN: kernel.QueensSolutions} {
		if got := kernel.Queens(kernel.NewBoard(n)); got != want {
			t.Errorf("%d queens: %d solutions, want %d", n, got, want)
		}
	}
	if _, got := kernel.CountQueens(kernel.NewBoard(kernel.QueensN)); got != kernel.QueensForks {
		t.Errorf("%d nodes with a free column, want %d", got, kernel.QueensForks)
	}
}

func BenchmarkFib(b *testing.B) {
	for b.Loop() {
		kernel.Fib(kernel.FibN)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/kernel.FibForks, "ns/fork")
}

func BenchmarkSum(b *testing.B) {
	t := kernel.NewTree(23)
	for b.Loop() {
		kernel.Sum(t)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<23-1), "ns/node")
}

func BenchmarkQueens(b *testing.B) {
	for b.Loop() {
		kernel.Queens(kernel.NewBoard(kernel.QueensN))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/kernel.QueensForks, "ns/node")
}
