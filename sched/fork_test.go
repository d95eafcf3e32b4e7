package sched_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/sched"
)

// ints is the fork stack of most tests. The argument says which part of the body is
// meant.
type ints = sched.Forks[int, int]

// until waits for what other goroutines do, without giving a place away.
func until(what string, ok func() bool) {
	deadline := time.Now().Add(patience)
	for round := 0; !ok(); round++ {
		if time.Now().After(deadline) {
			panic("waited in vain: " + what)
		}
		if runtime.Gosched(); round > 100 {
			<-time.After(100 * time.Microsecond) // others need the processor
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

// handOver forks arg, as the oldest fork of the stack, and returns when another
// worker runs it, which it learns from started.
func handOver(f *ints, arg int, started *atomic.Bool) {
	f.Worker().SetDemand()
	f.Fork(arg)
	until("a worker takes the fork", started.Load)
}

// works checks that s computes, and that nobody has kept a place: MaxWorkers
// tasks run at a time.
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

// ending is how a function has ended.
type ending struct {
	value  any // of a panic
	exited bool
}

// endOf runs fn on a goroutine of its own and says how it ends.
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
	case <-time.After(patience):
		tb.Fatal("it does not end")
	}
	return e
}

// processors sets GOMAXPROCS until the test ends.
func processors(t *testing.T, n int) {
	t.Helper()
	was := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
}

// Computations with promotions: every call asks for a fork, or promotes all.

func fibAsked(f *ints, n int) int {
	if n < 2 {
		return n
	}
	f.Worker().SetDemand()
	f.Fork(n - 2)
	x := fibAsked(f, n-1)
	if f.TakeBackPointer() {
		return x + fibAsked(f, n-2)
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

func sumAsked(f *sched.Forks[*kernel.Node, int], n *kernel.Node) int {
	if n.Left == nil {
		return n.Value
	}
	f.Worker().SetDemand()
	f.Fork(n.Right)
	x := n.Value + sumAsked(f, n.Left)
	if f.TakeBackPointer() {
		return x + sumAsked(f, n.Right)
	}
	return x + f.Await()
}

func queensAsked(f *sched.Forks[kernel.Board, int], b kernel.Board) int {
	if b.Free == 0 {
		return b.Solutions()
	}
	f.Worker().SetDemand()
	x, y := f.Join2(b.First(), b.Rest())
	return x + y
}

func fibScopeAsked(c sched.Scope, n int) int {
	if n < 2 {
		return n
	}
	var x, y int
	c.Worker().SetDemand()
	c.Join(
		func(c sched.Scope) { x = fibScopeAsked(c, n-1) },
		func(c sched.Scope) { y = fibScopeAsked(c, n-2) },
	)
	return x + y
}

func fibScopeOfAsked(c sched.ScopeOf[int], n int) int {
	if n < 2 {
		return n
	}
	c.Worker().SetDemand()
	x, y := c.Join(
		func(c sched.ScopeOf[int]) int { return fibScopeOfAsked(c, n-1) },
		func(c sched.ScopeOf[int]) int { return fibScopeOfAsked(c, n-2) },
	)
	return x + y
}

// computation is one with a known result.
type computation struct {
	name string
	run  func(s *sched.Scheduler) int
	want int
}

func computations() []computation {
	tree, board := kernel.NewTree(10), kernel.NewBoard(6)
	return []computation{
		{"fib", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fib, 20) }, 6765},
		{"fib asked", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fibAsked, 14) }, 377},
		{"fib blocking", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fibBlocking, 10) }, 55},
		{"join2", func(s *sched.Scheduler) int { return sched.ForkJoin(s, fibJoin2, 20) }, 6765},
		{"tree", func(s *sched.Scheduler) int { return sched.ForkJoin(s, sum, tree) }, 1023},
		{"tree asked", func(s *sched.Scheduler) int { return sched.ForkJoin(s, sumAsked, tree) }, 1023},
		{"queens", func(s *sched.Scheduler) int { return sched.ForkJoin(s, queens, board) }, 4},
		{"queens asked", func(s *sched.Scheduler) int { return sched.ForkJoin(s, queensAsked, board) }, 4},
		{"scope", func(s *sched.Scheduler) (r int) {
			sched.ForkJoinFunc(s, func(c sched.Scope) { r = fibScope(c, 12) })
			return r
		}, 144},
		{"scope asked", func(s *sched.Scheduler) (r int) {
			sched.ForkJoinFunc(s, func(c sched.Scope) { r = fibScopeAsked(c, 12) })
			return r
		}, 144},
		{"scope of", func(s *sched.Scheduler) int {
			return sched.ForkJoinValue(s, func(c sched.ScopeOf[int]) int { return fibScopeOf(c, 12) })
		}, 144},
		{"scope of asked", func(s *sched.Scheduler) int {
			return sched.ForkJoinValue(s, func(c sched.ScopeOf[int]) int { return fibScopeOfAsked(c, 12) })
		}, 144},
	}
}

// computes checks all computations on s.
func computes(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	for _, c := range computations() {
		if got := c.run(s); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestForkJoinResults: results are those of plain recursion, whoever runs what.
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

// TestForkJoinConfigs: what a configuration asks for changes no result.
func TestForkJoinConfigs(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"LockOSThread": {MaxWorkers: 3, LockOSThread: true},
		"Trace":        {MaxWorkers: 3, Trace: true},
		"Labels":       {MaxWorkers: 3, Labels: true},
		"OnPanic":      {MaxWorkers: 3, OnPanic: func(*sched.Task, any, []byte) { t.Error("nothing has panicked") }},
		"OnIdle":       {MaxWorkers: 3, OnIdle: func(*sched.Worker) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, c)
			computes(t, s)
			works(t, s)
		})
	}
}

// TestForkJoinInOnIdle: the hook of an idle worker may not compute, and learns why.
func TestForkJoinInOnIdle(t *testing.T) {
	idled := make(chan any, 1)
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
		r := panicOf(func() { sched.ForkJoin(w.Scheduler(), fib, 3) })
		select {
		case idled <- r:
		default:
		}
	}})
	must(t, s.Go(func() {}))
	if r := <-idled; r != "sched: ForkJoin: called from Config.OnIdle" {
		t.Errorf("ForkJoin panics with %v", r)
	}
	works(t, s)
}

// TestForkJoinWithoutASpawn: computations end, with the right result, however often
// the Spawner fails: who joins a fork that nobody has come for runs it.
func TestForkJoinWithoutASpawn(t *testing.T) {
	for name, fail := range map[string]func(int64) bool{
		"always":    always,
		"at first":  func(call int64) bool { return call < 100 },
		"sometimes": func(call int64) bool { return call%3 != 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: 3, Spawner: &failingSpawner{fail: fail}})
			computes(t, s)
			if got := sched.ForkJoin(s, manyPromoted, 5*ringSize); got != 5*ringSize {
				t.Errorf("got %d, want %d", got, 5*ringSize)
			}
		})
	}
}

// manyPromoted makes n forks, more than a ring can hold, which are all tasks before
// the first is joined. Each returns 1.
func manyPromoted(f *ints, n int) (sum int) {
	if n == 0 {
		return 1
	}
	for range n {
		f.Fork(0)
	}
	f.Worker().Blocking(func() {})
	for range n {
		sum += joined(f, manyPromoted, 0)
	}
	return sum
}

// TestForkJoinRunsOnce: a fork that its joiner has run is not run again by who finds its
// task later, perhaps at the end of the scheduler.
func TestForkJoinRunsOnce(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"nobody comes":   {MaxWorkers: 1, Spawner: noSpawner{}},
		"one is late":    {MaxWorkers: 1},
		"somebody helps": {MaxWorkers: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sched.New(c)
			must(t, err)
			const forks = 3 * ringSize
			var runs [forks + 1]atomic.Int32
			one := func(_ *ints, n int) int { runs[n].Add(1); return 1 }
			got := sched.ForkJoin(s, func(f *ints, n int) (sum int) {
				if n != 0 || runs[0].Add(1) > 1 {
					return one(f, n)
				}
				for i := range forks {
					f.Fork(i + 1)
				}
				f.Worker().Blocking(func() {})
				for i := range forks {
					sum += joined(f, one, forks-i)
				}
				return sum
			}, 0)
			if got != forks {
				t.Errorf("got %d, want %d", got, forks)
			}
			atRest(t, s)
			for i := range runs {
				if n := runs[i].Load(); n != 1 {
					t.Errorf("fork %d ran %d times", i, n)
				}
			}
		})
	}
}

// TestForkJoinDeep: stacks grow as far as the recursion goes, while forks of them are
// promoted.
func TestForkJoinDeep(t *testing.T) {
	const depth = 100_000
	var deep func(every int) func(f *ints, n int) int
	deep = func(every int) func(f *ints, n int) int {
		return func(f *ints, n int) int {
			if n <= 0 {
				if n == 0 && every == 1 {
					f.Worker().Blocking(func() {}) // every fork is a task now
				}
				return -n
			}
			if every > 1 && n%every == 0 {
				f.Worker().SetDemand()
			}
			f.Push(-1)
			if f.Wanted() {
				f.Promote()
			}
			x := deep(every)(f, n-1)
			return x + joined(f, deep(every), -1)
		}
	}
	for _, workers := range []int{1, 3} {
		for name, every := range map[string]int{"none promoted": depth + 1, "some promoted": 17, "all promoted": 1} {
			t.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(t *testing.T) {
				s := newScheduler(t, sched.Config{MaxWorkers: workers})
				if got := sched.ForkJoin(s, deep(every), depth); got != depth {
					t.Errorf("got %d, want %d", got, depth)
				}
			})
		}
	}
}

// forksAll forks each of args, in the three ways that forks come to run, and
// compares the results with those of fn.
func forksAll[A, R any](t *testing.T, args []A, fn func(A) R) {
	t.Helper()
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var want []R
	for _, a := range args {
		want = append(want, fn(a))
	}
	for _, way := range []string{"private", "asked", "blocking"} {
		for _, join := range []string{"TakeBack", "TakeBackPointer"} {
			var root atomic.Bool
			got := make([]R, len(args))
			sched.ForkJoin(s, func(f *sched.Forks[A, R], a A) (none R) {
				if root.Swap(true) {
					return fn(a)
				}
				for _, a := range args {
					if way == "asked" {
						f.Worker().SetDemand()
					}
					f.Push(a)
					if f.Wanted() {
						f.Promote()
					}
				}
				if way == "blocking" {
					f.Worker().Blocking(func() {})
				}
				for i := len(args) - 1; i >= 0; i-- {
					if join == "TakeBack" && f.TakeBack() || join == "TakeBackPointer" && f.TakeBackPointer() {
						got[i] = fn(args[i])
					} else {
						got[i] = f.Await()
					}
				}
				return none
			}, args[0])
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: got %v, want %v", way, join, got, want)
			}
		}
	}
}

// TestForkJoinTypes: arguments and results may be of any type.
func TestForkJoinTypes(t *testing.T) {
	type big struct {
		n    [60]int
		text string
	}
	n := 7
	t.Run("empty", func(t *testing.T) {
		forksAll(t, make([]struct{}, 5), func(struct{}) struct{} { return struct{}{} })
	})
	t.Run("empty array", func(t *testing.T) {
		forksAll(t, make([][0]*int, 5), func(a [0]*int) int { return len(a) })
	})
	t.Run("pointer", func(t *testing.T) {
		forksAll(t, []*int{nil, &n, new(int)}, func(p *int) *int { return p })
	})
	t.Run("string", func(t *testing.T) {
		forksAll(t, []string{"", "a", "bcd"}, strings.ToUpper)
	})
	t.Run("interface", func(t *testing.T) {
		forksAll(t, []any{nil, 1, "two", &n}, func(a any) error { return fmt.Errorf("%T", a) })
	})
	t.Run("big", func(t *testing.T) {
		forksAll(t, []big{{text: "a"}, {text: "b"}, {n: [60]int{59: 3}}}, func(b big) big {
			b.n[0], b.text = b.n[59]+1, b.text+"!"
			return b
		})
	})
	t.Run("function", func(t *testing.T) {
		forksAll(t, []func() int{func() int { return 1 }, func() int { return n }}, func(fn func() int) int { return fn() })
	})
	t.Run("slice", func(t *testing.T) {
		forksAll(t, [][]byte{nil, {1}, {2, 3}}, func(b []byte) map[string]int { return map[string]int{string(b): len(b)} })
	})
	t.Run("numbers", func(t *testing.T) {
		forksAll(t, []struct {
			a float32
			b complex128
			c [2]bool
		}{{a: 1}, {b: 2i}, {c: [2]bool{false, true}}}, func(v struct {
			a float32
			b complex128
			c [2]bool
		},
		) [3]bool {
			return [3]bool{v.a > 0, imag(v.b) > 0, v.c[1]}
		})
	})
}

// lengths is a computation of other types than that of most tests: it runs one of
// those in each of its bodies.
func lengths(f *sched.Forks[string, [2]int], text string) (r [2]int) {
	s := f.Worker().Scheduler()
	if len(text) < 2 {
		return [2]int{len(text), sched.ForkJoin(s, fibAsked, 6)}
	}
	f.Worker().SetDemand()
	x, y := f.Join2(text[:len(text)/2], text[len(text)/2:])
	return [2]int{x[0] + y[0], x[1] + y[1]}
}

// TestForkJoinNested: computations run on top of each other, of the same types and
// of others, in bodies, in tasks, and in tasks that a Wait runs.
func TestForkJoinNested(t *testing.T) {
	const text = "twenty letters or so"
	want := [2]int{len(text), 8 * len(text)}
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: workers})
			check := func(where string) {
				if got := sched.ForkJoin(s, lengths, text); got != want {
					t.Errorf("%s: got %v, want %v", where, got, want)
				}
			}
			check("outside")
			g := s.NewGroup(sched.GroupConfig{})
			for range 10 {
				must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					check("in a task")
					var g sched.Group
					for range 3 {
						if err := g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { check("in a Wait") }}); err != nil {
							t.Error(err)
						}
					}
					if err := w.Wait(&g); err != nil {
						t.Error(err)
					}
				}}))
			}
			must(t, g.Wait())
		})
	}
}

// TestForkJoinsAtOnce: computations of many callers share the workers.
func TestForkJoinsAtOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				all := computations()
				for j := range all {
					c := all[(i+j)%len(all)]
					if got := c.run(s); got != c.want {
						t.Errorf("%s: got %d, want %d", c.name, got, c.want)
					}
				}
			})
		}
		wg.Wait()
		works(t, s)
	}
}

// TestForkJoinUses: a body may use all that a callback may.
func TestForkJoinUses(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: workers})
			loose := newLatch(1 << 6)
			uses := []func(w *sched.Worker, one *sched.Task) error{
				func(w *sched.Worker, one *sched.Task) error { return s.Do(one) },
				func(w *sched.Worker, one *sched.Task) error {
					var g sched.Group
					return errors.Join(g.Schedule(w, one), w.Wait(&g))
				},
				func(w *sched.Worker, one *sched.Task) error {
					g := s.NewGroup(sched.GroupConfig{})
					g.Go(func() error { one.Fn(nil, one); return nil })
					return g.Wait()
				},
				func(w *sched.Worker, one *sched.Task) (err error) {
					w.Blocking(func() { one.Fn(nil, one) })
					return nil
				},
			}
			var body func(f *ints, n int) int
			body = func(f *ints, n int) int {
				if n == 0 {
					if err := f.Worker().Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { loose.hit() }}); err != nil {
						t.Error(err)
					}
					return 1
				}
				f.Worker().SetDemand()
				f.Fork(n - 1)
				sum := 0
				if err := uses[n%len(uses)](f.Worker(), &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					sum += sched.ForkJoin(s, fibAsked, 5)
				}}); err != nil {
					t.Error(err)
				}
				sum += body(f, n-1)
				return sum + joined(f, body, n-1)
			}
			if got, want := sched.ForkJoin(s, body, 6), 1<<6+5*(1<<6-1); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			loose.wait(t)
			works(t, s)
		})
	}
}

// TestForkJoinWithoutAPlace: when none is free, the computation runs as a task, and
// ends for its caller as it would have otherwise.
func TestForkJoinWithoutAPlace(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"plain":   {MaxWorkers: 1},
		"OnPanic": {MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, c)
			elsewhere := func(body func(f *ints, n int) int) (result int, e ending) {
				release := held(s)
				e = endOf(t, func() {
					go func() {
						until("the computation is queued", s.AnyQueued)
						release()
					}()
					result = sched.ForkJoin(s, body, 14)
				})
				works(t, s)
				return result, e
			}
			if got, e := elsewhere(fibAsked); got != 377 || e != (ending{}) {
				t.Errorf("got %d, %+v", got, e)
			}
			_, e := elsewhere(func(*ints, int) int { panicHere(); return 0 })
			isRaised(t, e.value, "boom", "panicHere")
			if _, e := elsewhere(func(*ints, int) int { runtime.Goexit(); return 0 }); !e.exited {
				t.Errorf("after Goexit: %+v", e)
			}
		})
	}
}

// TestForkJoinAfterTheEnd: a scheduler that was closed or shut down leaves the whole
// computation to its caller.
func TestForkJoinAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(s *sched.Scheduler) error{
		"closed":    func(s *sched.Scheduler) error { _, err := s.Close(); return err },
		"shut down": func(s *sched.Scheduler) error { return s.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: 2})
			must(t, err)
			works(t, s)
			must(t, end(s))
			computes(t, s)
			if got := sched.ForkJoin(s, func(f *ints, _ int) int { return f.Worker().ID() }, 0); got != -1 {
				t.Errorf("ID is %d, want -1", got)
			}
			if r := panicOf(func() { sched.ForkJoin(s, func(*ints, int) int { panic("boom") }, 0) }); r != "boom" {
				t.Errorf("panics with %v", r)
			}
			if _, err := s.Join(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForkJoinAtTheEnd: a computation that is under way when the scheduler is closed
// or shut down ends with its result, whatever has become of the tasks of its forks.
func TestForkJoinAtTheEnd(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("shutdown=%v/workers=%d", shutdown, workers), func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: workers})
				must(t, err)
				ended := make(chan error, 1)
				got := sched.ForkJoin(s, func(f *ints, n int) int {
					if n == 0 {
						return 1
					}
					for i := range 50 {
						f.Worker().SetDemand()
						f.Fork(0)
						if i == 25 {
							f.Worker().Blocking(func() {
								if shutdown {
									go func() { ended <- s.Shutdown(context.Background()) }()
									return
								}
								go func() { _, err := s.Close(); ended <- err }()
								if err := <-ended; err != nil {
									t.Error(err)
								}
								ended <- nil
							})
						}
					}
					for range 50 {
						n += joined(f, func(*ints, int) int { return 1 }, 0)
					}
					return n
				}, 1)
				if got != 51 {
					t.Errorf("got %d, want 51", got)
				}
				must(t, <-ended)
				_, err = s.Join(within(t))
				must(t, err)
				atRest(t, s)
			})
		}
	}
}

// isRaised checks that r is a panic that another worker has raised, in function.
func isRaised(t *testing.T, r, value any, function string) {
	t.Helper()
	err, ok := r.(*sched.PanicError)
	if !ok || err.Value != value || !strings.Contains(string(err.Stack), function) {
		t.Errorf("panics with %v, want a PanicError of %v in %s", r, value, function)
	}
}

// TestForkJoinPanics: a panic reaches who joins, with the value and the stack of
// where it was raised, through any number of workers, and the rest has ended by
// then.
func TestForkJoinPanics(t *testing.T) {
	var s *sched.Scheduler
	var flags [4]atomic.Bool
	var running atomic.Int32
	var body func(f *ints, n int) int
	boom := func() any { return panicOf(func() { sched.ForkJoin(s, body, 0) }) }
	begin := func(fn func(f *ints, n int) int) {
		s = newScheduler(t, sched.Config{MaxWorkers: 4}) // where a place is free for the caller
		for i := range flags {
			flags[i].Store(false)
		}
		body = func(f *ints, n int) int {
			flags[n].Store(true)
			running.Add(1)
			defer running.Add(-1)
			return fn(f, n)
		}
	}
	end := func(t *testing.T) {
		t.Helper()
		if n := running.Load(); n != 0 {
			t.Errorf("%d bodies run after the end", n)
		}
		works(t, s)
	}
	t.Run("of the root", func(t *testing.T) {
		begin(func(*ints, int) int { panic(&flags) })
		if r := boom(); r != &flags {
			t.Errorf("panics with %v, want the value itself", r)
		}
		end(t)
	})
	t.Run("of a fork that was taken back", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 1 {
				panic(&flags)
			}
			f.Fork(1)
			return joined(f, body, 1)
		})
		if r := boom(); r != &flags {
			t.Errorf("panics with %v, want the value itself", r)
		}
		end(t)
	})
	t.Run("of another worker", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 1 {
				panicHere()
			}
			handOver(f, 1, &flags[1])
			return joined(f, body, 1)
		})
		isRaised(t, boom(), "boom", "panicHere")
		end(t)
	})
	t.Run("through several workers", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 3 {
				panicHere()
			}
			handOver(f, n+1, &flags[n+1])
			return joined(f, body, n+1)
		})
		isRaised(t, boom(), "boom", "panicHere")
		end(t)
	})
	t.Run("of several workers", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n > 0 {
				until("all have begun", flags[3].Load)
				panic(n)
			}
			for i := 1; i <= 3; i++ {
				handOver(f, i, &flags[i])
			}
			return joined(f, body, 3)
		})
		isRaised(t, boom(), 3, "TestForkJoinPanics")
		end(t)
	})
	t.Run("recovered", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 1 {
				panicHere()
			}
			handOver(f, 1, &flags[1])
			f.Fork(2)
			if n == 0 {
				sum := joined(f, func(*ints, int) int { return 5 }, 2)
				isRaised(t, panicOf(func() { sum += joined(f, body, 1) }), "boom", "panicHere")
				return sum + sched.ForkJoin(s, fib, 5)
			}
			return 0
		})
		body0 := body
		body = func(f *ints, n int) int {
			if n == 2 {
				return 5
			}
			return body0(f, n)
		}
		if got := sched.ForkJoin(s, body, 0); got != 10 {
			t.Errorf("got %d, want 10", got)
		}
		end(t)
	})
}

// TestForkJoinUnwindsLast: when a body unwinds, what others have begun of its forks
// ends first, and what nobody has begun is never run.
func TestForkJoinUnwindsLast(t *testing.T) {
	for name, unwind := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: 2})
			var begun, ended, dropped atomic.Bool
			e := endOf(t, func() {
				defer func() {
					if !ended.Load() {
						t.Error("it unwinds while a fork runs")
					}
				}()
				sched.ForkJoin(s, func(f *ints, n int) int {
					switch n {
					case 0:
						handOver(f, 1, &begun)
						f.Worker().SetDemand()
						f.Fork(2) // promoted
						f.Fork(2) // private
						unwind()
					case 1:
						begun.Store(true)
						until("the caller waits", func() bool { return s.Blocked() > 0 })
						ended.Store(true)
					case 2:
						dropped.Store(true)
					}
					return 0
				}, 0)
			})
			if e.exited != (name == "Goexit") || !e.exited && e.value != "boom" {
				t.Errorf("it ends with %+v", e)
			}
			works(t, s)
			if dropped.Load() {
				t.Error("a fork of a body that unwinds is run")
			}
		})
	}
}

// TestForkJoinGoexit: a Goexit of a fork continues where that is joined, the scheduler
// keeps all its places, and what is under way ends first.
func TestForkJoinGoexit(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 3})
	exits := func(t *testing.T, body func(f *ints, n int) int) {
		t.Helper()
		for range 20 {
			if e := endOf(t, func() { sched.ForkJoin(s, body, 0) }); !e.exited {
				t.Fatalf("it ends with %+v", e)
			}
			works(t, s)
		}
	}
	t.Run("of the root", func(t *testing.T) {
		exits(t, func(f *ints, _ int) int { f.Fork(1); runtime.Goexit(); return 0 })
	})
	t.Run("of another worker", func(t *testing.T) {
		var begun atomic.Bool
		exits(t, func(f *ints, n int) int {
			if n == 1 {
				begun.Store(true)
				runtime.Goexit()
			}
			begun.Store(false)
			handOver(f, 1, &begun)
			return joined(f, fib, 1)
		})
	})
	// The fork of a fork, perhaps on top of a root that waits.
	t.Run("in a join", func(t *testing.T) {
		var begun, exited atomic.Bool
		var body func(f *ints, n int) int
		body = func(f *ints, n int) int {
			switch n {
			case 0:
				begun.Store(false)
				exited.Store(false)
				handOver(f, 1, &begun)
			case 1:
				f.Worker().SetDemand()
				f.Fork(2)
				begun.Store(true)
				until("the fork has ended", exited.Load)
			case 2:
				exited.Store(true)
				runtime.Goexit()
			}
			return joined(f, body, n+1)
		}
		exits(t, body)
	})
	// One worker unwinds and waits for another, whose fork calls Goexit, too: that one
	// is not run on top of what unwinds.
	t.Run("while one unwinds", func(t *testing.T) {
		var begun [4]atomic.Bool
		var queued atomic.Bool
		var body func(f *ints, n int) int
		body = func(f *ints, n int) int {
			switch n {
			case 0:
				queued.Store(false)
				for i := range begun {
					begun[i].Store(false)
				}
				handOver(f, 1, &begun[1])
				until("the other waits, unless it need not", func() bool { return s.Blocked() > 0 || begun[3].Load() })
			case 1:
				begun[1].Store(true)
				handOver(f, 2, &begun[2])
				until("a fork is queued", queued.Load)
				runtime.Goexit()
			case 2:
				begun[2].Store(true)
				f.Worker().SetDemand()
				f.Fork(3)
				queued.Store(true)
				until("the fork is run", begun[3].Load)
			case 3:
				begun[3].Store(true)
				runtime.Goexit()
			}
			return joined(f, body, n+1)
		}
		exits(t, body)
	})
	// The same, where the one that unwinds is the root.
	t.Run("while the root unwinds", func(t *testing.T) {
		var begun, queued, exited atomic.Bool
		s := newScheduler(t, sched.Config{MaxWorkers: 2})
		for range 20 {
			begun.Store(false)
			queued.Store(false)
			exited.Store(false)
			var ended atomic.Bool
			r := panicOf(func() {
				defer func() {
					if !ended.Load() {
						t.Error("it unwinds while a fork runs")
					}
				}()
				sched.ForkJoin(s, func(f *ints, n int) int {
					switch n {
					case 0:
						handOver(f, 1, &begun)
						until("a fork is queued", queued.Load)
						panic("boom")
					case 1:
						begun.Store(true)
						f.Worker().SetDemand()
						f.Fork(2)
						queued.Store(true)
						until("the caller waits", func() bool { return s.Blocked() > 0 })
						ended.Store(true)
						return joined(f, func(*ints, int) int { return 0 }, 2)
					case 2:
						runtime.Goexit()
					}
					return 0
				}, 0)
			})
			if valueOf(r) != "boom" { // a PanicError when it was not its turn
				t.Fatalf("panics with %v", r)
			}
			works(t, s)
		}
	})
}

// unbalanced are bodies whose forks and joins do not balance, or may not. They are
// called with an argument of 10, and with ask before each fork. An n below 10 is a
// leaf.
var unbalanced = []struct {
	name string
	body func(f *ints, fork func(n int)) int
	fine int // the result when another worker has not come between, or 0
}{
	{"a fork too many", func(_ *ints, fork func(int)) int {
		fork(1)
		return 0
	}, 0},
	{"many forks too many", func(_ *ints, fork func(int)) int {
		for range 300 {
			fork(1)
		}
		return 0
	}, 0},
	{"TakeBack without a fork", func(f *ints, _ func(int)) int { return joined(f, leaf, 1) }, 0},
	{"TakeBackPointer without a fork", func(f *ints, _ func(int)) int {
		if f.TakeBackPointer() {
			return 1
		}
		return f.Await()
	}, 0},
	{"a join too many", func(f *ints, fork func(int)) int {
		fork(1)
		return joined(f, leaf, 1) + joined(f, leaf, 1)
	}, 0},
	{"a join of another's fork", func(f *ints, fork func(int)) int {
		fork(1)
		fork(2)
		callee := joined(f, leaf, 2) + joined(f, leaf, 1)
		return callee + joined(f, leaf, 1)
	}, 0},
	{"Await after TakeBack", func(f *ints, fork func(int)) int {
		fork(1)
		if f.TakeBack() {
			return 1 + f.Await()
		}
		return f.Await() + f.Await()
	}, 0},
	{"Await after TakeBack, below another fork", func(f *ints, fork func(int)) int {
		fork(1)
		fork(2)
		f.TakeBack()
		x := f.Await()
		return x + joined(f, leaf, 1)
	}, 3},
	{"no Await", func(f *ints, fork func(int)) int {
		fork(1)
		if f.TakeBack() {
			return 1
		}
		return 0
	}, 1},
	{"no Await, then another fork", func(f *ints, fork func(int)) int {
		fork(1)
		x := 0
		if f.TakeBack() {
			x = 1
		}
		fork(2)
		return x + joined(f, leaf, 2)
	}, 3},
	{"no Await after TakeBackPointer", func(f *ints, fork func(int)) int {
		fork(1)
		if f.TakeBackPointer() {
			return 1
		}
		return 0
	}, 1},
	{"a panic between fork and join", func(f *ints, fork func(int)) int {
		_ = panicOf(func() {
			fork(1)
			panicHere()
		})
		return 0
	}, 0},
}

func leaf(_ *ints, n int) int { return n }

// TestForkJoinUnbalanced: forks and joins that do not balance are noticed, in every
// place where a body runs, and the scheduler is as good as before.
func TestForkJoinUnbalanced(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, tc := range unbalanced {
		for _, asked := range []bool{false, true} {
			run := func(f *ints) int {
				return tc.body(f, func(n int) {
					if asked {
						f.Worker().SetDemand()
					}
					f.Fork(n)
				})
			}
			root := func(f *ints, n int) int {
				if n < 10 {
					return n
				}
				return run(f)
			}
			var begun atomic.Bool
			for where, compute := range map[string]func() int{
				"root":     func() int { return sched.ForkJoin(s, root, 10) },
				"fallback": func() int { return sched.ForkJoin(&sched.Scheduler{}, root, 10) },
				"fork": func() int {
					begun.Store(false)
					return sched.ForkJoin(s, func(f *ints, n int) int {
						switch {
						case n < 10:
							return n
						case n == 10:
							handOver(f, 11, &begun)
							return joined(f, leaf, 11)
						}
						begun.Store(true)
						return run(f)
					}, 10)
				},
				"nested": func() int {
					return sched.ForkJoin(s, func(f *ints, n int) int {
						if n == 5 {
							return 0
						}
						f.Fork(5)
						x := sched.ForkJoin(s, root, n)
						return x + joined(f, func(*ints, int) int { return 0 }, 5)
					}, 10)
				},
			} {
				t.Run(fmt.Sprintf("%s/%s/asked=%v", tc.name, where, asked), func(t *testing.T) {
					var got int
					r := panicOf(func() { got = compute() })
					switch text, _ := valueOf(r).(string); {
					case r == nil && tc.fine != 0 && got == tc.fine:
					case strings.HasPrefix(text, "sched: Fork") && (strings.Contains(text, "join") || strings.Contains(text, "taken back")):
					default:
						t.Errorf("returns %d, panics with %v", got, r)
					}
				})
			}
		}
		works(t, s)
	}
}

// TestForkJoinMisuse: what cannot be run fails at the caller, and says why.
func TestForkJoinMisuse(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for want, fn := range map[string]func(){
		"sched: ForkJoin: nil body":           func() { sched.ForkJoin[int, int](s, nil, 1) },
		"sched: ForkJoinContext: nil context": func() { _, _ = sched.ForkJoinContext(nil, s, fib, 1) }, //nolint:staticcheck // on purpose
		"sched: Forks: a join without a fork": func() { sched.ForkJoin(s, func(f *ints, _ int) int { return f.Await() }, 1) },
		"sched: Forks: Await of a fork that TakeBack or TakeBackPointer has taken back": func() {
			sched.ForkJoin(s, func(f *ints, n int) int {
				if n > 0 {
					return n
				}
				f.Fork(1)
				f.Fork(2)
				f.TakeBack()
				return f.Await()
			}, 0)
		},
	} {
		if r := panicOf(fn); r != want {
			t.Errorf("panics with %v, want %s", r, want)
		}
	}
	works(t, s)
}

// TestForkJoinContext: a context that has ended is an error, whenever that was.
func TestForkJoinContext(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	why := errors.New("why")
	ended, end := context.WithCancelCause(context.Background())
	end(why)
	_, err := sched.ForkJoinContext(ended, s, func(*ints, int) int { t.Error("the body is called"); return 0 }, 1)
	mustBe(t, err, why)
	if got, err := sched.ForkJoinContext(context.Background(), s, fib, 10); got != 55 || err != nil {
		t.Errorf("without an end: %d, %v", got, err)
	}
	for range 500 {
		ctx, cancel := context.WithCancelCause(context.Background())
		got, err := sched.ForkJoinContext(ctx, s, func(*ints, int) int { cancel(why); return 7 }, 1)
		if got != 7 || !errors.Is(err, why) {
			t.Fatalf("ended by the body: %d, %v", got, err)
		}
		ctx, cancel = context.WithCancelCause(context.Background())
		got, err = sched.ForkJoinContext(ctx, s, fib, 10)
		cancel(why)
		if got != 55 || err != nil {
			t.Fatalf("ended later: %d, %v", got, err)
		}
	}
	var begun atomic.Bool
	ctx, cancel := context.WithCancelCause(context.Background())
	got, err := sched.ForkJoinContext(ctx, s, func(f *ints, n int) int {
		if n == 1 {
			begun.Store(true)
			until("the fork sees the end", f.Cancelled)
			return 1
		}
		handOver(f, 1, &begun)
		cancel(why)
		return joined(f, leaf, 1)
	}, 0)
	if got != 1 || !errors.Is(err, why) {
		t.Errorf("ended in a fork: %d, %v", got, err)
	}
	sched.ForkJoin(s, func(f *ints, _ int) int { // on the same stack
		if f.Cancelled() {
			t.Error("the context of the last computation has ended this one")
		}
		return 0
	}, 1)
}

// TestForkJoinCancelled: no fork of a cancelled computation is promoted, and those of
// others on the same goroutine are.
func TestForkJoinCancelled(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2, Spawner: never()})
	promoted := func(f *ints) bool { // the open fork
		if f.TakeBackPointer() {
			return false
		}
		f.Await()
		return true
	}
	ask := func(f *ints) { // for whatever is the oldest fork
		f.Worker().SetDemand()
		f.Fork(1)
	}
	for name, cancelled := range map[string]string{"outer": "outer", "inner": "inner", "neither": ""} {
		t.Run(name, func(t *testing.T) {
			run := func(level string, body func(f *ints)) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				_, _ = sched.ForkJoinContext(ctx, s, func(f *ints, n int) int {
					if n == 0 {
						if level == cancelled {
							cancel()
							until("it is cancelled", f.Cancelled)
						}
						body(f)
					}
					return n
				}, 0)
			}
			var outer, inner bool
			run("outer", func(f *ints) {
				f.Fork(1)
				run("inner", func(g *ints) {
					ask(g)
					inner = promoted(g)
				})
				outer = promoted(f)
			})
			if want := cancelled != "outer"; outer != want {
				t.Errorf("the fork of the outer computation is promoted: %v, want %v", outer, want)
			}
			if want := cancelled == "outer"; inner != want && cancelled != "" { // else the watch may have asked as well
				t.Errorf("the fork of the inner computation is promoted: %v, want %v", inner, want)
			}
			level := "inner"
			if cancelled != "" {
				level = cancelled
			}
			run(level, func(f *ints) {
				f.Fork(1)
				f.Worker().Blocking(func() {})
				if got, want := promoted(f), cancelled == ""; got != want {
					t.Errorf("by Blocking: promoted is %v, want %v", got, want)
				}
			})
		})
	}
}

// TestForkJoinGoesOnAfterANestedOne: after a computation in a body, the forks of the body
// are shared as before.
func TestForkJoinGoesOnAfterANestedOne(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var begun atomic.Bool
	got := sched.ForkJoin(s, func(f *ints, n int) int {
		if n > 0 {
			begun.Store(true)
			return n
		}
		x := sched.ForkJoin(s, fib, 10)
		handOver(f, 1, &begun)
		return x + joined(f, leaf, 1)
	}, 0)
	if got != 56 {
		t.Errorf("got %d, want 56", got)
	}
}

// TestForksAreTaken: another worker comes for the forks of a computation that lasts,
// though nobody tells it.
func TestForksAreTaken(t *testing.T) {
	processors(t, 2) // with one, it would depend on when the runtime preempts the body
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for range 10 {
		// Often there is a watch, then, and the worker that it began with is parked.
		sched.ForkJoin(s, fib, 2)
		for round := 0; round < 5000 && s.Stats().Parked == 0; round++ {
			runtime.Gosched()
		}
		var taken atomic.Bool
		var root *sched.Worker
		var body func(f *ints, n int) int
		body = func(f *ints, n int) int {
			if f.Worker() != root {
				taken.Store(true)
			}
			if n < 2 {
				return n
			}
			f.Fork(n - 2)
			return body(f, n-1) + joined(f, body, n-2)
		}
		sched.ForkJoin(s, func(f *ints, n int) int {
			if n > 0 {
				return body(f, n)
			}
			root = f.Worker()
			until("a worker takes a fork", func() bool { return body(f, 25) == 75025 && taken.Load() })
			return 0
		}, 0)
		until("the watch ends", func() bool { return !s.ForkMonitorRuns() })
	}
}

// TestWatchEnds: the watch ends while a computation goes on that does not answer,
// also where time stands still until it has ended.
func TestWatchEnds(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for range 3 {
		sched.ForkJoin(s, func(*ints, int) int {
			until("the watch ends", func() bool { return !s.ForkMonitorRuns() })
			return 0
		}, 0)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 2})
		must(t, err)
		sched.ForkJoin(s, func(f *ints, n int) int {
			time.Sleep(time.Hour)
			return f.Worker().ID()
		}, 0)
		must(t, s.Shutdown(context.Background()))
	})
}

// TestForkJoinTakesItsPlaceBack: who has waited for a fork without a place has one
// again afterwards, if one is free.
func TestForkJoinTakesItsPlaceBack(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var begun atomic.Bool
	rejoins := func(f *ints, n int) int {
		if n == 1 {
			begun.Store(true)
			until("the root parks", func() bool { return s.Blocked() > 0 })
			return 0
		}
		// Another worker may look for work just then, on the place that is free.
		until("the root has a place after a join", func() bool {
			place := func() bool { f.Worker().Blocking(func() {}); return f.Worker().ID() >= 0 }
			until("the root has a place", place)
			begun.Store(false)
			handOver(f, 1, &begun)
			joined(f, leaf, 1)
			return f.Worker().ID() >= 0
		})
		return 0
	}
	t.Run("of a caller", func(t *testing.T) {
		sched.ForkJoin(s, rejoins, 0)
		works(t, s)
	})
	t.Run("in a task", func(t *testing.T) {
		l := newLatch(1)
		must(t, s.Go(func() { sched.ForkJoin(s, rejoins, 0); l.hit() }))
		l.wait(t)
		works(t, s)
	})
	// As many workers as there may be have come meanwhile: it is one more.
	t.Run("replaced", func(t *testing.T) {
		l := newLatch(1)
		must(t, s.Go(func() {
			defer l.hit()
			sched.ForkJoin(s, func(f *ints, _ int) int {
				f.Worker().Blocking(func() { works(t, s) })
				until("the root has a place", func() bool {
					f.Worker().Blocking(func() {})
					return f.Worker().ID() >= 0
				})
				return 0
			}, 0)
		}))
		l.wait(t)
		works(t, s)
		until("the surplus worker ends", func() bool { return s.Stats().Workers <= 2 })
	})
}

// retains runs computations whose arguments and results hold payloads, and checks
// that they are garbage as soon as they are joined, while the computation goes on.
func retains[A any](t *testing.T, wrap func(*payload) A) {
	t.Helper()
	type stack = sched.Forks[A, *payload]
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var root atomic.Bool
	var begun atomic.Int32
	var mu sync.Mutex
	var made []weak.Pointer[payload]
	create := func() *payload {
		p := new(payload)
		mu.Lock()
		defer mu.Unlock()
		made = append(made, weak.Make(p))
		return p
	}
	const forks = 100 // more than a new stack has room for
	join := func(f *stack, takeBack func() bool) {
		for range forks {
			if !takeBack() {
				f.Await()
			}
		}
	}
	for name, script := range map[string]func(f *stack){
		"TakeBack": func(f *stack) {
			for range forks {
				f.Push(wrap(create()))
				if f.Wanted() {
					f.Promote()
				}
			}
			join(f, f.TakeBack)
		},
		"TakeBackPointer": func(f *stack) {
			for range forks {
				f.Fork(wrap(create()))
			}
			join(f, f.TakeBackPointer)
		},
		"asked": func(f *stack) {
			for range forks {
				f.Worker().SetDemand()
				f.Fork(wrap(create()))
			}
			join(f, f.TakeBackPointer)
		},
		"blocking": func(f *stack) {
			for range forks {
				f.Fork(wrap(create()))
			}
			f.Worker().Blocking(func() {})
			join(f, f.TakeBack)
		},
		"taken": func(f *stack) {
			for range forks {
				f.Worker().SetDemand()
				f.Fork(wrap(create()))
			}
			until("a worker has taken one", func() bool { return begun.Load() > 0 })
			join(f, f.TakeBackPointer)
		},
		"panic": func(f *stack) {
			_ = panicOf(func() {
				sched.ForkJoin(s, func(f *stack, _ A) *payload {
					for i := range forks {
						if i == forks/2 {
							f.Worker().Blocking(func() {})
						}
						f.Fork(wrap(create()))
					}
					panic("boom")
				}, wrap(nil))
			})
		},
		"unbalanced": func(*stack) {
			_ = panicOf(func() {
				sched.ForkJoin(s, func(f *stack, _ A) *payload { f.Fork(wrap(create())); return nil }, wrap(nil))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			root.Store(true)
			begun.Store(0)
			made = nil
			sched.ForkJoin(s, func(f *stack, _ A) *payload {
				if !root.Swap(false) {
					begun.Add(1)
					return create()
				}
				script(f)
				collected(t, made)
				return nil
			}, wrap(nil))
			runtime.KeepAlive(s)
		})
	}
}

// TestForkJoinRetainsNothing: see retains.
func TestForkJoinRetainsNothing(t *testing.T) {
	t.Run("pointer", func(t *testing.T) { retains(t, func(p *payload) *payload { return p }) })
	t.Run("interface", func(t *testing.T) { retains(t, func(p *payload) any { return p }) })
	t.Run("slice", func(t *testing.T) { retains(t, func(p *payload) []*payload { return []*payload{p} }) })
	t.Run("function", func(t *testing.T) {
		retains(t, func(p *payload) func() *payload { return func() *payload { return p } })
	})
	type deep struct {
		n  int
		in struct{ p [1]*payload }
	}
	t.Run("struct", func(t *testing.T) {
		retains(t, func(p *payload) (d deep) {
			d.n, d.in.p[0] = 1, p
			return d
		})
	})
}

// TestForkJoinAllocates checks that it does not: neither forks nor, after the first
// of its types, a computation.
func TestForkJoinAllocates(t *testing.T) {
	if raceBuild() {
		t.Skip("the race detector allocates")
	}
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	tree, board := kernel.NewTree(8), kernel.NewBoard(5)
	for name, run := range map[string]func(){
		"fib":    func() { sched.ForkJoin(s, fib, 10) },
		"join2":  func() { sched.ForkJoin(s, fibJoin2, 10) },
		"tree":   func() { sched.ForkJoin(s, sum, tree) },
		"queens": func() { sched.ForkJoin(s, queens, board) },
	} {
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// TestForkJoinLeavesNobody: no goroutine outlives a scheduler.
func TestForkJoinLeavesNobody(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		s, err := sched.New(sched.Config{MaxWorkers: 3})
		must(t, err)
		computes(t, s)
		endOf(t, func() { sched.ForkJoin(s, func(*ints, int) int { runtime.Goexit(); return 0 }, 0) })
		atRest(t, s)
	}
	until("all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}
