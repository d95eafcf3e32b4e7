package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// recorder is a T that records its texts.
type recorder struct{ logs, errors []string }

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Logf(f string, a ...any)   { r.logs = append(r.logs, fmt.Sprintf(f, a...)) }
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }

// TestFirstViolationIsReported checks that a run reports one violation, the one that was
// recorded first, and then generates no further shape.
func TestFirstViolationIsReported(t *testing.T) {
	var rec recorder
	r := harness.New(&rec, "order", "queue", harness.Options{Seed: 7})
	shapes := 0
	r.EachShape(func(int) {
		shapes++
		r.Shape = "small"
		r.Record("value %d", 1)
		r.Record("value 2")
		r.Failf("a consequence")
		r.Failf("another one")
	})
	want := `queue: law "order": value 1; small; repeat with Options{Seed: 7}`
	if shapes != 1 || len(rec.errors) != 1 || rec.errors[0] != want {
		t.Errorf("%d shapes, reported %q, want %q", shapes, rec.errors, want)
	}
}

// TestRecordedViolationFails checks that a recorded violation is reported when the shape
// ends.
func TestRecordedViolationFails(t *testing.T) {
	var rec recorder
	r := harness.New(&rec, "order", "queue", harness.Options{})
	r.EachShape(func(int) { r.Record("lost") })
	if !r.Failed() || len(rec.errors) != 1 || !strings.Contains(rec.errors[0], "lost") {
		t.Errorf("reported %q", rec.errors)
	}
}

// TestSkippedLaw checks that a skipped law generates one shape and reports no violation.
func TestSkippedLaw(t *testing.T) {
	var rec recorder
	r := harness.New(&rec, "order", "queue", harness.Options{})
	shapes := 0
	r.EachShape(func(int) { shapes++; r.Skipf("no order") })
	want := []string{`queue: law "order": skipped: no order`}
	if shapes != 1 || rec.Failed() || !slices.Equal(rec.logs, want) {
		t.Errorf("%d shapes, logged %q, reported %q, want %q", shapes, rec.logs, rec.errors, want)
	}
}

// TestDeadline checks that a wait over the deadline is a violation, and that it ends the
// goroutines which the law holds.
func TestDeadline(t *testing.T) {
	var rec recorder
	r := harness.New(&rec, "waits", "scheduler", harness.Options{Deadline: time.Millisecond})
	held := harness.Start(func() { r.Hold(nil) })
	if r.Await(held, func() string { return "one goroutine waits" }) || !r.IsExpired() || len(rec.errors) != 1 {
		t.Errorf("expired %v, reported %q", r.IsExpired(), rec.errors)
	}
	<-held
}

// TestSeedRepeats checks that a law generates the same numbers for the same seed, and
// that another law generates others.
func TestSeedRepeats(t *testing.T) {
	draw := func(law string) (list []int) {
		r := harness.New(&recorder{}, law, "queue", harness.Options{Seed: 7})
		for range 4 {
			list = append(list, r.Between(1, 1<<20), r.Split().IntN(1<<20))
		}
		return list
	}
	if a, b, c := draw("once"), draw("once"), draw("lost"); !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("generated %v, %v and %v", a, b, c)
	}
}

// TestDivide checks that the parts cover the range once, in at most the given number of
// parts of about the same length.
func TestDivide(t *testing.T) {
	for _, tc := range []struct {
		name      string
		n, parts  int
		most, min int // parts, and their shortest length
	}{
		{"even", 12, 4, 4, 3},
		{"uneven", 10, 4, 4, 2},
		{"more parts than numbers", 3, 8, 3, 1},
		{"one part", 5, 1, 1, 5},
		{"empty", 0, 4, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			next, parts := 0, 0
			harness.Divide(0, tc.n, tc.parts, func(lo, hi int) {
				if lo != next || hi-lo < tc.min {
					t.Errorf("part [%d, %d) follows %d, want at least %d numbers", lo, hi, next, tc.min)
				}
				next = hi
				parts++
			})
			if next != tc.n || parts != tc.most {
				t.Errorf("%d parts end at %d, want %d at %d", parts, next, tc.most, tc.n)
			}
		})
	}
}
