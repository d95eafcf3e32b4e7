package transport_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/transport"
)

var seed = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// newRand returns a function that makes one random source for each goroutine. It also
// logs the command of the replay.
func newRand(tb testing.TB) func(goroutine int) *rand.Rand {
	tb.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	tb.Logf("replay with -run '^%s$' -stress.seed=%d", tb.Name(), s)
	return func(goroutine int) *rand.Rand { return rand.New(rand.NewPCG(s, uint64(goroutine))) }
}

// rounds returns the number of rounds of a stress test. It is n, or a tenth of n with
// -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// payloadOf appends a copy of the payload of m to buf. The end of m was not unmapped.
func payloadOf(m *transport.Message, buf []byte) []byte {
	b, err := m.Append(buf)
	if err != nil {
		panic(err)
	}
	return b
}

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// wantPanic fails the test unless f panics with the message want.
func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Fatalf("got panic %v, want %q", got, want)
		}
	}()
	f()
}

// within fails the test when f has not returned after a time that no machine needs. f
// then waits for an event that does not happen.
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
