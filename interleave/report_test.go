package interleave_test

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestLongTraceIsShortened: the text of a failure leaves out the middle of a long
// trace. Failure.Trace has all of it.
func TestLongTraceIsShortened(t *testing.T) {
	r := interleave.Explore(bound0, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("t", func() {
			for {
				x.Add(1)
			}
		})
	})
	wantFailure(t, r, interleave.Livelock, "10000 steps")
	text := r.Failure.Error()
	if n := strings.Count(text, "\n"); n > 350 || !strings.Contains(text, "... 9701 lines ...") {
		t.Errorf("the report has %d lines", n)
	}
	if r.Failure.Schedule != "0x10000" || strings.Count(r.Failure.Trace, "\n") != 10_001 {
		t.Errorf("the failure has the schedule %s and %d lines of trace", r.Failure.Schedule, strings.Count(r.Failure.Trace, "\n"))
	}
}

// helperAdd is a wrapper that calls Helper if mark is set.
func helperAdd[T any](n *interleave.Int32, mark bool, _ T) {
	if mark {
		interleave.Helper()
	}
	helperInner(n)
}

// helperInner is a wrapper under another one.
func helperInner(n *interleave.Int32) {
	interleave.Helper()
	n.Add(1)
}

// TestHelperIsLeftOutOfPositions: a report has the position of the call of a helper
// in place of the position in the helper.
func TestHelperIsLeftOutOfPositions(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, mark := range []bool{false, true} {
			line := 0
			r := interleave.Explore(o, func(m *interleave.M) {
				var n interleave.Int32
				var never interleave.Sema
				never.Init(1)
				m.Go("a", func() {
					closure := func() {
						interleave.Helper()
						helperInner(&n)
					}
					_, _, line, _ = runtime.Caller(0)
					helperAdd(&n, mark, "generic")
					closure()
				})
				m.Go("b", never.Wait) // no function of the program is on its stack
			})
			wantFailure(t, r, interleave.Deadlock, "thread b waits in Wait of Sema#")
			var want []string
			for i := 1; i <= 2; i++ {
				want = append(want, fmt.Sprintf("report_test.go:%d", line+i))
			}
			got := regexp.MustCompile(`\w+\.go:\d+`).FindAllString(r.Failure.Message+r.Failure.Trace, -1)
			if same := slices.Equal(got, want); same != mark {
				t.Errorf("mark %t: the positions are %v, want %v: %v", mark, got, want, r.Failure)
			}
		}
	})
}

// TestHelperDoesNothingElsewhere: Helper may be called outside an exploration, in the
// body and in a Final function.
func TestHelperDoesNothingElsewhere(t *testing.T) {
	interleave.Helper()
	r := interleave.Explore(bound0, func(m *interleave.M) {
		interleave.Helper()
		m.Final(func() {
			interleave.Helper()
			m.Fatalf("the end")
		})
	})
	wantFailure(t, r, interleave.Failed, "the end")
}

// TestTraceHasOneColumnForEachThread: each event of a trace is in the column of its
// thread, and the first step after a switch is marked. The mark of a preemption is
// different from that of a switch at a Yield, a wait or an end. When there is no room
// for the names in one line, each name has a line of its own.
func TestTraceHasOneColumnForEachThread(t *testing.T) {
	one := func(m *interleave.M) {
		var x interleave.Int32
		var s interleave.Sema
		var c interleave.Cell[int]
		m.Name(&x, "x")
		m.Name(&s, "s")
		m.Name(&c, "c")
		s.Init(1)
		interleave.Choose(2)
		m.Go("left", func() {
			x.Load()
			x.Load()
			s.Wait()
			c.Get()
		})
		m.Go("crashing", func() { x.Store(7); x.Store(8) })
		m.Go("right", func() {
			x.Add(1)
			interleave.Choose(3)
			c.Set(3)
			s.Post()
		})
		m.GoDaemon("no event", s.Wait)
		m.Final(func() {
			interleave.Choose(2)
			m.Fatalf("the end")
		})
	}
	many := func(m *interleave.M) {
		var x interleave.Int32
		m.Name(&x, "x")
		for range 8 {
			m.Go("worker", func() { x.Add(1) })
		}
		m.Final(func() { m.Fatalf("the end") })
	}
	for _, tc := range []struct {
		o    interleave.Options
		prog func(m *interleave.M)
		want string
	}{
		{interleave.Options{Replay: "v1,0,2,v2,1,1k,0,2,0,v1", Crash: "crashing"}, one, `
    step  position            -              left(0)       crashing(1)  right(2)
          report_test.go:000  Choose(2) = 1
       1  report_test.go:000  |              x.Load() = 0
>>     2  report_test.go:000  |              |             |            x.Add(1) = 1
          report_test.go:000  |              |             |            Choose(3) = 2
          report_test.go:000  |              |             |            c.Set()
>>     3  report_test.go:000  |              |             x.Store(7)
          report_test.go:000  |              |             crashes
 >     4  report_test.go:000  |              x.Load() = 7
 >     5  report_test.go:000  |              |             |            s.Post() = true
 >     6  report_test.go:000  |              s.Wait()
          report_test.go:000  |              c.Get()
          report_test.go:000  Choose(2) = 1
`},
		{interleave.Options{Replay: "7,6,0"}, many, `
                              worker(0)
                              |     worker(1)
                              |     |     worker(2)
                              |     |     |     worker(3)
                              |     |     |     |     worker(4)
                              |     |     |     |     |     worker(5)
                              |     |     |     |     |     |     worker(6)
    step  position            |     |     |     |     |     |     |     worker(7)
       1  report_test.go:000  |     |     |     |     |     |     |     x.Add(1) = 1
 >     2  report_test.go:000  |     |     |     |     |     |     x.Add(1) = 2
 >     3  report_test.go:000  x.Add(1) = 3
 >     4  report_test.go:000  |     x.Add(1) = 4
 >     5  report_test.go:000  |     |     x.Add(1) = 5
 >     6  report_test.go:000  |     |     |     x.Add(1) = 6
 >     7  report_test.go:000  |     |     |     |     x.Add(1) = 7
 >     8  report_test.go:000  |     |     |     |     |     x.Add(1) = 8
`},
	} {
		f := interleave.Explore(tc.o, tc.prog).Failure
		if f == nil {
			t.Fatal("no failure")
		}
		got := "\n" + regexp.MustCompile(`\.go:\d+`).ReplaceAllString(f.Trace, ".go:000")
		if got != tc.want || f.Message != "the end" {
			t.Errorf("got %v\n%s\nwant%s", f, got, tc.want)
		}
	}
}

// TestPreemptionsAreCounted: the number of preemptions in a failure is that of the
// switches away from a thread that could continue, also for a replay. Switches at the
// end of a thread, at a wait without a token and at a Yield do not count.
func TestPreemptionsAreCounted(t *testing.T) {
	adds := func(m *interleave.M) {
		var x interleave.Int32
		for range 2 {
			m.Go("t", func() { x.Add(1); x.Add(1) })
		}
		m.Final(func() { m.Fatalf("the end") })
	}
	waits := func(m *interleave.M) {
		var s, r interleave.Sema
		s.Init(1)
		r.Init(1)
		m.Go("t", func() { s.Wait(); r.Post() })
		m.Go("u", func() { s.Post(); r.Wait() })
		m.Final(func() { m.Fatalf("the end") })
	}
	yields := func(m *interleave.M) {
		var x interleave.Int32
		for range 2 {
			m.Go("t", func() { x.Add(1); interleave.Yield(); x.Add(1) })
		}
		m.Final(func() { m.Fatalf("the end") })
	}
	for _, tc := range []struct {
		prog     func(m *interleave.M)
		schedule string
		want     int
	}{
		{adds, "0x2,1x2", 0},
		{adds, "0,1x2,0", 1},
		{adds, "0,1,0,1", 2},
		{waits, "1,0x2,1", 0},
		{yields, "0,1,0x2,1x2", 0},
		{yields, "0,1", 0},
	} {
		f := interleave.Explore(interleave.Options{Replay: tc.schedule}, tc.prog).Failure
		if f == nil || f.Message != "the end" || f.Preemptions != tc.want {
			t.Errorf("%s: got %v, want %d preemptions", tc.schedule, f, tc.want)
		}
	}
}

// TestPreemptionsOfEachStrategy: a failure has as many preemptions as marks in its
// trace, as its replay, and at most as many as the bound.
func TestPreemptionsOfEachStrategy(t *testing.T) {
	for _, prog := range []func(m *interleave.M){
		stackProgram(true),
		mpscProgram(mpscBugs{lateCache: true}, 2),
		mailboxProgram(mailboxBugs{lateSignal: true}, 1, 2),
		throttleProgram(throttleBugs{closedLatch: true}, 2, 2, 1),
	} {
		for name, o := range optName {
			o.Executions = 5_000
			f := interleave.Explore(o, prog).Failure
			if f == nil || f.Kind == interleave.Misuse {
				continue
			}
			again := interleave.Explore(interleave.Options{Replay: f.Schedule}, prog).Failure
			marks := strings.Count(f.Trace, ">> ")
			if f.Preemptions != marks || again == nil || again.Preemptions != marks {
				t.Errorf("%s: the failure\n%v\nhas %d preemptions and the replay\n%v", name, f, f.Preemptions, again)
			}
			if o.Strategy == interleave.DFS && o.Preemptions != interleave.All && f.Preemptions > max(o.Preemptions, 0) {
				t.Errorf("%s: the failure has %d preemptions", name, f.Preemptions)
			}
		}
	}
}
