package interleave_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestInvalidOptionsAreMisuse: invalid options run no execution and fail as a misuse
// that names the field. A nested exploration and a nil function panic.
func TestInvalidOptionsAreMisuse(t *testing.T) {
	body := func(m *interleave.M) { m.Go("t", func() {}) }
	for _, tc := range []struct {
		o    interleave.Options
		text string
	}{
		{interleave.Options{Strategy: 9}, "Strategy"},
		{interleave.Options{Backend: 9}, "Backend"},
		{interleave.Options{Preemptions: -3}, "Preemptions"},
		{interleave.Options{Rounds: -1}, "Rounds"},
		{interleave.Options{Rounds: -3}, "Rounds"},
		{interleave.Options{Executions: -1}, "Executions"},
		{interleave.Options{Depth: -1}, "Depth"},
		{interleave.Options{MaxSteps: -1}, "MaxSteps"},
		{interleave.Options{MaxSteps: 1 << 23}, "MaxSteps"},
		{interleave.Options{Budget: -1}, "Budget"},
		{interleave.Options{Reduce: true, Preemptions: interleave.None}, "bound"},
		{interleave.Options{Reduce: true, Preemptions: 2}, "bound"},
		{interleave.Options{Reduce: true, Preemptions: interleave.All, Strategy: interleave.PCT}, "DFS"},
		{interleave.Options{Reduce: true, Preemptions: interleave.All, Timeouts: true}, "Timeouts"},
	} {
		r := interleave.Explore(tc.o, body)
		wantFailure(t, r, interleave.Misuse, tc.text)
		if r.Executions != 0 || r.Complete {
			t.Errorf("%+v: got %+v, want no execution", tc.o, r)
		}
	}
	r := interleave.Explore(bound0, func(m *interleave.M) {
		m.Go("t", func() { interleave.Explore(bound0, body) })
	})
	wantFailure(t, r, interleave.Panic, "inside an exploration")
	r = interleave.Explore(bound0, func(m *interleave.M) { m.Go("t", nil) })
	wantFailure(t, r, interleave.Panic, "nil function")
	r = interleave.Explore(bound0, func(m *interleave.M) { m.Final(func() { m.Go("late", func() {}) }) })
	wantFailure(t, r, interleave.Panic, "Final")
}
