package suite

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// forkBenchmarks returns the benchmarks of fork-join. A figure is that of one fork, node
// or element, so goroutines get a smaller problem where the whole would take minutes.
func (z sizes) forkBenchmarks() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "fork-join/fib", Unit: bench.NsPerOp,
			About: "the 35th Fibonacci number, a fork at each of 14,930,351 calls",
			Setup: func(workers int) (*bench.Instance, error) {
				return solve(workers, z.fib(func(s *sched.Scheduler, n int) int { return sched.ForkJoin(s, forkFib, n) }))
			},
		},
		{
			Name: "fork-join/fib-join2", Unit: bench.NsPerOp,
			About: "the same with Join2",
			Setup: func(workers int) (*bench.Instance, error) {
				return solve(workers, z.fib(func(s *sched.Scheduler, n int) int { return sched.ForkJoin(s, joinFib, n) }))
			},
		},
		{
			Name: "fork-join/closure", Unit: bench.NsPerOp,
			About: "the 30th Fibonacci number through closures that return it",
			Setup: func(workers int) (*bench.Instance, error) {
				return solve(workers, z.closures().fib(func(s *sched.Scheduler, n int) int {
					return sched.ForkJoinValue(s, func(c sched.ScopeOf[int]) int { return valueFib(c, n) })
				}))
			},
		},
		{
			Name: "fork-join/closure-void", Unit: bench.NsPerOp,
			About: "the same through closures that store the result in a variable",
			Setup: func(workers int) (*bench.Instance, error) {
				return solve(workers, z.closures().fib(func(s *sched.Scheduler, n int) (r int) {
					sched.ForkJoinFunc(s, func(c sched.Scope) { r = scopeFib(c, n) })
					return r
				}))
			},
		},
		{
			Name: "fork-join/tree", Unit: bench.NsPerOp,
			About: "sum of a tree of 2^23-1 nodes",
			Setup: func(workers int) (*bench.Instance, error) { return solve(workers, treeProblem(z.treeDepth, 1)) },
		},
		{
			Name: "fork-join/tree-small", Unit: bench.NsPerOp,
			About: "sum of a tree of 1023 nodes, 2000 times; each sum is a computation of its own",
			Setup: func(workers int) (*bench.Instance, error) { return solve(workers, treeProblem(10, z.entries)) },
		},
		{
			Name: "fork-join/nqueens", Unit: bench.NsPerOp,
			About: "13 queens; a fork divides the free columns into the first and the rest, 4,674,889 forks",
			Setup: func(workers int) (*bench.Instance, error) { return solve(workers, queensProblem(z.queens)) },
		},
		{
			Name: "fork-join/quicksort", Unit: bench.NsPerOp,
			About: "ten million integers, a fork for each part; a figure is that of one element",
			Setup: z.forkSortSetup,
		},
		{
			Name: "fork-join/ramp", Unit: bench.NsPerOp, MinWorkers: 2,
			About: "from the start of a computation of 1 ms to the start of the second worker; all workers are parked, 20 ms after the last computation",
			Setup: func(workers int) (*bench.Instance, error) { return z.rampSetup(workers, false) },
		},
		{
			Name: "fork-join/ramp-warm", Unit: bench.NsPerOp, MinWorkers: 2,
			About: "the same directly after computations of 3 µs",
			Setup: func(workers int) (*bench.Instance, error) { return z.rampSetup(workers, true) },
		},
		{
			Name: "fork-join/idle-cpu", Unit: bench.MsCPU,
			About: "processor time of an idle scheduler in the 5 s after a burst of computations",
			Setup: z.forkIdleSetup,
		},
	}
}

// problem is a problem with three solutions.
type problem struct {
	ops        int // forks, nodes or elements
	scheduled  func(*sched.Scheduler) error
	sequential func() error

	goroutines   func() error
	goroutineOps int // ops of goroutines, whose problem may be smaller

	prepare func()       // called before each run; may be nil
	check   func() error // called after each run; may be nil
}

// solve returns a benchmark of a problem.
func solve(workers int, p problem) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	timed := func(ops int, run func() error) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			if p.prepare != nil {
				p.prepare()
			}
			m.Start()
			err := run()
			m.Stop(ops)
			if err == nil && p.check != nil {
				err = p.check()
			}
			return err
		}
	}
	return &bench.Instance{
		Run: timed(p.ops, func() error { return p.scheduled(s) }),
		References: []bench.Reference{
			{Name: refSequential, Run: timed(p.ops, p.sequential)},
			{Name: refGoroutines, Run: timed(p.goroutineOps, p.goroutines)},
		},
		Close: func() error { return workload.Shutdown(s) },
	}, nil
}

// wanted returns an error unless got is want.
func wanted(got, want int) error {
	if got != want {
		return fmt.Errorf("the result is %d, want %d", got, want)
	}
	return nil
}

// fib is the problem of a Fibonacci number, which forked computes with forks.
func (z sizes) fib(forked func(*sched.Scheduler, int) int) problem {
	n, small := z.fibN, min(z.fibN, 25)
	return problem{
		ops:          fibForks(n),
		scheduled:    func(s *sched.Scheduler) error { return wanted(forked(s, n), fibValue(n)) },
		sequential:   func() error { return wanted(kernel.Fib(n), fibValue(n)) },
		goroutines:   func() error { return wanted(goFib(small), fibValue(small)) },
		goroutineOps: fibForks(small),
	}
}

// fibValue returns the result of kernel.Fib. It computes the result in a loop.
func fibValue(n int) int {
	a, b := 0, 1
	for range n {
		a, b = b, a+b
	}
	return a
}

// fibForks returns how many calls of kernel.Fib make two further calls.
func fibForks(n int) int { return fibValue(n+1) - 1 }

func forkFib(f *sched.Forks[int, int], n int) int {
	if n < 2 {
		return n
	}
	f.Push(n - 2)
	if f.Wanted() {
		f.Promote()
	}
	x := forkFib(f, n-1)
	if f.TakeBack() {
		return x + forkFib(f, n-2)
	}
	return x + f.Await()
}

func joinFib(f *sched.Forks[int, int], n int) int {
	if n < 2 {
		return n
	}
	x, y := f.Join2(n-1, n-2)
	return x + y
}

// closures returns z with a smaller problem for the forms with closures.
func (z sizes) closures() sizes {
	z.fibN = min(z.fibN, 30)
	return z
}

func valueFib(c sched.ScopeOf[int], n int) int {
	if n < 2 {
		return n
	}
	x, y := c.Join(
		func(c sched.ScopeOf[int]) int { return valueFib(c, n-1) },
		func(c sched.ScopeOf[int]) int { return valueFib(c, n-2) },
	)
	return x + y
}

func scopeFib(c sched.Scope, n int) int {
	if n < 2 {
		return n
	}
	var x, y int
	c.Join(
		func(c sched.Scope) { x = scopeFib(c, n-1) },
		func(c sched.Scope) { y = scopeFib(c, n-2) },
	)
	return x + y
}

func goFib(n int) int {
	if n < 2 {
		return n
	}
	other := make(chan int, 1)
	go func() { other <- goFib(n - 2) }()
	return goFib(n-1) + <-other
}

// treeProblem is the sum of a tree of that depth, computed that many times.
func treeProblem(depth, times int) problem {
	tree, nodes := kernel.NewTree(depth), 1<<depth-1
	small := tree // for the goroutines
	for range depth - min(depth, 18) {
		small = small.Left
	}
	smallTimes := (times + 9) / 10
	smallNodes := kernel.Sum(small)
	repeat := func(times int, want int, sum func() int) func() error {
		return func() error {
			for range times {
				if err := wanted(sum(), want); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return problem{
		ops: times * nodes,
		scheduled: func(s *sched.Scheduler) error {
			return repeat(times, nodes, func() int { return sched.ForkJoin(s, forkSum, tree) })()
		},
		sequential:   repeat(times, nodes, func() int { return kernel.Sum(tree) }),
		goroutines:   repeat(smallTimes, smallNodes, func() int { return goSum(small) }),
		goroutineOps: smallTimes * smallNodes,
	}
}

func forkSum(f *sched.Forks[*kernel.Node, int], n *kernel.Node) int {
	if n.Left == nil { // the tree is complete, so n.Right is nil too
		return n.Value
	}
	f.Push(n.Right)
	if f.Wanted() {
		f.Promote()
	}
	sum := n.Value + forkSum(f, n.Left)
	if f.TakeBackPointer() {
		return sum + forkSum(f, n.Right)
	}
	return sum + f.Await()
}

func goSum(n *kernel.Node) int {
	if n.Left == nil {
		return n.Value
	}
	other := make(chan int, 1)
	go func() { other <- goSum(n.Right) }()
	return n.Value + goSum(n.Left) + <-other
}

// queensProblem is the search for the places of n queens.
func queensProblem(n int) problem {
	board, small := kernel.NewBoard(n), kernel.NewBoard(min(n, 8))
	want, forks := kernel.CountQueens(board)
	smallWant, smallForks := kernel.CountQueens(small)
	return problem{
		ops:          forks,
		scheduled:    func(s *sched.Scheduler) error { return wanted(sched.ForkJoin(s, forkQueens, board), want) },
		sequential:   func() error { return wanted(kernel.Queens(board), want) },
		goroutines:   func() error { return wanted(goQueens(small), smallWant) },
		goroutineOps: smallForks,
	}
}

func forkQueens(f *sched.Forks[kernel.Board, int], b kernel.Board) int {
	if b.Free == 0 {
		return b.Solutions()
	}
	f.Push(b.Rest())
	if f.Wanted() {
		f.Promote()
	}
	x := forkQueens(f, b.First())
	if f.TakeBack() {
		return x + forkQueens(f, b.Rest())
	}
	return x + f.Await()
}

func goQueens(b kernel.Board) int {
	if b.Free == 0 {
		return b.Solutions()
	}
	other := make(chan int, 1)
	go func() { other <- goQueens(b.Rest()) }()
	return goQueens(b.First()) + <-other
}

// forkSortSetup measures the sort of sched/quicksort-join with forks in place of tasks.
func (z sizes) forkSortSetup(workers int) (*bench.Instance, error) {
	shuffled, a := make([]int32, z.sort), make([]int32, z.sort)
	qsort.Fill(shuffled)
	qsort.Shuffle(shuffled)
	return solve(workers, problem{
		ops:          z.sort,
		prepare:      func() { copy(a, shuffled) },
		scheduled:    func(s *sched.Scheduler) error { sched.ForkJoin(s, forkSort, a); return nil },
		sequential:   func() error { qsort.Sequential(a); return nil },
		goroutines:   func() error { workload.GoJoin(a); return nil },
		goroutineOps: z.sort,
		check: func() error {
			if !qsort.Sorted(a) {
				return errors.New("the result is not sorted")
			}
			return nil
		},
	})
}

func forkSort(f *sched.Forks[[]int32, struct{}], a []int32) (none struct{}) {
	if len(a) <= qsort.Cutoff {
		qsort.Insertion(a)
		return none
	}
	mid := qsort.Partition(a)
	f.Fork(a[mid:])
	forkSort(f, a[:mid])
	if f.TakeBackPointer() {
		return forkSort(f, a[mid:])
	}
	return f.Await()
}

// ramp is a computation that records when its second worker starts.
type ramp struct {
	caller *sched.Worker // the first worker
	second atomic.Int64  // when the second one started; 0: not yet
}

// part is a node of the computation. It has 2^depth leaves of about 3 ns each.
type part struct {
	r     *ramp
	depth int
}

func forkRamp(f *sched.Forks[part, int], p part) int {
	if p.r.caller == nil {
		p.r.caller = f.Worker()
	}
	if f.Worker() != p.r.caller && p.r.second.Load() == 0 {
		p.r.second.CompareAndSwap(0, bench.Now())
	}
	if p.depth == 0 {
		return 1
	}
	next := part{p.r, p.depth - 1}
	f.Fork(next)
	n := forkRamp(f, next)
	if f.TakeBackPointer() {
		return n + forkRamp(f, next)
	}
	return n + f.Await()
}

// rampDepth is the depth of a computation of about one millisecond.
const rampDepth = 17

// rampSetup measures how long a computation has only one worker. The reference starts a
// goroutine and then computes: its figure is the time until that goroutine runs.
func (z sizes) rampSetup(workers int, warm bool) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	small := kernel.NewTree(10)
	ns := make([]int64, z.ramps)
	variant := func(once func() (second int64, err error)) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			for i := range ns {
				time.Sleep(20 * time.Millisecond)
				for range 100 {
					if warm {
						sched.ForkJoin(s, forkSum, small)
					}
				}
				started := bench.Now()
				second, err := once()
				if err != nil {
					return err
				}
				ns[i] = second - started
			}
			m.Stop(len(ns))
			m.Latencies(slices.Clone(ns), 1)
			return m.Context().Err()
		}
	}
	run := variant(func() (int64, error) {
		r := new(ramp)
		if err := wanted(sched.ForkJoin(s, forkRamp, part{r, rampDepth}), 1<<rampDepth); err != nil {
			return 0, err
		}
		if second := r.second.Load(); second != 0 {
			return second, nil
		}
		return bench.Now(), nil // there was no second worker: the whole time counts
	})
	alone, err := sched.New(sched.Config{MaxWorkers: 1})
	if err != nil {
		return nil, err
	}
	reference := variant(func() (int64, error) {
		go noteStart()
		r := new(ramp)
		err := wanted(sched.ForkJoin(alone, forkRamp, part{r, rampDepth}), 1<<rampDepth)
		<-refSignal
		return refStarted, err
	})
	return &bench.Instance{
		Run:        run,
		References: []bench.Reference{{Name: refGoroutines, Run: reference}},
		Close:      func() error { return errors.Join(workload.Shutdown(s), workload.Shutdown(alone)) },
	}, nil
}

// forkIdleSetup is idleSetup after a burst of computations.
func (z sizes) forkIdleSetup(workers int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	tree := kernel.NewTree(18)
	return &bench.Instance{
		Run: z.afterBurst(func() error {
			return wanted(sched.ForkJoin(s, forkSum, tree), 1<<18-1)
		}),
		References: []bench.Reference{{Name: refGoroutines, Run: z.afterBurst(func() error {
			return wanted(goSum(tree), 1<<18-1)
		})}},
		Close: func() error { return workload.Shutdown(s) },
	}, nil
}
