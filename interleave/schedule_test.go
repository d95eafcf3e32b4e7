package interleave_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestReplayRepeatsFailure: the schedule of a failure gives the same failure with
// both backends.
func TestReplayRepeatsFailure(t *testing.T) {
	programs := map[string]func(m *interleave.M){
		"stack":    stackProgram(true),
		"mpsc":     mpscProgram(mpscBugs{lateCache: true}, 2),
		"mailbox":  mailboxProgram(mailboxBugs{lateSignal: true}, 1, 2),
		"throttle": throttleProgram(throttleBugs{closedLatch: true}, 2, 2, 1),
	}
	for name, prog := range programs {
		t.Run(name, func(t *testing.T) {
			for _, o := range []interleave.Options{bound2, random, pct3} {
				f := interleave.Explore(o, prog).Failure
				if f == nil {
					t.Fatal("no failure to replay")
				}
				if strings.Contains(f.Message, "second run") || f.Trace == "" {
					t.Errorf("the failure has no trace: %v", f)
				}
				for _, backend := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
					r := interleave.Explore(interleave.Options{Replay: f.Schedule, Backend: backend}, prog)
					g := r.Failure
					if g == nil || r.Executions != 1 {
						t.Fatalf("%v: the replay of %s ran %d executions and failed with %v", backend, f.Schedule, r.Executions, g)
					}
					if g.Kind != f.Kind || g.Message != f.Message || g.Schedule != f.Schedule || g.Trace != f.Trace {
						t.Errorf("%v: the replay of\n%v\nis\n%v", backend, f, g)
					}
				}
			}
		})
	}
}

// TestReplayRefusesForeignSchedule: a schedule that is malformed or does not fit the
// program is a misuse, and the message names its first wrong entry.
func TestReplayRefusesForeignSchedule(t *testing.T) {
	prog := func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1); interleave.Choose(2); x.Add(1) })
	}
	for _, tc := range []struct{ schedule, text string }{
		{"1", "entry 1"},
		{"0,0", "entry 2"},
		{"0,v2", "entry 2"},
		{"0,v1,0,0", "entry 4: the execution has ended"},
		{"0,v1,1k", "entry 3"},
		{"x", "no valid count"},
		{"0x0", "count"},
		{"0x99999999999", "count"},
		{"64", "not a choice"},
		{"v-1", "not a choice"},
	} {
		wantFailure(t, interleave.Explore(interleave.Options{Replay: tc.schedule}, prog), interleave.Misuse, tc.text)
	}
	if r := interleave.Explore(interleave.Options{Replay: "0,v1,0"}, prog); r.Failure != nil || r.Executions != 1 || r.Complete {
		t.Errorf("got %+v, want one execution without a failure", r)
	}
}

// TestReplayIncludesFinal: a schedule has the results of Choose in Final functions,
// and a schedule with more results than calls is refused.
func TestReplayIncludesFinal(t *testing.T) {
	prog := func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1) })
		m.Final(func() {
			if interleave.Choose(3) == 2 {
				m.Fatalf("two")
			}
		})
	}
	r := interleave.Explore(bound0, prog)
	wantFailure(t, r, interleave.Failed, "two")
	if f := r.Failure; f.Message != "two" || f.Schedule != "0,v2" || !strings.Contains(f.Trace, "Choose(3) = 2") {
		t.Errorf("got %v", f)
	}
	for schedule, kind := range map[string]interleave.Kind{"0,v2": interleave.Failed, "0,v1": "", "0": "", "0,v1,v1": interleave.Misuse} {
		r := interleave.Explore(interleave.Options{Replay: schedule}, prog)
		switch {
		case kind == "" && r.Failure != nil, kind != "" && (r.Failure == nil || r.Failure.Kind != kind):
			t.Errorf("the replay of %s gave %v, want %q", schedule, r.Failure, kind)
		}
	}
}

// TestScheduleSurvivesParseAndFormat: formatting a parsed schedule gives the same
// text, with repeated steps joined.
func TestScheduleSurvivesParseAndFormat(t *testing.T) {
	for _, s := range []string{"-", "0", "0,1,0", "0x3,1,v2,v2,v0,3k,63x12"} {
		if got, err := interleave.FormatSchedule(s); got != s || err != nil {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	}
	if got, err := interleave.FormatSchedule("0,0,0x2,1"); got != "0x4,1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
