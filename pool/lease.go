package pool

import (
	"context"
	"errors"
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Errors of leases.
var (
	// ErrAllLeased refuses a call that names no lane while every lane is leased. While lanes are
	// reserved for leases, such a call waits.
	ErrAllLeased = errors.New("pool: every lane is leased")
	// ErrLeaseOver refuses a call on a lease that was released or discarded.
	ErrLeaseOver = errors.New("pool: the lease is over")
	// ErrForeignLane refuses a call of one pool on the lane of another.
	ErrForeignLane = errors.New("pool: the lane is of another pool")
	// ErrLaneDiscarded ends the calls of a lane that was discarded without a reason. It reports a
	// LaneID whose lane was discarded since, and ends the waits for such a lane.
	ErrLaneDiscarded = errors.New("pool: lane discarded")
	// ErrNoSuchLane reports a lane that the pool does not have, or the inline lane, which can be
	// neither leased nor named.
	ErrNoSuchLane = errors.New("pool: no such lane")
)

// errLeased sends a call to another lane: this one was leased or reserved in between.
var errLeased = errors.New("pool: lane is leased or reserved")

// LaneID names a lane of one pool until that lane is discarded. Then it names no lane any more,
// although the lane has the same number, because the handlers that were there may have left it in a
// bad state. While Resize has taken the lane out, it names none. It is comparable. The zero LaneID
// names no lane. Pools do not know the ids of each other: an id has a meaning only in its pool.
type LaneID struct {
	Lane       int    `json:"lane"`       // the number of the lane
	Generation uint32 `json:"generation"` // 1, and 1 more after each Discard
}

// Lease is a lane for its holder alone: the balancer sends no call there until Release.
// Safe for concurrent use.
type Lease struct {
	l          *lane
	word       uint32 // lane.lease while the lease is not over
	generation uint32 // of the lane
}

// leases are the goroutines that wait for a lane, in their order, and the lanes that are reserved for
// them. All but the atomic fields is with Pool.mu.
type leases struct {
	queue    []*leaseWaiter
	any      int          // of these, the ones that want any lane
	reserved []*lane      // and those that Discard has taken since
	waiting  atomix.Int32 // the length of the queue
	unserved atomix.Int32 // for how many of them no lane is reserved, but for those that wait behind a lease
}

// leaseWaiter is one of them: it wants a certain lane, or any.
type leaseWaiter struct {
	lane       *lane // nil: any
	generation uint32
	got        *Lease
	err        error
	parker     *lfsync.Parker
}

// Acquire leases a lane that no call occupies. It waits for one behind the goroutines that asked
// before. A goroutine that waits reserves a lane, the one that the fewest calls occupy: that takes no call
// through no lease, so a busy pool does not keep the goroutine waiting. The goroutine gets another lane
// if that is free before. A lane that was leased runs one of the calls that wait for any lane before it is
// reserved again, or one that waits for it by its id. While lanes are only reserved, or leased, calls
// that name none wait. While all lanes are leased, those calls wait, and new ones get [ErrAllLeased]. The
// error is the cause of ctx, or [ErrPoolShutdown], or [ErrInHandler] if each lane runs a handler that
// asks. Give the lane back with Release.
//
// A call occupies its lane until its handler has returned, also if the call has ended before. Then the
// handler is overdue. But a handler that blocks in a wait for a call or in [Pool.Blocking] gives up the
// lane, as one does that runs into Config.HardLimit, and a handler that its caller runs because of
// [CallerRuns] has not got it. Such a handler, and the calls that it makes to the lane by its id,
// continue beside the calls of the lease and do not wait for its end. So the holder of a lease may
// wait for that handler.
//
// The last lane without a lease is leased only when its calls have ended, so that handlers that have
// blocked there find a lane. It is not reserved while only such handlers are left on it. So a pool whose
// handlers block, each before the last one has ended, may keep a lease of its last lane waiting. A holder
// does not wait for a handler that needs a lane while all of them are leased or reserved. A handler that
// waits for a call of the pool which it does not make itself does so inside [Pool.Blocking]: while its
// lane is reserved, that call does not start there.
func (p *Pool) Acquire(ctx context.Context) (*Lease, error) { return p.lease(ctx, target{}) }

// AcquireLane is Acquire for the lane with that number, as in [LaneInfo], which it reserves. When
// Resize takes the lane out, it returns [ErrNoSuchLane]. When the lane is discarded in between, it
// returns [ErrLaneDiscarded].
func (p *Pool) AcquireLane(ctx context.Context, number int) (*Lease, error) {
	l, err := p.numbered(number)
	if err != nil {
		return nil, err
	}
	return p.lease(ctx, target{l: l, generation: l.generation()})
}

// AcquireID is AcquireLane for the lane that id names. If it names none any more, the error is
// [ErrLaneDiscarded] or [ErrNoSuchLane].
func (p *Pool) AcquireID(ctx context.Context, id LaneID) (*Lease, error) {
	to, err := p.at(id)
	if err != nil {
		return nil, err
	}
	return p.lease(ctx, to)
}

// at returns the lane that id names.
func (p *Pool) at(id LaneID) (target, error) {
	l, err := p.numbered(id.Lane)
	switch {
	case err != nil:
		return target{}, err
	case id.Generation == 0:
		return target{}, ErrNoSuchLane
	case l.generation() != id.Generation:
		return target{}, ErrLaneDiscarded
	}
	return target{l: l, generation: id.Generation}, nil
}

func (p *Pool) lease(ctx context.Context, to target) (*Lease, error) {
	needContext(ctx)
	if p.isOwnLane(ctx, to.l) {
		return nil, ErrInHandler
	}
	ended := ctx.Done() // before a lane is reserved or leased for w, because it may panic
	w := p.queueLease(to)
	defer p.waiters.Add(-1)
	p.grantLeases(to.l)
	granted := true
	block(ctx, func() { granted = w.parker.ParkDone(ended) })
	if !granted && p.endWait(w) {
		p.grantLeases(to.l) // gives up the lane that is reserved for w
		return nil, context.Cause(ctx)
	}
	return w.got, w.err
}

// queueLease begins the wait for a lease, and counts it in Pool.waiters.
func (p *Pool) queueLease(to target) *leaseWaiter {
	w := &leaseWaiter{lane: to.l, generation: to.generation, parker: lfsync.NewParker()}
	p.mu.Lock()
	p.leases.add(w)
	p.mu.Unlock()
	p.waiters.Add(1) // goroutines that settle calls look for lanes that became free
	return w
}

// endWait ends the wait of w. It reports false if the wait has ended before.
func (p *Pool) endWait(w *leaseWaiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.leases.queue, w)
	if i < 0 {
		return false
	}
	p.leases.queue = slices.Delete(p.leases.queue, i, i+1)
	p.leases.count(w, -1)
	return true
}

// end ends the wait of w, which is no longer in the queue. The caller has Pool.mu.
func (q *leases) end(w *leaseWaiter) {
	q.count(w, -1)
	w.parker.Unpark()
}

// add puts w into the queue. The caller has Pool.mu.
func (q *leases) add(w *leaseWaiter) {
	q.queue = append(q.queue, w)
	q.count(w, 1)
}

// count adds n to the counts of the goroutines that wait as w does. The caller has Pool.mu.
func (q *leases) count(w *leaseWaiter, n int) {
	if w.lane == nil {
		q.any += n
	} else {
		w.lane.leaseWaits += n
	}
	q.waiting.Add(int32(n))
}

// isOwnLane reports whether the calling goroutine, which has come with ctx, runs a handler that l
// counts or works for one. If l is nil, it reports whether each lane that could be leased counts such
// a handler.
func (p *Pool) isOwnLane(ctx context.Context, l *lane) bool {
	if l != nil {
		return l.countsHandler(ctx)
	}
	lanes := p.roster.Load().open
	for _, l := range lanes {
		if !l.countsHandler(ctx) {
			return false
		}
	}
	return len(lanes) > 0
}

// grantLeases gives free lanes to the goroutines that wait for them, and reserves lanes for the others. changed
// is the only lane that may have become free; nil: any may have.
func (p *Pool) grantLeases(changed *lane) {
	for again := true; again; changed = nil {
		var look []*lane
		look, again = p.grantLeasesLocked(changed)
		for _, l := range look {
			l.look(nil) // not with Pool.mu, because it may end calls
		}
	}
}

// grantLeasesLocked is grantLeases, and returns lanes that have to look for calls. again says that it has reserved
// a lane that has become free since it looked at the lanes.
func (p *Pool) grantLeasesLocked(changed *lane) (look []*lane, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.leases
	q.queue = slices.DeleteFunc(q.queue, func(w *leaseWaiter) bool {
		if w.err = p.leaseError(w); w.err == nil {
			if w.lane != nil && p.reserve(w.lane, &look) {
				changed = nil // L3: that lane may be free
			}
			return false
		}
		q.end(w)
		return true
	})
	if changed != nil {
		p.grant(changed, &look)
	} else {
		p.grantAll(&look)
	}
	unserved, again := p.reserveAll(&look)
	for _, w := range q.queue {
		if w.lane != nil && w.lane.isUnleased() {
			unserved++
		}
	}
	q.unserved.Store(int32(unserved))
	return look, again
}

// leaseError returns why w waits for no lane any more, or nil.
func (p *Pool) leaseError(w *leaseWaiter) error {
	switch {
	case p.state.Load() != open:
		return ErrPoolShutdown
	case p.refused() != nil:
		return p.refused()
	case w.lane == nil:
		return nil
	case !w.lane.isOpenLane():
		return ErrNoSuchLane
	case w.lane.generation() != w.generation:
		return ErrLaneDiscarded
	}
	return nil
}

// first returns the index of the goroutine that gets the lane when that is free, or -1: L5. The caller has Pool.mu.
func (q *leases) first(l *lane) int {
	if q.any == 0 && l.leaseWaits == 0 {
		return -1
	}
	return slices.IndexFunc(q.queue, func(w *leaseWaiter) bool { return w.lane == nil || w.lane == l })
}

// grant leases l to the first goroutine that waits for it or for any lane, if no call occupies the lane. One look
// at the lane serves all goroutines: with a look for each of them, a lane that becomes free between two looks
// would go to the later goroutine. The caller has p.mu.
func (p *Pool) grant(l *lane, look *[]*lane) {
	q := &p.leases
	if !l.isFree() {
		return
	}
	i := q.first(l) // L5
	if i < 0 {
		return
	}
	w := q.queue[i]
	p.reserve(l, look)
	word := l.lease.Load()
	// The generation after that load: if the CAS succeeds, no Discard has come between.
	generation := l.generation()
	if word&leaseState != reserved || w.lane != nil && generation != w.generation || !l.mayBeLeased() { // L1, E1
		return
	}
	next := word&^leaseState + leaseNumber | leased
	if !l.lease.CompareAndSwap(word, next) { // Discard has the lane, and gives it back
		return
	}
	p.leased.Add(1)
	w.got = &Lease{l: l, word: next, generation: generation}
	q.queue = slices.Delete(q.queue, i, i+1)
	q.end(w)
}

// grantAll is grant for all lanes that may be free. The caller has p.mu.
func (p *Pool) grantAll(look *[]*lane) {
	for _, l := range p.leases.reserved {
		p.grant(l, look)
	}
	lanes := p.roster.Load().open
	for i := p.available.next(0, len(lanes)); i >= 0 && p.leases.any > 0; i = p.available.next(i+1, len(lanes)) {
		l := lanes[i]
		p.grant(l, look)
		if !l.isAvailable() {
			p.available.clear(l.index)
			*look = append(*look, l) // see the granter of summary
		}
	}
}

// reserve reserves the lane, if it is unleased and may be reserved, and reports whether it has. It adds the lane to
// look if that has to take a call before. The caller has p.mu.
func (p *Pool) reserve(l *lane, look *[]*lane) bool {
	word := l.lease.Load()
	switch {
	case word&leaseState != unleased || !l.mayBeReserved():
		return false
	case l.owesCall():
		*look = append(*look, l) // it takes one, or finds that none is left
		return false
	case !l.lease.CompareAndSwap(word, word|reserved): // E1
		return false
	}
	if !slices.Contains(p.leases.reserved, l) { // L2
		p.leases.reserved = append(p.leases.reserved, l)
	}
	return true
}

// reserveAll makes as many lanes reserved as goroutines wait, those first for which a certain one waits.
// It returns how many goroutines lack a lane, and whether it has reserved one that is free. It adds the
// lanes to look that are reserved no more. The caller has p.mu.
func (p *Pool) reserveAll(look *[]*lane) (missing int, free bool) {
	q := &p.leases
	missing = q.any
	q.reserved = slices.DeleteFunc(q.reserved, func(l *lane) bool {
		word := l.lease.Load()
		switch {
		case word&leaseState != reserved:
			return true
		case !l.mayBeReserved(): // L3
		case l.leaseWaits > 0:
			return false
		case missing > 0:
			missing--
			return false
		}
		l.lease.CompareAndSwap(word, word&^leaseState) // L2; otherwise Discard has it, and gives it back
		*look = append(*look, l)                       // a searcher may have passed it
		return true
	})
	for ; missing > 0; missing-- {
		l := p.leastOccupied()
		if l == nil {
			break
		}
		free = p.reserve(l, look) && l.isFree() || free // after the CAS: E1
	}
	return missing, free
}

// leastOccupied returns the lane that may be reserved and that the fewest calls occupy, or nil. The
// caller has p.mu.
func (p *Pool) leastOccupied() (least *lane) {
	fewest := int64(0)
	for _, l := range p.roster.Load().open {
		if n := l.occupants(); (least == nil || n < fewest) && l.isUnleased() && l.mayBeReserved() && !l.owesCall() {
			least, fewest = l, n
		}
	}
	return least
}

// mayBeLeased reports whether calls go to the lane and none occupies it. If no other lane is without a
// lease, it reports whether the calls of the lane have ended as well: the calls that its handlers make
// need one. The caller has p.mu.
func (l *lane) mayBeLeased() bool {
	return l.isOpenLane() && l.isFree() && l.allowed.Load() > 0 && (l.unended() == 0 || !l.isLastUnleased())
}

// mayBeReserved reports whether the lane may be leased, or may be when the calls that occupy it have
// ended. The caller has p.mu.
func (l *lane) mayBeReserved() bool { return l.isOpenLane() && !l.isFree() || l.mayBeLeased() }

// isLastUnleased reports whether calls go to no other lane that is not leased. The caller has p.mu.
func (l *lane) isLastUnleased() bool {
	return !slices.ContainsFunc(l.p.roster.Load().open, func(o *lane) bool { return o != l && !o.hasLease() })
}

// owesCall reports whether the lane has to take a call before it is reserved again.
func (l *lane) owesCall() bool { return l.owes.Load() && !l.p.paused() && l.mayTakeCall() }

// mayTakeCall reports whether a call waits that the lane could take if the pool is not paused.
func (l *lane) mayTakeCall() bool { return l.p.shared.calls.Available() || l.named.ready() }

// concernsLeases reports whether a goroutine that waits for a lease may get the lane, or may have it
// reserved, after a change of the counts of the lane.
func (l *lane) concernsLeases() bool {
	switch l.lease.Load() & leaseState {
	case unleased:
		return l.hasPermits() && (l.isFree() || l.p.leases.unserved.Load() != 0)
	case reserved:
		return l.isFree()
	}
	return false
}

// lane.lease has a state, and above it the number of the lease, so that a call which is
// late for its lease does not get into the next one.
//
// Roles:
//
//	granter  has Pool.mu, and works for the goroutines that wait for a lease
//	holder   has the lease
//	closer   Discard of the lane by its id
//
// State:
//
//	unleased  the lane takes calls
//	reserved  a goroutine waits for a lease of the lane, or of any. The lane takes no call of the pool and none
//	          that names it. It runs what it has, and what its handlers call
//	leased    the lane takes the calls of the holder
//	ending    a goroutine has ended the lease, or discards the lane, and is about to give it back
//
//	          unleased    reserved    leased     ending
//	granter   reserved    leased, or unleased again
//	holder                            ending
//	closer    ending      ending      ending     waits
//	the goroutine that made it ending            unleased
//
// Invariants:
//
//	L1  a granter leases a lane that it has found free while the lane was reserved. A call that comes to a
//	    reserved lane comes from a handler that the lane counts
//	L2  when a granter gives up Pool.mu, as many lanes are reserved as goroutines wait for a lease, or
//	    fewer. A reserved lane is in leases.reserved. The lanes that the granter has unreserved look for calls
//	    afterwards
//	L3  a reserved lane is not free, or a goroutine is about to come to grantLeases. It leases the lane, or
//	    makes it unleased. So the last lane does not stay reserved while only handlers are left on it that
//	    have given up their permits
//	L4  a lane that owes a call is not reserved. A lane that looks for calls, which a granter lets it do, takes
//	    one or ends the debt. A goroutine that ends the debt looks whether leases wait
//	L5  a granter leases a lane to the first goroutine in the queue that waits for it or for any
//
// Happens-before edges:
//
//	E1  addition to accepted or took, then load of lease  against  CAS to reserved, then look at the counts
//	    the call sees the reservation, or the granter sees the call. needs: sequentially consistent
//
// Progress: a goroutine that waits for a lease has a lane as soon as the handlers that occupied it when
// it was reserved have returned or have given up their permits. The exceptions are the last lane, and more
// waits than lanes. A call beside them takes no lock.
const (
	unleased = iota
	reserved
	leased
	ending
	leaseState  = 3 // the bits of the state
	leaseNumber = 4 // what one lease adds
)

// isUnleased reports whether no lease has the lane, and none waits for it.
func (l *lane) isUnleased() bool { return l.lease.Load()&leaseState == unleased } // E1

// hasLease reports whether a lease has the lane, and is not about to end.
func (l *lane) hasLease() bool { return l.lease.Load()&leaseState == leased }

// Lane returns the number of the lane.
func (l *Lease) Lane() int { return l.l.index }

// ID returns the id of the lane.
func (l *Lease) ID() LaneID { return LaneID{l.l.index, l.generation} }

// Release gives the lane back. The calls that were made through the lease continue. It may
// be called again.
func (l *Lease) Release() {
	if l.end() {
		l.l.p.leased.Add(-1)
		l.l.giveBack()
	}
}

// end ends the lease, and reports whether it was the caller that did.
func (l *Lease) end() bool { return l.l.lease.CompareAndSwap(l.word, l.word|ending) }

// isOver reports whether the lease has ended.
func (l *Lease) isOver() bool { return l.l.lease.Load() != l.word }

// giveBack lets others have the lane. The caller has made it ending.
func (l *lane) giveBack() {
	l.owes.Store(!l.p.shared.calls.Quiet() || !l.named.quiet())
	l.lease.And(^uint32(leaseState))
	if l.awaited.Load() != 0 { // after the change: W2 of stateWaiter
		l.p.wakeWaiters(&l.gate)
	}
	l.look(nil) // calls may wait
	l.p.grantLeases(nil)
}

// Discard ends all calls of the lane with reason, also one whose handler runs, there or on the
// goroutine of its caller: it stays behind until it returns, and counts for [Config].MaxAbandoned. Then
// Discard gives the lane back. A handler that has given up the lane, since it waits for a call, continues, and
// does not count. The lane has a new [LaneID] then. It also ends the calls that wait in the process of the lane: see
// [Process].
func (l *Lease) Discard(reason error) {
	if reason == nil {
		reason = ErrLaneDiscarded
	}
	_ = l.l.executor.discard(l.generation, l.word, reason) // an error says that the lease is over
}

// Discard is [Lease.Discard] of the lane that id names, whether it is leased or not. A reason that
// is nil stands for [ErrLaneDiscarded]. A lease that has the lane is over, and so are the waits for
// it. If id names no lane any more, the error is [ErrLaneDiscarded] or [ErrNoSuchLane], and Discard
// does nothing.
func (p *Pool) Discard(id LaneID, reason error) error {
	to, err := p.at(id)
	if err != nil {
		return err
	}
	if reason == nil {
		reason = ErrLaneDiscarded
	}
	return to.l.executor.discard(id.Generation, 0, reason)
}

// discard is that of executor.
func (l *lane) discard(generation, lease uint32, reason error) error {
	if !l.seizeLease(generation, lease) {
		return ErrLaneDiscarded
	}
	l.discarded.Store(&discard{generation, reason}) // first: a call that gets to the lane later finds it
	l.endAll(CauseLaneDiscarded, reason)            // before others have the lane
	l.p.endDetached(CauseLaneDiscarded, reason, func(o detachedCall) bool { return o.l == l && o.never })
	l.giveBack()
	return nil
}

// seizeLease makes the lane ending for its caller, a closer, whether it is leased or not. It reports false if the lane
// has another generation by now, or if a lease is given, which is a word of lane.lease, and has ended.
func (l *lane) seizeLease(generation, lease uint32) bool {
	for {
		switch w := l.lease.Load(); w & leaseState {
		case unleased, reserved, leased:
			if l.generation() != generation || lease != 0 && w != lease { // before the CAS: the word may be that of a later lease
				return false
			}
			if !l.lease.CompareAndSwap(w, w|ending) {
				continue
			}
			if w&leaseState == leased {
				l.p.leased.Add(-1)
			}
			if l.generation() == generation {
				return true
			}
			l.giveBack() // another closer of an unleased lane was first
			return false
		}
		if lease != 0 {
			return false
		}
		park.Yield() // a goroutine gives the lane back
	}
}

// discard says how a generation of a lane ended.
type discard struct {
	generation uint32
	reason     error
}

// has reports whether c names the generation that d has ended, or an earlier one.
func (d *discard) has(c *call) bool { return d.generation >= c.names }

// generation returns that of the lane: see LaneID.
func (l *lane) generation() uint32 {
	if d := l.discarded.Load(); d != nil {
		return d.generation + 1
	}
	return 1
}

// failDiscarded ends a call that names a lane of a generation that was discarded in between.
func (c *call) failDiscarded() {
	if d := c.lane.discarded.Load(); d != nil && d.has(c) {
		c.end(CauseLaneDiscarded, d.reason)
	}
}

// RunTask is [Pool.RunTask] on the lane.
func (l *Lease) RunTask(ctx context.Context, name string, payload any) (any, error) {
	if l.isOver() {
		return nil, notStarted(ErrLeaseOver)
	}
	if name == pingName {
		return l.l.p.RunTask(ctx, name, payload)
	}
	e, err := l.l.p.task(name, payload)
	if err != nil {
		return nil, notStarted(err)
	}
	return CallOn(ctx, l, e.any, payload)
}

// CallOn is [Func.Call] on the lane of a lease. The error is [ErrLeaseOver] if the lease has ended, and
// [ErrForeignLane] if f belongs to another pool or to none.
func CallOn[A, R any](ctx context.Context, l *Lease, f *Func[A, R], arg A) (R, error) {
	to, err := l.target(f.entry)
	return f.callTo(ctx, to, err, arg)
}

// GoOn is [Func.Go] on the lane of a lease. The future ends with the errors of [CallOn].
func GoOn[A, R any](ctx context.Context, l *Lease, f *Func[A, R], arg A) *Future[R] {
	to, err := l.target(f.entry)
	return f.goTo(ctx, to, err, arg)
}

// target returns the lane as the target of a call of e, or why the lease takes none.
func (l *Lease) target(e *entry) (target, error) {
	switch {
	case l.isOver():
		return target{}, ErrLeaseOver
	case e.table.bound.Load() != l.l.p:
		return target{}, ErrForeignLane
	}
	return target{l.l, l.generation, l.word}, nil
}

// CallAt is [Func.Call] on the lane that id names, which needs no lease. While a lease has the
// lane, or it is reserved for one, the call waits, also if the caller has that lease: it calls with
// [CallOn]. A call by or for a handler of the lane does not wait for the lease. If id names no lane any
// more, the error is [ErrLaneDiscarded] or [ErrNoSuchLane]. If the lane is discarded before the call
// ends, the error is the reason of the Discard. If Resize takes the lane out while the call waits, it is
// [ErrNoSuchLane].
func CallAt[A, R any](ctx context.Context, id LaneID, f *Func[A, R], arg A) (R, error) {
	to, err := f.entry.at(id)
	return f.callTo(ctx, to, err, arg)
}

// GoAt is [Func.Go] on the lane that id names: see [CallAt].
func GoAt[A, R any](ctx context.Context, id LaneID, f *Func[A, R], arg A) *Future[R] {
	to, err := f.entry.at(id)
	return f.goTo(ctx, to, err, arg)
}

// at returns the lane of the pool of e that id names.
func (e *entry) at(id LaneID) (to target, err error) {
	p, err := e.pool()
	if err != nil {
		return target{}, err
	}
	return p.at(id)
}

// callTo is Call on the lane to, unless err says why there is none.
func (f *Func[A, R]) callTo(ctx context.Context, to target, err error, arg A) (R, error) {
	if err != nil {
		var none R
		return none, notStarted(err)
	}
	return f.callOn(ctx, to, arg, 0)
}

// goTo is Go on the lane to, unless err says why there is none.
func (f *Func[A, R]) goTo(ctx context.Context, to target, err error, arg A) *Future[R] {
	if err != nil {
		t := f.newCall()
		t.end(CauseRefused, err)
		return &t.Future
	}
	return f.goOn(ctx, to, arg, 0)
}
