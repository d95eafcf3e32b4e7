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
	if n := strings.Count(text, "\n"); n > 350 || !strings.Contains(text, "... 9700 lines ...") {
		t.Errorf("the report has %d lines", n)
	}
	if r.Failure.Schedule != "0x10000" || strings.Count(r.Failure.Trace, "\n") != 10_000 {
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
