package sync_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// newSeed returns the seed of a stress test and says how to replay it.
func newSeed(tb testing.TB) uint64 {
	tb.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64() | 1
	}
	tb.Logf("replay with -run '^%s$' -stress.seed=%d", tb.Name(), seed)
	return seed
}

// newRand returns the source of choices of one goroutine of a stress test.
func newRand(seed uint64, goroutine int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(goroutine)))
}

// rounds returns how long a stress test lasts: n, or a tenth with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// within fails the test when f has not returned after a time that no machine
// needs: something waits for what never comes.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not end", what)
	}
}

// mustPanic checks that f panics with that value.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panic is %v, want %q", got, want)
		}
	}()
	f()
}
