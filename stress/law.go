package stress

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Options says how hard a law tries. The zero Options is the default.
type Options struct {
	// Seed is what shapes are drawn from: how many goroutines, how long the
	// bursts, how deep the trees. 0 draws a seed, which every message names. The
	// same seed gives the same shapes; what real threads make of them differs.
	Seed uint64

	// Operations is about how many values or tasks each law uses. 0 means 50,000.
	Operations int

	// Deadline is how long a law waits for what has to happen, each time. 0 means
	// a minute. A law that is broken by waiting for ever ends then, and says what
	// is stuck; its goroutines stay.
	Deadline time.Duration
}

// withDefaults fills in what is left open.
func (o Options) withDefaults() Options {
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	o.Operations = cmp.Or(o.Operations, 50_000)
	o.Deadline = cmp.Or(o.Deadline, time.Minute)
	return o
}

// lawShapes is how many shapes a law draws, each for its part of the operations.
const lawShapes = 4

// lawRun is one law at work on one implementation.
type lawRun struct {
	t     T
	who   string
	o     Options
	rng   *rand.Rand
	shape string // the last that was drawn

	late    chan struct{} // closed when a deadline has passed: what still runs ends
	failed  bool
	skipped bool
	seen    atomic.Pointer[string] // what saw was told, the first time
}

func newLawRun(t T, law, kind string, o Options) *lawRun {
	o = o.withDefaults()
	h := fnv.New64a()
	h.Write([]byte(law)) // each law has shapes of its own, also when it runs alone
	return &lawRun{
		t:    t,
		who:  fmt.Sprintf("%s: law %q", kind, law),
		o:    o,
		rng:  rand.New(rand.NewPCG(o.Seed, h.Sum64())),
		late: make(chan struct{}),
	}
}

// over reports whether a deadline has passed.
func (r *lawRun) over() bool {
	select {
	case <-r.late:
		return true
	default:
		return false
	}
}

// saw notes how the law was broken, for failf to report. Any goroutine may call
// it.
func (r *lawRun) saw(format string, args ...any) {
	if r.seen.Load() == nil {
		text := fmt.Sprintf(format, args...)
		r.seen.CompareAndSwap(nil, &text)
	}
}

// failf reports that the law is broken, the first time.
func (r *lawRun) failf(format string, args ...any) {
	r.t.Helper()
	if r.failed {
		return
	}
	r.failed = true
	what := fmt.Sprintf(format, args...)
	if first := r.seen.Load(); first != nil {
		what = *first // what comes later may follow from it
	}
	r.t.Errorf("%s: %s; %s; repeat with Options{Seed: %d}", r.who, what, r.shape, r.o.Seed)
}

// skipf says why the law does not apply.
func (r *lawRun) skipf(format string, args ...any) {
	r.t.Helper()
	r.skipped = true
	r.t.Logf("%s: skipped: %s", r.who, fmt.Sprintf(format, args...))
}

// shapes calls one for each shape to draw, until the law is broken.
func (r *lawRun) shapes(one func(operations int)) {
	r.t.Helper()
	for i := 0; i < lawShapes && !r.failed && !r.skipped; i++ {
		one(max(1, r.o.Operations/lawShapes))
		if r.seen.Load() != nil {
			r.failf("")
		}
	}
}

// between draws a number from low to high, both included.
func (r *lawRun) between(low, high int) int {
	return low + r.rng.IntN(high-low+1)
}

// split draws a source of random numbers for another goroutine.
func (r *lawRun) split() *rand.Rand {
	return rand.New(rand.NewPCG(r.rng.Uint64(), r.rng.Uint64()))
}

// lawStart runs the functions, each on a goroutine of its own, from the same
// moment. The channel is closed when all have ended.
func lawStart(fns ...func()) (done chan struct{}) {
	var ready, wg sync.WaitGroup
	ready.Add(len(fns))
	for _, fn := range fns {
		wg.Go(func() {
			ready.Done()
			ready.Wait() // or the first would be through before the last is there
			fn()
		})
	}
	done = make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// lawStands returns when a count has not moved for a while, which is long enough for a
// thread that shares its processor.
func lawStands(count *atomic.Int64) {
	n, since := count.Load(), time.Now()
	for i := 0; i < 100 || time.Since(since) < 5*time.Millisecond; i++ {
		runtime.Gosched()
		if now := count.Load(); now != n {
			n, i, since = now, 0, time.Now()
		}
	}
}

// ends waits for done. When the deadline comes first the law is broken, and
// stuck says how.
func (r *lawRun) ends(done <-chan struct{}, stuck func() string) bool {
	r.t.Helper()
	timer := time.NewTimer(r.o.Deadline)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		close(r.late) // once: nobody waits on after a failure
		r.failf("after %v %s", r.o.Deadline, stuck())
		return false
	}
}
