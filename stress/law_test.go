package stress_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/stress"
)

// lawRecord is a T that keeps what it is told.
type lawRecord struct{ logs, errors []string }

func (r *lawRecord) Helper()                   {}
func (r *lawRecord) Failed() bool              { return len(r.errors) > 0 }
func (r *lawRecord) Logf(f string, a ...any)   { r.logs = append(r.logs, fmt.Sprintf(f, a...)) }
func (r *lawRecord) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }

// lawStuck are the failures that a law sees only when its deadline has passed.
var lawStuck = map[string]bool{
	"the queue is stuck":                            true,
	"tasks scheduled from outside run":              true,
	"tasks scheduled by each other run":             true,
	"refused by a scheduler that was not shut down": true,
	"in Blocking run":                               true,
	"Waits outside of the scheduler have not ended": true,
	"Waits inside of tasks have not ended":          true,
	"Waits have not ended":                          true,
	"calls have not ended":                          true,
	"a free lane does not start calls":              true,
	"nested calls have not ended":                   true,
	"calls and pings have not ended":                true,
	"aborted calls have not ended":                  true,
	"a handler was not told":                        true,
	"slots for aborts have not come back":           true,
	"have not ended":                                true,
	"a full lane makes its caller wait":             true,
	"calls have not ended with their lanes":         true,
}

// wantBroken checks that a law is broken, once, in the way that want names, and
// that the message says how to repeat it.
func wantBroken(t *testing.T, law, want string, check func(stress.T, stress.Options)) {
	t.Helper()
	o := stress.Options{Seed: 7, Operations: 4_000}
	if lawStuck[want] {
		o.Deadline = time.Second / 2
	}
	var r lawRecord
	check(&r, o)
	if len(r.errors) != 1 {
		t.Fatalf("got %d failures %q, want one", len(r.errors), r.errors)
	}
	for _, part := range []string{fmt.Sprintf("law %q", law), want, fmt.Sprintf("repeat with Options{Seed: %d}", o.Seed)} {
		if !strings.Contains(r.errors[0], part) {
			t.Errorf("got %q, want %q in it", r.errors[0], part)
		}
	}
	t.Log(r.errors[0])
}
