package pool_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

var seed = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// newRand returns a function that makes one source of choices for each goroutine. It also logs
// how to replay them.
func newRand(tb testing.TB) func(goroutine int) *rand.Rand {
	tb.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	tb.Logf("replay with -run '^%s$' -stress.seed=%d", tb.Name(), s)
	return func(goroutine int) *rand.Rand { return rand.New(rand.NewPCG(s, uint64(goroutine))) }
}

// tester is what the tests and those of rapid have in common.
type tester interface {
	Helper()
	Cleanup(fn func())
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// bg is the context that never ends.
var bg = context.Background()

func within(tb tester) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(bg, patience.Limit)
	tb.Cleanup(cancel)
	return ctx
}

func must(tb tester, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// mustBe fails unless got is each of the errors want.
func mustBe(tb tester, got error, want ...error) {
	tb.Helper()
	for _, w := range want {
		if !errors.Is(got, w) {
			tb.Fatalf("the error is %v, want %v", got, w)
		}
	}
}

// mustNotBe fails if got is nil, or one of the errors.
func mustNotBe(tb tester, got error, unwanted ...error) {
	tb.Helper()
	if got == nil {
		tb.Fatal("no error")
	}
	for _, w := range unwanted {
		if errors.Is(got, w) {
			tb.Fatalf("the error %v is %v", got, w)
		}
	}
}

// until waits for ok.
func until(tb tester, what string, ok func() bool) {
	tb.Helper()
	deadline := time.Now().Add(patience.Limit)
	for round := 0; !ok(); round++ {
		if time.Now().After(deadline) {
			tb.Fatalf("it has not come: %s", what)
		}
		if runtime.Gosched(); round > 100 {
			<-time.After(100 * time.Microsecond) // others need the processor
		}
	}
}

// ends fails when fn does not return.
func ends(tb tester, what string, fn func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	came(tb, what, done)
}

// came waits for ch to be closed, or to have a value.
func came[T any](tb tester, what string, ch <-chan T) (v T) {
	tb.Helper()
	select {
	case v = <-ch:
	case <-time.After(patience.Limit):
		buf := make([]byte, 1<<20)
		tb.Fatalf("%s: it has not come\n%s", what, buf[:runtime.Stack(buf, true)])
	}
	return v
}

// newPool returns a pool that the end of the test terminates.
func newPool(tb testing.TB, h *pool.Handlers, c pool.Config) *pool.Pool {
	tb.Helper()
	p, err := pool.New(h, c)
	must(tb, err)
	tb.Cleanup(func() {
		if n, err := p.Terminate(within(tb)); n != 0 || err != nil {
			tb.Errorf("Terminate = %d, %v", n, err)
		}
	})
	return p
}

// gate is a handler that stands until it is let go.
type gate struct {
	in   chan int      // gets the argument of each call that has begun
	open chan struct{} // lets one call return for each value, or all when closed
	once sync.Once
}

func newGate() *gate { return &gate{in: make(chan int, 4096), open: make(chan struct{})} }

// enter is the handler.
func (g *gate) enter(_ context.Context, n int) (int, error) {
	g.in <- n
	<-g.open
	return n, nil
}

// release lets all calls return.
func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// entered waits for n calls to begin. It returns their arguments in that order.
func (g *gate) entered(tb testing.TB, n int) (args []int) {
	tb.Helper()
	for range n {
		args = append(args, came(tb, "a call to begin", g.in))
	}
	return args
}

// none fails if a call has begun.
func (g *gate) none(tb testing.TB) {
	tb.Helper()
	select {
	case n := <-g.in:
		tb.Fatalf("call %d has begun", n)
	default:
	}
}

// gated returns a pool whose function "gate" is that of a gate. It also returns the gate, which
// opens before the pool is terminated. The calls never run on their callers.
func gated(tb testing.TB, c pool.Config) (*gate, *pool.Func[int, int], *pool.Pool) {
	tb.Helper()
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	p := newPool(tb, &h, c)
	tb.Cleanup(g.release)
	return g, f, p
}

// inlineOnly is the configuration of a pool that has the inline lane only.
func inlineOnly() pool.Config {
	return pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}}
}

// fixed is a balancer that picks the lane whose number is stored in it.
type fixed struct{ lane atomic.Int64 }

func (b *fixed) Pick(pool.View) int { return int(b.lane.Load()) }

// wait returns the outcome of a future, which has to come.
func wait[R any](tb tester, f *pool.Future[R]) (R, error) {
	tb.Helper()
	came(tb, "a future to settle", f.Done())
	return f.Wait(bg)
}

// result is wait for a call that succeeds.
func result[R any](tb tester, f *pool.Future[R]) R {
	tb.Helper()
	r, err := wait(tb, f)
	must(tb, err)
	return r
}

// echoed fails unless the result of each call is its place in fs, as that is its argument.
func echoed(tb tester, fs []*pool.Future[int]) {
	tb.Helper()
	for i, f := range fs {
		if v := result(tb, f); v != i {
			tb.Fatalf("call %d: %d", i, v)
		}
	}
}

// settled reports whether a future has its outcome.
func settled[R any](f *pool.Future[R]) bool {
	select {
	case <-f.Done():
		return true
	default:
		return false
	}
}

// double is the simplest handler.
func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// goexit is a handler that ends its goroutine.
func goexit(context.Context, int) (int, error) {
	runtime.Goexit()
	return 0, nil
}

// survives fails when fn ends the goroutine that calls it.
func survives(t *testing.T, what string, fn func()) {
	t.Helper()
	survived := false
	ends(t, what, func() {
		fn()
		survived = true
	})
	if !survived {
		t.Errorf("%s: the goroutine of the caller was ended", what)
	}
}

// panicOf returns what fn panics with.
func panicOf(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// unborn is a Spawner that starts no worker. Scheduled tasks stay queued.
type unborn struct{}

func (unborn) Spawn(func()) error { return errors.New("no worker today") }

// newScheduler returns a scheduler that the end of the test closes.
func newScheduler(tb testing.TB, c sched.Config) *sched.Scheduler {
	tb.Helper()
	s, err := sched.New(c)
	must(tb, err)
	tb.Cleanup(func() {
		s.Close()
		_, err := s.Join(within(tb))
		must(tb, err)
	})
	return s
}

// balanced checks the law of the counters of a pool at rest. Nothing is queued or in flight.
// All accepted calls have ended. The tasks have counted each end as well. A caller may see its
// outcome before the counters do.
func balanced(tb tester, p *pool.Pool) {
	tb.Helper()
	must(tb, p.Wait(within(tb)))
	m := p.Metrics()
	looks := func(l pool.LaneInfo) bool { return l.InFlight != 0 } // for a call: see LaneInfo
	for range 1_000_000 {
		if !slices.ContainsFunc(m.Lanes, looks) {
			break
		}
		runtime.Gosched()
		m = p.Metrics()
	}
	accepted := endings(m.NoLane)
	for _, l := range m.Lanes {
		accepted += l.Accepted
	}
	if m.Backlog != 0 || m.InFlight != 0 || m.Accepted != m.Ended || m.Accepted != accepted {
		tb.Errorf("a pool at rest: %+v", m)
	}
	until(tb, "no call moves to a lane", func() bool { return p.Moving() == 0 }) // a drain may be dropping calls that have ended
	for k := pool.CauseReturned; k < pool.NumCauses; k++ {
		var n uint64
		for _, task := range m.Tasks {
			n += task.Ends.Of(k)
		}
		if n != m.Ends.Of(k) {
			tb.Errorf("the tasks have counted %d calls that ended with %q, the pool %d", n, k, m.Ends.Of(k))
		}
	}
	sums(tb, m)
}

// sums checks that backlog and in flight add up to accepted less ended. The law holds in each
// lane and in all. The pool also has the calls that wait for a lane and those that ended
// without one. K-130.
func sums(tb tester, m pool.Metrics) {
	tb.Helper()
	var ended uint64
	for _, l := range m.Lanes {
		if l.Backlog < 0 || l.InFlight < 0 || uint64(l.Backlog+l.InFlight) != l.Accepted-l.Ended {
			tb.Errorf("lane: %+v", l)
		}
		ended += l.Ended
	}
	ended += endings(m.NoLane)
	if m.Backlog < 0 || m.InFlight < 0 || uint64(m.Backlog+m.InFlight) != m.Accepted-m.Ended || m.Ended != ended || m.Waiting > m.Backlog {
		tb.Errorf("the sums of %+v are wrong", m)
	}
}

// endings returns the number of calls that e counts.
func endings(e pool.Ends) uint64 {
	return e.Returned + e.Failed + e.Panicked + e.Exited + e.Aborted + e.ContextEnded + e.TimedOut + e.LimitExceeded +
		e.PoolClosed + e.Dropped + e.LaneDiscarded + e.Refused + e.ArgumentFailed
}

// schedConfig is a configuration of a scheduler that serves where any does.
var schedConfig = sched.Config{MaxWorkers: 1}

// gomaxprocs returns how many processors Go may use.
func gomaxprocs() int { return runtime.GOMAXPROCS(0) }
