package interleave_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// spinLock is a lock that waits with Yield.
type spinLock struct{ word interleave.Uint32 }

func (l *spinLock) lock() {
	for !l.word.CompareAndSwap(0, 1) {
		interleave.Yield()
	}
}

func (l *spinLock) unlock() { l.word.Store(0) }

// TestYieldLetsSpinLocksComplete: the search of a program whose spin lock yields is
// complete, also when several threads yield to each other.
func TestYieldLetsSpinLocksComplete(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, bound := range []int{interleave.None, 1, 2} {
			for threads := 2; threads <= 3; threads++ {
				o.Preemptions = bound
				r := interleave.Explore(o, func(m *interleave.M) {
					var l spinLock
					var x interleave.Cell[int]
					for range threads {
						m.Go("t", func() {
							l.lock()
							x.Set(x.Get() + 1)
							l.unlock()
						})
					}
					m.Final(func() {
						if x.Get() != threads {
							m.Fatalf("counted %d", x.Get())
						}
					})
				})
				wantComplete(t, r)
				t.Logf("%d threads, %d preemptions: %d executions", threads, bound, r.Executions)
			}
		}
	})
}

// TestYieldIsNoPreemption: a search with 0 preemptions finds an order that needs two
// switches away from threads that could continue, both at a Yield.
func TestYieldIsNoPreemption(t *testing.T) {
	seen := map[string]int{}
	o := interleave.Options{Preemptions: interleave.None, Rounds: interleave.None}
	r := interleave.Explore(o, func(m *interleave.M) {
		var x interleave.Int32
		order := ""
		for _, name := range []string{"a", "b"} {
			m.Go(name, func() {
				x.Add(1)
				order += name
				interleave.Yield()
				x.Add(1)
				order += name
			})
		}
		m.Final(func() { seen[order]++ })
	})
	wantComplete(t, r)
	if seen["abab"] == 0 || seen["baba"] == 0 || seen["aabb"] != 0 {
		t.Errorf("got the orders %v", seen)
	}
}

// TestTooManyStepsAreLivelock: an execution with more than Options.MaxSteps steps
// fails as a livelock, and so does its replay.
func TestTooManyStepsAreLivelock(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.MaxSteps = 100
		prog := func(m *interleave.M) {
			var x interleave.Int32
			m.Go("t", func() {
				for {
					x.Add(1)
				}
			})
		}
		r := interleave.Explore(o, prog)
		wantFailure(t, r, interleave.Livelock, "100 steps")
		o.Replay = r.Failure.Schedule
		wantFailure(t, interleave.Explore(o, prog), interleave.Livelock, "100 steps")
	})
}

// TestLivelockAfterYieldIsReplayed: an execution fails as a livelock after exactly
// Options.MaxSteps steps, also if the last one of them is a Yield. Its replay fails in the
// same way.
func TestLivelockAfterYieldIsReplayed(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for steps := 100; steps < 106; steps++ {
			o.MaxSteps, o.Replay = steps, ""
			prog := func(m *interleave.M) {
				var x interleave.Int32
				for range 2 { // each wakes the other
					m.Go("t", func() {
						for {
							x.Add(1)
							interleave.Yield()
						}
					})
				}
			}
			r := interleave.Explore(o, prog)
			wantFailure(t, r, interleave.Livelock, "livelock: the execution has not ended after "+strconv.Itoa(steps)+" steps")
			if strings.Contains(r.Failure.Message, "different") {
				t.Errorf("%d steps: got %q", steps, r.Failure.Message)
			}
			o.Replay = r.Failure.Schedule
			wantFailure(t, interleave.Explore(o, prog), interleave.Livelock, strconv.Itoa(steps)+" steps")
		}
	})
}
