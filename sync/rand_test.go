package sync_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
)

var seedFlag = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// newSeed returns the seed of a stress test. It logs the command that replays the test.
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

// rounds returns the number of rounds of a stress test: n, or a tenth of n with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// within fails the test when f has not returned after a minute. f then waits for an event
// that never occurs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience.Limit):
		t.Fatalf("%s did not end", what)
	}
}

// mustPanic fails the test unless f panics with the value want.
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
