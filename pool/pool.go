package pool

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// Pool runs the calls of the functions of one table of [Handlers] on its lanes. Make
// one with [New]. Safe for concurrent use.
type Pool struct {
	_       lfsync.NoCopy
	config  Config
	tasks   map[string]*entry // by name; read only
	entries []*entry          // of these, in the order of their registration
	pinged  *entry            // the task of pings
	sched   *sched.Scheduler
	own     bool // sched is the pool's

	processors  int          // GOMAXPROCS when New made the pool
	concurrency atomix.Int64 // calls of a lane at once; stored with mu
	aborts      *transport.AbortSet
	inline      *inlineExecutor // nil without
	processes   *processes      // nil: the lanes are goroutines
	anyLane     executor        // of a call that waits for any lane

	roster atomix.Pointer[roster]
	state  atomix.Uint32
	pauses atomix.Bool
	pings  atomix.Uint64

	shared    sharedQueue
	available summary
	free      candidates // the lanes that View.Free reports
	unfilled  candidates // the lanes with permits that no call has, if they take calls

	every     atomix.Pointer[[]*lane] // lanes, and the inline lane
	gates     atomix.Pointer[[]*gate] // those of every lane, and that of shared
	leased    atomix.Int32            // lanes that are leased
	abandoned atomix.Int64            // handlers that the hard limit or a Discard has left behind, and that run

	moves        atomix.Int32 // permits that are being taken away
	telling      atomix.Int32 // calls that are being counted as ended, or whose Done is not closed yet
	waiters      atomix.Int32 // goroutines that wait for a state of the pool, or for a lease; and one if walkers is set
	walkers      atomix.Bool  // a walker has cleared a bit: see candidates
	general      atomix.Int32 // of these, the waiters without lanes: see stateWaiter
	resizes      park.Mutex   // one Resize at a time
	mu           park.Mutex   // of what follows, all of it off the paths of calls
	spare        []*lane      // made by a Resize that failed later; only the goroutine with resizes changes it
	lanes        []*lane      // all that were ever made, also those that Resize took out
	stateWaiters []*stateWaiter
	idle         idleWaiters
	leases       leases

	detachedMu  park.Mutex // of what follows
	detached    map[detachedCall]presence
	detachments uint64        // how many calls were detached
	closed      chan struct{} // closed when Close has ended all calls
	clocks      park.Pool     // for the calls with a Timeout
	limits      park.Pool     // the clocks of handlers with a permit that have a hard limit
}

// roster is the lanes that calls go to, in the order of the balancer. It is
// replaced, and never changed.
type roster struct {
	lanes []*lane
	open  []*lane // without the inline lane
	p     *Pool
}

// The states of a pool, in their order.
const (
	open = iota
	draining
	shut
)

// New returns a pool with the tasks of h, and binds the functions of h to it. The
// lanes take calls when it returns. It returns an error that names the field of c, or
// the task, at fault.
func New(h *Handlers, c Config) (*Pool, error) {
	processors := runtime.GOMAXPROCS(0)
	c, err := c.check(processors)
	if err != nil {
		return nil, err
	}
	if h == nil {
		h = new(Handlers)
	}
	if isWorker() {
		return nil, ErrNestedWorker
	}
	tasks, err := h.byName()
	if err != nil {
		return nil, err
	}
	if h.bound.Load() != nil {
		return nil, ErrBound // before the hook; again below
	}
	p := &Pool{config: c, tasks: tasks, entries: h.entries, pinged: &entry{table: h, name: pingName, ends: new([taskStripes]taskEnds)}, processors: processors, sched: c.Scheduler, detached: map[detachedCall]presence{}, closed: make(chan struct{})}
	if p.aborts, err = transport.NewAbortSet(c.AbortCapacity, make([]atomix.Uint32, (c.AbortCapacity+31)/32)); err != nil {
		return nil, err
	}
	p.anyLane = executorOfAnyLane(c.Process != nil)
	if c.Process != nil {
		if p.processes, err = newProcesses(*c.Process, h); err != nil {
			return nil, err
		}
	} else if err := h.checkLocal(); err != nil {
		return nil, err
	}
	n := max(c.Lanes, 0)
	for i := range n {
		if err := p.bootstrap(i); err != nil {
			h.failed.Store(err)
			return nil, err
		}
	}
	if p.sched == nil {
		p.own = true
		p.sched, err = sched.New(sched.Config{
			MaxWorkers:   min(max(n*c.Concurrency, processors), lfsync.MaxWorkers),
			LockOSThread: c.LockOSThread,
			StallAfter:   defaultStall,
		})
		if err != nil {
			return nil, err
		}
	}
	p.concurrency.Store(int64(c.Concurrency))
	p.shared.init(p)
	p.free.init(func(l *lane, n census) bool { return n.calls == 0 && !l.hasLease() && l.allowed.Load() > 0 })
	p.unfilled.init(func(l *lane, n census) bool { return l.takesCalls() && l.unused(n) > 0 })
	for i := range n {
		p.lanes = append(p.lanes, newLane(p, i))
	}
	if c.Inline != nil {
		p.inline = newInlineExecutor(p)
	}
	p.setRoster(n)
	if err := p.openLanes(p.lanes); err != nil {
		return nil, err
	}
	if h.bound.Load() != nil { // Config.Bootstrap may have made a pool of the table: its tasks keep their counts
		p.abandonNew()
		return nil, ErrBound
	}
	for _, e := range h.entries {
		e.marks, e.ends = c.marksOf(e.name), new([taskStripes]taskEnds)
	}
	if !h.bound.CompareAndSwap(nil, p) {
		p.abandonNew()
		return nil, ErrBound
	}
	return p, nil
}

// openLanes makes new lanes ready for calls. If one of them cannot be, it closes the pool, which is not shared yet.
func (p *Pool) openLanes(lanes []*lane) error {
	var waits []func(context.Context) error
	for _, l := range lanes {
		if ready := l.executor.open(); ready != nil {
			waits = append(waits, ready)
		}
	}
	var errs []error
	for _, ready := range waits {
		errs = append(errs, ready(context.Background()))
	}
	err := errors.Join(errs...)
	if err != nil {
		p.abandonNew()
	}
	return err
}

// abandonNew closes a pool that New does not return, and returns when none of its processes is left.
func (p *Pool) abandonNew() {
	p.closeNow()
	if p.processes != nil {
		_ = p.waitFor(context.Background(), &stateWaiter{reached: func() bool { return p.processes.alive.Load() == 0 }})
	}
}

// bootstrap prepares lane number i.
func (p *Pool) bootstrap(i int) *BootstrapError {
	if p.config.Bootstrap == nil {
		return nil
	}
	if err := p.config.Bootstrap(context.Background(), i); err != nil {
		return &BootstrapError{Lane: i, cause: err}
	}
	return nil
}

// setRoster makes the first n lanes those that calls go to. The caller has p.mu, or p
// is not shared yet.
func (p *Pool) setRoster(n int) {
	r := &roster{p: p, open: p.lanes[:n:n]}
	if p.inline != nil && p.config.Inline.Position == First {
		r.lanes = append(r.lanes, p.inline.lane)
	}
	r.lanes = append(r.lanes, p.lanes[:n]...)
	if p.inline != nil && p.config.Inline.Position == Last {
		r.lanes = append(r.lanes, p.inline.lane)
	}
	every := append([]*lane(nil), p.lanes...)
	if p.inline != nil {
		every = append(every, p.inline.lane)
	}
	gates := []*gate{&p.shared.gate}
	for _, l := range every {
		gates = append(gates, &l.gate)
	}
	p.gates.Store(&gates)
	p.every.Store(&every) // these two first: Wait and Close find each lane that has calls
	p.roster.Store(r)
	for _, l := range r.open {
		p.available.mark(l.index)
		p.free.bits.mark(l.index)
		p.unfilled.bits.mark(l.index)
	}
}

// pick returns the lane for a call.
func (p *Pool) pick() (*lane, error) {
	r := p.roster.Load()
	if len(r.lanes) == 1 {
		l := r.lanes[0]
		if l.hasLease() {
			return nil, ErrAllLeased
		}
		return l, nil
	}
	n := p.config.Balancer.Pick(View{r})
	if n < 0 || n >= len(r.lanes) {
		panic("pool: Balancer.Pick: no lane has that number")
	}
	for range r.lanes {
		if l := r.lanes[n]; r.takes(l) {
			return l, nil
		}
		if n++; n == len(r.lanes) {
			n = 0
		}
	}
	if p.inline != nil {
		return p.inline.lane, nil
	}
	return nil, ErrAllLeased
}

// pickWorkers is pick for a call that its caller runs because there is no space for it. If the balancer
// picks a lane without permits, or one that takes no calls, the call goes to the first other lane. The
// error is errLeased if no lane takes calls, but not each is leased.
func (p *Pool) pickWorkers() (*lane, error) {
	l, err := p.pick()
	if err != nil || l.hasPermits() && l.isUnleased() {
		return l, err
	}
	err = ErrAllLeased
	for _, l := range p.roster.Load().open {
		switch {
		case l.isUnleased():
			return l, nil
		case !l.hasLease():
			err = errLeased
		}
	}
	return nil, err
}

// numbered returns the goroutine lane with that number, if calls go to it.
func (p *Pool) numbered(number int) (*lane, error) {
	if open := p.roster.Load().open; 0 <= number && number < len(open) {
		return open[number], nil
	}
	return nil, ErrNoSuchLane
}

// takes reports whether the balancer may send a call to l.
func (r *roster) takes(l *lane) bool {
	return !l.hasLease() && l.executor.takes(r)
}

// inFlight returns how many calls of all lanes have not ended.
func (r *roster) inFlight() int {
	n := r.p.shared.waiting()
	for _, l := range r.lanes {
		n += int(l.unended())
	}
	return n
}

// Scheduler returns the scheduler whose workers run the handlers: that of the pool, or
// Config.Scheduler. A handler that its caller runs is no callback of the pool's own scheduler, so the
// statistics of that do not count it.
func (p *Pool) Scheduler() *sched.Scheduler { return p.sched }

// refuses reports whether the pool takes no call of this goroutine, which has come with ctx. While
// it drains, it takes those that its handlers need to finish.
func (p *Pool) refuses(ctx context.Context) bool {
	switch p.state.Load() {
	case open:
		return false
	case draining:
		return !p.isInside(ctx)
	}
	return true
}

// hasAbandonedMany reports whether the pool takes no call because of the handlers that it has left behind.
// begin asks it for each call, and callOn for one that does without begin. A call may have been accepted
// before. So enter asks it as well.
func (p *Pool) hasAbandonedMany() bool {
	most := p.config.MaxAbandoned
	return most != Unlimited && p.abandoned.Load() >= int64(most)
}

func (p *Pool) isClosed() bool { return p.state.Load() == shut }

// paused reports whether no call starts for now. Pause does not keep the calls of a closed
// pool from their end.
func (p *Pool) paused() bool { return p.pauses.Load() && !p.isClosed() }

// Blocking calls fn, during which the lane of the handler that calls it runs other calls,
// and its worker other tasks, as while a handler waits for a call. It is for a handler that
// waits for what may in turn call the pool without being that handler: goroutines, tasks,
// and the bodies of parallel loops. In a task of any scheduler outside of handlers it gives up the
// place of the worker only. On any other goroutine it calls fn.
func (p *Pool) Blocking(fn func()) {
	if fn == nil {
		panic("pool: Blocking: nil function")
	}
	block(context.Background(), fn)
}

// detachedCall is a call whose handler has no permit of the lane: it has given the permit up, or
// lost it, or never had one. A call that waits for its argument is one as well.
type detachedCall struct {
	c          *call
	generation callWord
	l          *lane // nil: it waits for its argument
	never      bool  // its handler never had a permit
}

// presence is how often detach was called for a call less how often returned was. The difference is
// below 0 for a moment when the handler returns while another goroutine takes its permit away. The
// number is that of the detached calls before it.
type presence struct {
	n      int
	number uint64
	since  time.Time // of the first look that has found it, or zero
}

// detach says that o is detached from now on.
func (p *Pool) detach(o detachedCall) { p.endIfClosed(o, p.present(o, 1)) }

// detachMoved is detach for a goroutine that has added to moves, and ends that before it ends the
// call: the end of a call may run code of the program, and that must not find a move that waits
// for it.
func (p *Pool) detachMoved(o detachedCall) {
	none := p.present(o, 1)
	p.moved()
	p.endIfClosed(o, none)
}

// endIfClosed ends a call that has just been detached, if Close may have missed it. none says that no
// call is detached.
func (p *Pool) endIfClosed(o detachedCall, none bool) {
	if p.isClosed() { // after present: Close finds o, or is seen
		o.c.endAs(o.generation, CausePoolClosed, ErrThreadClosed)
		if none {
			p.wakeWaiters(nil)
		}
	}
}

// moved ends what an addition to moves has begun.
func (p *Pool) moved() {
	p.moves.Add(-1)
	if p.isClosed() {
		p.wakeWaiters(nil)
	}
}

// returned ends what detach has begun, or is about to begin.
func (p *Pool) returned(o detachedCall) {
	if p.present(o, -1) && p.isClosed() {
		p.wakeWaiters(nil)
	}
}

// present changes the presence of o, and reports whether no call is detached.
func (p *Pool) present(o detachedCall, n int) bool {
	p.detachedMu.Lock()
	defer p.detachedMu.Unlock()
	at, ok := p.detached[o]
	if !ok {
		at.number = p.detachments
		p.detachments++
	}
	at.n += n
	if at.n == 0 {
		delete(p.detached, o)
	} else {
		p.detached[o] = at
	}
	return len(p.detached) == 0
}

// detachedCalls returns how many calls are detached, and how many of them for their handlers. A call
// that had to wait for its argument may be detached for both reasons.
func (p *Pool) detachedCalls() (calls, handlers int) {
	p.detachedMu.Lock()
	defer p.detachedMu.Unlock()
	for o, at := range p.detached {
		n := max(at.n, 0)
		calls += n
		if o.l != nil {
			handlers += n
		}
	}
	return calls, handlers
}

// presentCall is a detached call and its presence.
type presentCall struct {
	detachedCall
	presence
}

// detachedInOrder returns such calls of those that are detached, in the order in which they were
// detached, because a model cannot repeat the order of a map. It is a look: see presence.
func (p *Pool) detachedInOrder(such func(o detachedCall) bool) (list []presentCall) {
	now := time.Now()
	p.detachedMu.Lock()
	for o, at := range p.detached {
		if !such(o) {
			continue
		}
		if at.since.IsZero() {
			at.since = now
			p.detached[o] = at
		}
		list = append(list, presentCall{o, at})
	}
	p.detachedMu.Unlock()
	slices.SortFunc(list, func(a, b presentCall) int { return cmp.Compare(a.number, b.number) })
	return list
}

// endDetached ends such calls of those that are detached, in their order. It does not hold the lock
// while it ends them: the end of a call may run code of the program.
func (p *Pool) endDetached(k Cause, err error, such func(o detachedCall) bool) {
	for _, o := range p.detachedInOrder(such) {
		o.end(k, err)
	}
}

// end ends the call for a closer. The handler that Discard leaves behind is counted, also if the call has
// ended before.
func (o detachedCall) end(k Cause, err error) {
	o.c.endAndAwait(o.generation, k, err)
	if k == CauseLaneDiscarded {
		o.c.leaveBehind(o.generation, o.l)
	}
}
