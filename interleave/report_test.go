package interleave_test

import (
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
