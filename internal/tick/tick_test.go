package tick_test

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/tick"
)

// lengths are the times that the tests wait for, zero and negative times included.
var lengths = []time.Duration{-1, 0, 1, time.Microsecond, 25 * time.Microsecond, 100 * time.Microsecond, time.Millisecond, 12 * time.Millisecond}

// checkWaits checks that no Wait of c returns early. How late it may return depends on
// the machine.
func checkWaits(t *testing.T, c *tick.Clock) {
	t.Helper()
	for _, d := range lengths {
		begin := time.Now()
		c.Wait(d)
		if took := time.Since(begin); took < d {
			t.Errorf("Wait(%v) returned after %v", d, took)
		}
	}
}

// TestWait: no Wait of an open, a zero or a closed Clock returns early.
func TestWait(t *testing.T) {
	t.Run("open", func(t *testing.T) {
		c := tick.New()
		defer c.Close()
		checkWaits(t, c)
		checkWaits(t, c)
	})
	t.Run("zero", func(t *testing.T) {
		c := new(tick.Clock)
		defer c.Close()
		checkWaits(t, c)
	})
	t.Run("closed", func(t *testing.T) {
		c := tick.New()
		c.Wait(1)
		c.Close()
		checkWaits(t, c)
		c.Close()
	})
}

// TestManyClocks: clocks of concurrent goroutines are independent.
func TestManyClocks(t *testing.T) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c := tick.New()
			defer c.Close()
			checkWaits(t, c)
		})
	}
	wg.Wait()
}

// files returns how many files the process has open.
func files(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestCloseReleases: Close closes the file of a Clock without the garbage collector, and no
// goroutine remains.
func TestCloseReleases(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	tick.New().Close() // the poller may need files of its own
	goroutines, before := runtime.NumGoroutine(), files(t)
	open := tick.New()
	open.Wait(1)
	if files(t) <= before {
		t.Log("clocks of this system have no file")
	}
	open.Close()
	for range 100 {
		c := tick.New()
		c.Wait(time.Microsecond)
		c.Close()
	}
	if after := files(t); after > before {
		t.Errorf("%d files are open, want %d as before", after, before)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines run, want %d as before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// TestWaitDoesNotAllocate: a Wait allocates no memory.
func TestWaitDoesNotAllocate(t *testing.T) {
	for name, c := range map[string]*tick.Clock{"clock": tick.New(), "zero": new(tick.Clock)} {
		c.Wait(1) // the first Wait may allocate a timer
		if n := testing.AllocsPerRun(100, func() { c.Wait(time.Microsecond) }); n != 0 {
			t.Errorf("%s: %v allocations in a Wait", name, n)
		}
		c.Close()
	}
}
