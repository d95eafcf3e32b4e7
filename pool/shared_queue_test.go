package pool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// refuses fails unless a call that has just been made is refused because the backlog is full.
func refuses(t *testing.T, what string, fu *pool.Future[int]) {
	t.Helper()
	if !settled(fu) {
		t.Fatalf("%s is not refused", what)
	}
	_, err := fu.Wait(bg)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
}

// waits fails if a call that has just been made has ended.
func waits(t *testing.T, what string, fu *pool.Future[int]) *pool.Future[int] {
	t.Helper()
	if settled(fu) {
		_, err := fu.Wait(bg)
		t.Fatalf("%s has ended: %v", what, err)
	}
	return fu
}

// stands returns a gated pool of which each lane runs a call that stands. It also returns these
// calls.
func stands(t *testing.T, c pool.Config) (g *gate, f *pool.Func[int, int], p *pool.Pool, fs []*pool.Future[int]) {
	t.Helper()
	g, f, p = gated(t, c)
	for i := range c.Lanes {
		fs = append(fs, f.TryGo(bg, i))
		g.entered(t, 1)
	}
	return g, f, p, fs
}

// TestExactBacklog checks that Config.Backlog is how many calls of the pool wait. The number of
// lanes and the policy do not matter. The next call is refused. A call that is aborted while it
// waits frees its space at once. A call that runs takes none, also while no goroutine reads its
// future. K-030, K-038, K-068.
func TestExactBacklog(t *testing.T) {
	for _, policy := range []pool.Overflow{pool.Fail, pool.Block, pool.CallerRuns, pool.DropOldest} {
		for _, backlog := range []int{pool.NoBacklog, 1, 4, 33} {
			if policy == pool.DropOldest && backlog == pool.NoBacklog {
				continue // New refuses it
			}
			for _, lanes := range []int{1, 2, 4} {
				t.Run(fmt.Sprintf("policy %d, backlog %d, lanes %d", policy, backlog, lanes), func(t *testing.T) {
					exactBacklog(t, pool.Config{Lanes: lanes, Backlog: backlog, Overflow: policy})
				})
			}
		}
	}
}

func exactBacklog(t *testing.T, c pool.Config) {
	t.Helper()
	g, f, p, fs := stands(t, c)
	space := max(c.Backlog, 0)
	call := func(n int) *pool.Future[int] {
		if c.Overflow == pool.Fail {
			return f.Go(bg, n)
		}
		return f.TryGo(bg, n)
	}
	var waiting []*pool.Future[int]
	for i := range space {
		waiting = append(waiting, waits(t, fmt.Sprintf("call %d of %d that wait", i+1, space), call(100+i)))
	}
	refuses(t, "the next call", call(-1))
	_, err := f.TryCall(bg, -1)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	m := p.Metrics()
	if m.Waiting != space || m.Backlog != space || m.InFlight != c.Lanes || m.NoLane != (pool.Ends{Refused: 2}) {
		t.Errorf("%d calls run and %d wait: %+v", c.Lanes, space, m)
	}
	sums(t, m)
	for i := range waiting { // the oldest one, the newest one, and so on
		at := i / 2
		if i%2 == 1 {
			at = space - 1 - i/2
		}
		waiting[at].Abort(nil)
		if n := p.Metrics().Waiting; n != space-1 {
			t.Errorf("one of %d calls was aborted, and %d wait", space, n)
		}
		waiting[at] = waits(t, "a call in the space of one that was aborted", call(200+at))
		refuses(t, "the call after that", call(-1))
	}
	g.none(t)
	g.release()
	for i, fu := range append(fs, waiting...) {
		want := i
		if i >= len(fs) {
			want = 200 + i - len(fs)
		}
		if v := result(t, fu); v != want {
			t.Errorf("call %d: %d", want, v)
		}
	}
	balanced(t, p)
}

// TestExactBacklogOfAllWays checks that three kinds of calls have the space of the backlog in
// common. They are calls without a lane, calls on a lease whose lane is busy, and calls that
// wait for their argument.
func TestExactBacklogOfAllWays(t *testing.T) {
	for _, backlog := range []int{pool.NoBacklog, 1, 4, 33} {
		for _, lanes := range []int{2, 4} {
			t.Run(fmt.Sprintf("backlog %d, lanes %d", backlog, lanes), func(t *testing.T) {
				first, dep, _ := gated(t, pool.Config{Lanes: 1})
				arg := dep.Go(bg, 7)
				first.entered(t, 1)
				g, f, p := gated(t, pool.Config{Lanes: lanes, Backlog: backlog, Overflow: pool.Fail})
				lease, err := p.AcquireLane(within(t), 1)
				must(t, err)
				ways := []struct {
					name string
					call func() *pool.Future[int]
				}{
					{"a call on a lease", func() *pool.Future[int] { return pool.GoOn(bg, lease, f, 7) }},
					{"a call of After", func() *pool.Future[int] { return f.After(bg, arg) }},
					{"a call without a lane", func() *pool.Future[int] { return f.Go(bg, 7) }},
				}
				fs := []*pool.Future[int]{ways[0].call()}
				for range lanes - 1 {
					fs = append(fs, ways[2].call())
					g.entered(t, 1)
				}
				g.entered(t, 1)
				space := max(backlog, 0)
				full := func() {
					t.Helper()
					for _, way := range ways {
						refuses(t, way.name, way.call())
					}
				}
				for _, way := range ways { // one way alone, and all its calls are aborted
					var alone []*pool.Future[int]
					for range space {
						alone = append(alone, waits(t, way.name, way.call()))
					}
					full()
					for _, fu := range alone {
						fu.Abort(nil)
					}
				}
				var mixed []*pool.Future[int]
				for i := range space {
					way := ways[i%len(ways)]
					mixed = append(mixed, waits(t, way.name, way.call()))
				}
				full()
				if m := p.Metrics(); m.Backlog < space || m.Waiting != space-(space+2)/3 {
					t.Errorf("%d calls wait: %+v", space, m)
				}
				for i := range mixed { // the space of one way is that of the others
					mixed[i].Abort(nil)
					way := ways[(i+1)%len(ways)]
					mixed[i] = waits(t, way.name, way.call())
					full()
				}
				first.release()
				result(t, arg)
				full() // the calls that have their argument wait still
				g.none(t)
				g.release()
				for _, fu := range append(fs, mixed...) {
					if v := result(t, fu); v != 7 {
						t.Errorf("the result is %d", v)
					}
				}
				lease.Release()
				balanced(t, p)
			})
		}
	}
}

// balancers are those that a lane which takes any waiting call has to get along with.
var balancers = map[string]func() pool.Balancer{
	"first free":  pool.FirstFree,
	"round robin": pool.RoundRobin,
	"random":      func() pool.Balancer { return pool.Random(nil) },
	"lane 0":      func() pool.Balancer { return &fixed{} },
}

// TestNoIdleLane checks that no permit stays free while a call waits for one, whatever lane the
// balancer picks. When a handler returns, the call that has waited longest starts on its lane.
// K-068.
func TestNoIdleLane(t *testing.T) {
	for name, balancer := range balancers {
		for _, lanes := range []int{1, 2, 4} {
			for _, concurrency := range []int{1, 3} {
				ok := t.Run(fmt.Sprintf("%s, %d lanes, concurrency %d", name, lanes, concurrency), func(t *testing.T) {
					g, f, p := gated(t, pool.Config{Lanes: lanes, Concurrency: concurrency, Balancer: balancer()})
					permits := lanes * concurrency
					var fs []*pool.Future[int]
					for i := range 3 * permits {
						fs = append(fs, f.Go(bg, i))
						if i == permits/2 { // some stand, and the next ones come at once
							g.entered(t, i+1)
						}
					}
					begun := g.entered(t, permits-permits/2-1)
					g.none(t)
					slices.Sort(begun)
					for i, n := range begun {
						if n != permits/2+1+i {
							t.Errorf("calls %v have begun after those up to %d", begun, permits/2)
							break
						}
					}
					if m := p.Metrics(); m.Waiting != 2*permits || m.InFlight != permits {
						t.Errorf("%d calls run and %d wait, want %d and %d", m.InFlight, m.Waiting, permits, 2*permits)
					}
					before := p.Lanes()
					for _, l := range before {
						if l.InFlight != concurrency {
							t.Errorf("lane %d runs %d calls, want %d", l.Lane, l.InFlight, concurrency)
						}
					}
					for next := permits; next < len(fs); next++ {
						g.open <- struct{}{}
						if got := g.entered(t, 1)[0]; got != next {
							t.Fatalf("a handler has returned, and call %d begins, want %d", got, next)
						}
						after := p.Lanes()
						for i, l := range after {
							if came, went := l.Accepted-before[i].Accepted, l.Ended-before[i].Ended; came != went {
								t.Errorf("on lane %d %d handlers have returned and %d have begun", i, went, came)
							}
						}
						before = after
					}
					g.none(t)
					g.release()
					echoed(t, fs)
					balanced(t, p)
				})
				if !ok {
					return // a call that does not begin takes a minute, and the next pool may have one as well
				}
			}
		}
	}
}

// TestNoIdleLaneBesideALease checks that a leased lane starts no call that waits for any lane.
// After Release it starts as many as it has free permits. It starts the oldest first, also
// while the calls of the lease go on.
func TestNoIdleLaneBesideALease(t *testing.T) {
	for name, balancer := range balancers {
		for _, lanes := range []int{2, 4} {
			for _, concurrency := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %d lanes, concurrency %d", name, lanes, concurrency), func(t *testing.T) {
					g, f, p := gated(t, pool.Config{Lanes: lanes, Concurrency: concurrency, Balancer: balancer()})
					lease, err := p.AcquireLane(within(t), 0)
					must(t, err)
					held := concurrency / 2 // permits of calls of the lease
					for range held {
						pool.GoOn(bg, lease, f, -1)
						g.entered(t, 1)
					}
					const waiting = 5
					others := (lanes - 1) * concurrency
					for i := range others + waiting {
						f.Go(bg, i)
					}
					g.entered(t, others)
					g.none(t)
					if l := p.Lanes()[0]; l.Accepted != uint64(held) || l.Backlog != 0 {
						t.Errorf("the leased lane has calls of others: %+v", l)
					}
					if n := p.Metrics().Waiting; n != waiting {
						t.Errorf("%d calls wait, want %d", n, waiting)
					}
					lease.Release()
					got := g.entered(t, concurrency-held)
					g.none(t)
					slices.Sort(got)
					for i, n := range got {
						if n != others+i {
							t.Errorf("after Release calls %v begin, want those from %d on", got, others)
							break
						}
					}
					if l := p.Lanes()[0]; l.InFlight != concurrency {
						t.Errorf("after Release the lane runs %d calls, want %d", l.InFlight, concurrency)
					}
					g.release()
					balanced(t, p)
				})
			}
		}
	}
}

// TestCallAfterCallNeedsNoBacklog has a caller that has the result of its call and makes the
// next one. That call gets the permit of the first. It therefore needs no space to wait. K-038.
func TestCallAfterCallNeedsNoBacklog(t *testing.T) {
	for _, lanes := range []int{1, 2} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: lanes, Backlog: pool.NoBacklog, Overflow: pool.Fail})
		for i := range 1000 {
			if v, err := f.Call(bg, i); v != 2*i || err != nil {
				t.Fatalf("call %d on %d lanes: %d, %v", i, lanes, v, err)
			}
			if v, err := wait(t, f.Go(bg, i)); v != 2*i || err != nil {
				t.Fatalf("call %d of Go on %d lanes: %d, %v", i, lanes, v, err)
			}
		}
		balanced(t, p)
	}
}

// TestCallersOfLanesNeedNoBacklog checks that as many callers as lanes never need space to wait, if each makes
// its next call when it has the result of the one before. A call that moves from the queue of the pool to a
// lane, or from lane to lane, is not counted twice.
func TestCallersOfLanesNeedNoBacklog(t *testing.T) {
	for _, lanes := range []int{2, 3, 6} { // 6: more lanes than a walk looks at each time
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: lanes, Backlog: pool.NoBacklog, Overflow: pool.Fail})
		var wg sync.WaitGroup
		for caller := range lanes {
			wg.Go(func() {
				for i := range 20_000 / lanes {
					if v, err := f.Call(bg, i); v != 2*i || err != nil {
						t.Errorf("call %d of caller %d on %d lanes: %d, %v", i, caller, lanes, v, err)
						return
					}
				}
			})
		}
		wg.Wait()
		balanced(t, p)
	}
}

// TestLeaseCallersNeedNoMoreSpace checks that through a lease one caller more than the lane has permits never needs
// space for two calls, if each makes its next call when it has the result of the one before.
func TestLeaseCallersNeedNoMoreSpace(t *testing.T) {
	for _, permits := range []int{1, 2} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: permits, Backlog: 1, Overflow: pool.Fail})
		l, err := p.Acquire(bg)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for caller := range permits + 1 {
			wg.Go(func() {
				for i := range 10_000 {
					if v, err := pool.CallOn(bg, l, f, i); v != 2*i || err != nil {
						t.Errorf("call %d of caller %d on a lane with %d permits: %d, %v", i, caller, permits, v, err)
						return
					}
				}
			})
		}
		wg.Wait()
		l.Release()
		balanced(t, p)
	}
}

// TestPermitsNeedNoBacklog checks that as many calls as a lane has permits need no space to
// wait. The lane gives them to workers one after another.
func TestPermitsNeedNoBacklog(t *testing.T) {
	for range 100 {
		g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: 3, Backlog: pool.NoBacklog, Overflow: pool.Fail})
		for i := range 3 {
			if fu := f.Go(bg, i); settled(fu) {
				_, err := fu.Wait(bg)
				t.Fatalf("call %d of 3: %v", i, err)
			}
		}
		mustBe(t, came(t, "the outcome", outcomeOf(f.Go(bg, 3))), pool.ErrBacklogFull)
		g.release()
		balanced(t, p)
	}
}

// outcomeOf returns a channel with the error of a future.
func outcomeOf(f *pool.Future[int]) chan error {
	c := make(chan error, 1)
	go func() { _, err := f.Wait(bg); c <- err }()
	return c
}

// TestBlockedCallersContinueInOrder checks that a caller of Go that waits for space does not
// continue because a call behind its own ends.
func TestBlockedCallersContinueInOrder(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
	f.Go(bg, 0)
	g.entered(t, 1)
	first := f.Go(bg, 1)
	second, third := make(chan *pool.Future[int], 1), make(chan *pool.Future[int], 1)
	ctx, cancel := context.WithCancel(bg)
	go func() { second <- f.Go(bg, 2) }()
	until(t, "the second call", func() bool { return p.Metrics().Waiting == 2 })
	go func() { third <- f.Go(ctx, 3) }()
	until(t, "the third call", func() bool { return p.Metrics().Waiting == 3 })
	cancel()
	came(t, "the caller of the third call", third)
	for range 1000 {
		select {
		case <-second:
			t.Fatalf("Go has returned although its call is the second of %d that wait", p.Metrics().Waiting)
		default:
			runtime.Gosched()
		}
	}
	first.Abort(nil)
	came(t, "the caller of the second call", second)
	g.release()
	balanced(t, p)
}

// TestBlockedCallsEndInAnyOrder ends the calls of callers of Go that wait for space, in several orders.
// Each caller continues when its own call has ended, and not before. The callers of the others continue
// one after another when there is space.
func TestBlockedCallsEndInAnyOrder(t *testing.T) {
	const callers = 5
	for _, order := range [][]int{{0, 1, 2}, {4, 3, 2}, {2, 1, 3}, {1, 3, 2}, {0, 4, 2}, {0, 1, 2, 3, 4}, {2, 3, 1, 4, 0}} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
		f.Go(bg, 0)
		g.entered(t, 1)
		f.Go(bg, 1)
		continues, cancels := make([]chan struct{}, callers), make([]context.CancelFunc, callers)
		for i := range callers {
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			continues[i], cancels[i] = make(chan struct{}), cancel
			go func() { f.Go(ctx, 2+i); close(continues[i]) }()
			until(t, "the call of a caller", func() bool { return p.Metrics().Waiting == 2+i })
		}
		for n, i := range order {
			if w := p.BlockedCallers(); w != callers-n {
				t.Fatalf("order %v: %d callers are blocked after %d ends", order, w, n)
			}
			cancels[i]()
			came(t, "the caller of a call that has ended", continues[i])
		}
		for i := range callers {
			if slices.Contains(order, i) {
				continue
			}
			select {
			case <-continues[i]:
				t.Fatalf("order %v: caller %d continues without space", order, i)
			default:
			}
			g.open <- struct{}{}
			g.entered(t, 1)
			came(t, "the caller of the call that waits next", continues[i])
		}
		g.release()
		balanced(t, p)
		if w := p.BlockedCallers(); w != 0 {
			t.Errorf("order %v: %d callers are blocked at rest", order, w)
		}
	}
}

// TestLeaseCallsInOrder checks that calls through a lease start in the order in which their
// caller makes them. The caller may run the last one itself.
func TestLeaseCallsInOrder(t *testing.T) {
	var h pool.Handlers
	var began []int
	f := pool.Register(&h, "note", func(_ context.Context, i int) (int, error) { began = append(began, i); return i, nil })
	p := newPool(t, &h, pool.Config{Lanes: 1})
	l, err := p.Acquire(bg)
	must(t, err)
	defer l.Release()
	const n = 100
	for range 20 {
		began = began[:0]
		p.Pause()
		for i := range n {
			pool.GoOn(bg, l, f, i)
		}
		p.Resume()
		if v, err := pool.CallOn(bg, l, f, n); v != n || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
		if len(began) != n+1 || !slices.IsSorted(began) {
			t.Fatalf("the calls began in the order %v", began)
		}
	}
}

// TestLeasesLetCallsRun checks that a lane runs a call that waits for any lane between two
// leases of it.
func TestLeasesLetCallsRun(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1})
	f.Go(bg, 0)
	g.entered(t, 1)
	waiting := f.Go(bg, 1)
	leases := make(chan *pool.Lease)
	for i := range 2 {
		go func() {
			l, err := p.Acquire(within(t))
			if err != nil {
				t.Error(err)
			}
			leases <- l
		}()
		until(t, "a waiter", func() bool { return p.LeaseWaiters() == i+1 })
	}
	g.release()
	came(t, "the first lease", leases).Release()
	second := came(t, "the second lease", leases)
	if !settled(waiting) {
		t.Error("the lane is leased a second time, and the call that waited has not run")
	}
	second.Release()
	result(t, waiting)
	balanced(t, p)
}

// TestLaneTakesTurns checks that a lane takes the calls of its own queue and those of the queue
// of the pool in turn.
func TestLaneTakesTurns(t *testing.T) {
	var h pool.Handlers
	var began []int
	f := pool.Register(&h, "note", func(_ context.Context, i int) (int, error) { began = append(began, i); return i, nil }, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	const n = 20
	p.Pause()
	for i := range n {
		f.Go(bg, i)
	}
	l, err := p.Acquire(bg)
	must(t, err)
	for i := range n {
		pool.GoOn(bg, l, f, n+i)
	}
	l.Release()
	p.Resume()
	must(t, p.Wait(within(t)))
	next := [2]int{0, n}
	for i, id := range began {
		if i > 0 && (id < n) == (began[i-1] < n) || id != next[id/n] {
			t.Fatalf("the calls began in the order %v; those below %d name no lane", began, n)
		}
		next[id/n]++
	}
	if len(began) != 2*n {
		t.Errorf("%d of %d calls have begun", len(began), 2*n)
	}
}

// busyScheduler returns a scheduler with one worker, which runs no task before release is called.
func busyScheduler(t *testing.T) (s *sched.Scheduler, release func()) {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	t.Cleanup(func() { must(t, s.Shutdown(within(t))) })
	hold, began := make(chan struct{}), make(chan struct{})
	must(t, s.Go(func() { close(began); <-hold }))
	<-began
	return s, func() { close(hold) }
}

// TestLeaseLeavesCallsToOtherLanes leases a lane after a call has chosen it and before its
// drain has taken the call out of the queue. Another lane runs the call.
func TestLeaseLeavesCallsToOtherLanes(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	s, release := busyScheduler(t)
	p := newPool(t, &h, pool.Config{Lanes: 2, Scheduler: s})
	var done pool.Handlers
	dep := pool.Register(&done, "double", double)
	newPool(t, &done, pool.Config{Lanes: 1})
	argument := dep.Go(bg, 1)
	result(t, argument)
	call := f.After(bg, argument) // its sender queues it
	l, err := p.AcquireLane(within(t), 0)
	must(t, err)
	release()
	if v := result(t, call); v != 4 {
		t.Errorf("the call returned %d", v)
	}
	l.Release()
	balanced(t, p)
}

// TestOwedLaneIsLeased checks that a lane that owes the pool a call is leased when another lane
// has run that call.
func TestOwedLaneIsLeased(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 2})
	t.Cleanup(g.release)
	l, err := p.AcquireLane(bg, 0)
	must(t, err)
	f.Go(bg, 0)
	g.entered(t, 1)
	f.Go(bg, 1) // it waits
	leased := make(chan *pool.Lease)
	go func() {
		l, err := p.AcquireLane(within(t), 0)
		if err != nil {
			t.Error(err)
		}
		leased <- l
	}()
	until(t, "a waiter", func() bool { return p.LeaseWaiters() == 1 })
	g.open <- struct{}{} // lane 1 takes the other call
	g.entered(t, 1)
	l.Release()
	came(t, "the lease", leased).Release()
}

// TestBlockedCallersBesideCalls checks that the caller of Go that waits for space continues
// when its call is the first that waits. More callers wait for their calls behind it.
func TestBlockedCallersBesideCalls(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
	f.Go(bg, 0)
	g.entered(t, 1)
	f.Go(bg, 1)
	second := make(chan *pool.Future[int], 1)
	go func() { second <- f.Go(bg, 2) }()
	until(t, "the second call", func() bool { return p.Metrics().Waiting == 2 })
	for i := range 5 {
		go f.Call(bg, 3+i)
	}
	until(t, "the calls", func() bool { return p.Metrics().Waiting == 7 })
	g.open <- struct{}{}
	g.entered(t, 1)
	came(t, "the caller of the second call", second)
	g.release()
	balanced(t, p)
}

// TestEndedCallsLeaveTheQueue checks that calls that end while they wait do not fill the memory,
// wherever they wait. The calls between them run in the end. K-135.
func TestEndedCallsLeaveTheQueue(t *testing.T) {
	type caller func(ctx context.Context, arg int) *pool.Future[int]
	leased := func(t *testing.T, p *pool.Pool) *pool.Lease {
		t.Helper()
		l, err := p.AcquireLane(bg, 1)
		must(t, err)
		return l
	}
	anywhere := func(_ *testing.T, _ *pool.Pool, f *pool.Func[int, int]) (caller, func()) { return f.Go, func() {} }
	for name, tc := range map[string]struct {
		config pool.Config
		begin  func(t *testing.T, p *pool.Pool, f *pool.Func[int, int]) (call caller, end func())
	}{
		"for any lane":   {pool.Config{Lanes: 2}, anywhere},
		"on the callers": {inlineOnly(), anywhere},
		"through a lease": {pool.Config{Lanes: 2}, func(t *testing.T, p *pool.Pool, f *pool.Func[int, int]) (caller, func()) {
			t.Helper()
			l := leased(t, p)
			return func(ctx context.Context, arg int) *pool.Future[int] { return pool.GoOn(ctx, l, f, arg) }, l.Release
		}},
		"behind a lease": {pool.Config{Lanes: 2}, func(t *testing.T, p *pool.Pool, f *pool.Func[int, int]) (caller, func()) {
			t.Helper()
			for range 1000 { // any number of other calls may wait in the pool
				f.Go(bg, 0)
			}
			l := leased(t, p)
			return func(ctx context.Context, arg int) *pool.Future[int] { return pool.GoAt(ctx, l.ID(), f, arg) }, l.Release
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, f, p := doubler(t, tc.config)
			p.Pause()
			call, end := tc.begin(t, p, f)
			ended := func(arg int) weak.Pointer[pool.Future[int]] {
				ctx, cancel := context.WithCancel(bg)
				fu := call(ctx, arg)
				cancel()
				_, err := fu.Wait(bg)
				mustBe(t, err, context.Canceled, pool.ErrNotStarted)
				return weak.Make(fu)
			}
			var live []*pool.Future[int]
			var dead []weak.Pointer[pool.Future[int]]
			for i := range 2000 {
				if i%200 == 0 {
					live = append(live, call(bg, i))
				}
				dead = append(dead, ended(i))
			}
			runtime.GC()
			runtime.GC()
			kept := 0
			for _, w := range dead {
				if w.Value() != nil {
					kept++
				}
			}
			if kept > 200 {
				t.Errorf("%d of %d calls that have ended are kept", kept, len(dead))
			}
			p.Resume()
			end()
			for i, fu := range live {
				v, err := fu.Wait(within(t))
				if must(t, err); v != 2*200*i {
					t.Errorf("call %d: %d", i, v)
				}
			}
			balanced(t, p)
		})
	}
}

// TestLeaseCallAfterCallNeedsNoBacklog checks the law of TestCallAfterCallNeedsNoBacklog for
// the calls of a lease.
func TestLeaseCallAfterCallNeedsNoBacklog(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: pool.NoBacklog, Overflow: pool.Fail})
	l, err := p.Acquire(bg)
	must(t, err)
	defer l.Release()
	for i := range 2000 {
		if v, err := pool.CallOn(bg, l, f, i); v != 2*i || err != nil {
			t.Fatalf("call %d: %d, %v", i, v, err)
		}
	}
}

// TestCallsBesideABlockedHandlerNeedNoBacklog checks the same law beside a handler that has
// given its permit up.
func TestCallsBesideABlockedHandlerNeedNoBacklog(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	hold, in := make(chan struct{}), make(chan struct{})
	blocks := pool.Register(&h, "blocks", func(context.Context, int) (int, error) {
		p.Blocking(func() { close(in); <-hold })
		return 0, nil
	}, pool.TaskOptions{Remote: true})
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p = newPool(t, &h, pool.Config{Lanes: 1, Backlog: pool.NoBacklog})
	blocked := blocks.Go(bg, 0)
	<-in
	for i := range 2000 {
		if v, err := f.TryCall(bg, i); v != 2*i || err != nil {
			t.Fatalf("call %d: %d, %v", i, v, err)
		}
	}
	close(hold)
	result(t, blocked)
	balanced(t, p)
}

// TestSchedulerEndsBelowCalls checks that each call ends when the scheduler of a pool has ended
// below it. The call may wait in the queue while other callers find out.
func TestSchedulerEndsBelowCalls(t *testing.T) {
	for round := range 30 {
		s, err := sched.New(sched.Config{MaxWorkers: 2})
		must(t, err)
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, pool.Config{Lanes: 1, Scheduler: s})
		argument := f.Go(bg, 0)
		result(t, argument)
		_, err = s.Close()
		must(t, err)
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						f.Call(within(t), 1)
						f.TryCall(within(t), 1)
					}
				}
			})
		}
		calls := make([]*pool.Future[int], 300)
		for i := range calls {
			if round%2 == 0 {
				calls[i] = f.After(bg, argument)
			} else {
				calls[i] = f.Go(bg, 2)
			}
		}
		close(stop)
		callers.Wait()
		for _, call := range calls {
			if _, err := wait(t, call); err != nil && !errors.Is(err, pool.ErrClosed) {
				t.Fatalf("a call without a scheduler: %v", err)
			}
		}
		balanced(t, p)
	}
}
