package interleave_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestCrashOfAbsentThreadIsMisuse: if no thread has the name in Options.Crash and no
// execution was left out, no part of the result is complete.
func TestCrashOfAbsentThreadIsMisuse(t *testing.T) {
	for _, preemptions := range []int{0, 10, interleave.All} {
		r := interleave.Explore(interleave.Options{Preemptions: preemptions, Crash: "absent"}, independent(2))
		wantFailure(t, r, interleave.Misuse, "executions has the name in Options.Crash: absent")
		for _, s := range r.Searches {
			if s.Complete || r.Complete {
				t.Errorf("preemptions=%d: the search %v is complete", preemptions, s)
			}
		}
	}
}

// TestCrashBeyondBoundIsAssumed: a thread that only executions beyond the bound make may be
// the one of Options.Crash. The result then says that no thread had the name.
func TestCrashBeyondBoundIsAssumed(t *testing.T) {
	afterPreemption := func(m *interleave.M) {
		var began, seen interleave.Bool
		m.Go("a", func() {
			began.Store(true)
			began.Store(false)
		})
		m.Go("b", func() {
			if began.Load() {
				interleave.Go("late", func() { seen.Store(true) })
			}
		})
	}
	afterRounds := func(m *interleave.M) {
		var never interleave.Bool
		m.GoDaemon("poller", func() {
			for rounds := 0; !never.Load(); rounds++ {
				if rounds == 2 {
					interleave.Go("late", func() { never.Load() })
				}
				interleave.Yield()
			}
		})
	}
	afterTimeout := func(m *interleave.M) {
		var s interleave.Sema
		s.Init(1)
		m.GoDaemon("waits", func() {
			if !s.WaitFor(time.Millisecond) {
				interleave.Go("late", func() { s.TryWait() })
			}
		})
	}
	for _, tc := range []struct {
		name    string
		options interleave.Options
		body    func(m *interleave.M)
		assumes string // of the result
		lines   string // the searches, as complete and what they assume
	}{
		{"below the bound", interleave.Options{Preemptions: interleave.None}, afterPreemption, "crash=absent", "true crash=absent"},
		{"within the bound", interleave.Options{Preemptions: 1}, afterPreemption, "", "true "},
		{"deepens", interleave.Options{}, afterPreemption, "", "true crash=absent, true "},
		{"deepens and is cut at bound 1", interleave.Options{Executions: 3}, afterPreemption, "crash=absent", "true crash=absent, false crash=absent"},
		{"beyond the rounds", interleave.Options{Preemptions: interleave.All}, afterRounds, "rounds=1 crash=absent", "true rounds=1 crash=absent"},
		{"within the rounds", interleave.Options{Preemptions: interleave.All, Rounds: 2}, afterRounds, "rounds=2", "true rounds=2"},
		{"without timeouts", interleave.Options{Preemptions: interleave.All}, afterTimeout, "timeouts=off crash=absent", "true timeouts=off crash=absent"},
		{"with timeouts", interleave.Options{Preemptions: interleave.All, Timeouts: true}, afterTimeout, "", "true "},
		{"one execution", interleave.Options{Preemptions: interleave.All, Executions: 1}, afterPreemption, "crash=absent", "false crash=absent"},
		{"drawn", interleave.Options{Strategy: interleave.PCT, Executions: 1}, independent(2), "crash=absent", "false crash=absent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.options.Crash = "late"
			r := interleave.Explore(tc.options, tc.body)
			if r.Failure != nil {
				t.Fatal(r.Failure)
			}
			if got := strings.Join(r.Assumes, " "); got != tc.assumes {
				t.Errorf("the result assumes %q, want %q", got, tc.assumes)
			}
			var lines []string
			for _, s := range r.Searches {
				lines = append(lines, strconv.FormatBool(s.Complete)+" "+strings.Join(s.Assumes, " "))
			}
			if got := strings.Join(lines, ", "); got != tc.lines {
				t.Errorf("the searches are %q, want %q", got, tc.lines)
			}
		})
	}
}

// TestCrashAfterCutSearchIsAssumed: a search that ends by its Budget has left out executions.
// That no thread had the name in Options.Crash is then no misuse, also if a lower bound is
// complete and if the search ends with PCT.
func TestCrashAfterCutSearchIsAssumed(t *testing.T) {
	o := interleave.Options{Crash: "absent", Budget: 200 * time.Millisecond}
	f, r, _ := check(t, "large", o, throttleProgram(throttleBugs{}, 3, 3, 0))
	if len(f.errors) != 0 {
		t.Fatal(f.errors)
	}
	for _, s := range r.Searches {
		if !slices.Equal(s.Assumes, []string{"crash=absent"}) {
			t.Errorf("the search %v does not assume crash=absent only", s)
		}
	}
	if r.Complete && r.Preemptions == interleave.All {
		t.Errorf("the program is too small for this test: %v", r.Searches)
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
