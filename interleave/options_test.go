package interleave_test

import (
	"testing"
	"time"

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

// TestDefaultBudget: a search that deepens takes 10 seconds if Options.Budget is 0, and 1
// second under go test -short. Four fifths of the Budget are for the search, and the rest is
// for PCT. Other searches have no limit, and a Budget that is given stays.
func TestDefaultBudget(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name        string
		o           interleave.Options
		long, short time.Duration
	}{
		{"deepens", interleave.Options{}, 10 * s, s},
		{"deepens with a Budget", interleave.Options{Budget: 30 * s}, 30 * s, 30 * s},
		{"bound 0", interleave.Options{Preemptions: interleave.None}, 0, 0},
		{"bound 2", interleave.Options{Preemptions: 2}, 0, 0},
		{"no bound", interleave.Options{Preemptions: interleave.All}, 0, 0},
		{"reduced", interleave.Options{Reduce: true}, 0, 0},
		{"PCT", interleave.Options{Strategy: interleave.PCT}, 0, 0},
		{"Random", interleave.Options{Strategy: interleave.Random}, 0, 0},
		{"replay", interleave.Options{Replay: "0"}, 0, 0},
	} {
		for short, want := range map[string]time.Duration{"false": tc.long, "true": tc.short} {
			t.Run(tc.name+"/short="+short, func(t *testing.T) {
				setFlag(t, "test.short", short)
				all, search, err := interleave.Budgets(tc.o)
				if err != nil {
					t.Fatal(err)
				}
				if all != want || search != want*4/5 {
					t.Errorf("got %v with %v for the search, want %v with %v", all, search, want, want*4/5)
				}
			})
		}
	}
}
