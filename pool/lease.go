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
	// ErrLaneDiscarded ends the calls of a lane that was discarded without a reason.
	ErrLaneDiscarded = errors.New("pool: lane discarded")
	// ErrNoSuchLane reports the number of a lane that the pool does not have, or of
	// the inline lane, which cannot be leased.
	ErrNoSuchLane = errors.New("pool: no such lane")
)

// errLeased sends a call to another lane: this one was leased in between.
var errLeased = errors.New("pool: lane is leased")

// Lease is a lane for its holder alone: the balancer sends no call there until Release.
// Safe for concurrent use.
type Lease struct {
	l    *lane
	word uint32 // lane.lease while the lease is not over
	mu   park.Mutex
	over bool
}

// leases are the goroutines that wait for a lane, in their order.
type leases struct {
	queue   []*leaseWaiter // with Pool.mu
	waiting atomix.Int32   // its length, stored with Pool.mu
}

// leaseWaiter is one of them: it wants a certain lane, or any.
type leaseWaiter struct {
	lane   *lane // nil: any
	got    *Lease
	err    error
	parker *lfsync.Parker
}

// Acquire leases a lane that has no call and no overdue handler. It waits for one behind the
// goroutines that asked before. A lane that was leased runs one of the calls that wait for any lane before it
// is leased again. While all lanes are leased, those calls wait, and new ones get [ErrAllLeased]. A handler whose call has ended is overdue until it returns, blocks
// in a wait for a call or in [Pool.Blocking], or runs into Config.HardLimit. The error is the cause of
// ctx, or [ErrPoolShutdown], or [ErrInHandler] when the only lane is busy with the handler that
// asks. Give the lane back with Release.
func (p *Pool) Acquire(ctx context.Context) (*Lease, error) { return p.lease(ctx, nil) }

// AcquireLane is Acquire for the lane with that number, as in [LaneInfo]. When Resize
// takes that out, it returns [ErrNoSuchLane].
func (p *Pool) AcquireLane(ctx context.Context, number int) (*Lease, error) {
	l, err := p.numbered(number)
	if err != nil {
		return nil, err
	}
	return p.lease(ctx, l)
}

func (p *Pool) lease(ctx context.Context, l *lane) (*Lease, error) {
	needContext(ctx)
	if p.isOwnLane(l) {
		return nil, ErrInHandler
	}
	w := &leaseWaiter{lane: l, parker: lfsync.NewParker()}
	p.mu.Lock()
	p.leases.queue = append(p.leases.queue, w)
	p.leases.counted()
	p.mu.Unlock()
	p.waiters.Add(1) // goroutines that settle calls look for lanes that became free
	defer p.waiters.Add(-1)
	p.grantLeases()
	granted := true
	block(func() { granted = w.parker.ParkDone(ctx.Done()) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !granted && w.got == nil && w.err == nil {
		p.leases.remove(w)
		return nil, context.Cause(ctx)
	}
	return w.got, w.err
}

// isOwnLane reports whether the calling goroutine runs a handler on l, or, if that is nil,
// on every lane that could be leased: none becomes free before the handler returns.
func (p *Pool) isOwnLane(l *lane) bool {
	if l != nil {
		return l.isHere()
	}
	if !p.inHandler() {
		return false
	}
	lanes := 0
	for _, l := range p.roster.Load().lanes {
		if l.inline {
			continue
		}
		if lanes++; !l.isHere() {
			return false
		}
	}
	return lanes > 0
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
	for _, w := range p.leases.queue {
		switch {
		case p.state.Load() != open:
			w.err = ErrPoolShutdown
		case w.lane != nil && !slices.Contains(p.roster.Load().lanes, w.lane):
			w.err = ErrNoSuchLane
		default:
			if w.got = p.freeLane(w.lane, &look); w.got == nil {
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

// freeLane leases want, or any lane if that is nil, if it has no call. It adds lanes to look that have to
// look for calls of the pool. The caller has p.mu.
func (p *Pool) freeLane(want *lane, look *[]*lane) *Lease {
	for _, l := range p.roster.Load().lanes {
		before := l.lease.Load()
		if want != nil && l != want || l.inline || before&leaseState != unleased || !l.isFree() {
			continue
		}
		if l.owes.Load() && !p.paused() && p.shared.calls.Available() {
			*look = append(*look, l) // it takes one of them, or finds that other lanes have
			continue
		}
		l.lease.Store(before | leasing)
		if l.isFree() { // after that store: a caller sees it, or its call is seen here
			word := before + leaseNumber | leased
			l.lease.Store(word)
			p.leased.Add(1)
			return &Lease{l: l, word: word}
		}
		l.lease.Store(before)
		*look = append(*look, l) // a searcher may have passed it
	}
	return nil
}

// lane.lease has a state, and above it the number of the lease, so that a call which is
// late for its lease does not get into the next one.
const (
	unleased = iota
	leasing  // a goroutine finds out whether the lane is free, and callers wait for it
	leased
	leaseState  = 3 // the bits of the state
	leaseNumber = 4 // what one lease adds
)

// isLeased reports whether the lane is leased.
func (l *lane) isLeased() bool {
	for {
		switch l.lease.Load() & leaseState {
		case unleased:
			return false
		case leased:
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

// Release gives the lane back. The calls that were made through the lease go on. It may
// be called again.
func (l *Lease) Release() {
	if l.end() {
		l.giveBack()
	}
}

// end ends the lease, and reports whether it was the caller who did.
func (l *Lease) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.over
	l.over = true
	return !was
}

// giveBack lets others have the lane. The caller has ended the lease.
func (l *Lease) giveBack() {
	l.l.owes.Store(!l.l.p.shared.calls.Quiet())
	l.l.lease.Store(l.word &^ leaseState)
	l.l.p.leased.Add(-1)
	l.l.look(nil) // calls of the pool may wait
	l.l.p.grantLeases()
}

// Discard ends all calls of the lane with reason, also one whose handler runs, there or on
// the goroutine of its caller: it stays behind until it returns. Then it gives the lane
// back. A handler that has given up the lane, since it waits for a call, goes on.
func (l *Lease) Discard(reason error) {
	if reason == nil {
		reason = ErrLaneDiscarded
	}
	if l.end() {
		l.l.discarded.Store(&discard{l.word, reason}) // first: a call that gets to the lane later finds it
		l.l.endAll(CauseLaneDiscarded, reason)        // before others have the lane
		l.l.p.endDetached(CauseLaneDiscarded, reason, func(o detachedCall) bool { return o.l == l.l && o.never })
		l.giveBack()
	}
}

// discard says how the last lease of a lane ended, of those that were discarded.
type discard struct {
	word   uint32 // of the lease
	reason error
}

// failDiscarded ends a call that came through a lease that was discarded in between.
func (c *call) failDiscarded() {
	if d := c.lane.discarded.Load(); d != nil && d.word == c.lease {
		c.end(CauseLaneDiscarded, d.reason)
	}
}

// RunTask is [Pool.RunTask] on the lane.
func (l *Lease) RunTask(ctx context.Context, name string, payload any) (any, error) {
	if l.isOver() {
		return nil, notStarted(ErrLeaseOver)
	}
	e := l.l.p.tasks[name]
	if e == nil {
		return l.l.p.RunTask(ctx, name, payload)
	}
	if err := e.check(payload); err != nil {
		return nil, notStarted(err)
	}
	return CallOn(ctx, l, e.any, payload)
}

// CallOn is [Func.Call] on the lane of a lease.
func CallOn[A, R any](ctx context.Context, l *Lease, f *Func[A, R], arg A) (R, error) {
	if err := l.check(f.entry); err != nil {
		var none R
		return none, notStarted(err)
	}
	return f.callOn(ctx, l.l, l.word, arg, 0)
}

// GoOn is [Func.Go] on the lane of a lease.
func GoOn[A, R any](ctx context.Context, l *Lease, f *Func[A, R], arg A) *Future[R] {
	if err := l.check(f.entry); err != nil {
		t := f.newCall()
		t.end(CauseRefused, err)
		return &t.Future
	}
	return f.goOn(ctx, l.l, l.word, arg, 0)
}

// check returns why the lease takes no call of e.
func (l *Lease) check(e *entry) error {
	switch {
	case l.isOver():
		return ErrLeaseOver
	case e.table.bound.Load() != l.l.p:
		return ErrForeignLane
	}
	return nil
}

func (l *Lease) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}
