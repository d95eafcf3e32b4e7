package peers

import (
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
)

// forking returns an instance that solves a problem with forks and in plain code. Both
// must return want. A figure is that of one of ops operations.
func forking(ops, want int, forks, plain func() int) *bench.Instance {
	variant := func(solve func() int) func(*bench.Meter) error {
		got := 0
		return timed(ops, func() { got = solve() }, func() error { return errUnless(got == want) })
	}
	return &bench.Instance{
		Run:        variant(forks),
		References: []bench.Reference{{Name: refSequential, Run: variant(plain)}},
	}
}

// fibs computes a Fibonacci number and forks in every call.
func (z Sizes) fibs(p *Pool) *bench.Instance {
	var fib func(n int) int
	fib = func(n int) int {
		if n < 2 {
			return n
		}
		var second int
		w := p.forked(func() { second = fib(n - 2) })
		first := fib(n - 1)
		w.Wait()
		return first + second
	}
	// Calls with n >= 2 fork. There are fib(n+1)-1 of them.
	forks := kernel.Fib(z.fib+1) - 1
	return forking(forks, kernel.Fib(z.fib), func() int { return fib(z.fib) }, func() int { return kernel.Fib(z.fib) })
}

// walk sums a complete tree and forks at every node except the leaves.
func (p *Pool) walk(n *kernel.Node) int {
	if n.Left == nil {
		return n.Value
	}
	var right int
	w := p.forked(func() { right = p.walk(n.Right) })
	left := p.walk(n.Left)
	w.Wait()
	return n.Value + left + right
}

// trees sums one large tree.
func (z Sizes) trees(p *Pool) *bench.Instance {
	root := kernel.NewTree(z.depth)
	nodes := 1<<z.depth - 1
	return forking(nodes, nodes, func() int { return p.walk(root) }, func() int { return kernel.Sum(root) })
}

// smallDepth is the depth of the tree of 1023 nodes.
const smallDepth = 10

// smallTrees sums a small tree many times.
func (z Sizes) smallTrees(p *Pool) *bench.Instance {
	root := kernel.NewTree(smallDepth)
	nodes := z.entries * (1<<smallDepth - 1)
	all := func(sum func(*kernel.Node) int) func() int {
		return func() int {
			total := 0
			for range z.entries {
				total += sum(root)
			}
			return total
		}
	}
	return forking(nodes, nodes, all(p.walk), all(kernel.Sum))
}

// nqueens counts the places of queens and forks at every node of the search.
func (z Sizes) nqueens(p *Pool) *bench.Instance {
	var solve func(b kernel.Board) int
	solve = func(b kernel.Board) int {
		if b.Free == 0 {
			return b.Solutions()
		}
		var rest int
		w := p.forked(func() { rest = solve(b.Rest()) })
		first := solve(b.First())
		w.Wait()
		return first + rest
	}
	root := kernel.NewBoard(z.queens)
	want, forks := kernel.CountQueens(root)
	return forking(forks, want, func() int { return solve(root) }, func() int { return kernel.Queens(root) })
}

// forkIdleCPU measures the processor time of the process after a burst of forks.
func (z Sizes) forkIdleCPU(p *Pool) *bench.Instance {
	root := kernel.NewTree(smallDepth)
	want := kernel.Sum(root)
	return idling(z.idle, func() error {
		for range z.entries {
			if p.walk(root) != want {
				return errWrong
			}
		}
		return nil
	})
}
