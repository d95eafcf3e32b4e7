//go:build !linux

package fuzz_test

import (
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// guarded returns size bytes of ordinary memory. No other system than Linux has tests for its protection here.
func guarded(tb testing.TB, size int) []byte {
	tb.Helper()
	r, err := transport.NewHeap(size)
	if err != nil {
		tb.Fatal(err)
	}
	return r.Bytes()
}
