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
	// ErrAllLeased refuses a call that names no lane while every lane is leased.
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

// errLeased sends a call to another lane: this one was leased in between.
var errLeased = errors.New("pool: lane is leased")

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

// leases are the goroutines that wait for a lane, in their order.
type leases struct {
	queue   []*leaseWaiter // with Pool.mu
	waiting atomix.Int32   // its length, stored with Pool.mu
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
// before. A lane that was leased runs one of the calls that wait for any lane before it is leased
// again, or one that waits for it by its id. While all lanes are leased, those calls wait, and new
// ones get [ErrAllLeased]. The error is the cause of ctx, or [ErrPoolShutdown], or [ErrInHandler] if
// each lane runs a handler that asks. Give the lane back with Release.
//
// A call occupies its lane until its handler has returned, also if the call has ended before. Then the
// handler is overdue. But a handler that blocks in a wait for a call or in [Pool.Blocking] gives up the
// lane, as one does that runs into Config.HardLimit, and a handler that its caller runs because of
// [CallerRuns] has not got it. Such a handler, and the calls that it makes to the lane by its id,
// continue beside the calls of the lease and do not wait for its end. So the holder of a lease may
// wait for that handler. The last lane without a lease is leased only when its calls have ended, so
// that handlers that have blocked there find a lane. A holder does not wait for a handler that needs
// a lane while all of them are leased.
func (p *Pool) Acquire(ctx context.Context) (*Lease, error) { return p.lease(ctx, target{}) }

// AcquireLane is Acquire for the lane with that number, as in [LaneInfo]. When Resize takes the lane
// out, it returns [ErrNoSuchLane]. When the lane is discarded in between, it returns
// [ErrLaneDiscarded].
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
	w := &leaseWaiter{lane: to.l, generation: to.generation, parker: lfsync.NewParker()}
	p.mu.Lock()
	p.leases.queue = append(p.leases.queue, w)
	p.leases.counted()
	p.mu.Unlock()
	p.waiters.Add(1) // goroutines that settle calls look for lanes that became free
	defer p.waiters.Add(-1)
	p.grantLeases()
	granted := true
	block(ctx, func() { granted = w.parker.ParkDone(ctx.Done()) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !granted && w.got == nil && w.err == nil {
		p.leases.remove(w)
		return nil, context.Cause(ctx)
	}
	return w.got, w.err
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

// grantLeases gives free lanes to those who wait for them, in their order.
func (p *Pool) grantLeases() {
	for _, l := range p.grantLeasesLocked() {
		l.look(nil) // not with Pool.mu, because it may end calls
	}
}

// grantLeasesLocked is grantLeases, and returns lanes that have to look for calls of the pool.
func (p *Pool) grantLeasesLocked() (look []*lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.leases.queue[:0]
	none := false // no lane is free for a goroutine that wants any
	for _, w := range p.leases.queue {
		switch {
		case p.state.Load() != open:
			w.err = ErrPoolShutdown
		case w.lane != nil && !slices.Contains(p.roster.Load().lanes, w.lane):
			w.err = ErrNoSuchLane
		case w.lane != nil && w.lane.generation() != w.generation:
			w.err = ErrLaneDiscarded
		default:
			if !none || w.lane != nil {
				w.got = p.freeLane(w, &look)
			}
			if w.got == nil {
				none = none || w.lane == nil
				kept = append(kept, w)
				continue
			}
		}
		w.parker.Unpark()
	}
	clear(p.leases.queue[len(kept):])
	p.leases.queue = kept
	p.leases.counted()
	return look
}

// counted stores the length of the queue. The caller has Pool.mu.
func (q *leases) counted() { q.waiting.Store(int32(len(q.queue))) }

// freeLane leases the lane that w wants, or any, if it has no call. It adds lanes to look that have to
// look for calls that wait. The caller has p.mu.
func (p *Pool) freeLane(w *leaseWaiter, look *[]*lane) *Lease {
	lanes := p.roster.Load().open
	if w.lane != nil {
		lanes = lanes[w.lane.index : w.lane.index+1]
	}
	for _, l := range lanes {
		before := l.lease.Load()
		if before&leaseState != unleased || !l.mayBeLeased() {
			continue
		}
		if l.owes.Load() && !p.paused() && (p.shared.calls.Available() || l.named.ready()) {
			*look = append(*look, l) // it takes one of them, or finds that other lanes have
			continue
		}
		if !l.lease.CompareAndSwap(before, before|leasing) {
			continue // Discard has it, and gives it back
		}
		same := w.lane == nil || w.generation == l.generation() // again: no Discard comes now
		if same && l.mayBeLeased() {                            // after that CAS: a caller sees it, or its call is seen here
			lease := &Lease{l: l, word: before + leaseNumber | leased, generation: l.generation()}
			l.lease.Store(lease.word) // after the generation: Discard leaves a lane alone that is about to be leased
			p.leased.Add(1)
			return lease
		}
		l.lease.Store(before)
		*look = append(*look, l) // a searcher may have passed it
	}
	return nil
}

// mayBeLeased reports whether no call occupies the lane. If no other lane is without a lease, it
// reports whether the calls of the lane have ended as well: the calls that its handlers make need one.
// The caller has p.mu.
func (l *lane) mayBeLeased() bool {
	return l.isFree() && (l.unended() == 0 || !l.isLastUnleased())
}

// isLastUnleased reports whether calls go to no other lane that is not leased. The caller has p.mu.
func (l *lane) isLastUnleased() bool {
	return !slices.ContainsFunc(l.p.roster.Load().open, func(o *lane) bool { return o != l && !o.hasLease() })
}

// lane.lease has a state, and above it the number of the lease, so that a call which is
// late for its lease does not get into the next one.
const (
	unleased = iota
	leasing  // a goroutine finds out whether the lane is free, and callers wait for it
	leased
	ending          // a goroutine has ended the lease, or discards the lane, and is about to give it back
	leaseState  = 3 // the bits of the state
	leaseNumber = 4 // what one lease adds
)

// isUnleased reports whether no lease has the lane, and none is about to have it.
func (l *lane) isUnleased() bool { return l.lease.Load()&leaseState == unleased }

// hasLease reports whether a lease has the lane, and is not about to end.
func (l *lane) hasLease() bool { return l.lease.Load()&leaseState == leased }

// isLeased reports whether the lane is leased.
func (l *lane) isLeased() bool {
	for {
		switch l.lease.Load() & leaseState {
		case unleased:
			return false
		case leased, ending:
			return true
		}
		park.Yield()
	}
}

// remove takes w out of the queue.
func (q *leases) remove(w *leaseWaiter) {
	for i, o := range q.queue {
		if o == w {
			q.queue = append(q.queue[:i], q.queue[i+1:]...)
			q.counted()
			return
		}
	}
}

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
	l.look(nil) // calls may wait
	l.p.grantLeases()
}

// Discard ends all calls of the lane with reason, also one whose handler runs, there or on the
// goroutine of its caller: it stays behind until it returns. Then it gives the lane back. A handler
// that has given up the lane, since it waits for a call, continues. The lane has a new [LaneID] then.
func (l *Lease) Discard(reason error) {
	if l.end() {
		l.l.p.leased.Add(-1)
		l.l.discard(l.generation, reason)
	}
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
	l := to.l
	for {
		switch w := l.lease.Load(); w & leaseState {
		case unleased, leased:
			if l.generation() != id.Generation { // before the CAS: the word may be that of a later lease
				return ErrLaneDiscarded
			}
			if !l.lease.CompareAndSwap(w, w|ending) {
				continue
			}
			if w&leaseState == leased {
				p.leased.Add(-1)
			}
			if l.generation() == id.Generation {
				l.discard(id.Generation, reason)
				return nil
			}
			l.giveBack() // another Discard of an unleased lane was first
			return ErrLaneDiscarded
		}
		park.Yield() // a goroutine leases the lane, or gives it back
	}
}

// discard ends the calls of the lane and gives it back. The caller has made it ending.
func (l *lane) discard(generation uint32, reason error) {
	if reason == nil {
		reason = ErrLaneDiscarded
	}
	l.discarded.Store(&discard{generation, reason}) // first: a call that gets to the lane later finds it
	l.endAll(CauseLaneDiscarded, reason)            // before others have the lane
	l.p.endDetached(CauseLaneDiscarded, reason, func(o detachedCall) bool { return o.l == l && o.never })
	l.giveBack()
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
// lane, the call waits, also if the caller has that lease: it calls with [CallOn]. A call by or
// for a handler of the lane does not wait for the lease. If id names no lane any more, the error is
// [ErrLaneDiscarded] or [ErrNoSuchLane]. If the lane is discarded before the call ends, the error
// is the reason of the Discard. If Resize takes the lane out while the call waits, it is [ErrNoSuchLane].
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
