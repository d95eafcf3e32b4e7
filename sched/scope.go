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
func ForkJoinFunc(s *Scheduler, fn func(Scope)) { ForkJoin(s, runScope, fn) }

func runScope(f *Forks[func(Scope), struct{}], fn func(Scope)) (none struct{}) {
	fn(Scope{f})
	return none
}

// Join runs a, while another worker that has nothing to do may run b, and returns
// when both have returned.
func (c Scope) Join(a, b func(Scope)) {
	c.f.Fork(b)
	a(c)
	if c.f.Unfork() {
		b(c)
	} else {
		c.f.Await()
	}
}

// Worker returns the worker that runs the caller.
func (c Scope) Worker() *Worker { return c.f.Worker() }

// Cancelled is [Forks.Cancelled].
func (c Scope) Cancelled() bool { return c.f.Cancelled() }
