package interleave_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestCrashBeforeEachStep: with Options.Crash a depth-first search stops the thread
// before each of its steps once. In one execution the thread does not crash.
func TestCrashBeforeEachStep(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Crash = "victim"
		ended := map[int]int{}
		crashes := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var x interleave.Int32
			m.Go("victim", func() {
				for range 3 {
					x.Add(1)
				}
			})
			m.Final(func() {
				ended[int(x.Load())]++
				if m.Crashed() {
					crashes++
				}
			})
		})
		wantComplete(t, r)
		if r.Executions != 4 || crashes != 3 || !maps.Equal(ended, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}) {
			t.Errorf("%d executions, %d crashes, steps taken %v", r.Executions, crashes, ended)
		}
	})
}

// TestCrashOfAbsentThreadIsMisuse: if no thread has the name in Options.Crash in any
// execution, no part of the result is complete.
func TestCrashOfAbsentThreadIsMisuse(t *testing.T) {
	for _, preemptions := range []int{0, interleave.None, interleave.All} {
		r := interleave.Explore(interleave.Options{Preemptions: preemptions, Crash: "absent"}, independent(2))
		wantFailure(t, r, interleave.Misuse, "executions has the name in Options.Crash: absent")
		for _, s := range r.Searches {
			if s.Complete || r.Complete {
				t.Errorf("preemptions=%d: the search %v is complete", preemptions, s)
			}
		}
	}
}

// TestCrashBlocksLocksOnly: when a thread crashes, the others complete with a
// lock-free counter, and deadlock with a lock.
func TestCrashBlocksLocksOnly(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Crash = "victim"
		r := interleave.Explore(o, func(m *interleave.M) {
			var x interleave.Int32
			add := func() {
				for {
					v := x.Load()
					if x.CompareAndSwap(v, v+1) {
						return
					}
				}
			}
			m.Go("victim", add)
			m.Go("other", add)
			m.Final(func() {
				if n := x.Load(); n != 2 && !m.Crashed() || n < 1 || n > 2 {
					m.Fatalf("counted %d", n)
				}
			})
		})
		wantComplete(t, r)
		locked := func(m *interleave.M) {
			var lock interleave.Sema
			lock.Init(1)
			lock.Post()
			var x interleave.Int32
			add := func() {
				lock.Wait()
				x.Add(1)
				lock.Post()
			}
			m.Go("victim", add)
			m.Go("other", add)
		}
		r = interleave.Explore(o, locked)
		wantFailure(t, r, interleave.Deadlock, "thread other waits in Wait of Sema#0 at crash_test.go:")
		wantFailure(t, r, interleave.Deadlock, "; thread victim has crashed")
		schedule := r.Failure.Schedule
		if !strings.Contains(schedule, "0k") {
			t.Errorf("the schedule %s has no crash", schedule)
		}
		replay := o
		replay.Replay = schedule
		wantFailure(t, interleave.Explore(replay, locked), interleave.Deadlock, "has crashed")
		for _, s := range []interleave.Strategy{interleave.PCT, interleave.Random} {
			o := o
			o.Strategy = s
			wantFailure(t, interleave.Explore(o, locked), interleave.Deadlock, "has crashed")
		}
		o.Reduce = true
		wantFailure(t, interleave.Explore(o, locked), interleave.Deadlock, "has crashed")
		o.Reduce = false
		o.Crash = "absent"
		wantFailure(t, interleave.Explore(o, func(m *interleave.M) { m.Go("present", func() {}) }), interleave.Misuse, "absent")
	})
}
