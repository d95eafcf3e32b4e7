package kernel

// The argument of Fib in the benchmarks, its result, and the number of forks of a
// program that forks at every call with n >= 2.
const (
	FibN     = 35
	FibValue = 9227465
	FibForks = 14930351
)

// Fib returns the Fibonacci number n by recursion.
func Fib(n int) int {
	if n < 2 {
		return n
	}
	return Fib(n-1) + Fib(n-2)
}
