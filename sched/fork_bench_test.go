package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/sched"
)

func fib(f *sched.Forks[int, int], n int) int {
	if n < 2 {
		return n
	}
	f.Push(n - 2)
	if f.Wanted() {
		f.Promote()
	}
	x := fib(f, n-1)
	if f.TakeBack() {
		return x + fib(f, n-2)
	}
	return x + f.Await()
}

func fibJoin2(f *sched.Forks[int, int], n int) int {
	if n < 2 {
		return n
	}
	x, y := f.Join2(n-1, n-2)
	return x + y
}

func fibScope(c sched.Scope, n int) int {
	if n < 2 {
		return n
	}
	var x, y int
	c.Join(
		func(c sched.Scope) { x = fibScope(c, n-1) },
		func(c sched.Scope) { y = fibScope(c, n-2) },
	)
	return x + y
}

func sum(f *sched.Forks[*kernel.Node, int], n *kernel.Node) int {
	if n.Left == nil { // then Right is nil as well, because the trees are complete
		return n.Value
	}
	f.Push(n.Right)
	if f.Wanted() {
		f.Promote()
	}
	x := n.Value + sum(f, n.Left)
	if f.TakeBackPointer() {
		return x + sum(f, n.Right)
	}
	return x + f.Await()
}

func queens(f *sched.Forks[kernel.Board, int], b kernel.Board) int {
	if b.Free == 0 {
		return b.Solutions()
	}
	f.Push(b.Rest())
	if f.Wanted() {
		f.Promote()
	}
	x := queens(f, b.First())
	if f.TakeBack() {
		return x + queens(f, b.Rest())
	}
	return x + f.Await()
}

func fibScopeOf(c sched.ScopeOf[int], n int) int {
	if n < 2 {
		return n
	}
	x, y := c.Join(
		func(c sched.ScopeOf[int]) int { return fibScopeOf(c, n-1) },
		func(c sched.ScopeOf[int]) int { return fibScopeOf(c, n-2) },
	)
	return x + y
}

func BenchmarkForkJoin(b *testing.B) {
	for _, workers := range []int{1, 2} {
		s, err := sched.New(sched.Config{MaxWorkers: workers})
		must(b, err)
		tree := kernel.NewTree(23)
		small := kernel.NewTree(10)
		for _, tc := range []struct {
			name  string
			forks int
			run   func() int
			want  int
		}{
			{"fib", kernel.FibForks, func() int { return sched.ForkJoin(s, fib, kernel.FibN) }, kernel.FibValue},
			{"join2", kernel.FibForks, func() int { return sched.ForkJoin(s, fibJoin2, kernel.FibN) }, kernel.FibValue},
			{"closure", 1346268, func() (r int) {
				sched.ForkJoinFunc(s, func(c sched.Scope) { r = fibScope(c, 30) })
				return r
			}, 832040},
			{"closure-value", 1346268, func() int {
				return sched.ForkJoinValue(s, func(c sched.ScopeOf[int]) int { return fibScopeOf(c, 30) })
			}, 832040},
			{"tree", 1<<23 - 1, func() int { return sched.ForkJoin(s, sum, tree) }, 1<<23 - 1},
			{"tree-small", 1023, func() int { return sched.ForkJoin(s, sum, small) }, 1023},
			{"nqueens", kernel.QueensForks, func() int { return sched.ForkJoin(s, queens, kernel.NewBoard(kernel.QueensN)) }, kernel.QueensSolutions},
		} {
			b.Run(tc.name+"/workers="+string(rune('0'+workers)), func(b *testing.B) {
				b.ReportAllocs()
				before := s.Stats()
				for b.Loop() {
					if got := tc.run(); got != tc.want {
						b.Fatalf("got %d, want %d", got, tc.want)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tc.forks), "ns/fork")
				b.ReportMetric(float64(s.Stats().Promoted-before.Promoted)/float64(b.N), "promoted/op")
			})
		}
	}
}
