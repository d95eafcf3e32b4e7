package queuelaw

import (
	"time"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// T is what a law reports to; [*testing.T] is one. A law calls its methods on the
// goroutine of the caller of Check only. It calls Helper as a test helper does. It
// calls Logf when the law does not apply, and Errorf once when the law is violated.
// Check stops when Failed reports true.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Failed() bool
}

// Options states how much a law tries. The zero Options is the default.
type Options struct {
	// Seed determines the shapes: the numbers of goroutines and the lengths of the
	// bursts. 0 generates a seed. Each message names the seed. The same seed gives the
	// same shapes, but the interleaving of the goroutines differs.
	Seed uint64

	// Operations is the approximate number of values that each law pushes. 0 means
	// 50,000.
	Operations int

	// Deadline bounds each wait of a law. 0 means one minute. A longer wait is a
	// violation: the law names what is stuck, and leaves those goroutines behind.
	Deadline time.Duration
}

// Law is a promise of a queue. Name is one word, Text one sentence.
type Law struct {
	Name, Text string

	run func(r *harness.Run, k Kind)
}

// Check runs queues of the kind against the law. It reports a violation with t.Errorf.
// It logs with t.Logf if the law does not apply.
func (l Law) Check(t T, k Kind, o Options) {
	t.Helper()
	l.run(harness.New(t, l.Name, k.Name, harness.Options(o)), k)
}

// Check runs queues of the kind against each of [Laws] until one is violated.
func Check(t T, k Kind, o Options) {
	t.Helper()
	o = Options(harness.Options(o).WithDefaults())
	t.Logf("%s: Options{Seed: %d}", k.Name, o.Seed)
	for _, l := range Laws() {
		l.Check(t, k, o)
		if t.Failed() {
			return
		}
	}
}
