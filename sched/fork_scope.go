package sched

// Scope is the closure form of fork-join. A fork is a function that captures its
// arguments. Each forked closure is allocated, and so are the variables that it shares
// with its surroundings. Scope is therefore for code in which some tens of nanoseconds a
// fork do not matter. [Forks] is the form that allocates nothing.
//
//	func fib(c sched.Scope, n int) int {
//		if n < 2 {
//			return n
//		}
//		var x, y int
//		c.Join(
//			func(c sched.Scope) { x = fib(c, n-1) },
//			func(c sched.Scope) { y = fib(c, n-2) },
//		)
//		return x + y
//	}
//
// A function uses only the Scope that it was called with, and only until it returns.
type Scope struct {
	f *Forks[func(Scope), struct{}]
}

// ForkJoinFunc runs fn with a Scope and returns when fn has returned. It behaves as
// [ForkJoin] does. It panics if fn is nil.
func ForkJoinFunc(s *Scheduler, fn func(Scope)) {
	if fn == nil {
		panic("sched: ForkJoinFunc: nil function")
	}
	ForkJoin(s, runScope, fn)
}

func runScope(f *Forks[func(Scope), struct{}], fn func(Scope)) (none struct{}) {
	fn(Scope{f})
	return none
}

// Join runs a and b, and returns when both have returned. Another worker that has nothing
// to do may run b at the same time.
func (c Scope) Join(a, b func(Scope)) {
	c.f.Fork(b)
	a(c)
	if c.f.TakeBackPointer() {
		b(c)
	} else {
		c.f.Await()
	}
}

// Worker returns the worker that runs the caller.
func (c Scope) Worker() *Worker { return c.f.Worker() }

// Cancelled reports the same as [Forks.Cancelled].
func (c Scope) Cancelled() bool { return c.f.Cancelled() }

// ScopeOf is [Scope] for functions that return a value. The value is allocated only when
// another worker computes it. A fork therefore costs 0.5 to 0.6 of a fork with Scope
// (fork-join/closure and fork-join/closure-void in BENCHMARKS.md).
//
//	func fib(c sched.ScopeOf[int], n int) int {
//		if n < 2 {
//			return n
//		}
//		x, y := c.Join(
//			func(c sched.ScopeOf[int]) int { return fib(c, n-1) },
//			func(c sched.ScopeOf[int]) int { return fib(c, n-2) },
//		)
//		return x + y
//	}
type ScopeOf[R any] struct {
	f *Forks[func(ScopeOf[R]) R, R]
}

// ForkJoinValue runs fn with a ScopeOf and returns the result of fn. It behaves as
// [ForkJoin] does. It panics if fn is nil.
func ForkJoinValue[R any](s *Scheduler, fn func(ScopeOf[R]) R) R {
	if fn == nil {
		panic("sched: ForkJoinValue: nil function")
	}
	return ForkJoin(s, runScopeOf[R], fn)
}

func runScopeOf[R any](f *Forks[func(ScopeOf[R]) R, R], fn func(ScopeOf[R]) R) R {
	return fn(ScopeOf[R]{f})
}

// Join runs a and b and returns both results. Another worker that has nothing to do may
// run b at the same time.
func (c ScopeOf[R]) Join(a, b func(ScopeOf[R]) R) (x, y R) {
	c.f.Fork(b)
	x = a(c)
	if c.f.TakeBackPointer() {
		return x, b(c)
	}
	return x, c.f.Await()
}

// Worker returns the worker that runs the caller.
func (c ScopeOf[R]) Worker() *Worker { return c.f.Worker() }

// Cancelled reports the same as [Forks.Cancelled].
func (c ScopeOf[R]) Cancelled() bool { return c.f.Cancelled() }
