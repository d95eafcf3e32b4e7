package sched_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/sched"
)

// ints is the fork stack of most tests. The argument selects the part of the body.
type ints = sched.Forks[int, int]

// until returns when ok reports true. It does not release the place of the caller.
func until(what string, ok func() bool) {
	deadline := time.Now().Add(patience.Limit)
	for round := 0; !ok(); round++ {
		if time.Now().After(deadline) {
			panic("timed out before: " + what)
		}
		if runtime.Gosched(); round > 100 {
			<-time.After(100 * time.Microsecond) // other goroutines need the processor
		}
	}
}

// joined joins the newest fork, whose argument is arg.
func joined(f *ints, body func(*ints, int) int, arg int) int {
	if f.TakeBack() {
		return body(f, arg)
	}
	return f.Await()
}

// handOver forks arg as the oldest fork of the stack. It returns when another worker has
// begun the fork and has set started.
func handOver(f *ints, arg int, started *atomic.Bool) {
	f.Worker().SetDemand()
	f.Fork(arg)
	until("a worker takes the fork", started.Load)
}

// works checks that s computes and that no place has remained held. MaxWorkers tasks run
// at the same time.
func works(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	if got := sched.ForkJoin(s, fib, 12); got != 144 {
		t.Errorf("fib(12) = %d afterwards, want 144", got)
	}
	all := newLatch(s.MaxWorkers())
	g := s.NewGroup(sched.GroupConfig{})
	for range s.MaxWorkers() {
		must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			all.hit()
			all.wait(t)
		}}))
	}
	must(t, g.Wait())
}

// ending records how a function has ended.
type ending struct {
	value  any  // of a panic
	exited bool // by runtime.Goexit
}

// endOf runs fn on a goroutine of its own and returns how fn has ended.
func endOf(tb rapid.TB, fn func()) (e ending) {
	tb.Helper()
	ended := make(chan ending, 1)
	go func() {
		e := ending{exited: true}
		defer func() {
			if e.value = recover(); e.value != nil {
				e.exited = false
			}
			ended <- e
		}()
		fn()
		e.exited = false
	}()
	select {
	case e = <-ended:
	case <-time.After(patience.Limit):
		tb.Fatal("the function does not end")
	}
	return e
}

// processors sets GOMAXPROCS to n until the test ends.
func processors(t *testing.T, n int) {
	t.Helper()
	was := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
}

// Computations with promotions: each call requests a fork or promotes all forks.

func fibOnDemand(f *ints, n int) int {
	if n < 2 {
		return n
	}
	f.Worker().SetDemand()
	f.Fork(n - 2)
	x := fibOnDemand(f, n-1)
	if f.TakeBackPointer() {
		return x + fibOnDemand(f, n-2)
	}
	return x + f.Await()
}

func fibBlocking(f *ints, n int) int {
	if n < 2 {
		return n
	}
	f.Push(n - 2)
	if f.Wanted() {
		f.Promote()
	}
	f.Worker().Blocking(runtime.Gosched)
	x := fibBlocking(f, n-1)
	if f.TakeBack() {
		return x + fibBlocking(f, n-2)
	}
	return x + f.Await()
}

func sumOnDemand(f *sched.Forks[*kernel.Node, int], n *kernel.Node) int {
	if n.Left == nil {
		return n.Value
	}
	f.Worker().SetDemand()
	f.Fork(n.Right)
	x := n.Value + sumOnDemand(f, n.Left)
	if f.TakeBackPointer() {
		return x + sumOnDemand(f, n.Right)
	}
	return x + f.Await()
}

func queensOnDemand(f *sched.Forks[kernel.Board, int], b kernel.Board) int {
	if b.Free == 0 {
		return b.Solutions()
	}
	f.Worker().SetDemand()
	x, y := f.Join2(b.First(), b.Rest())
	return x + y
}

func fibScopeOnDemand(c sched.Scope, n int) int {
	if n < 2 {
		return n
	}
	var x, y int
	c.Worker().SetDemand()
	c.Join(
		func(c sched.Scope) { x = fibScopeOnDemand(c, n-1) },
		func(c sched.Scope) { y = fibScopeOnDemand(c, n-2) },
	)
	return x + y
}

func fibScopeOfOnDemand(c sched.ScopeOf[int], n int) int {
	if n < 2 {
		return n
	}
	c.Worker().SetDemand()
	x, y := c.Join(
		func(c sched.ScopeOf[int]) int { return fibScopeOfOnDemand(c, n-1) },
		func(c sched.ScopeOf[int]) int { return fibScopeOfOnDemand(c, n-2) },
	)
	return x + y
}

// computation is a computation with a known result.
type computation struct {
	name string
	run  func(s *sched.Scheduler) int
	want int
}

func computations() []computation {
	tree, board := kernel.NewTree(10), kernel.NewBoard(6)
	return []computation{
		{"fib", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fib, 20) }, 6765},
		{"fib on demand", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fibOnDemand, 14) }, 377},
		{"fib blocking", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fibBlocking, 10) }, 55},
		{"join2", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fibJoin2, 20) }, 6765},
		{"tree", func(s *sched.Scheduler) int { return sched.ForkJoin(s, sum, tree) }, 1023},
		{"tree on demand", func(s *sched.Scheduler) int { return sched.ForkJoin(s, sumOnDemand, tree) }, 1023},
		{"queens", func(s *sched.Scheduler) int { return sched.ForkJoin(s, queens, board) }, 4},
		{"queens on demand", func(s *sched.Scheduler) int { return sched.ForkJoin(s, queensOnDemand, board) }, 4},
		{"scope", func(s *sched.Scheduler) (r int) {
			sched.ForkJoinFunc(s, func(c sched.Scope) { r = fibScope(c, 12) })
			return r
		}, 144},
		{"scope on demand", func(s *sched.Scheduler) (r int) {
			sched.ForkJoinFunc(s, func(c sched.Scope) { r = fibScopeOnDemand(c, 12) })
			return r
		}, 144},
		{"scope of", func(s *sched.Scheduler) int {
			return sched.ForkJoinValue(s, func(c sched.ScopeOf[int]) int { return fibScopeOf(c, 12) })
		}, 144},
		{"scope of on demand", func(s *sched.Scheduler) int {
			return sched.ForkJoinValue(s, func(c sched.ScopeOf[int]) int { return fibScopeOfOnDemand(c, 12) })
		}, 144},
	}
}

// computes checks the results of all computations on s.
func computes(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	for _, c := range computations() {
		if got := c.run(s); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestForkJoinResults: a computation has the result of plain recursion, whichever worker
// runs a fork.
func TestForkJoinResults(t *testing.T) {
	for _, procs := range []int{1, 2} {
		for _, workers := range []int{1, 2, 3, 8} {
			t.Run(fmt.Sprintf("procs=%d/workers=%d", procs, workers), func(t *testing.T) {
				processors(t, procs)
				s := newScheduler(t, sched.Config{MaxWorkers: workers})
				computes(t, s)
				works(t, s)
			})
		}
	}
}

// TestForkJoinConfigs: no configuration changes a result.
func TestForkJoinConfigs(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"LockOSThread": {MaxWorkers: 3, LockOSThread: true},
		"Trace":        {MaxWorkers: 3, Trace: true},
		"Labels":       {MaxWorkers: 3, Labels: true},
		"OnPanic":      {MaxWorkers: 3, OnPanic: func(*sched.Task, any, []byte) { t.Error("OnPanic was called without a panic") }},
		"OnIdle":       {MaxWorkers: 3, OnIdle: func(*sched.Worker) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, c)
			computes(t, s)
			works(t, s)
		})
	}
}
