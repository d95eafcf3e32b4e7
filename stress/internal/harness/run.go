package harness

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// T is what a law reports to. Each law package declares the same interface, so that
// its documentation shows the methods.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Failed() bool
}

// Options states how much a law tries. Each law package declares a struct with the
// same fields and documents them in its own terms.
type Options struct {
	Seed       uint64        // 0 generates one
	Operations int           // 0 means 50,000
	Deadline   time.Duration // of each wait; 0 means one minute
}

// WithDefaults returns o with a value in each field.
func (o Options) WithDefaults() Options {
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	o.Operations = cmp.Or(o.Operations, 50_000)
	o.Deadline = cmp.Or(o.Deadline, time.Minute)
	return o
}

// shapesPerLaw is the number of shapes that a law generates. Each uses its share of
// the operations.
const shapesPerLaw = 4

// Run is one law that runs on one implementation. One goroutine, the caller of the
// law, uses it; Record, IsExpired, Expired and Hold are safe for concurrent use.
type Run struct {
	T     T
	Rand  *rand.Rand
	Shape string // the last generated shape, for messages

	subject  string // the implementation and the law, for messages
	o        Options
	expired  chan struct{}
	failed   bool
	skipped  bool
	recorded atomic.Pointer[string] // the text of the first Record
}

// New returns the run of a law on an implementation of the named kind. The name of
// the law is part of the seed, so that a law generates the same shapes when it runs
// alone.
func New(t T, law, kind string, o Options) *Run {
	o = o.WithDefaults()
	h := fnv.New64a()
	h.Write([]byte(law))
	return &Run{
		T:       t,
		subject: fmt.Sprintf("%s: law %q", kind, law),
		o:       o,
		Rand:    rand.New(rand.NewPCG(o.Seed, h.Sum64())),
		expired: make(chan struct{}),
	}
}

// Expired returns a channel that is closed when a deadline has passed. The goroutines
// of the run then end as soon as they can.
func (r *Run) Expired() <-chan struct{} { return r.expired }

// IsExpired reports whether a deadline has passed.
func (r *Run) IsExpired() bool {
	select {
	case <-r.expired:
		return true
	default:
		return false
	}
}

// Record records a violation of the law. The first one is what Failf reports.
func (r *Run) Record(format string, args ...any) {
	if r.recorded.Load() == nil {
		text := fmt.Sprintf(format, args...)
		r.recorded.CompareAndSwap(nil, &text)
	}
}

// Recorded reports whether a violation has been recorded. Safe for concurrent use.
func (r *Run) Recorded() bool { return r.recorded.Load() != nil }

// Failed reports whether a violation has been reported.
func (r *Run) Failed() bool { return r.failed }

// Failf reports a violation to T, the first time that it is called. A recorded
// violation replaces the text, because the caller may have seen a consequence of it.
func (r *Run) Failf(format string, args ...any) {
	r.T.Helper()
	if r.failed {
		return
	}
	r.failed = true
	what := fmt.Sprintf(format, args...)
	if first := r.recorded.Load(); first != nil {
		what = *first
	}
	r.T.Errorf("%s: %s; %s; repeat with Options{Seed: %d}", r.subject, what, r.Shape, r.o.Seed)
}

// Skipf logs why the law does not apply.
func (r *Run) Skipf(format string, args ...any) {
	r.T.Helper()
	r.skipped = true
	r.T.Logf("%s: skipped: %s", r.subject, fmt.Sprintf(format, args...))
}

// EachShape calls check once for each shape, until the law is violated or skipped.
func (r *Run) EachShape(check func(operations int)) {
	r.T.Helper()
	for i := 0; i < shapesPerLaw && !r.failed && !r.skipped; i++ {
		check(max(1, r.o.Operations/shapesPerLaw))
		if r.Recorded() {
			r.Failf("")
		}
	}
}

// Between generates a number from low to high, both included.
func (r *Run) Between(low, high int) int {
	return low + r.Rand.IntN(high-low+1)
}

// Split generates a source of random numbers for another goroutine.
func (r *Run) Split() *rand.Rand {
	return rand.New(rand.NewPCG(r.Rand.Uint64(), r.Rand.Uint64()))
}

// Await waits for done and reports whether it was closed before the deadline. When the
// deadline passes first, the law is violated, and stuck returns what has not ended.
func (r *Run) Await(done <-chan struct{}, stuck func() string) bool {
	r.T.Helper()
	timer := time.NewTimer(r.o.Deadline)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		close(r.expired) // once: no law waits again after a failure
		r.Failf("after %v %s", r.o.Deadline, stuck())
		return false
	}
}

// Hold waits until gate is closed or a deadline has passed.
func (r *Run) Hold(gate <-chan struct{}) {
	select {
	case <-gate:
	case <-r.expired:
	}
}
