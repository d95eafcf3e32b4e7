package pool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/pool"
)

// errTask is what a call of the machine fails with, by choice.
var errTask = errors.New("the task fails")

// made is a call of the machine, as the model sees it.
type made struct {
	id     int
	lane   *modelLane
	fu     *pool.Future[any]
	began  bool
	ended  bool // it has its outcome
	cause  error
	panics bool
	fails  bool
	permit chan struct{} // lets its handler return
}

// modelLane is a lane of the model.
type modelLane struct {
	number   int
	queue    []*made // not begun, in order, those that were aborted included
	running  []*made // calls with a permit
	accepted int
	ended    int
	lease    *pool.Lease
}

// free reports whether all calls of the lane have ended.
func (l *modelLane) free() bool { return l.accepted == l.ended }

// vacant reports whether no handler has the lane either, also none whose call has ended.
func (l *modelLane) vacant() bool { return l.free() && len(l.running) == 0 }

// machine is a pool, and what the documentation says about it.
type machine struct {
	p       *pool.Pool
	pick    *fixed
	stand   *pool.Func[any, any]
	quick   *pool.Func[int, int]
	limit   int // calls at once in a lane
	lanes   []*modelLane
	inline  *modelLane // nil: none
	size    int        // lanes that the balancer sees
	paused  bool
	closed  bool
	pings   uint64
	calls   []*made
	outside []*made // handlers without a lane
	stale   int

	began chan int
	mu    sync.Mutex // of byID, which handlers read
	byID  map[int]*made
}

// newMachine returns a machine with a pool of that form.
func newMachine(t *rapid.T) *machine {
	m := &machine{
		limit: rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "concurrency"),
		size:  rapid.IntRange(1, 3).Draw(t, "lanes"),
		pick:  &fixed{}, began: make(chan int, 1<<12), byID: map[int]*made{},
	}
	// The model refuses no call for want of an abort signal.
	c := pool.Config{Lanes: m.size, Concurrency: m.limit, Backlog: pool.Unlimited, AbortCapacity: 1 << 12, Balancer: m.pick}
	if rapid.Bool().Draw(t, "inline") {
		c.Inline = &pool.Inline{}
		m.inline = &modelLane{number: -1}
	}
	for i := range m.size {
		m.lanes = append(m.lanes, &modelLane{number: i})
	}
	var h pool.Handlers
	m.stand = pool.Register(&h, "", m.enter, pool.TaskOptions{Abortable: rapid.Bool().Draw(t, "abortable"), Remote: true})
	m.quick = pool.Register(&h, "quick", double)
	var err error
	m.p, err = pool.New(&h, c)
	must(t, err)
	return m
}

// enter is the handler of all calls that stand until the machine lets them go. On the
// inline lane, which is the goroutine of the machine, they do not.
func (m *machine) enter(_ context.Context, arg any) (any, error) {
	m.mu.Lock()
	c := m.byID[arg.(int)]
	m.mu.Unlock()
	m.began <- c.id
	if c.lane != m.inline {
		<-c.permit
	}
	switch {
	case c.panics:
		panic(errTask)
	case c.fails:
		return nil, errTask
	}
	return c.id, nil
}

// roster returns the lanes in the order of the balancer.
func (m *machine) roster() []*modelLane {
	r := slices.Clone(m.lanes[:m.size])
	if m.inline != nil {
		r = append(r, m.inline)
	}
	return r
}

// every returns all lanes.
func (m *machine) every() []*modelLane {
	if m.inline == nil {
		return m.lanes
	}
	return append(slices.Clone(m.lanes), m.inline)
}

// target returns the lane that a call goes to when the balancer picks number n, or nil.
func (m *machine) target(n int) *modelLane {
	r := m.roster()
	inFlight := 0
	for _, l := range r {
		inFlight += l.accepted - l.ended
	}
	for i := range r {
		l := r[(n+i)%len(r)]
		if l == m.inline && inFlight >= 1 || l != m.inline && l.lease == nil {
			return l
		}
	}
	return m.inline
}

// draw draws a lane for the next call and tells the balancer.
func (m *machine) draw(t *rapid.T) *modelLane {
	n := rapid.IntRange(0, len(m.roster())-1).Draw(t, "pick")
	m.pick.lane.Store(int64(n))
	return m.target(n)
}

// newCall makes a call of the model for a lane.
func (m *machine) newCall(t *rapid.T, l *modelLane) *made {
	c := &made{id: len(m.calls), lane: l, permit: make(chan struct{})}
	switch rapid.IntRange(0, 5).Draw(t, "outcome") {
	case 0:
		c.panics = true
	case 1:
		c.fails = true
	}
	m.calls = append(m.calls, c)
	m.mu.Lock()
	m.byID[c.id] = c
	m.mu.Unlock()
	return c
}

// sent notes what a call that was made on lane l has become.
func (m *machine) sent(t *rapid.T, c *made, refusal error) {
	if refusal != nil {
		c.ended, c.cause = true, refusal
		_, err := wait(t, c.fu)
		mustBe(t, err, refusal, pool.ErrNotStarted)
		return
	}
	c.lane.accepted++
	c.lane.queue = append(c.lane.queue, c)
}

// refusal returns why a call on the lane is refused, or nil.
func (m *machine) refusal(l *modelLane) error {
	switch {
	case m.closed && l != nil:
		return pool.ErrPoolShutdown
	case l == nil:
		return pool.ErrAllLeased
	}
	return nil
}

// end is the end of a call, unless it has ended.
func (m *machine) end(c *made, cause error) {
	if !c.ended {
		c.ended, c.cause = true, cause
		c.lane.ended++
	}
}

// settle lets the pool come to rest, and compares it with the model: the calls begin
// that the model says, and no others; the counters agree.
func (m *machine) settle(t *rapid.T) {
	var due []int
	for _, l := range m.lanes {
		for !m.paused && !m.closed && len(l.running) < m.limit && len(l.queue) > 0 {
			c := l.queue[0]
			l.queue = l.queue[1:]
			if !c.ended {
				c.began = true
				l.running = append(l.running, c)
				due = append(due, c.id)
			}
		}
	}
	m.begin(t, due)
	until(t, "the counters: "+m.differs(), func() bool { return m.differs() == "" })
	sums(t, m.p.Metrics())
	for _, c := range m.calls {
		if settled(c.fu) != c.ended {
			t.Fatalf("call %d: settled is %v, want %v", c.id, settled(c.fu), c.ended)
		}
	}
}

// begin waits for the calls with these numbers to begin, in any order, and no others.
func (m *machine) begin(t *rapid.T, due []int) {
	var got []int
	for range due {
		got = append(got, came(t, fmt.Sprintf("the calls %v to begin", due), m.began))
	}
	slices.Sort(got)
	slices.Sort(due)
	if !slices.Equal(got, due) {
		t.Fatalf("the calls %v have begun, want %v", got, due)
	}
	select {
	case id := <-m.began:
		t.Fatalf("call %d has begun", id)
	default:
	}
}

// differs says how the counters of the pool differ from the model, or nothing.
func (m *machine) differs() string {
	got := m.p.Metrics()
	for i, l := range m.every() {
		g := got.Lanes[i]
		if g.Lane != l.number || int(g.Accepted) != l.accepted || int(g.Ended) != l.ended || g.Leased != (l.lease != nil) {
			return fmt.Sprintf("%+v, want %d accepted and %d ended", g, l.accepted, l.ended)
		}
	}
	status := "open"
	if m.closed {
		status = "closed"
	}
	if got.Outside != len(m.outside) || int(got.StaleResponses) != m.stale || got.Paused != m.paused || got.Status != status {
		return fmt.Sprintf("%+v, want %d outside, %d stale, paused %v, %s", got, len(m.outside), m.stale, m.paused, status)
	}
	return ""
}

// outcome checks the outcome of a call that has ended.
func (m *machine) outcome(t *rapid.T, c *made) {
	v, err := wait(t, c.fu)
	var remote *pool.RemoteError
	isRemote := errors.As(err, &remote)
	switch {
	case c.cause != nil:
		mustBe(t, err, c.cause)
		if errors.Is(err, pool.ErrNotStarted) == c.began || isRemote {
			t.Fatalf("call %d has begun: %v, %v", c.id, c.began, err)
		}
	case c.panics, c.fails:
		mustBe(t, err, errTask)
		if !isRemote || (remote.Type == "panic") != c.panics {
			t.Fatalf("call %d: %#v", c.id, err)
		}
	case err != nil || v != c.id:
		t.Fatalf("call %d: %v, %v", c.id, v, err)
	}
}

// finish lets the handler of a call return.
func (m *machine) finish(t *rapid.T, c *made) {
	c.permit <- struct{}{}
	if c.ended {
		m.stale++
	}
	m.end(c, nil)
	isC := func(o *made) bool { return o == c }
	c.lane.running = slices.DeleteFunc(c.lane.running, isC)
	m.outside = slices.DeleteFunc(m.outside, isC)
	m.outcome(t, c)
}

// runInline is what a goroutine does that waits: it runs inline calls until reached says
// so, or there is none, and at most n.
func (m *machine) runInline(n int, reached func() bool) (ran int) {
	for m.inline != nil && !m.paused && len(m.inline.queue) > 0 && ran < n && !reached() {
		c := m.inline.queue[0]
		m.inline.queue = m.inline.queue[1:]
		ran++
		if !c.ended {
			c.began = true
			m.end(c, nil)
		}
	}
	return ran
}

// ranInline checks that the inline calls have begun that the model has run, in order.
func (m *machine) ranInline(t *rapid.T, before []*made) {
	for _, c := range before {
		if c.began {
			if id := came(t, "an inline call", m.began); id != c.id {
				t.Fatalf("inline call %d ran, want %d", id, c.id)
			}
			m.outcome(t, c)
		}
	}
}

// during runs what waits in the pool, and the same in the model.
func (m *machine) during(t *rapid.T, n int, reached func() bool, real func()) (ran int) {
	var before []*made
	if m.inline != nil {
		before = slices.Clone(m.inline.queue)
	}
	ran = m.runInline(n, reached)
	real()
	m.ranInline(t, before)
	return ran
}

// waits is a wait until reached, for as long as one batch of inline calls takes: its
// context has ended. It does not wait for the handlers of that, which are Remote.
func (m *machine) waits(t *rapid.T, name string, reached func() bool, real func() error) {
	at := reached()
	m.during(t, 1, reached, func() {
		err := real()
		if err == nil && !reached() || err != nil && (at || !errors.Is(err, errWhy)) {
			t.Fatalf("%s = %v", name, err)
		}
	})
}

// all says whether all calls of the lanes have ended.
func all(lanes []*modelLane) bool {
	return !slices.ContainsFunc(lanes, func(l *modelLane) bool { return !l.free() })
}

// discard is the end of all calls of a lane.
func (m *machine) discard(l *modelLane, cause error) {
	for _, c := range append(slices.Clone(l.running), l.queue...) {
		m.end(c, cause)
	}
	m.outside = append(m.outside, l.running...)
	l.queue, l.running = nil, nil
}

// gone is a context that has ended.
func gone() context.Context {
	ctx, cancel := context.WithCancelCause(bg)
	cancel(errWhy)
	return ctx
}

// actions are the commands, by name; the one without is what follows each.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.settle,
		"go": func(t *rapid.T) {
			c := m.newCall(t, m.draw(t))
			c.fu = m.stand.Go(bg, c.id)
			m.sent(t, c, m.refusal(c.lane))
		},
		"go often": func(t *rapid.T) {
			if rapid.IntRange(0, 4).Draw(t, "rarely") != 0 {
				return
			}
			for range 40 { // more than a mailbox holds
				c := m.newCall(t, m.draw(t))
				c.fu = m.stand.Go(bg, c.id)
				m.sent(t, c, m.refusal(c.lane))
			}
		},
		"submit": func(t *rapid.T) {
			c := m.newCall(t, m.draw(t))
			c.fu = m.p.Submit(bg, c.id)
			m.sent(t, c, m.refusal(c.lane))
		},
		"go on a lease": func(t *rapid.T) {
			var leased []*modelLane
			for _, l := range m.lanes {
				if l.lease != nil {
					leased = append(leased, l)
				}
			}
			if len(leased) == 0 {
				t.Skip()
			}
			c := m.newCall(t, rapid.SampledFrom(leased).Draw(t, "lane"))
			c.fu = pool.GoOn(bg, c.lane.lease, m.stand, any(c.id))
			m.sent(t, c, m.refusal(c.lane))
		},
		"call": func(t *rapid.T) {
			l := m.draw(t)
			if l == nil || m.closed || l != m.inline && (m.paused || len(l.running) > 0 || len(l.queue) > 0) || l == m.inline && (m.paused || len(l.queue) > 0) {
				t.Skip("it would wait")
			}
			l.accepted++
			l.ended++
			if rapid.Bool().Draw(t, "by name") {
				if v, err := m.p.RunTask(bg, "quick", 21); v != 42 || err != nil {
					t.Fatalf("RunTask = %v, %v", v, err)
				}
			} else if v, err := m.quick.Call(bg, 21); v != 42 || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
		},
		"run what is no task": func(t *rapid.T) {
			var unknown *pool.UnknownTaskError
			if _, err := m.p.RunTask(bg, "nobody", 1); !errors.As(err, &unknown) || !errors.Is(err, pool.ErrNotStarted) {
				t.Fatalf("RunTask(unknown) = %v", err)
			}
			v, err := m.p.RunTask(bg, "request", 1)
			if m.closed {
				mustBe(t, err, pool.ErrPoolShutdown)
				return
			}
			m.pings++
			if v != (pool.Pong{CallbackID: m.pings, Type: "request"}) || err != nil {
				t.Fatalf("RunTask(request) = %v, %v", v, err)
			}
		},
		"finish": func(t *rapid.T) {
			standing := slices.Clone(m.outside)
			for _, l := range m.lanes {
				standing = append(standing, l.running...)
			}
			if len(standing) == 0 {
				t.Skip()
			}
			m.finish(t, rapid.SampledFrom(standing).Draw(t, "call"))
		},
		"abort": func(t *rapid.T) {
			if len(m.calls) == 0 {
				t.Skip()
			}
			c := rapid.SampledFrom(m.calls).Draw(t, "call")
			cause := rapid.SampledFrom([]error{nil, errWhy}).Draw(t, "cause")
			c.fu.Abort(cause)
			if cause == nil {
				cause = pool.ErrAborted
			}
			m.end(c, cause)
			if m.closed && c.cause == nil {
				return
			}
			m.outcome(t, c)
		},
		"pause":  func(*rapid.T) { m.pause(true) },
		"resume": func(*rapid.T) { m.pause(false) },
		"wait": func(t *rapid.T) {
			reached := func() bool { return all(m.every()) }
			m.waits(t, "Wait", reached, func() error { return m.p.Wait(gone()) })
		},
		"run inline": func(t *rapid.T) {
			n := rapid.IntRange(0, 4).Draw(t, "n")
			got := 0
			want := m.during(t, n, func() bool { return false }, func() { got = m.p.RunInline(n) })
			if got != want {
				t.Fatalf("RunInline(%d) = %d, want %d", n, got, want)
			}
		},
		"resize": func(t *rapid.T) {
			if m.closed {
				mustBe(t, m.p.Resize(bg, 2), pool.ErrPoolShutdown)
				return
			}
			before := m.size
			m.size = rapid.IntRange(1, 4).Draw(t, "lanes")
			for i := len(m.lanes); i < m.size; i++ {
				m.lanes = append(m.lanes, &modelLane{number: i})
			}
			reached := func() bool {
				return m.size > before || !slices.ContainsFunc(m.lanes[m.size:], func(l *modelLane) bool { return !l.vacant() })
			}
			m.waits(t, "Resize", reached, func() error { return m.p.Resize(gone(), m.size) })
		},
		"lease": func(t *rapid.T) {
			n := rapid.IntRange(0, m.size).Draw(t, "lane")
			lease, err := m.p.AcquireLane(gone(), n)
			switch {
			case n == m.size:
				mustBe(t, err, pool.ErrNoSuchLane)
			case m.closed:
				mustBe(t, err, pool.ErrPoolShutdown)
			case m.lanes[n].vacant() && m.lanes[n].lease == nil:
				must(t, err)
				m.lanes[n].lease = lease
			default:
				mustBe(t, err, errWhy)
			}
		},
		"release": func(t *rapid.T) {
			for _, l := range m.lanes {
				if l.lease != nil && rapid.Bool().Draw(t, "this one") {
					l.lease.Release()
					l.lease = nil
				}
			}
		},
		"discard": func(t *rapid.T) {
			for _, l := range m.lanes {
				if l.lease != nil && rapid.Bool().Draw(t, "this one") {
					l.lease.Discard(errTask)
					l.lease = nil
					m.discard(l, errTask)
					return
				}
			}
		},
		"close": func(t *rapid.T) {
			if rapid.IntRange(0, 15).Draw(t, "rarely") == 0 {
				m.close(t)
			}
		},
	}
}

func (m *machine) pause(paused bool) {
	if paused {
		m.p.Pause()
	} else {
		m.p.Resume()
	}
	m.paused = paused
}

// close closes the pool.
func (m *machine) close(t *rapid.T) {
	must(t, m.p.Close())
	if !m.closed {
		m.closed, m.paused = true, false
		for _, l := range m.every() {
			m.discard(l, pool.ErrThreadClosed)
		}
	}
	for _, c := range m.calls {
		m.outcome(t, c)
	}
}

// shutdown lets everything end, and checks that it does so in order.
func (m *machine) shutdown(t *rapid.T) {
	done := make(chan error, 1)
	inline := []*made{}
	if m.inline != nil {
		inline = slices.Clone(m.inline.queue)
	}
	go func() { done <- m.p.Shutdown(bg) }()
	m.paused = false
	m.runInline(1<<30, func() bool { return false })
	begun := map[int]bool{}
	for _, c := range inline {
		begun[c.id] = true
	}
	for {
		for _, l := range m.lanes {
			for _, c := range slices.Clone(l.running) {
				m.finish(t, c)
			}
		}
		var due []int
		for _, l := range m.lanes {
			for len(l.running) < m.limit && len(l.queue) > 0 {
				c := l.queue[0]
				l.queue = l.queue[1:]
				if !c.ended {
					c.began = true
					l.running = append(l.running, c)
					due = append(due, c.id)
				}
			}
		}
		if len(due) == 0 {
			break
		}
		for range due {
			for {
				id := came(t, "a call to begin", m.began)
				if slices.Contains(due, id) {
					break
				}
				if !begun[id] {
					t.Fatalf("call %d begins, want one of %v", id, due)
				}
			}
		}
	}
	must(t, came(t, "Shutdown", done))
	m.closed = true
	for _, c := range m.calls {
		m.outcome(t, c)
	}
}

// finale ends the pool and checks that nothing is left.
func (m *machine) finale(t *rapid.T) {
	switch {
	case m.closed:
	case rapid.Bool().Draw(t, "shut down"):
		m.shutdown(t)
	default:
		m.close(t)
	}
	for _, c := range slices.Clone(m.outside) {
		c.permit <- struct{}{}
	}
	if n, err := m.p.Terminate(within(t)); n != 0 || err != nil {
		t.Fatalf("Terminate = %d, %v", n, err)
	}
	balanced(t, m.p)
}

// TestPoolMachine drives a pool in step with a sequential model: calls of every kind,
// whose handlers stand until the machine lets them go, aborts, pauses, leases, changes of
// the number of lanes, the inline lane, and the ends of a pool. The model says which
// calls begin, in which order, how each ends, and what every command returns. K-003,
// K-130, K-133, C-012, C-019 to C-028.
func TestPoolMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(m.actions())
		m.finale(t)
	})
}
