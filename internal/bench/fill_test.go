package bench_test

import (
	"testing"

	"github.com/lanewright/lanewright/internal/bench"
)

// TestFilled checks that a payload is right only with its size, its number and each of its bytes.
func TestFilled(t *testing.T) {
	const size, n = 1 << 10, 7
	b := make([]byte, size)
	bench.Fill(b, n)
	if !bench.Filled(b, size, n) || bench.Filled(b, size, n+1) || bench.Filled(b, size+8, n) || bench.Filled(b[:size-8], size, n) {
		t.Error("Filled confuses payloads")
	}
	for i := range b {
		b[i] ^= 1
		if bench.Filled(b, size, n) {
			t.Fatalf("Filled does not read byte %d", i)
		}
		b[i] ^= 1
	}
}
