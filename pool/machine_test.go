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
	named  bool       // it names its lane by an id: the lane counts it from its begin
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
	number     int
	generation uint32
	queue      []*made // calls through leases that it has not taken, in order, those that were aborted included
	named      []*made // the same of the calls by its id
	running    int     // permits in use
	overdue    int     // of these, by handlers whose calls have ended
	accepted   int
	ended      int
	lease      *pool.Lease
	waits      []*leaseWait // for a lease of the lane, in order
	reserved   bool         // for the first of these, or for one that wants any lane, since the last rest or before
	owes       debt
	next       turn
	direct     bool // a call that names the lane has found a free permit since the last rest
}

// newModelLane returns a lane with that number.
func newModelLane(number int) *modelLane { return &modelLane{number: number, generation: 1} }

// id returns the id of the lane.
func (l *modelLane) id() pool.LaneID { return pool.LaneID{Lane: l.number, Generation: l.generation} }

// turn is the queue that a lane takes the next call from, if calls wait in both.
type turn int

const (
	own    turn = iota // its own: calls through leases, and then calls by its id
	shared             // that of the pool
	either             // the model does not know
)

// leaseWait is a goroutine that waits for a lease of a lane, or of any.
type leaseWait struct {
	number int         // of the wait
	id     pool.LaneID // zero: any lane
	cancel context.CancelCauseFunc
	lease  *pool.Lease // with err: when done is closed
	err    error
	done   chan struct{}
}

// debt says whether a lane has to take a call before it is leased again. It has to if a call
// waits that it may take.
type debt int

const (
	none    debt = iota
	due          // a lease has ended while calls waited, and the lane has taken none of them since
	unclear      // the model does not know
)

// occupied returns how many calls occupy the lane.
func (l *modelLane) occupied() int { return l.accepted - l.ended + l.overdue }

// free reports whether all calls of the lane have ended.
func (l *modelLane) free() bool { return l.accepted == l.ended }

// vacant reports whether the lane is free and no handler has it. A handler whose call has ended
// may still have the lane.
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
	gave    bool // a lane was given back since the last rest
	pings   uint64
	calls   []*made
	over    []*pool.Lease // leases that were released or discarded
	wants   []*leaseWait  // the waits for a lease of any lane, in order
	waited  int           // goroutines that have begun to wait for a lease
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
	c := pool.Config{Lanes: m.size, Concurrency: m.limit, Backlog: pool.Unlimited, AbortCapacity: 1 << 12, Balancer: m.pick, OnEnd: func(pool.Ended) {}}
	if rapid.Bool().Draw(t, "inline") {
		c.Inline = &pool.Inline{}
		m.inline = newModelLane(-1)
	}
	for i := range m.size {
		m.lanes = append(m.lanes, newModelLane(i))
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
	inFlight := m.waiting()
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

// waiting returns how many calls wait that no lane counts.
func (m *machine) waiting() int {
	n := live(m.queue)
	for _, l := range m.lanes {
		n += live(l.named)
	}
	return n
}

// open reports whether the lane takes calls that name none.
func (m *machine) open(l *modelLane) bool { return l.number < m.size && l.takesNamed() }

// takesNamed reports whether the lane takes calls by its id.
func (l *modelLane) takesNamed() bool { return l.lease == nil && !l.reserved }

// place returns the lane where a call begins at once that the pool would have on l. It is l if
// that has a free permit. Otherwise it is the next open lane that has one in the order of their
// numbers. It is nil if the call waits.
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

// send makes a call that names no lane by that function. The call comes to the inline lane or
// else to the queue of the pool. It leaves the queue at once if an open lane has a free permit.
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

// drawID draws an id. It returns its lane, or why the id names none. The id may be that of a
// generation that was discarded, of a lane that Resize has taken out, or of the inline lane.
func (m *machine) drawID(t *rapid.T) (pool.LaneID, *modelLane, error) {
	l := rapid.SampledFrom(m.every()).Draw(t, "lane")
	id := l.id()
	if rapid.IntRange(0, 5).Draw(t, "old") == 0 {
		id.Generation = uint32(rapid.IntRange(0, int(l.generation)-1).Draw(t, "generation"))
	}
	switch {
	case l == m.inline, l.number >= m.size, id.Generation == 0:
		return id, nil, pool.ErrNoSuchLane
	case id != l.id():
		return id, nil, pool.ErrLaneDiscarded
	}
	return id, l, nil
}

// drawLeased draws a lane that is leased.
func (m *machine) drawLeased(t *rapid.T) *modelLane {
	var leased []*modelLane
	for _, l := range m.lanes {
		if l.lease != nil {
			leased = append(leased, l)
		}
	}
	if len(leased) == 0 {
		t.Skip()
	}
	return rapid.SampledFrom(leased).Draw(t, "lane")
}

// goAt makes a call by an id of lane l, which the pool refuses if refusal is not nil.
func (m *machine) goAt(t *rapid.T, id pool.LaneID, l *modelLane, refusal error) {
	c := m.newCall(t)
	c.fu = pool.GoAt(bg, id, m.stand, any(c.id))
	if refusal != nil {
		m.refused(t, c, refusal)
		return
	}
	c.lane, c.named = l, true
	l.named = append(l.named, c)
}

// mayBegin reports whether a call by the id of the lane begins at once in a pool at rest.
func (m *machine) mayBegin(l *modelLane) bool {
	return !m.paused && l.takesNamed() && l.running < m.limit
}

// wait makes a goroutine wait for a lease of lane l, or of any if l is nil.
func (m *machine) wait(t *rapid.T, l *modelLane) {
	ctx, cancel := context.WithCancelCause(bg)
	w := &leaseWait{number: m.waited, cancel: cancel, done: make(chan struct{})}
	m.waited++
	acquire := func() (*pool.Lease, error) { return m.p.Acquire(ctx) }
	if l == nil {
		m.wants = append(m.wants, w)
	} else {
		w.id = l.id()
		l.waits = append(l.waits, w)
		acquire = func() (*pool.Lease, error) { return m.p.AcquireID(ctx, w.id) }
		if rapid.Bool().Draw(t, "by number") {
			acquire = func() (*pool.Lease, error) { return m.p.AcquireLane(ctx, w.id.Lane) }
		}
	}
	go func() {
		defer close(w.done)
		w.lease, w.err = acquire()
	}()
	n := len(m.wants)
	for _, l := range m.lanes {
		n += len(l.waits)
	}
	until(t, "a goroutine that waits for a lane", func() bool { return m.p.Waiters() == n })
}

// endWaits is the end of waits for a lease.
func (m *machine) endWaits(t *rapid.T, waits *[]*leaseWait, cause error) {
	for _, w := range *waits {
		came(t, "the end of a wait for a lane", w.done)
		mustBe(t, w.err, cause)
	}
	*waits = nil
}

// endLaneWaits is the end of the waits for a lane.
func (m *machine) endLaneWaits(t *rapid.T, l *modelLane, cause error) {
	m.endWaits(t, &l.waits, cause)
	l.reserved = false
}

// endAllWaits is the end of the waits for leases of a pool that takes no more calls.
func (m *machine) endAllWaits(t *rapid.T) {
	m.endWaits(t, &m.wants, pool.ErrPoolShutdown)
	for _, l := range m.lanes {
		m.endLaneWaits(t, l, pool.ErrPoolShutdown)
	}
}

// giveUp lets one of the waits end.
func giveUp(t *rapid.T, waits *[]*leaseWait) {
	if len(*waits) == 0 || !rapid.Bool().Draw(t, "this one") {
		return
	}
	i := rapid.IntRange(0, len(*waits)-1).Draw(t, "wait")
	w := (*waits)[i]
	w.cancel(errWhy)
	came(t, "the end of a wait for a lane", w.done)
	mustBe(t, w.err, errWhy)
	*waits = slices.Delete(*waits, i, i+1)
}

// first returns the waits of which the first one gets the lane, or nil.
func (m *machine) first(l *modelLane) (of *[]*leaseWait) {
	if len(l.waits) > 0 {
		of = &l.waits
	}
	if len(m.wants) > 0 && l.number < m.size && (of == nil || m.wants[0].number < l.waits[0].number) {
		of = &m.wants
	}
	return of
}

// gaveBack is what a lane owes after a lease or a Discard: see debt.
func (m *machine) gaveBack(l *modelLane) {
	switch {
	case live(l.named) > 0, live(m.queue) > 0 && !m.gave:
		l.owes = due
	case len(l.named) == 0 && len(m.queue) == 0:
		l.owes = none
	default: // calls that have ended are in the queues, or another lane takes those that wait
		l.owes = unclear
	}
	m.gave = true
}

// grant leases the lane to the first goroutine that waits for it. The lane has to be vacant. It must be
// reserved, or must have taken the call that it owes.
func (m *machine) grant(t *rapid.T, l *modelLane) {
	waits := m.first(l)
	if waits == nil || l.lease != nil || !l.vacant() {
		return
	}
	w := (*waits)[0]
	if live(l.named)+live(m.queue) > 0 && !m.paused && !l.reserved {
		switch l.owes {
		case due:
			return
		case unclear:
			until(t, "a lease or a call of a lane", func() bool { return closed(w.done) || len(m.began) > 0 })
			if !closed(w.done) {
				return
			}
		}
	}
	*waits = (*waits)[1:]
	came(t, "a lease", w.done)
	must(t, w.err)
	if w.lease.ID() != l.id() {
		t.Fatalf("the lease of %v has %v", l.id(), w.lease.ID())
	}
	l.lease, l.reserved = w.lease, false
}

// closed reports whether ch is closed.
func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// paid is what a lane owes after it has taken calls.
func (m *machine) paid(l *modelLane, ownNamed, shared int) {
	switch {
	case ownNamed+shared == 0, m.direct == l, l.direct && ownNamed == 1 && shared == 0: // none came from a queue
	case l.direct:
		l.owes = unclear
	default:
		l.owes = none
	}
}

// pass lets reservations pass on. A goroutine that wants any lane has got another one, or waits no more. So
// the lane that it has reserved takes calls.
func (m *machine) pass() {
	reserved := m.p.Reserved()
	for _, l := range m.lanes {
		l.reserved = l.reserved && (len(l.waits) > 0 || slices.Contains(reserved, l.number))
	}
}

// anyReserved returns how many of the reserved lanes are so for goroutines that want any.
func (m *machine) anyReserved() (n int) {
	for _, l := range m.lanes {
		if l.reserved && len(l.waits) == 0 {
			n++
		}
	}
	return n
}

// mayReserve returns the lanes that a goroutine that wants any may reserve for certain.
func (m *machine) mayReserve() (lanes []*modelLane) {
	for _, l := range m.lanes[:m.size] {
		if l.lease == nil && !l.reserved && l.owes == none && !m.paused {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// waitForAny makes a goroutine wait for any lane. If it reserves one, that is the one that the fewest calls
// occupy.
func (m *machine) waitForAny(t *rapid.T) {
	before, may, served := m.p.Reserved(), m.mayReserve(), m.anyReserved() == len(m.wants)
	m.wait(t, nil)
	if len(may) == 0 || !served {
		return
	}
	until(t, "a reserved lane", func() bool { return len(m.p.Reserved()) > len(before) })
	for _, number := range m.p.Reserved() {
		for _, l := range may {
			if n := m.lanes[number].occupied(); !slices.Contains(before, number) && n > l.occupied() {
				t.Fatalf("lane %d is reserved, which %d calls occupy, and %d occupy lane %d", number, n, l.occupied(), l.number)
			}
		}
	}
}

// atRest is what becomes of the leases of a pool at rest. A lane for which a goroutine waits is reserved,
// unless it owes a call. As many others are reserved as goroutines want any, as far as there are lanes. A
// lane that may have looked for a call since its last lease may owe none.
func (m *machine) atRest(t *rapid.T) {
	m.gave = false
	reserved := m.p.Reserved()
	for _, l := range m.lanes {
		m.grant(t, l)
		before := l.reserved
		l.reserved = slices.Contains(reserved, l.number)
		wanted := len(l.waits) > 0 && l.lease == nil
		if l.reserved && !wanted && len(m.wants) == 0 || !l.reserved && wanted && (before || l.owes == none && !m.paused) {
			t.Fatalf("lane %d is reserved (%t), was so (%t), and owes a call (%d): %d goroutines wait for it", l.number, l.reserved, before, l.owes, len(l.waits))
		}
		if l.owes == due && (m.paused || !m.open(l) || l.running < m.limit) && live(l.named)+live(m.queue) == 0 {
			l.owes = unclear
		}
	}
	if n, may := m.anyReserved(), m.mayReserve(); n > len(m.wants) || n < len(m.wants) && len(may) > 0 {
		t.Fatalf("%d lanes are reserved for the %d goroutines that want any, and %d others may be", n, len(m.wants), len(may))
	}
}

// end is the end of a call unless it has ended. A call that waits and that no lane counts ends
// at none.
func (m *machine) end(c *made, cause error) {
	if c.ended {
		return
	}
	c.ended, c.cause = true, cause
	m.count(&m.ends, c)
	switch {
	case !c.began && (c.named || c.lane == nil):
		m.count(&m.noLane, c)
	case c.lane != nil:
		c.lane.ended++
		if c.began && cause != nil {
			c.lane.overdue++
		}
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
	case errors.Is(c.cause, errTask), errors.Is(c.cause, pool.ErrLaneDiscarded), errors.Is(c.cause, pool.ErrNoSuchLane):
		e.LaneDiscarded++
	default:
		e.Aborted++
	}
}

// settle lets the pool come to rest and compares it with the model. The calls have begun that
// the model says, and no others. The counters agree.
func (m *machine) settle(t *rapid.T) {
	until(t, "a pool at rest", func() bool { return m.advance(t) })
	m.atRest(t)
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

// advance reports whether the pool is at rest. The workers then run no callbacks but those of
// the handlers that stand, and none is queued. The goroutines that run Remote calls of the
// inline lane have returned. The model then takes the calls that have begun out of its queues.
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
	after := m.p.Scheduler().Stats() // a task that ran since may be looking for calls when Metrics reads the lanes
	if m.calm++; got.Scheduler.Running != standing || got.Scheduler.Queued != 0 || got.Detached != len(m.outside) ||
		after.Executed != got.Scheduler.Executed || after.Running != standing {
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
	m.pass()
	waiting := live(m.queue)
	var takings []taking
	for i, l := range m.lanes {
		s := m.takeOwn(t, l)
		s.shared = int(got.Lanes[i].Accepted) - l.accepted
		l.accepted += s.shared
		l.running += s.own + s.shared
		m.paid(l, s.named, s.shared)
		if s.shared < 0 || s.shared > 0 && !m.open(l) || s.own+s.shared > 0 && l.running > m.limit {
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

// takeOwn takes the calls that have begun out of the queues of a lane. No call by its id begins
// while a lease has the lane. The calls through earlier leases come first.
func (m *machine) takeOwn(t *rapid.T, l *modelLane) taking {
	s := taking{l: l, waiting: live(l.queue)}
	l.queue, s.own = m.begin(t, l.queue)
	if !l.takesNamed() {
		return s
	}
	s.waiting += live(l.named)
	if l.named, s.named = m.begin(t, l.named); s.named > 0 && live(l.queue) > 0 {
		t.Fatalf("lane %d has taken a call by its id, and %d calls through a lease wait", l.number, live(l.queue))
	}
	s.own += s.named
	l.accepted += s.named
	return s
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

// find learns from the counters which lane a call has that has begun and has just ended.
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
	waiting int // calls that waited in its own queues and might begin
	own     int // taken of these
	named   int // of them, calls by its id
	shared  int // taken of those that name no lane
}

// alternates checks that an open lane has taken the calls of the two queues in turn as far as
// both had calls. alone says that no other lane has taken one. Otherwise that lane may have had
// the queue of the pool for a moment. waiting is how many calls waited there.
func (m *machine) alternates(t *rapid.T, s taking, alone bool, waiting int) {
	l := s.l
	switch {
	case m.direct != nil, l.direct && s.own+s.shared == 1: // the call came to no queue
	case len(l.waits)+len(m.wants) > 0:
		l.next = either // it is reserved after the first call that it has not taken for a lease
	case s.shared == 0 && !l.direct && (!m.open(l) || !alone || l.next == either):
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
		case l.running >= m.limit:
		case live(l.queue) > 0:
			return fmt.Sprintf("lane %d is idle, and %d calls wait there", l.number, live(l.queue))
		case l.takesNamed() && live(l.named) > 0:
			return fmt.Sprintf("lane %d is idle, and %d calls by its id wait", l.number, live(l.named))
		case m.open(l) && live(m.queue) > 0:
			return fmt.Sprintf("lane %d is idle, and %d calls wait", l.number, live(m.queue))
		default:
			l.queue = nil
			if l.takesNamed() {
				l.named = nil
			}
		}
	}
	return ""
}

// differs says how the counters of the pool differ from the model, or nothing.
func (m *machine) differs() string {
	got := m.p.Metrics()
	for i, l := range m.every() {
		g := got.Lanes[i]
		if g.Lane != l.number || g.ID != l.id() || int(g.Accepted) != l.accepted || int(g.Ended) != l.ended || g.Leased != (l.lease != nil) ||
			l != m.inline && g.Overdue != l.overdue {
			return fmt.Sprintf("want %v with %d accepted, %d ended, %d overdue: %+v", l.id(), l.accepted, l.ended, l.overdue, g)
		}
		if g.Backlog != live(l.queue) {
			return fmt.Sprintf("want a backlog of %d: %+v", live(l.queue), g)
		}
	}
	if got.Waiting != m.waiting() || got.NoLane != m.noLane || got.Ends != m.ends {
		return fmt.Sprintf("want %d waiting, the ends %+v, and those without a lane %+v: %+v", m.waiting(), m.ends, m.noLane, got)
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
		m.grant(t, c.lane) // before the lane takes the next call
	}
	m.running = slices.DeleteFunc(m.running, isC)
	m.outside = slices.DeleteFunc(m.outside, isC)
	m.outcome(t, c)
}

// finishOne lets one of the handlers return.
func (m *machine) finishOne(t *rapid.T, standing []*made) {
	if len(standing) == 0 {
		t.Skip()
	}
	m.finish(t, rapid.SampledFrom(standing).Draw(t, "call"))
}

// runInline is what a goroutine does that waits. It runs at most n inline calls until reached
// says so or there is none.
func (m *machine) runInline(n int, reached func() bool) (ran int) {
	for m.inline != nil && !m.paused && len(m.inline.queue) > 0 && ran < n && !reached() {
		c := m.inline.queue[0]
		m.inline.queue = m.inline.queue[1:]
		if !c.ended {
			ran++
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

// during runs the waiting calls of the pool. It does the same in the model.
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

// waits is a wait until reached for as long as one batch of inline calls takes, because its
// context has ended. It does not wait for the handlers of that batch, which are Remote.
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
	return m.waiting() == 0 && !slices.ContainsFunc(m.every(), func(l *modelLane) bool { return !l.free() })
}

// release is what becomes of a lane whose lease is released.
func (m *machine) release(t *rapid.T, l *modelLane) {
	m.over = append(m.over, l.lease)
	l.lease.Release()
	l.lease = nil
	m.gaveBack(l)
	m.grant(t, l)
}

// discard is the end of all calls of a lane and of its lease.
func (m *machine) discard(t *rapid.T, l *modelLane, cause error) {
	if l.lease != nil {
		m.over = append(m.over, l.lease)
		l.lease = nil
	}
	l.generation++
	if m.closed {
		return
	}
	m.findDiscarded(t, l)
	isHere := func(c *made) bool { return c.lane == l }
	for _, c := range m.running {
		if isHere(c) {
			m.end(c, cause)
			m.outside = append(m.outside, c)
		}
	}
	m.running = slices.DeleteFunc(m.running, isHere)
	m.fail(&l.queue, cause)
	m.fail(&l.named, cause)
	l.running, l.overdue = 0, 0
	m.endLaneWaits(t, l, pool.ErrLaneDiscarded)
	m.gaveBack(l)
	m.grant(t, l)
}

// findDiscarded learns from their ends which calls were on a lane that was discarded. They have
// to be as many as the lane had.
func (m *machine) findDiscarded(t *rapid.T, l *modelLane) {
	n := 0
	for _, c := range m.running {
		if c.lane == nil && settled(c.fu) {
			if c.batch[l] == 0 {
				t.Fatalf("call %d has ended with lane %d, and was on one of %v", c.id, l.number, c.batch.numbers())
			}
			m.learn(c, l)
		}
		if c.lane == l {
			n++
		}
	}
	if n != l.running {
		t.Fatalf("%d calls were on lane %d, want %d", n, l.number, l.running)
	}
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

// actions are the commands by name. The one without a name follows each of them.
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
			l := m.drawLeased(t)
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
				m.release(t, l)
			}
		},
		"go at an id": func(t *rapid.T) {
			id, l, refusal := m.drawID(t)
			if refusal == nil {
				refusal = m.refusal(l)
			}
			if refusal == nil {
				l.direct = m.mayBegin(l)
			}
			for range rapid.SampledFrom([]int{1, 1, 1, 6}).Draw(t, "calls") {
				m.goAt(t, id, l, refusal)
			}
		},
		"end a lease for which others wait": func(t *rapid.T) {
			l := m.drawLeased(t)
			if m.closed || l.number >= m.size {
				t.Skip("it names no lane that takes calls")
			}
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				m.goAt(t, l.id(), l, nil)
			}
			m.wait(t, l)
			m.release(t, l)
		},
		"call at an id": func(t *rapid.T) {
			id, l, refusal := m.drawID(t)
			if refusal == nil {
				refusal = m.refusal(l)
			}
			if refusal == nil && !m.mayBegin(l) {
				t.Skip("it would wait")
			}
			v, err := pool.CallAt(bg, id, m.quick, 21)
			switch {
			case refusal != nil:
				mustBe(t, err, refusal, pool.ErrNotStarted)
			case v != 42 || err != nil:
				t.Fatalf("CallAt = %d, %v", v, err)
			default:
				l.accepted++
				l.ended++
				m.ends.Returned++
			}
		},
		"use a lease that is over": func(t *rapid.T) {
			if len(m.over) == 0 {
				t.Skip()
			}
			lease := rapid.SampledFrom(m.over).Draw(t, "lease")
			c := m.newCall(t)
			c.fu = pool.GoOn(bg, lease, m.stand, any(c.id))
			m.refused(t, c, pool.ErrLeaseOver)
			lease.Release()
			lease.Discard(errWhy)
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
		"finish":               func(t *rapid.T) { m.finishOne(t, append(slices.Clone(m.outside), m.running...)) },
		"finish with a permit": func(t *rapid.T) { m.finishOne(t, m.running) }, // the lane takes the next call
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
			if c.lane != nil && c.lane != m.inline {
				m.grant(t, c.lane)
			}
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
				m.lanes = append(m.lanes, newModelLane(i))
			}
			reached := func() bool {
				return m.size > before || !slices.ContainsFunc(m.lanes[m.size:], func(l *modelLane) bool { return !l.vacant() })
			}
			m.waits(t, "Resize", reached, func() error { return m.p.Resize(gone(), m.size) })
			for _, l := range m.lanes[m.size:] {
				m.endLaneWaits(t, l, pool.ErrNoSuchLane)
				m.fail(&l.named, pool.ErrNoSuchLane)
			}
		},
		"set concurrency": func(t *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(t, "concurrency")
			if m.closing || m.closed {
				mustBe(t, m.p.SetConcurrency(n), pool.ErrPoolShutdown)
				return
			}
			m.limit = n
			must(t, m.p.SetConcurrency(n))
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
		"lease an id": func(t *rapid.T) {
			id, l, refusal := m.drawID(t)
			lease, err := m.p.AcquireID(gone(), id)
			switch {
			case refusal != nil:
				mustBe(t, err, refusal)
			case m.closed:
				mustBe(t, err, pool.ErrPoolShutdown)
			case l.vacant() && l.lease == nil:
				must(t, err)
				if lease.ID() != id {
					t.Fatalf("the lease of %v has %v", id, lease.ID())
				}
				l.lease = lease
			default:
				mustBe(t, err, errWhy)
			}
		},
		"wait for a lease": func(t *rapid.T) {
			l := rapid.SampledFrom(m.lanes[:m.size]).Draw(t, "lane")
			if m.closed || l.lease == nil && l.vacant() {
				t.Skip("it would not wait")
			}
			m.wait(t, l)
		},
		"wait for any lane": func(t *rapid.T) {
			free := func(l *modelLane) bool { return l.lease == nil && l.vacant() }
			if m.closed || slices.ContainsFunc(m.lanes[:m.size], free) {
				t.Skip("it would not wait")
			}
			m.waitForAny(t)
		},
		"end a wait for a lease": func(t *rapid.T) {
			giveUp(t, &m.wants)
			for _, l := range m.lanes {
				giveUp(t, &l.waits)
			}
		},
		"release": func(t *rapid.T) {
			for _, l := range m.lanes {
				if l.lease != nil && rapid.Bool().Draw(t, "this one") {
					m.release(t, l)
				}
			}
		},
		"discard": func(t *rapid.T) {
			for _, l := range m.lanes {
				if l.lease != nil && rapid.Bool().Draw(t, "this one") {
					l.lease.Discard(errTask)
					m.discard(t, l, errTask)
					return
				}
			}
		},
		"discard an id": func(t *rapid.T) {
			id, l, refusal := m.drawID(t)
			if l != nil && l.lease == nil && l.vacant() && live(l.named) == 0 && rapid.IntRange(0, 3).Draw(t, "idle") != 0 {
				t.Skip("it ends nothing")
			}
			reason := rapid.SampledFrom([]error{errTask, nil}).Draw(t, "reason")
			err := m.p.Discard(id, reason)
			if refusal != nil {
				mustBe(t, err, refusal)
				return
			}
			must(t, err)
			if reason == nil {
				reason = pool.ErrLaneDiscarded
			}
			m.discard(t, l, reason)
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

// shut is the end of all calls when the pool has been closed.
func (m *machine) shut(t *rapid.T) {
	m.closed, m.paused = true, false
	for _, c := range m.running {
		m.end(c, pool.ErrThreadClosed)
	}
	m.outside, m.running = append(m.outside, m.running...), nil
	m.fail(&m.queue, pool.ErrThreadClosed)
	m.endAllWaits(t)
	for _, l := range m.every() {
		m.fail(&l.queue, pool.ErrThreadClosed)
		m.fail(&l.named, pool.ErrThreadClosed)
		l.running, l.overdue = 0, 0
		l.ended = l.accepted
	}
	for _, c := range m.calls {
		m.outcome(t, c)
	}
}

// shutdown lets everything end. It checks that it does so in order.
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
	m.endAllWaits(t)
	for !m.done() {
		until(t, "the calls that may begin", func() bool { return m.advance(t) && m.idle()+m.differs() == "" })
		if len(m.running) == 0 { // the calls wait for a lane
			i := slices.IndexFunc(m.lanes, func(l *modelLane) bool { return l.lease != nil })
			m.release(t, m.lanes[i])
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

// TestPoolMachine drives a pool in step with a sequential model. It makes calls of every kind,
// whose handlers stand until the machine lets them go. There are aborts, pauses, leases, waits
// for leases, discards, changes of the number of lanes, the inline lane, and the ends of a
// pool. The model says which calls begin and in which order. It also says how each call ends
// and what every command returns.
//
// The calls that name no lane have one queue. Each lane has one for the calls through its
// leases and one for the calls by its id. The latter begin only while no lease has the lane. A
// lane that was leased takes a call that waits before it is leased again. The calls that have
// begun are the oldest ones of their queues. No open lane has a free permit while a call waits
// for one. A call that finds a free permit begins on the lane that the balancer has picked, or
// else on the next one. It is not determined which of several lanes with free permits has taken
// which of the calls that waited. The model takes that from the counters. K-003, K-130, K-133,
// C-012, C-019 to C-028.
func TestPoolMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(m.actions())
		m.finale(t)
	})
}
