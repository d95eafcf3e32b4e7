package pool

import (
	"math"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// gate counts the calls that come to a lane or to wait. It counts those that end there as well.
//
// A call occupies its lane from its acceptance until its handler has returned, whenever the call
// ends. A handler without a permit does not: it has given the permit up in order to wait, or has
// lost it, or runs on the goroutine of its caller beside the permits.
//
// Invariants:
//
//	G1  a call adds 0 or more to came - ended - aside + overdue at each moment, and 1 or more while it
//	    occupies the lane. Its step down in aside and its step up in overdue come before the step that counts
//	    its end. Its step up in aside and its step down in overdue may be late: the sum is too high then
//	G2  census loads ended first, and came after aside and overdue. So its loads of one call add
//	    up to 0 or more as well: a call has come before it ends, and a call whose end was loaded adds at most 0
//	    to aside and at least 0 to overdue from then on. A call that occupies the lane during all loads adds 1
//	    or more
//	G3  a goroutine that has made the sum smaller, or waited larger, calls Pool.counted
//	G4  a call that its lane and the gate of the pool count both is in took or waited, and not in the upper
//	    half of moved: it moves. While the gate of the pool loses it, the lower half has it. census loads waited
//	    first and moved last. So its calls without those that move, and the calls of a later load of that gate,
//	    have no call in common. If moved is the same before the census and after that load, and the lower half
//	    is 0, the gate has lost none of the calls that move in the census. It may not have one yet, or have one
//	    that has ended, and such a call has no permit
type gate struct {
	_        lfsync.Pad
	accepted atomix.Uint64
	took     atomix.Uint64 // calls that a lane has taken out of a callQueue, or is about to
	waited   atomix.Uint64 // of accepted, the calls that have waited at the lane, or were about to
	moved    atomix.Uint64 // upper half: of took and waited, those that move no more; lower half: see G4
	waiting  atomix.Int64  // of waited, those that still wait
	_        lfsync.Pad
	ended    atomix.Uint64
	overdue  atomix.Int64 // handlers with a permit whose calls have ended: C5 of callWord
	aside    atomix.Int64 // calls that run and have no permit: C7 of callWord
	awaited  atomix.Int32 // goroutines that wait for an idle or a free gate: see stateWaiter
	lane     *lane        // nil: the gate of a sharedQueue
}

// census is what one look at the counts of a lane has found.
type census struct {
	ended  uint64
	aside  int64 // without the handlers that are overdue
	calls  int64 // that occupy the lane, or more for moments
	moving int64 // of these, those that the gate of the pool counts as well, or fewer for moments
}

// census looks at the counts.
func (g *gate) census() (n census) {
	n.ended = g.ended.Load() // in this order: G2, G4
	n.aside = g.aside.Load() - g.overdue.Load()
	waited := g.waited.Load()
	accepted, took := g.accepted.Load(), g.took.Load()
	n.calls = int64(accepted+took-n.ended) - n.aside
	n.moving = int64(int32(uint32(took+waited) - uint32(g.moved.Load()>>32)))
	return n
}

// isSince reports whether no call has left the lane between the look of former and that of n. Then those that
// former has found were there at its end. A call that has got no permit of the lane counts for a moment, as a call
// that is on its way to another lane. That it leaves shows unless another one has come.
func (n census) isSince(former census) bool {
	return n.ended == former.ended && n.aside == former.aside && n.calls >= former.calls
}

// The steps of a call that the gate of the pool loses, and the lane keeps: G4.
const (
	losing = 1              // in moved, before the gate of the pool has lost the call
	lost   = 1<<32 - losing // in moved, afterwards
)

// occupants returns how many calls occupy the lane. It returns more for moments.
func (g *gate) occupants() int64 { return g.census().calls }

// isFree reports whether no call occupies the lane.
func (g *gate) isFree() bool { return g.occupants() == 0 }

// countAside counts a call that runs without a permit.
func (l *lane) countAside() {
	l.aside.Add(1)
	l.p.counted(&l.gate) // G3
}

// notOverdue takes an overdue handler, which has returned or lost its permit, from the count.
func (l *lane) notOverdue() {
	l.overdue.Add(-1)
	l.p.counted(&l.gate) // G3
}

// unended returns how many calls were accepted and have not ended.
func (g *gate) unended() uint64 {
	ended := g.ended.Load() // first, so that the difference is not negative
	return g.came() - ended
}

// came returns how many calls have come to the gate.
func (g *gate) came() uint64 { return g.accepted.Load() + g.took.Load() }

// callQueue has calls that wait for a permit. A lane with a permit takes one of them at a time. The
// pool has one for the calls that name no lane. A lane has one for the calls that name it by its id,
// and one for those that it has accepted already. The roles, invariants and edges of sharedQueue hold
// for all three. A queue of a lane has one runner, its own lane. The runners of the inline lane are the
// goroutines that wait for calls.
type callQueue struct {
	p       *Pool
	l       *lane // nil: the queue of the pool
	counted bool  // the lane has accepted the calls, and counts them
	calls   mpsc.Queue
	dead    atomix.Int64 // calls that have ended in the queue, but for moments at the end of a call
	live    atomix.Int64 // how many others the last prune has found
}

// init makes q the queue of the calls that l has accepted.
func (q *callQueue) init(l *lane) { q.p, q.l, q.counted = l.p, l, true }

// namedQueue makes the callQueue of a lane when the first call names it. Few lanes are named.
type namedQueue struct{ made atomix.Pointer[callQueue] }

// make returns the queue of l.
func (n *namedQueue) make(l *lane) *callQueue {
	q := n.made.Load()
	if q == nil {
		q = &callQueue{p: l.p, l: l}
		if !n.made.CompareAndSwap(nil, q) {
			q = n.made.Load()
		}
	}
	return q
}

// quiet reports whether the calls before have left the queue.
func (n *namedQueue) quiet() bool {
	q := n.made.Load()
	return q == nil || q.calls.Quiet()
}

// ready reports whether the lane may take a call from its queue.
func (n *namedQueue) ready() bool {
	q := n.made.Load()
	return q != nil && q.calls.Available() && q.l.takesCalls()
}

// sharedQueue is the callQueue of the pool, and the gate that counts all calls that wait. These
// calls are in this queue, or in the queues of lanes, or they wait for their argument.
//
// Roles:
//
//	sender  makes a call and has found no lane available. It counts the call and pushes it. Then it
//	        looks for an available lane
//	runner  has the pick and a permit of a lane. It counts the next call at its lane and takes it out. It
//	        takes the call from the gate when the call has started
//	ender   ends a call that waits, and takes it from the gate. The node stays until a runner finds it
//	closer  Close ends the calls in the queue. Discard and Resize end calls in the queue of a lane
//
// Invariants:
//
//	I1  a call that waits is counted at the gate. A call that a lane has is counted at that lane. A runner
//	    counts it at the lane first. So the sum over the gates is 0 only while no call is left
//	I2  no lane stays available while a call is in the queue. Until a lane has taken the call, a goroutine
//	    is about to search, to look at the queue or to run a drain. It is the sender after its push. It is a
//	    goroutine that has made a lane available. It is a consumer before or after its release
//	I3  calls leave the queue in the order of their pushes. A sender that takes a permit itself has found the
//	    queue quiet. So its earlier calls have left it
//	I4  accepted does not fall. left is a former value of ended. So if the CAS of admit succeeds, the difference
//	    that admit has compared was not too small at its load of left. A refusal is exact at its load of ended
//
// Happens-before edges:
//
//	E1  push, then load of the summary  against  step that makes a lane available, then load of the queue
//	    at least one side sees the store of the other. The release of the consumer token may stand in
//	    place of the push. needs: sequentially consistent
//	E2  push, then load of the state of the pool  against  store of that state, then the look of the closer. For
//	    the queue of a lane the state includes the generation of the lane and the roster
//	    needs: sequentially consistent
//	E3  count of a blocked caller, then load of ended  against  addition to ended, then load of that count
//	    needs: sequentially consistent
//
// Progress: a sender is lock-free while there is space. One that finds the backlog full, and permits without a call,
// waits for a runner or an ender between losing and lost (G4), and looks again when another call has moved since. A
// consumer that stalls delays the calls of the queue. It delays no sender that finds the queue quiet and a lane
// available.
type sharedQueue struct {
	gate
	_     lfsync.Pad
	limit int64         // how many calls may wait, besides those that have come back
	left  atomix.Uint64 // a former value of ended: most senders need no load of the line that runners write
	callQueue
	leasedIn  atomix.Uint64         // of the calls of the gate, those that a lane has accepted, such as those through a lease
	leasedOut atomix.Uint64         // of these, the ones that have left
	named     atomix.Int64          // of the calls of the gate, those that name a lane by its id
	later     atomix.Int64          // calls that wait for their argument
	back      atomix.Int64          // of the calls of the gate, those that have come back from a process that has died
	refused   atomix.Uint64         // calls that the gate has counted, and that a closing pool has refused
	full      atomix.Uint64         // calls that the gate has not counted, because there was no space for them
	ends      [causes]atomix.Uint64 // calls without a lane by the cause of their end

	blocked atomix.Int32 // the length of callers, stored with mu
	mu      park.Mutex
	callers blockedCallers // in the order in which they came; with mu
}

// blockedCaller is the caller of a call for which there was no space. A caller of Go waits until
// its call is among the first Config.Backlog of those that wait, or waits no more. Other callers do
// not wait for space. They are listed so that unblock finds how many calls have space.
type blockedCaller struct {
	parker     *lfsync.Parker // nil: it does not wait for space
	prev, next *blockedCaller // in blockedCallers
	listed     bool
}

// blockedCallers is a list of them.
type blockedCallers struct {
	first, last *blockedCaller
	n           int
}

// push adds b at the end.
func (l *blockedCallers) push(b *blockedCaller) {
	if b.prev = l.last; b.prev != nil {
		b.prev.next = b
	} else {
		l.first = b
	}
	l.last, b.listed = b, true
	l.n++
}

// remove takes b out of the list, which has it, and lets its caller continue if that waits.
func (l *blockedCallers) remove(b *blockedCaller) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		l.first = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		l.last = b.prev
	}
	b.prev, b.next, b.listed = nil, nil, false
	l.n--
	if b.parker != nil {
		b.parker.Unpark()
	}
}

func (q *sharedQueue) init(p *Pool) {
	q.p, q.limit = p, int64(p.config.Backlog)
	switch p.config.Backlog {
	case Unlimited:
		q.limit = math.MaxInt64
	case NoBacklog:
		q.limit = 0
	}
}

// waiting returns how many calls wait that no lane counts, approximately.
func (q *sharedQueue) waiting() int { return int(max(int64(q.unended())-q.leased(), 0)) }

// leased returns how many calls that a lane has accepted wait, approximately.
func (q *sharedQueue) leased() int64 {
	out := q.leasedOut.Load()
	return int64(q.leasedIn.Load() - out)
}

// space returns how many calls may wait now. A call that has come back does not take the space of another one, which
// DropOldest would end for it.
func (q *sharedQueue) space() int64 {
	if back := q.back.Load(); back > 0 && q.limit != math.MaxInt64 {
		return q.limit + back
	}
	return q.limit
}

// admit counts a call as waiting, if there is space for it.
func (q *sharedQueue) admit() bool {
	for {
		in := q.accepted.Load() // first: I4
		limit := q.space()
		if int64(in-q.left.Load()) >= limit {
			ended := q.ended.Load()
			if int64(in-ended) >= limit {
				return false
			}
			q.left.Store(ended)
		}
		if q.accepted.CompareAndSwap(in, in+1) {
			return true
		}
	}
}

// admitUnused counts a call of the queue to as waiting if permits that no call has make space for it. An admission is
// exact beside calls of queues: at the last load of ended the calls that waited did not have all permits and all
// space, and no call has come to wait until the CAS. It does not see a call that takes a permit at once before that, or
// a lane that stops taking calls. A refusal is exact among the calls of one queue: at one moment they had all of it.
// The calls of a lane may end while the goroutine looks at another lane, and their callers may call again. A goroutine
// that sees this looks once more. It does not see that a lane begins to take calls meanwhile, because its lease ends
// or Resize adds it, nor that a call that runs without a permit had seemed to have one.
func (q *sharedQueue) admitUnused(to *callQueue) bool {
	for tries := 0; tries < maxTallies; {
		in := q.accepted.Load()                           // first: I4
		short := int64(in-q.ended.Load()) - q.space() + 1 // in the end not more, because ended grows
		var t tally
		t.count(to, short)
		switch full := int64(in-q.ended.Load())-t.unused >= q.space(); { // after the tally: G4
		case full && t.holds():
			return false
		case full:
			tries++
		case t.holdsMoving() && q.accepted.CompareAndSwap(in, in+1):
			return true
		}
	}
	return false
}

// maxTallies is how many times a goroutine looks for a permit before a refusal that is not exact. It is chosen. Each
// time other calls have ended, so a pool whose calls end faster than one look would keep its callers in the loop.
const maxTallies = 64

// tally is a count of the permits that no call has and that could run the next one. A call that gets one of
// these permits needs no space. The handler that had the permit has returned, or a worker is about to get the
// permit.
type tally struct {
	unused int64
	few    [keptBits]counted // the first lanes that it has looked at
	n      int               // how many these are
	others []counted         // the others
	walk   laneWalk          // or a zero one, if it has looked at all lanes that matter
}

// counted is a lane and its census.
type counted struct {
	l     *lane
	n     census
	moved uint64 // before the census: G4
}

// count counts the permits that could run the next call of q, which is about to come there. It stops when it has as
// many as enough says.
func (t *tally) count(q *callQueue, enough int64) {
	p, l := q.p, q.l
	switch {
	case p.paused():
	case l == nil:
		open := p.roster.Load().open
		t.walk = p.unfilled.walk(open)
		for i := t.walk.next(0); i >= 0 && t.unused < enough; i = t.walk.next(i + 1) {
			t.add(open[i])
		}
		if t.unused < enough && !t.walk.isExact() {
			*t = tally{} // the walk may have missed a lane that another walker has in hand
			for _, l := range open {
				if l.takesCalls() {
					t.add(l)
				}
			}
		}
	case q.counted || l.takesCalls():
		t.add(l)
	}
}

// add counts the permits of l that no call has.
func (t *tally) add(l *lane) {
	c := counted{l: l, moved: l.moved.Load()}
	c.n = l.census()
	t.unused += l.unused(c.n)
	if t.n == len(t.few) {
		t.others = append(t.others, c)
		return
	}
	t.few[t.n] = c
	t.n++
}

// holds reports whether at the end of the count no more permits were unused than it has found.
func (t *tally) holds() bool {
	return areSteady(t.few[:t.n]) && areSteady(t.others) && (t.walk.s == nil || t.walk.isSteady())
}

// holdsMoving reports whether the gate of the pool still had, at its last load, the calls that the tally has counted as
// those that move: G4. A worker that is in the middle of such a step continues first.
func (t *tally) holdsMoving() bool { return areMoving(t.few[:t.n]) && areMoving(t.others) }

// areMoving is holdsMoving for some lanes.
func areMoving(lanes []counted) bool {
	for i := range lanes {
		c := &lanes[i]
		if c.l.unused(c.n) == 0 {
			continue // it has made no space
		}
		if moved := c.l.moved.Load(); moved != c.moved || uint32(moved) != 0 {
			park.Yield()
			return false
		}
	}
	return true
}

// areSteady reports whether no call has left one of the lanes since it was counted.
func areSteady(lanes []counted) bool {
	for i := range lanes {
		if c := &lanes[i]; !c.l.census().isSince(c.n) {
			return false
		}
	}
	return true
}

// unused returns how many permits of the lane, whose census is n, no call has.
func (l *lane) unused(n census) int64 { return max(l.allowed.Load()-n.calls+n.moving, 0) }

// leave takes the call c, whose word was w, from the calls that wait. It moves to l, or l is nil.
func (q *sharedQueue) leave(c *call, w callWord, l *lane) {
	switch {
	case !w.has(callNoLane):
		defer l.waiting.Add(-1)
		if !l.hasPermits() {
			return // the calls of the inline lane take no space
		}
		q.leasedOut.Add(1)
	case c.flags&flagNamed != 0:
		q.named.Add(-1)
	}
	if l != nil {
		l.moved.Add(losing)
	}
	if x := c.extra; x != nil && x.blocked != nil {
		q.endBlocked(x.blocked)
	} else {
		q.ended.Add(1)
	}
	if x := c.extra; x != nil && x.request != nil && x.request.back { // after ended: no space is missing in between
		x.request.back = false
		q.back.Add(-1)
	}
	if l != nil {
		l.moved.Add(lost)
	}
	if q.blocked.Load() != 0 { // E3
		q.unblock()
	}
	q.p.counted(&q.gate)
}

// block counts a call for which there is no space, and returns its caller as a blocked one. waits
// says that the caller will wait for space.
func (q *sharedQueue) block(waits bool) *blockedCaller {
	b := new(blockedCaller)
	if waits {
		b.parker = lfsync.NewParker()
	}
	q.mu.Lock()
	q.accepted.Add(1)
	q.callers.push(b)
	q.blocked.Store(int32(q.callers.n))
	q.mu.Unlock()
	q.unblock() // E3
	return b
}

// endBlocked takes a call, the caller of which is or was b, from the gate. A call that has left the gate is
// never listed: unblock would take another one for one that does not wait for space.
func (q *sharedQueue) endBlocked(b *blockedCaller) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended.Add(1)
	if b.listed {
		q.callers.remove(b)
		q.blocked.Store(int32(q.callers.n))
	}
}

// unblock lets callers continue whose calls are among the first that wait.
func (q *sharedQueue) unblock() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for b := q.callers.first; b != nil && int64(q.unended())-int64(q.callers.n) < q.space(); b = q.callers.first {
		q.callers.remove(b)
	}
	q.blocked.Store(int32(q.callers.n))
}

// push queues c, which was counted, and lets a lane run it if one is available.
func (q *callQueue) push(c *call) {
	if c.load().has(callClaimed) {
		c.skip() // the lanes need not come to it
		return
	}
	names := c.names // c is the runner's from the push on
	q.calls.Push(&c.node)
	q.endStale(names) // E2
	q.notify(nil)     // E1
}

// endStale ends the calls in the queue that will not start, if a call of the generation names is one
// of them. The pool has closed, the lane has been discarded, or Resize has taken it out. The goroutine
// that does this looks at the queue afterwards, so it sees the push, or the sender sees what it has
// done. A lease keeps a lane that Resize has taken out.
func (q *callQueue) endStale(names uint32) {
	if q.p.isClosed() { // E2
		q.fail(CausePoolClosed, ErrThreadClosed, nil)
		return
	}
	if q.l == nil {
		return
	}
	switch d := q.l.discarded.Load(); {
	case d != nil && d.generation >= names:
		q.fail(CauseLaneDiscarded, d.reason, d.has)
	case !q.counted && !q.l.isOpenLane():
		q.fail(CauseLaneDiscarded, ErrNoSuchLane, nil)
	}
}

// notify starts the drain of a lane that is available and takes calls of the queue, if some wait.
// It is called after a push, and by a consumer that has left calls. w is the worker of the caller
// or nil.
func (q *callQueue) notify(w *sched.Worker) {
	if q.l == nil {
		q.p.notify(w)
	} else {
		q.l.executor.look(w)
	}
}

// notify starts the drain of a lane that is available if calls wait for one. A goroutine that has
// pushed a call or has left calls in the queue calls it afterwards. w is the worker of the caller
// or nil.
func (p *Pool) notify(w *sched.Worker) {
	if !p.available.any(len(p.roster.Load().open)) || p.paused() || !p.shared.calls.Available() {
		return
	}
	if l, _ := p.search(0, nil); l != nil { // without a call there is no error
		l.schedule(w)
	}
}

// nextShared takes the next call out of the queue of the pool, or returns nil. The caller is the
// holder.
func (l *lane) nextShared(w *sched.Worker) *call {
	q := &l.p.shared.callQueue
	if !q.calls.Available() {
		l.owesNone()
		return nil
	}
	return l.nextFrom(q, w)
}

// nextFrom takes the next call out of q, or returns nil. The caller is the holder.
func (l *lane) nextFrom(q *callQueue, w *sched.Worker) *call {
	if !l.takesCalls() {
		l.leaveTo(q, w) // a lease has come between the notification of this lane and its drain
		return nil
	}
	l.took.Add(1)        // I1, and before the second look: a lease or a Resize sees it, or is seen
	if !l.takesCalls() { // a lease or a Resize has come
		l.untake()
		l.leaveTo(q, w)
		return nil
	}
	c, more := q.pop()
	if c != nil && l.owes.Load() {
		l.endDebt()
	}
	if more {
		l.leaveTo(q, w) // E1
	}
	if c == nil {
		l.untake()
		return nil
	}
	if q.l == nil {
		c.lane = l // the runner does: see call
	}
	return c
}

// leaveTo lets another lane take a call from q. The caller is the holder. It looks at its own queue
// again, or the goroutine that ends the lease does.
func (l *lane) leaveTo(q *callQueue, w *sched.Worker) {
	if q.l == nil {
		l.p.notify(w)
	}
}

// owesNone ends the debt of the lane if no call waits that it could take. Other goroutines may have taken
// those out that it owed, and no end of a call need follow if these had ended. A pause does not end it: the
// lane owes the call afterwards.
func (l *lane) owesNone() {
	if l.owes.Load() && !l.mayTakeCall() {
		l.endDebt()
	}
}

// endDebt ends what the release of a lease has begun: the lane may be reserved again.
func (l *lane) endDebt() {
	l.owes.Store(false)
	if l.p.leases.waiting.Load() != 0 { // L4 of lane.lease
		l.p.grantLeases(l)
	}
}

// untake takes a call that the lane has counted, and does not run, from its count.
func (l *lane) untake() {
	l.took.Add(^uint64(0))
	l.p.counted(&l.gate)
}

// pop takes the oldest call that has not ended out of the queue. It takes none while the pool is
// paused or another goroutine has the consumer token. more says that the caller has had the token
// and has left nodes.
func (q *callQueue) pop() (c *call, more bool) {
	var from mpsc.Consumer
	if q.calls.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		return nil, false
	}
	for c == nil && from.More() && !q.p.paused() { // in this order: what was accepted during the pause does not start
		c = popFrom(&from)
	}
	return c, from.Release()
}

// popFrom takes the next call out of a queue, which is not empty. It drops the call and returns nil if the
// call has ended.
func popFrom(from *mpsc.Consumer) *call {
	c := callOf(from.Pop())
	if c.load().has(callClaimed) {
		c.skip()
		return nil
	}
	return c
}

// dropOldest ends the call that has waited longest in the queue. It reports whether there may be space
// now or soon.
func (q *callQueue) dropOldest() bool {
	var from mpsc.Consumer
	switch q.calls.TryAcquire(&from, mpsc.FIFO) {
	case mpsc.Contended:
		park.Yield() // another goroutine takes a call
		return true
	case mpsc.Empty:
		if s := &q.p.shared; q.l != nil || s.leased()+s.named.Load()+s.later.Load() >= s.limit {
			return false // other calls fill the backlog
		}
		park.Yield() // a sender has not pushed its call yet
		return true
	}
	var c *call
	for c == nil && from.More() {
		c = popFrom(&from)
	}
	if from.Release() {
		q.notify(nil) // E1
	}
	if c != nil {
		c.end(CauseDropped, ErrDropped)
		c.skip()
	}
	return true
}

// maxDead is how many calls that have ended the queue keeps at least.
const maxDead = 64

// prune takes the calls that have ended out of the queue, if there are more than calls that the
// last prune has left. Otherwise calls that end while no lane takes any would fill the memory. The
// cost of a walk is that of the ends that it removes and of the pushes since the last walk.
func (q *callQueue) prune() {
	if n := q.dead.Load(); n <= maxDead || n <= q.live.Load() {
		return
	}
	var from mpsc.Consumer
	if q.calls.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		return // a later end does so
	}
	var live mpsc.List
	for n := from.Pop(); n != nil; n = from.Pop() {
		if c := callOf(n); c.load().has(callClaimed) {
			c.skip()
		} else {
			live.Push(n)
		}
	}
	q.live.Store(int64(live.Len()))
	from.PutBack(&live)
	if from.Release() {
		q.notify(nil) // E1
	}
}

// failShared ends the calls in the queue of the pool.
func (p *Pool) failShared(err error) {
	p.shared.fail(CausePoolClosed, err, nil)
}

// fail ends such calls of those in the queue, or all of them if such is nil.
func (q *callQueue) fail(k Cause, err error, such func(c *call) bool) {
	for more := true; more; {
		var from mpsc.Consumer
		switch q.calls.TryAcquire(&from, mpsc.FIFO) {
		case mpsc.Empty:
			return
		case mpsc.Contended:
			park.Yield() // another goroutine takes a call, and does nothing else in between
			continue
		}
		var list, rest mpsc.List // the end of a call may run code of the program, and that must not find the token held
		for n := from.Pop(); n != nil; n = from.Pop() {
			if such == nil || such(callOf(n)) {
				list.Push(n)
			} else {
				rest.Push(n)
			}
		}
		left := !rest.Empty()
		from.PutBack(&rest)
		if more = from.Release(); left {
			q.notify(nil) // E1
			more = false
		}
		for n := list.Pop(); n != nil; n = list.Pop() {
			c := callOf(n)
			c.endAndAwait(c.load().generation(), k, err)
			c.skip()
		}
	}
}
