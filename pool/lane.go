package pool

import (
	"context"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// lane has permits for the calls that run at once, and a queue of the calls that name the lane and
// wait for one. Calls that name no lane wait in the queue of the pool: see sharedQueue. Values
// cross by reference.
//
// Roles:
//
//	sender  makes a call. It takes the pick with a permit if both are free. Then it runs the call, or gives
//	        it to the drain as the first one. Otherwise it queues the call
//	holder  has the pick. It is the drain, which is a task of the scheduler, or a caller that runs its own
//	        call
//	runner  runs a handler with a permit. It is a holder that has given the pick up
//	closer  Close or Discard. It takes the pick, and the permits from the handlers that run. The end of a
//	        hard limit takes one permit
//
// State:
//
//	permits   the pick and the free permits: see permitWord
//	one       the record of the first permit: see runner
//	others    those of the others, in a list that is replaced and never changed; nil: there is none
//	counts    how many permits there are: what SetConcurrency and calls that are sent ahead change
//	first     the call for which a sender has taken the pick. The sender stores it before it schedules the
//	          drain. The holder clears it. Or lingering: see I5
//	backlog   the calls that the lane has accepted and that wait: see callQueue. They come through a lease
//	          or from a handler of the lane, or are those of the inline lane
//	named     the calls that name the lane by its id and wait: see callQueue
//	pings     questions that the holder answers before it looks for calls. They take no space
//
// Invariants:
//
//	I1  fromPool is read and written by the holder only, which is one, and yielder by the drain that lingers
//	I2  no call of the backlog and no ping is stranded. While one may run and the pick and a permit are free,
//	    a sender is before its load of permits, or a goroutine that has made the pick or the permit free is
//	    before its look at the calls
//	I3  calls leave the backlog in the order of their pushes. A sender that takes the pick itself has found
//	    the backlog quiet. So its earlier calls have left it
//	I4  a holder that starts a handler gives the pick up after the token of its runner says so. So a closer
//	    that has the pick finds every call that has left the queue
//	I5  while first is lingering, one drain has no pick, or is about to give it up, and is going to look at
//	    first again. A goroutine that has taken the pick replaces lingering and then does not schedule the
//	    drain. A drain that finds lingering replaced has the queued pick as if it had been scheduled. No drain
//	    begins to linger in a closed pool, because Close frees the pick of a drain that may still linger
//
// Linearization points: a call is accepted by the addition to accepted.
//
// Happens-before edges:
//
//	E2  publication, then load of permits  against  CAS of permits that makes the pick or a permit free, then
//	    load of the queues: at least one side sees the store of the other. needs: sequentially consistent
//	E3  CAS that gives the pick up  ->  CAS that takes it   the next holder sees fromPool
//	E4  end of lingering  ->  CAS of first to lingering   the next drain that lingers sees yielder
//
// Progress: a sender is lock-free while there is space. A holder that stalls delays the calls that
// name the lane. A handler that runs for ever keeps one permit, and Config.HardLimit bounds it. A
// drain that comes while Discard has its pick waits for that.
//
// Rejected: to let a goroutine that waits run the calls of others. A caller may hold a lock that
// another call needs. Rejected as well: the bit "has its permit" in the word of the call in place
// of a token for each runner. A closer that reads the current call of a runner and then the word of
// that call may meet the next call in the same memory on another lane.
type lane struct {
	p        *Pool
	index    int
	executor executor // runs its calls

	backlog callQueue
	first   atomix.Pointer[call]

	_       lfsync.Pad
	permits atomix.Uint64 // a permitWord
	one     runner
	others  atomix.Pointer[[]*runner]
	_       lfsync.Pad
	counts  permitCount
	allowed atomix.Int64 // permits that the lane may have: 0 while its process does not take calls; stored with Pool.mu

	pings    mpsc.Queue // popped by the holder
	fromPool bool       // the next call is one of the pool, if calls wait here and there
	yielder  park.Yielder

	gate
	_       lfsync.Pad
	stale   atomix.Uint64 // outcomes that came after the end of their call
	direct  atomix.Uint64 // calls that their callers ran
	_       lfsync.Pad
	drains  atomix.Uint64         // times that the drain was scheduled
	dead    atomix.Uint64         // handlers that were left behind
	resent  atomix.Uint64         // of ended, the calls that wait in the queue of the pool again: their process has died
	ends    [causes]atomix.Uint64 // calls by the cause of their end; without CauseReturned
	pinging atomix.Int32          // pings that wait
	lease   atomix.Uint32
	owes    atomix.Bool // the last lease has ended while calls of the pool waited, and the lane has looked for none since

	leaseWaits int // goroutines that wait for a lease of this lane: with Pool.mu

	discarded atomix.Pointer[discard]
	named     namedQueue

	drainer sched.Job[*lane]
}

// visit is how many calls one drain runs before it lets other tasks of the
// scheduler have its worker.
const visit = 64

// newLane returns lane number index of p.
func newLane(p *Pool, index int) *lane {
	l := &lane{p: p, index: index}
	l.backlog.init(l)
	l.executor = goroutineExecutor{l}
	l.gate.lane = l
	l.drainer.Fn = func(w *sched.Worker, j *sched.Job[*lane]) { j.Value.drain(w) }
	l.drainer.Value = l
	n := p.concurrency.Load()
	l.allowed.Store(n)
	l.initPermits(int(n))
	if p.processes != nil {
		l.executor = newProcessExecutor(l)
	}
	return l
}

// accept counts a call in, or says why the lane takes none. From then on the call
// ends exactly once. Its caller has come with ctx. lease is the word of the lease through which the
// call comes, or 0.
func (l *lane) accept(ctx context.Context, lease uint32) error {
	err := l.admit(ctx)
	switch { // after the addition: the goroutine that reserves the lane sees it, or is seen here
	case err != nil:
		return err
	case lease != 0 && l.lease.Load() != lease:
		err = ErrLeaseOver
	case lease == 0 && !l.isUnleased():
		err = errLeased
	default:
		return nil
	}
	l.unaccept()
	return err
}

// acceptOnTop counts a call in that its caller runs on top of a handler that has a permit of the lane, if
// the lane is reserved. The call is a part of what runs there. It reports false otherwise.
func (l *lane) acceptOnTop(ctx context.Context) bool {
	if l.lease.Load()&leaseState != reserved || l.admit(ctx) != nil {
		return false
	}
	if l.isHeldHere() { // after the addition: the lane was not free before, and is not now
		return true
	}
	l.unaccept()
	return false
}

// admit is accept for what leases do not concern.
func (l *lane) admit(ctx context.Context) error {
	l.accepted.Add(1)
	if l.p.refuses(ctx) { // after the addition: Shutdown sees one of the two
		l.unaccept()
		return ErrPoolShutdown
	}
	return nil
}

// unaccept takes accept back.
func (l *lane) unaccept() {
	l.accepted.Add(^uint64(0))
	l.p.counted(&l.gate)
}

// countEnded counts a call that was accepted and has ended with cause k.
func (l *lane) countEnded(k Cause) {
	l.ended.Add(1)
	if k != CauseReturned {
		l.ends[k].Add(1)
	}
	l.p.counted(&l.gate)
}

// load returns how many calls that the lane has accepted wait, and how many others have not ended.
func (l *lane) load() (backlog, inFlight int) { return l.split(l.unended()) }

// countWaiting counts a call that the lane has accepted as one that waits, or is about to. It has no permit.
func (l *lane) countWaiting() {
	l.waiting.Add(1)     // before the push: I3
	l.waited.Add(1)      // before the gate of the pool counts the call, and after accepted: G4
	l.p.counted(&l.gate) // G3
}

// notWaiting takes countWaiting back, for a call that the gate of the pool has not counted and that goes on.
func (l *lane) notWaiting() {
	l.moved.Add(losing + lost)
	l.waiting.Add(-1)
}

// split divides n calls that have not ended among the two.
func (l *lane) split(n uint64) (backlog, inFlight int) {
	backlog = int(min(max(l.waiting.Load(), 0), int64(n)))
	return backlog, int(n) - backlog
}

// takeIdle takes the pick and a permit for a call that names the lane. It reports false if one of
// the two is not free, or if calls wait that come first.
func (l *lane) takeIdle() bool {
	if !l.take() {
		return false
	}
	if !l.backlog.calls.Quiet() { // I3
		l.schedule(nil)
		return false
	}
	return true
}

// startWith schedules the drain, for which the caller has made the pick queued for c.
func (l *lane) startWith(c *call) {
	if !l.p.isClosed() { // otherwise Close has had its look at first
		if l.first.Swap(c) != lingering { // I5
			l.schedule(nil)
		}
		if l.p.isClosed() && l.first.CompareAndSwap(c, nil) { // after the swap: Close sees one of the two
			c.refuse(CausePoolClosed, ErrThreadClosed)
		}
		return
	}
	c.refuse(CausePoolClosed, ErrThreadClosed)
	l.failQueued(ErrThreadClosed)
}

// look schedules the drain, on w if that is not nil, if a holder would find a call. A goroutine that
// has made the pick or a permit free calls it afterwards, and one that has made a call ready to run: E2.
// So does one that has ended a lease or added permits, after which the lane may be one of the candidates.
func (l *lane) look(w *sched.Worker) {
	if l.p.walkers.Load() {
		l.markCandidates()
	}
	if l.retake() { // E2, E3
		l.schedule(w)
	}
}

// retake takes the pick and a permit, if a holder would find a call. Otherwise the lane is marked as
// available, if it is, and owes no call.
func (l *lane) retake() bool {
	for {
		if l.ready() && l.take() {
			return true
		}
		if !l.isAvailable() || !l.p.available.mark(l.index) {
			l.owesNone()
			return false
		}
	}
}

// schedule schedules the drain, for which the caller has made the pick queued. w is the worker of
// the caller, or nil.
func (l *lane) schedule(w *sched.Worker) {
	if l.p.isClosed() {
		l.failQueued(ErrThreadClosed)
		return
	}
	if l.stopLingering() {
		return // I5
	}
	l.drains.Add(1)
	l.executor.scheduleDrain(w)
}

// failBelow ends the calls that wait, because the scheduler has refused a task with err. The caller
// has made the pick queued for that task.
func (l *lane) failBelow(err error) {
	err = l.p.endedBelow(err)
	l.failQueued(err)
	l.p.failShared(err)
}

// endedBelow returns the error of calls that the scheduler has not taken.
func (p *Pool) endedBelow(err error) error {
	if p.isClosed() {
		return ErrThreadClosed // the pool itself has ended it
	}
	return &schedulerError{err}
}

// failQueued is failAll for a goroutine that has made the pick queued, unless another one has
// taken it since.
func (l *lane) failQueued(err error) {
	for {
		switch l.loadPermits().pick() {
		case pickQueued:
			if l.hold(pickQueued) {
				l.picker().end(put)
				l.failAll(CausePoolClosed, err, err)
				l.p.available.mark(l.index)
				return
			}
		case pickHeld:
			park.Yield() // a closer or another drain has it for a moment
		default:
			return
		}
	}
}

// takeQueued makes the task for which the pick is queued the holder. It reports false when Close
// has taken the pick.
func (l *lane) takeQueued() bool {
	for {
		if l.hold(pickQueued) {
			return true
		}
		if l.p.isClosed() {
			return false
		}
		park.Yield() // Discard has it for a moment
	}
}

// drain is the task that runs the calls of the lane. The pick is queued for it, unless Close has
// taken that.
func (l *lane) drain(w *sched.Worker) {
	if !l.takeQueued() {
		return
	}
	woke := false // the last call has woken a goroutine that is going to send another one
	for range visit {
		c := l.nextCall(w)
		if c == nil {
			if !l.rest(woke) || !l.takeQueued() { // as any other holder: Discard may come between
				return
			}
			woke = false
			continue
		}
		var r *runner
		if r, woke = l.run(c, w); r == nil || !r.end(pickOrPut) {
			return
		}
	}
	l.give(pickQueued)
	l.schedule(w)
}

// rest gives up the pick and the permit of the drain, which has found no call. It reports whether
// the pick is queued for the drain again. woke says that the last call has woken a goroutine. That
// goroutine is about to run on this processor and to call again. So the drain lingers: it yields
// and looks once more. A goroutine that takes the pick in between need not wake a worker. On a busy
// machine a call by a parked caller took 7.2 us without the yield and 2.4 us with it. Beside
// goroutines that compute on all processors it took 2.4 us and 10 ms, which the yielder notices.
func (l *lane) rest(woke bool) (again bool) {
	if !woke || !l.mayLinger() || !l.first.CompareAndSwap(nil, lingering) { // E4, before the pick is free: I5
		return l.release()
	}
	if again = l.release(); !again {
		l.yielder.Yield()
	}
	if l.stopLingering() {
		return again || l.retake()
	}
	return true
}

// mayLinger reports whether drains may linger. The next call may go to another lane, whose drain
// starts one more worker while this one yields. So a pool with more lanes than processors would
// have a worker for each of them after a while. There the worker lingers in the scheduler instead:
// a call takes 0.9 us in place of 0.55 in a pool of two lanes, and 1.2 in place of 2.1 in one of
// 256.
func (l *lane) mayLinger() bool {
	return len(l.p.roster.Load().lanes) <= l.p.processors && !l.p.isClosed() // I5
}

// lingering is lane.first while the drain lingers.
var lingering = new(call)

// stopLingering ends the lingering of the drain. It reports false if the drain does not linger.
func (l *lane) stopLingering() bool {
	return l.first.Load() == lingering && l.first.CompareAndSwap(lingering, nil) // E4
}

// release gives the pick and the permit of its holder up, and takes both again, with the pick
// queued, if a call has come since.
func (l *lane) release() (again bool) {
	l.picker().end(putBoth) // E2, E3
	return l.retake()
}

// ready reports whether a holder would find a call that may run.
func (l *lane) ready() bool {
	w := l.loadPermits()
	if !w.canTake() {
		return false
	}
	waits := l.backlog.calls.Available() || l.named.ready() || l.p.shared.calls.Available() && l.takesCalls()
	return waits && !l.p.paused() || !l.pings.Empty()
}

// nextCall returns the next call, or nil: there is none, or the pool is paused. The caller is the
// holder, and w its worker.
func (l *lane) nextCall(w *sched.Worker) *call {
	l.endPings(nil)
	return l.next(w)
}

// next is nextCall without the pings.
func (l *lane) next(w *sched.Worker) *call {
	if c := l.takeFirst(); c != nil {
		return c
	}
	if l.fromPool {
		if c := l.nextShared(w); c != nil {
			l.fromPool = false
			return c
		}
	}
	if c := l.nextOwn(w); c != nil {
		l.fromPool = true
		return c
	}
	return l.nextShared(w)
}

// takeFirst returns the call for which the pick was taken, if it was not returned before. It may
// start although the pool is paused, because it was accepted before Pause.
func (l *lane) takeFirst() *call {
	if c := l.first.Load(); c == nil || c == lingering {
		return nil
	}
	return l.first.Swap(nil)
}

// nextOwn takes the next call that names the lane, or returns nil.
func (l *lane) nextOwn(w *sched.Worker) *call {
	if c, _ := l.backlog.pop(); c != nil { // ready sees the calls that are left; another consumer notifies
		return c
	}
	if l.named.ready() {
		return l.nextFrom(l.named.made.Load(), w)
	}
	return nil
}

// run enters the handler of c with the permit of the holder, who is the caller, and gives the pick
// up. It returns the runner, if that has the permit still, and whether a goroutine that waited for
// the call was woken. w is the worker of the caller, or nil.
func (l *lane) run(c *call, w *sched.Worker) (r *runner, woke bool) {
	r = l.picker()
	f := r.begin(c) // before the pick is free: a closer finds the handler
	if l.give(pickFree) {
		l.look(w)
	}
	if l.p.isClosed() { // after the permit is that of a handler: Close sees one of the two
		c.end(CausePoolClosed, ErrThreadClosed)
	}
	exited := true
	defer func() {
		if exited && r.leave(f) { // the goroutine ends, and the lane continues
			r.giveBack()
		}
	}()
	// Before the memory is that of another call: see I1 of call. A caller that has had to wait for the
	// lane runs its next call itself, so it costs time only if the drain lingers for that.
	waited := c.flags&(flagDirect|flagPlaced) == flagDirect
	woke = l.enter(c, f, nil)
	exited = false
	if !r.leave(f) {
		return nil, false
	}
	return r, woke && !waited
}

// endAll ends all calls of the lane with err, also the one whose handler runs. Pings are
// answered, unless the pool is closed.
func (l *lane) endAll(k Cause, err error) {
	var pings error
	if l.p.isClosed() {
		pings = err
	}
	queued := l.seize()
	for r := range l.everyRunner { // those that run have their handlers: no pick is given up before that
		if o, ok := r.takeAway(r.token.Load()); ok {
			r.end(put)
			o.end(k, err)
			o.c.losePermit(o.generation, l) // the call has started by now, or never will
		}
	}
	l.endWaiting(queued, k, err, pings)
}

// endWaiting ends all calls that wait for the lane, and the pings as endPings does, and gives the pick up, which the
// caller, a closer, has seized. queued says that it was queued before.
func (l *lane) endWaiting(queued bool, k Cause, err, pings error) {
	if queued && !l.p.isClosed() {
		// The drain is scheduled, or about to be, and cannot be scheduled twice.
		l.failWaiting(k, err, pings)
		l.give(pickQueued)
		return
	}
	if queued {
		l.picker().end(put)
	}
	l.failAll(k, err, pings)
	if !l.p.isClosed() {
		l.look(nil) // calls of the pool may wait
	}
}

// seize makes the caller, a closer, the holder, and reports whether the pick was queued. The permit
// of the drain is the caller's then.
func (l *lane) seize() (queued bool) {
	for {
		switch {
		case l.hold(pickFree):
			return false
		case l.hold(pickQueued):
			return true
		}
		park.Yield() // the holder picks a call, and gives the pick up when that has its runner
	}
}

// failAll ends all calls that wait, and the pings as endPings does. The caller is the
// holder, and gives the pick up.
func (l *lane) failAll(k Cause, err, pings error) {
	for {
		l.failWaiting(k, err, pings)
		l.give(pickFree)
		named := k == CausePoolClosed && l.named.ready() // other calls that name the lane may run
		if !named && !l.backlog.calls.Available() && l.pings.Empty() || !l.hold(pickFree) {
			return
		}
	}
}

// failWaiting ends all calls that name the lane and wait now, and the pings as endPings does. The
// caller is the holder.
func (l *lane) failWaiting(k Cause, err, pings error) {
	l.endPings(pings)
	if q := l.named.made.Load(); q != nil {
		q.fail(k, err, func(c *call) bool { return k == CausePoolClosed || c.names != l.generation() })
	}
	if c := l.takeFirst(); c != nil {
		c.endAndAwait(c.load().generation(), k, err)
		c.skip()
	}
	l.backlog.fail(k, err, nil)
}

// Ping asks the lane with that number, as in [LaneInfo], for an answer and waits for it. The answer
// comes before the calls that wait. It takes no space of theirs and does not wait for Resume. A
// lane of goroutines that runs as many handlers as it may answers when one of them returns. A worker process answers
// also while its handlers run. The error is the
// cause of ctx, or says that there is no such lane or that the pool is closed. It is
// [ErrBacklogFull] if a thousand others wait for the answer.
func (p *Pool) Ping(ctx context.Context, number int) error {
	l, err := p.numbered(number)
	if err != nil {
		return err
	}
	needContext(ctx)
	return l.ping(ctx)
}

// ping sends a call that the lane answers by itself, and waits for the answer.
func (l *lane) ping(ctx context.Context) error {
	// Its own context has no deadline, so that the holder, which answers it, runs no code of ctx.
	c := &call{body: &pong, task: l.p.pinged, lane: l, ctx: context.Background(), flags: flagWaited}
	if err := l.admit(ctx); err != nil {
		return notStarted(err)
	}
	if l.pinging.Add(1) > maxPings {
		l.pinging.Add(-1)
		l.unaccept()
		return notStarted(ErrBacklogFull)
	}
	l.pings.Push(&c.node)
	l.executor.look(nil)
	if l.p.isClosed() { // after the push: the closer ends it, or is seen
		c.end(CausePoolClosed, ErrThreadClosed)
	}
	c.awaitOrEnd(ctx)
	return c.outcomeError()
}

// maxPings is how many pings may wait in a lane, among them those whose callers have departed.
const maxPings = 1000

// endPings answers the pings, or ends them with err if that is not nil. The caller is the
// holder.
func (l *lane) endPings(err error) {
	var from mpsc.Consumer
	if l.pings.Empty() || l.pings.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		return
	}
	for n := from.Pop(); n != nil; n = from.Pop() {
		l.pinging.Add(-1)
		c := callOf(n)
		if err == nil {
			c.execute(nil, nil)
		} else {
			c.end(CausePoolClosed, err)
		}
	}
	from.Release() // ready sees a ping that came since
}

// pong is the body of a ping.
var pong = body{
	exec: func(c *call) (woke bool) {
		_, woke = c.finish(CauseReturned)
		return woke
	},
	forget: func(*call) {},
}
