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
	inline bool       // it is one of the inline lane
	lane   *modelLane // the lane that it names, or that has taken it; nil: no lane, or it is not known
	batch  batch      // of a call that named no lane and has begun
	fu     *pool.Future[any]
	began  bool
	ended  bool // it has its outcome
	cause  error
	panics bool
	fails  bool
	permit chan struct{} // lets its handler return
}

// batch is how many of the calls that have begun between two moments of rest are on each lane. The
// model learns of a call which lane it is on when it ends, from the counters of the lanes.
type batch map[*modelLane]int

// modelLane is a lane of the model.
type modelLane struct {
	number   int
	queue    []*made // calls that name the lane and that it has not taken, in order, those that were aborted included
	running  int     // permits in use
	overdue  int     // of these, by handlers whose calls have ended
	accepted int
	ended    int
	lease    *pool.Lease
	next     turn
	direct   bool // a call that names the lane has found a free permit since the last rest
}

// turn is the queue that a lane takes the next call from, if calls wait in both.
type turn int

const (
	own    turn = iota // its own
	shared             // that of the pool
	either             // the model does not know
)

// free reports whether all calls of the lane have ended.
func (l *modelLane) free() bool { return l.accepted == l.ended }

// vacant reports whether no handler has the lane either, also none whose call has ended.
func (l *modelLane) vacant() bool { return l.free() && l.running == 0 }

// live returns how many calls of a queue have not ended.
func live(queue []*made) (n int) {
	for _, c := range queue {
		if !c.ended {
			n++
		}
	}
	return n
}

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
	queue   []*made    // calls that name no lane and that no lane has taken, in order, those that were aborted included
	running []*made    // calls with a permit
	outside []*made    // handlers without a lane
	sent    bool       // calls that name no lane have come since the last rest
	direct  *modelLane // the lane where such a call has to begin; nil: any
	paused  bool
	closed  bool
	closing bool // Shutdown is under way
	pings   uint64
	calls   []*made
	stale   int
	ends    pool.Ends
	noLane  pool.Ends // of these, the ends of calls that no lane had

	began     chan int
	got       map[int]bool // the calls received from began since the last rest
	inlineDue []*made      // inline calls that Shutdown runs, in order
	calm      int          // looks in a row that found the pool at rest
	mu        sync.Mutex   // of byID, which handlers read
	byID      map[int]*made
}

// newMachine returns a machine with a pool of that form.
func newMachine(t *rapid.T) *machine {
	m := &machine{
		limit: rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "concurrency"),
		size:  rapid.IntRange(1, 3).Draw(t, "lanes"),
		pick:  &fixed{}, began: make(chan int, 1<<12), got: map[int]bool{}, byID: map[int]*made{},
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
	if !c.inline {
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

// target returns the lane that the pool has for a call when the balancer picks number n, or nil.
func (m *machine) target(n int) *modelLane {
	r := m.roster()
	inFlight := live(m.queue)
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

// open reports whether the lane takes calls that name none.
func (m *machine) open(l *modelLane) bool { return l.number < m.size && l.lease == nil }

// place returns the lane where a call begins at once that the pool would have on l, or nil: it waits. It
// is l if that has a free permit, and otherwise the next open lane that has one, in the order of their
// numbers.
func (m *machine) place(l *modelLane) *modelLane {
	if m.paused || m.closed {
		return nil
	}
	for i := range m.size {
		if o := m.lanes[(l.number+i)%m.size]; m.open(o) && o.running < m.limit {
			return o
		}
	}
	return nil
}

// draw draws a lane for the next call and tells the balancer.
func (m *machine) draw(t *rapid.T) *modelLane {
	n := rapid.IntRange(0, len(m.roster())-1).Draw(t, "pick")
	m.pick.lane.Store(int64(n))
	return m.target(n)
}

// newCall makes a call of the model.
func (m *machine) newCall(t *rapid.T) *made {
	c := &made{id: len(m.calls), permit: make(chan struct{})}
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

// send makes a call that names no lane, by that function. It comes to the inline lane, or else to the queue of the pool, which
// it leaves at once if an open lane has a free permit.
func (m *machine) send(t *rapid.T, by func(c *made) *pool.Future[any]) {
	l := m.draw(t)
	c := m.newCall(t)
	c.inline = l != nil && l == m.inline
	c.fu = by(c)
	switch refusal := m.refusal(l); {
	case refusal != nil:
		m.refused(t, c, refusal)
	case c.inline:
		m.taken(c, l)
	default:
		m.queue = append(m.queue, c)
		m.sent = true
	}
}

// sendAtRest is send in a pool at rest, where the lane of a call that begins at once is determined.
func (m *machine) sendAtRest(t *rapid.T, by func(c *made) *pool.Future[any]) {
	m.send(t, func(c *made) *pool.Future[any] {
		if l := m.target(int(m.pick.lane.Load())); l != nil && l != m.inline {
			m.direct = m.place(l)
		}
		return by(c)
	})
}

// taken is what becomes of a call that names lane l and that the pool has taken.
func (m *machine) taken(c *made, l *modelLane) {
	c.lane = l
	l.accepted++
	l.queue = append(l.queue, c)
}

// refused is the end of a call that the pool has not taken.
func (m *machine) refused(t *rapid.T, c *made, refusal error) {
	c.ended, c.cause = true, refusal
	_, err := wait(t, c.fu)
	mustBe(t, err, refusal, pool.ErrNotStarted)
}

// refusal returns why a call that the pool would have on the lane is refused, or nil.
func (m *machine) refusal(l *modelLane) error {
	switch {
	case m.closed && l != nil:
		return pool.ErrPoolShutdown
	case l == nil:
		return pool.ErrAllLeased
	}
	return nil
}

// end is the end of a call, unless it has ended. A call that waits and names no lane ends at none.
func (m *machine) end(c *made, cause error) {
	if c.ended {
		return
	}
	c.ended, c.cause = true, cause
	m.count(&m.ends, c)
	switch {
	case c.lane != nil:
		c.lane.ended++
		if c.began && cause != nil {
			c.lane.overdue++
		}
	case !c.began:
		m.count(&m.noLane, c)
	}
}

// count counts the end of a call.
func (m *machine) count(e *pool.Ends, c *made) {
	switch {
	case c.cause == nil && c.panics:
		e.Panicked++
	case c.cause == nil && c.fails:
		e.Failed++
	case c.cause == nil:
		e.Returned++
	case errors.Is(c.cause, pool.ErrThreadClosed):
		e.PoolClosed++
	case errors.Is(c.cause, errTask):
		e.LaneDiscarded++
	default:
		e.Aborted++
	}
}

// settle lets the pool come to rest, and compares it with the model: the calls have begun
// that the model says, and no others; the counters agree.
func (m *machine) settle(t *rapid.T) {
	until(t, "a pool at rest", func() bool { return m.advance(t) })
	if why := m.idle() + m.differs(); why != "" {
		t.Fatal(why)
	}
	sums(t, m.p.Metrics())
	for _, c := range m.calls {
		if settled(c.fu) != c.ended {
			t.Fatalf("call %d: settled is %v, want %v", c.id, settled(c.fu), c.ended)
		}
	}
}

// advance reports whether the pool is at rest: the workers run no callbacks but those of the handlers that
// stand, none is queued, and the goroutines that run Remote calls of the inline lane have returned. The model
// then takes the calls that have begun out of its queues.
func (m *machine) advance(t *rapid.T) bool {
	for more := true; more; {
		select {
		case id := <-m.began:
			m.reported(t, id)
		default:
			more = false
		}
	}
	got := m.p.Metrics()
	standing := len(m.running) + len(m.outside) + len(m.got)
	if m.calm++; got.Scheduler.Running != standing || got.Scheduler.Queued != 0 || got.Outside != len(m.outside) {
		m.calm = 0
	}
	if m.calm < 2 { // a task may be between the two
		return false
	}
	m.calm = 0
	m.take(t, got)
	return true
}

// reported notes that call id has begun.
func (m *machine) reported(t *rapid.T, id int) {
	if c := m.calls[id]; c.inline {
		if len(m.inlineDue) == 0 || m.inlineDue[0] != c {
			t.Fatalf("inline call %d runs", id)
		}
		m.inlineDue = m.inlineDue[1:]
		return
	}
	if m.got[id] {
		t.Fatalf("call %d has begun twice", id)
	}
	m.got[id] = true
}

// take moves the calls that have begun from the queues to the lanes. Those of each queue have to be the
// oldest ones there. The calls that name no lane are on open lanes.
func (m *machine) take(t *rapid.T, got pool.Metrics) {
	if (m.paused || m.closed) && len(m.got) != 0 {
		t.Fatalf("calls %v have begun", m.got)
	}
	waiting := live(m.queue)
	var takings []taking
	for i, l := range m.lanes {
		s := taking{l: l, waiting: live(l.queue)}
		l.queue, s.own = m.begin(t, l.queue)
		s.shared = int(got.Lanes[i].Accepted) - l.accepted
		l.accepted += s.shared
		l.running += s.own + s.shared
		if s.shared < 0 || s.shared > 0 && !m.open(l) || l.running > m.limit {
			t.Fatalf("lane %d has taken %d calls that name no lane, and uses %d permits", l.number, s.shared, l.running)
		}
		if s.own+s.shared > 0 {
			takings = append(takings, s)
		}
	}
	from, n := len(m.running), 0
	m.queue, n = m.begin(t, m.queue)
	if len(m.got) != 0 {
		t.Fatalf("calls %v have begun, which did not wait", m.got)
	}
	b := batch{}
	for _, s := range takings {
		n -= s.shared
		if s.shared > 0 {
			b[s.l] = s.shared
		}
	}
	if n != 0 {
		t.Fatalf("%d calls more have begun than the lanes have counted", n)
	}
	if m.direct != nil && (len(b) != 1 || b[m.direct] != 1) {
		t.Fatalf("the call is on the lanes %v, want lane %d", b.numbers(), m.direct.number)
	}
	for _, c := range m.running[from:] {
		if c.lane == nil {
			c.batch = b
			m.known(c)
		}
	}
	for _, s := range takings {
		m.alternates(t, s, len(takings) == 1, waiting)
		s.l.direct = false
	}
	m.direct, m.sent = nil, false
}

// begin takes the calls that have begun out of a queue.
func (m *machine) begin(t *rapid.T, queue []*made) (left []*made, n int) {
	left = queue
	var before *made
	for i, c := range queue {
		switch {
		case c.ended:
		case !m.got[c.id]:
			if before == nil {
				before = c
			}
		case before != nil:
			t.Fatalf("call %d has begun, and call %d has not", c.id, before.id)
		default:
			delete(m.got, c.id)
			c.began = true
			m.running = append(m.running, c)
			left = queue[i+1:]
			n++
		}
	}
	return left, n
}

// known notes the lane of a call if all calls of its batch whose lanes are not known are on one.
func (m *machine) known(c *made) {
	if len(c.batch) == 1 {
		for l := range c.batch {
			m.learn(c, l)
		}
	}
}

// learn notes the lane of a call of a batch.
func (m *machine) learn(c *made, l *modelLane) {
	c.lane = l
	if c.batch[l]--; c.batch[l] == 0 {
		delete(c.batch, l)
	}
}

// find learns the lane of a call that has begun and has just ended, from the counters.
func (m *machine) find(t *rapid.T, c *made) {
	if !c.began || c.ended || c.lane != nil {
		return
	}
	m.known(c)
	until(t, "the lane of a call that has ended", func() bool {
		if c.lane != nil {
			return true
		}
		got := m.p.Metrics()
		for i, l := range m.lanes {
			if int(got.Lanes[i].Ended) != l.ended {
				if c.batch[l] == 0 {
					t.Fatalf("call %d was on lane %d, want one of %v", c.id, l.number, c.batch.numbers())
				}
				m.learn(c, l)
			}
		}
		return c.lane != nil
	})
}

// numbers returns the numbers of the lanes.
func (b batch) numbers() (n []int) {
	for l := range b {
		n = append(n, l.number)
	}
	slices.Sort(n)
	return n
}

// taking is what a lane has taken between two moments of rest.
type taking struct {
	l       *modelLane
	waiting int // calls that waited in its own queue
	own     int // taken of these
	shared  int // taken of those that name no lane
}

// alternates checks that an open lane has taken the calls of the two queues in turn, as far as both had
// calls. alone says that no other lane has taken one: otherwise that may have had the queue of the pool for a
// moment. waiting is how many calls waited there.
func (m *machine) alternates(t *rapid.T, s taking, alone bool, waiting int) {
	l := s.l
	switch {
	case m.direct != nil, l.direct && s.own+s.shared == 1: // the call came to no queue
	case s.shared == 0 && (l.direct || !m.open(l) || !alone || l.next == either):
		l.next = shared
	case m.sent, l.direct, !alone, l.next == either && s.own > 0:
		l.next = either
	case l.next == either:
		l.next = own
	default:
		a, b := 0, 0
		for a+b < s.own+s.shared {
			if l.next == own && a < s.waiting || b == waiting {
				a++
				l.next = shared
			} else {
				b++
				l.next = own
			}
		}
		if a != s.own {
			t.Fatalf("lane %d has taken %d calls of its own and %d of the pool, want %d and %d", l.number, s.own, s.shared, a, b)
		}
	}
}

// idle says which lane has a free permit that a call waits for, or nothing. A lane with a free permit
// has come to all calls that have ended in its queue.
func (m *machine) idle() string {
	if m.paused || m.closed {
		return ""
	}
	for _, l := range m.lanes {
		switch {
		case l.running == m.limit:
		case live(l.queue) > 0:
			return fmt.Sprintf("lane %d is idle, and %d calls wait there", l.number, live(l.queue))
		case m.open(l) && live(m.queue) > 0:
			return fmt.Sprintf("lane %d is idle, and %d calls wait", l.number, live(m.queue))
		default:
			l.queue = nil
		}
	}
	return ""
}

// differs says how the counters of the pool differ from the model, or nothing.
func (m *machine) differs() string {
	got := m.p.Metrics()
	for i, l := range m.every() {
		g := got.Lanes[i]
		if g.Lane != l.number || int(g.Accepted) != l.accepted || int(g.Ended) != l.ended || g.Leased != (l.lease != nil) ||
			l != m.inline && g.Overdue != l.overdue {
			return fmt.Sprintf("want %d accepted, %d ended, %d overdue: %+v", l.accepted, l.ended, l.overdue, g)
		}
		// Calls that have ended count until the lane comes to them. One that takes the calls of the pool, too, may
		// have looked for others in between.
		waiting := min(len(l.queue), l.accepted-l.ended)
		if g.Backlog != waiting && (live(l.queue) > 0 || g.Backlog != 0) {
			return fmt.Sprintf("want a backlog of %d: %+v", waiting, g)
		}
	}
	if got.Waiting != live(m.queue) || got.NoLane != m.noLane || got.Ends != m.ends {
		return fmt.Sprintf("want %d waiting, the ends %+v, and those without a lane %+v: %+v", live(m.queue), m.ends, m.noLane, got)
	}
	status := "open"
	if m.closed {
		status = "closed"
	}
	if int(got.StaleResponses) != m.stale || got.Paused != m.paused || got.Status != status && !m.closing {
		return fmt.Sprintf("want %d stale, paused %v, %s: %+v", m.stale, m.paused, status, got)
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
	m.find(t, c)
	late := c.ended
	if late {
		m.stale++
	}
	m.end(c, nil)
	isC := func(o *made) bool { return o == c }
	if slices.Contains(m.running, c) {
		c.lane.running--
		if late {
			c.lane.overdue--
		}
	}
	m.running = slices.DeleteFunc(m.running, isC)
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

// done reports whether all calls have ended.
func (m *machine) done() bool {
	return live(m.queue) == 0 && !slices.ContainsFunc(m.every(), func(l *modelLane) bool { return !l.free() })
}

// discard is the end of all calls of a leased lane, each of which names it.
func (m *machine) discard(l *modelLane, cause error) {
	isHere := func(c *made) bool { return c.lane == l }
	for _, c := range m.running {
		if isHere(c) {
			m.end(c, cause)
			m.outside = append(m.outside, c)
		}
	}
	m.running = slices.DeleteFunc(m.running, isHere)
	m.fail(&l.queue, cause)
	l.running, l.overdue = 0, 0
}

// fail is the end of all calls of a queue.
func (m *machine) fail(queue *[]*made, cause error) {
	for _, c := range *queue {
		m.end(c, cause)
	}
	*queue = nil
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
			m.sendAtRest(t, func(c *made) *pool.Future[any] { return m.stand.Go(bg, c.id) })
		},
		"go often": func(t *rapid.T) {
			if rapid.IntRange(0, 4).Draw(t, "rarely") != 0 {
				return
			}
			for range 40 { // while lanes take some of them
				m.send(t, func(c *made) *pool.Future[any] { return m.stand.Go(bg, c.id) })
			}
		},
		"submit": func(t *rapid.T) {
			m.sendAtRest(t, func(c *made) *pool.Future[any] { return m.p.Submit(bg, c.id) })
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
			l := rapid.SampledFrom(leased).Draw(t, "lane")
			l.direct = !m.paused && l.running < m.limit
			for range rapid.SampledFrom([]int{1, 1, 6}).Draw(t, "calls") {
				c := m.newCall(t)
				c.fu = pool.GoOn(bg, l.lease, m.stand, any(c.id))
				if refusal := m.refusal(l); refusal != nil {
					m.refused(t, c, refusal)
				} else {
					m.taken(c, l)
				}
			}
			if rapid.Bool().Draw(t, "release") { // the calls in its queue and in that of the pool take turns
				l.lease.Release()
				l.lease = nil
			}
		},
		"call": func(t *rapid.T) {
			l := m.draw(t)
			if l == nil || m.closed || m.paused || l == m.inline && len(l.queue) > 0 {
				t.Skip("it would wait")
			}
			if l != m.inline {
				if l = m.place(l); l == nil {
					t.Skip("it would wait")
				}
			}
			l.accepted++
			l.ended++
			m.ends.Returned++
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
			standing = append(standing, m.running...)
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
			m.find(t, c)
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
			m.waits(t, "Wait", m.done, func() error { return m.p.Wait(gone()) })
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
		m.shut(t)
	}
}

// shut is the end of all calls, as the pool has been closed.
func (m *machine) shut(t *rapid.T) {
	m.closed, m.paused = true, false
	for _, c := range m.running {
		m.end(c, pool.ErrThreadClosed)
	}
	m.outside, m.running = append(m.outside, m.running...), nil
	m.fail(&m.queue, pool.ErrThreadClosed)
	for _, l := range m.every() {
		m.fail(&l.queue, pool.ErrThreadClosed)
		l.running, l.overdue = 0, 0
		l.ended = l.accepted
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
	m.closing, m.paused = true, false
	m.runInline(1<<30, func() bool { return false })
	for _, c := range inline {
		if c.began {
			m.inlineDue = append(m.inlineDue, c)
		}
	}
	go func() { done <- m.p.Shutdown(bg) }()
	for !m.done() {
		until(t, "the calls that may begin", func() bool { return m.advance(t) && m.idle()+m.differs() == "" })
		if len(m.running) == 0 { // the calls wait for a lane
			i := slices.IndexFunc(m.lanes, func(l *modelLane) bool { return l.lease != nil })
			m.lanes[i].lease.Release()
			m.lanes[i].lease = nil
		}
		for _, c := range slices.Clone(m.running) {
			m.finish(t, c)
		}
	}
	must(t, came(t, "Shutdown", done))
	m.shut(t) // the handlers whose calls had ended go on
	m.settle(t)
	if len(m.inlineDue) != 0 {
		t.Fatalf("%d inline calls have not run", len(m.inlineDue))
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
// calls begin, in which order, how each ends, and what every command returns.
//
// The calls that name no lane have one queue, and each lane has one for the calls that name it. The calls
// that have begun are the oldest ones of their queues. No open lane has a free permit while a call
// waits for one. A call that finds a free permit begins on the lane that the balancer has
// picked, or else on the next one. Which of several lanes with free permits has taken which of the
// calls that waited is not determined: the model takes it from the counters. K-003, K-130, K-133,
// C-012, C-019 to C-028.
func TestPoolMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(m.actions())
		m.finale(t)
	})
}
