package park_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/park"
)

// TestOnceRunsOnce checks that one of several concurrent calls of Do calls its function.
// All of them return after that call.
func TestOnceRunsOnce(t *testing.T) {
	const goroutines = 8
	rounds := 2_000
	if testing.Short() {
		rounds = 200
	}
	for range rounds {
		var o park.Once
		var ready, done sync.WaitGroup
		calls := 0 // E1, E2: plain memory
		ready.Add(goroutines)
		for range goroutines {
			done.Go(func() {
				ready.Done()
				ready.Wait()
				o.Do(func() { calls++ })
				if calls != 1 {
					t.Errorf("Do has returned after %d calls, want 1", calls)
				}
			})
		}
		done.Wait()
	}
}

// TestOnceCountsBrokenCalls checks that a function that panics or calls Goexit counts as
// called. The panic reaches the caller of Do.
func TestOnceCountsBrokenCalls(t *testing.T) {
	for name, f := range map[string]func(){
		"return": func() {},
		"panic":  func() { panic(t) },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var o park.Once
			calls, returned := 0, false
			var panicked any
			var first sync.WaitGroup
			first.Go(func() {
				defer func() { panicked = recover() }()
				o.Do(func() { calls++; f() })
				returned = true
			})
			first.Wait()
			if returned != (name == "return") || (panicked != nil) != (name == "panic") {
				t.Errorf("Do returned: %t, and panicked with %v", returned, panicked)
			}
			o.Do(func() { calls++ })
			if calls != 1 {
				t.Errorf("%d calls, want 1", calls)
			}
		})
	}
}

// TestMutexOfPark checks that a Mutex excludes goroutines. TryLock fails while one holds
// it.
func TestMutexOfPark(t *testing.T) {
	var mu park.Mutex
	mu.Lock()
	if mu.TryLock() {
		t.Fatal("TryLock has locked a Mutex twice")
	}
	mu.Unlock()
	n := 0
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1_000 {
				for !mu.TryLock() {
					park.Yield()
				}
				n++
				mu.Unlock()
				park.Pause()
			}
		})
	}
	all.Wait()
	if n != 4_000 {
		t.Errorf("counted %d, want 4000", n)
	}
}
