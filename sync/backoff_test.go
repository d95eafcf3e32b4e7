package sync_test

import (
	"runtime"
	"testing"

	"pgregory.net/rapid"

	lfsync "github.com/lanewright/lanewright/sync"
)

// TestBackoffModel checks that a Backoff behaves as a count of rounds does.
func TestBackoffModel(t *testing.T) {
	lfsync.ForgetProcessors()
	all := lfsync.YieldRounds
	if runtime.GOMAXPROCS(0) > 1 {
		all += lfsync.SpinRounds
	}
	rapid.Check(t, func(t *rapid.T) {
		var b lfsync.Backoff
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"next": func(t *rapid.T) {
				if got, want := b.Next(), n < all; got != want {
					t.Fatalf("Next = %v after %d of %d rounds", got, n, all)
				}
				n = min(n+1, all)
			},
			"reset": func(*rapid.T) { b.Reset(); n = 0 },
		})
	})
}

// TestBackoffOneProcessor checks that a Backoff does not spin when the program has one
// processor. V-17a.
func TestBackoffOneProcessor(t *testing.T) {
	defer lfsync.ForgetProcessors()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	lfsync.ForgetProcessors()
	var b lfsync.Backoff
	for i := range lfsync.YieldRounds {
		if !b.Next() {
			t.Fatalf("Next = false after %d rounds, want %d of them", i, lfsync.YieldRounds)
		}
		if got, want := lfsync.Round(&b), lfsync.SpinRounds+i+1; got != want {
			t.Fatalf("round %d is %d, want %d: the Backoff spun", i, got, want)
		}
	}
	if b.Next() {
		t.Error("Next = true when all rounds are used up")
	}
}

// TestBackoffReloadsProcessors checks that a Backoff that has used all its rounds makes the
// next one load GOMAXPROCS again.
func TestBackoffReloadsProcessors(t *testing.T) {
	if lfsync.SpinRounds == 0 {
		t.Skip("this build does not spin")
	}
	defer lfsync.ForgetProcessors()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	lfsync.ForgetProcessors()
	count := func() (n int) {
		for b := (lfsync.Backoff{}); b.Next(); {
			n++
		}
		return n
	}
	if got := count(); got != lfsync.YieldRounds {
		t.Errorf("%d rounds with one processor, want %d", got, lfsync.YieldRounds)
	}
	runtime.GOMAXPROCS(2)
	if got, want := count(), lfsync.SpinRounds+lfsync.YieldRounds; got != want {
		t.Errorf("%d rounds with two processors, want %d", got, want)
	}
}
