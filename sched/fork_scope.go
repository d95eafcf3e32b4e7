package sched

// Scope is the closure form of fork-join: forks are functions, which bring their
// arguments with them. It is for code where some tens of nanoseconds a fork do not
// matter, as each closure that is forked, and what it shares with its surroundings,
// is allocated. [Forks] is the form that allocates nothing.
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
// A function uses the Scope that it was called with, and no other.
type Scope struct {
	f *Forks[func(Scope), struct{}]
}

// ForkJoinFunc runs fn, which may fork, as [ForkJoin] does.
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

// Join runs a, while another worker that has nothing to do may run b, and returns
// when both have returned.
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

// Cancelled is [Forks.Cancelled].
func (c Scope) Cancelled() bool { return c.f.Cancelled() }

// ScopeOf is [Scope] for functions that return a value, which has to be allocated
// only when another worker computes it: it costs half as much.
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

// ForkJoinValue runs fn, which may fork, as [ForkJoin] does, and returns its result.
func ForkJoinValue[R any](s *Scheduler, fn func(ScopeOf[R]) R) R {
	if fn == nil {
		panic("sched: ForkJoinValue: nil function")
	}
	return ForkJoin(s, runScopeOf[R], fn)
}

func runScopeOf[R any](f *Forks[func(ScopeOf[R]) R, R], fn func(ScopeOf[R]) R) R {
	return fn(ScopeOf[R]{f})
}

// Join runs a, while another worker that has nothing to do may run b, and returns
// both results.
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

// Cancelled is [Forks.Cancelled].
func (c ScopeOf[R]) Cancelled() bool { return c.f.Cancelled() }
