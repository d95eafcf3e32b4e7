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

// lengths are the waits of the tests. What is negative or zero has passed already.
var lengths = []time.Duration{-1, 0, 1, time.Microsecond, 25 * time.Microsecond, 100 * time.Microsecond, time.Millisecond, 12 * time.Millisecond}

// waits checks that no Wait of c returns early. When it returns at the latest, is
// nothing that a test can know.
func waits(t *testing.T, c *tick.Clock) {
	t.Helper()
	for _, d := range lengths {
		begin := time.Now()
		c.Wait(d)
		if took := time.Since(begin); took < d {
			t.Errorf("Wait(%v) has returned after %v", d, took)
		}
	}
}

// TestWait: a Wait lasts, with each kind of clock, and after another one.
func TestWait(t *testing.T) {
	t.Run("of a clock", func(t *testing.T) {
		c := tick.New()
		defer c.Close()
		waits(t, c)
		waits(t, c)
	})
	t.Run("of none", func(t *testing.T) {
		c := new(tick.Clock)
		defer c.Close()
		waits(t, c)
	})
	t.Run("of a closed clock", func(t *testing.T) {
		c := tick.New()
		c.Wait(1)
		c.Close()
		waits(t, c)
		c.Close()
	})
}

// TestManyClocks: clocks of many goroutines do not affect each other.
func TestManyClocks(t *testing.T) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c := tick.New()
			defer c.Close()
			waits(t, c)
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

// TestNothingIsLeft: a closed clock leaves neither a file nor a goroutine, and that is
// not the merit of the garbage collector.
func TestNothingIsLeft(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	tick.New().Close() // the poller may need files of its own
	goroutines, before := runtime.NumGoroutine(), files(t)
	open := tick.New()
	open.Wait(1)
	if files(t) <= before {
		t.Log("a clock has no file here")
	}
	open.Close()
	for range 100 {
		c := tick.New()
		c.Wait(time.Microsecond)
		c.Close()
	}
	if after := files(t); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines run, %d did before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// TestWaitAllocates checks that it does not.
func TestWaitAllocates(t *testing.T) {
	for name, c := range map[string]*tick.Clock{"clock": tick.New(), "none": new(tick.Clock)} {
		c.Wait(1) // may make what it needs
		if n := testing.AllocsPerRun(100, func() { c.Wait(time.Microsecond) }); n != 0 {
			t.Errorf("%s: %v allocations in a Wait", name, n)
		}
		c.Close()
	}
}
