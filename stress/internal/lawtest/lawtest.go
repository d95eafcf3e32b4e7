package lawtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

var seed = flag.Uint64("stress.seed", 0, "seed of the laws; 0 generates one for each")

// Keeps checks that an implementation keeps a law. 0 operations means the default.
// Under -short a law uses 2,000 operations.
func Keeps(t *testing.T, operations int, check func(harness.T, harness.Options)) {
	t.Helper()
	o := harness.Options{Seed: *seed, Operations: operations}
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if testing.Short() {
		o.Operations = 2_000
	}
	if check(t, o); t.Failed() {
		t.Logf("replay with -run '^%s$' -stress.seed=%d", strings.ReplaceAll(t.Name(), "/", "$/^"), o.Seed)
	}
}

// WantBroken checks that a law reports one violation, that the message contains want,
// and that the message names the options that repeat it. isStuck states that only a
// deadline reveals the violation. The deadline is then half a second. A busy machine may
// reach it before the fault has an effect, so the law runs again with twice the time.
func WantBroken(t *testing.T, law, want string, isStuck bool, check func(harness.T, harness.Options)) {
	t.Helper()
	o := harness.Options{Seed: 7, Operations: 4_000}
	if isStuck {
		o.Deadline = time.Second / 2
	}
	var r recorder
	for {
		r = recorder{}
		check(&r, o)
		if len(r.errors) != 1 {
			t.Fatalf("got %d failures %q, want one", len(r.errors), r.errors)
		}
		if !isStuck || strings.Contains(r.errors[0], want) || o.Deadline > 10*time.Second {
			break
		}
		o.Deadline *= 2
	}
	for _, part := range []string{fmt.Sprintf("law %q", law), want, fmt.Sprintf("repeat with Options{Seed: %d}", o.Seed)} {
		if !strings.Contains(r.errors[0], part) {
			t.Errorf("got %q, want %q in it", r.errors[0], part)
		}
	}
	t.Log(r.errors[0])
}

// recorder is a T that records its errors.
type recorder struct{ errors []string }

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
