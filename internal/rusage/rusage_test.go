package rusage_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/rusage"
)

// supported are the systems that report processor time and memory.
var supported = []string{"darwin", "dragonfly", "freebsd", "linux", "netbsd", "openbsd", "windows"}

// TestCPUGrowsWithWork: the processor time grows while the process computes.
func TestCPUGrowsWithWork(t *testing.T) {
	before, ok := rusage.CPU()
	if want := slices.Contains(supported, runtime.GOOS); ok != want {
		t.Fatalf("CPU on %s: ok = %t, want %t", runtime.GOOS, ok, want)
	}
	if !ok {
		t.Skip("this system does not report it")
	}
	// Coarse clocks tick every 16 ms. Without progress this loop never ends, and
	// the deadline of the test binary reports it.
	x := uint32(1)
	for after := before; after-before < 20*time.Millisecond; after, _ = rusage.CPU() {
		for range 1_000_000 {
			x = x*1664525 + 1013904223
		}
	}
	runtime.KeepAlive(x)
}

// TestPeak: the peak grows with touched memory.
func TestPeak(t *testing.T) {
	const size = 64 << 20
	reset := rusage.ResetPeak()
	if want := runtime.GOOS == "linux"; reset != want {
		t.Logf("ResetPeak = %t on %s", reset, runtime.GOOS)
	}
	before, ok := rusage.Peak()
	if want := slices.Contains(supported, runtime.GOOS); ok != want {
		t.Fatalf("Peak on %s: ok = %t, want %t", runtime.GOOS, ok, want)
	}
	if !ok {
		t.Skip("this system does not report it")
	}
	if before < 1<<20 {
		t.Errorf("Peak = %d bytes: less than any Go program needs", before)
	}
	block := make([]byte, size)
	for i := range block { // touch every byte: make may map zero pages lazily
		block[i] = byte(i)
	}
	during, _ := rusage.Peak()
	runtime.KeepAlive(block)
	if !reset {
		if during < size {
			t.Errorf("Peak = %d bytes with %d touched", during, size)
		}
		return
	}
	if during-before < size*3/4 {
		t.Errorf("Peak grew by %d bytes when %d were touched", during-before, size)
	}
}
