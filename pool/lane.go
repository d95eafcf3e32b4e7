package pool

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// lane is an address that calls are sent to: a mailbox of 32 slots, a backlog for
// what does not fit, and permits for the calls that run at once. Values cross by reference.
//
// Roles:
//
//	sender  a goroutine that makes a call: fills a slot or pushes to the backlog, then takes
//	        the pick with a permit, if both are free, and schedules the drain
//	holder  has the pick: the drain, which is a task of the scheduler, or a caller that found
//	        the lane empty and runs its own call
//	runner  runs a handler with a permit: a holder that has given the pick up
//	closer  Close and Discard: takes the pick, and the permits from the handlers that run.
//	        The end of a hard limit takes one permit
//
// State:
//
//	permits     the pick and the free permits: see permitWord
//	runners     the records of the permits: see runner
//	calls       slot i: written by its claimer before Publish, read and cleared by
//	            the holder before Ack
//	waiting     how many calls were pushed to the backlog and have no turn yet:
//	            added to before the push, taken from by the holder
//	taken       calls that have a turn, in order: the holder's
//	pings       questions that the holder answers itself, before it looks for calls;
//	            they take no slot and no room
//
// Invariants:
//
//	I1  taken, next, turns and yielder are read and written by the holder only, which is one
//	I2  whenever the pick and a permit are free and a call may run, or a ping waits, a sender
//	    is between its publication and its load of permits, or a goroutine between its store
//	    to permits, which made the pick or the permit free, and its look at the calls. So
//	    no call is stranded
//	I3  turns go by ticket, and then by the order of the backlog: a caller goes to
//	    the mailbox only while waiting is 0, which the holder makes it only after
//	    it has looked at the mailbox once more. So calls of one caller keep their
//	    order
//	I4  a holder that starts a handler gives the pick up after the token of its runner says
//	    so. So a closer that has the pick finds every call that has left the queue
//
// Linearization points: a call has its turn when the holder reads its publish bit,
// or pops it; it is accepted by the addition to accepted.
//
// Happens-before edges:
//
//	E1  publish bit, push  ->  the holder's load, pop   it sees the call
//	E2  publication, then load of permits, against CAS of permits that makes the pick or a
//	    permit free, then load of the publish bits: at least one of the two loads sees the
//	    store of the other goroutine. needs: sequentially consistent
//	E3  CAS that gives the pick up  ->  CAS that takes it   the next holder sees taken
//
// Progress: a sender is lock-free while there is room. A holder that stalls delays the calls that
// wait. A handler that runs for ever keeps its permit and no other; Config.HardLimit bounds
// it. A drain that comes while Discard has its pick waits for that.
//
// Rejected: to let a goroutine that waits run the calls of others. A caller may
// hold a lock that another call needs. Rejected as well: the bit "has its permit" in the word of
// the call in place of a token for each runner. A closer that reads the current call of a runner
// and then the word of that call may meet the next call in the same memory, on another lane.
// Tried without a gain beyond the noise, on two
// processors: a sender that leaves the pick to the sender of another call that the
// holder has not taken yet (32 calls outstanding, 2.7 to 3.0 million calls a second
// against 2.3 to 2.7, but a stalled sender would then hold up others); a caller that
// spins for about 150 ns for a pick that is taken (64 callers, 1.6 million a second
// either way: once calls are queued, the next ones have to queue as well).
type lane struct {
	p      *Pool
	index  int
	limit  int  // calls at once
	inline bool // the lane of the callers: its calls wait in the backlog until one runs them

	tx           transport.Sender
	rx           transport.Receiver
	host, worker transport.Side
	calls        [transport.Slots]atomix.Cell[*call]
	tickets      [transport.Slots]uint32

	backlog mpsc.Queue
	room    *lfsync.Semaphore // nil: without bound

	_       lfsync.Pad
	permits atomix.Uint64 // a permitWord
	one     [1]runner     // of a lane with one permit
	runners []runner
	_       lfsync.Pad

	pings mpsc.Queue      // popped by the holder
	taken [maxTurns]*call // I1
	order [transport.Slots]uint8
	next  atomix.Cell[int]
	turns int

	yielder park.Yielder // of the holder

	_        lfsync.Pad
	accepted atomix.Uint64 // added to by senders
	waiting  atomix.Int64
	_        lfsync.Pad
	ended    atomix.Uint64 // added to by the goroutines that settle calls
	awaited  atomix.Int32  // goroutines that wait for the lane: see stateWaiter
	stale    atomix.Uint64 // outcomes that came after the end of their call
	direct   atomix.Uint64 // calls that their callers ran
	_        lfsync.Pad
	drains   atomix.Uint64         // times that the drain was scheduled
	dead     atomix.Uint64         // handlers that were left behind
	overdue  atomix.Int64          // handlers with a permit whose calls have ended
	ends     [causes]atomix.Uint64 // calls by the cause of their end; without CauseReturned
	pinging  atomix.Int32          // pings that wait
	lease    atomix.Uint32

	discarded atomix.Pointer[discard]

	inlineRunners *inlineRunners // of the inline lane
	drainer       sched.Job[*lane]
}

// maxTurns is how many calls get their turns at a time: a mailbox, and as many of
// the backlog.
const maxTurns = 2 * transport.Slots

// visit is how many calls one drain runs before it lets other tasks of the
// scheduler have its worker.
const visit = 64

// newLane returns lane number index of p.
func newLane(p *Pool, index int) *lane {
	l := &lane{p: p, index: index, limit: p.config.Concurrency}
	l.tx.Init(&l.host, &l.worker, transport.Slots)
	l.rx.Init(&l.worker, &l.host, transport.Slots)
	if n := p.config.Backlog; n != Unlimited {
		l.room, _ = lfsync.NewSemaphore(n) // Config.check has seen n
	}
	l.drainer.Fn = func(w *sched.Worker, j *sched.Job[*lane]) { j.Value.drain(w) }
	l.drainer.Value = l
	l.initPermits(l.limit)
	return l
}

// accept counts a call in, or says why the lane takes none. From then on the call
// ends exactly once. lease is the word of the lease through which the call comes, or 0.
func (l *lane) accept(lease uint32) error {
	if l.p.hasAbandonedMany() {
		return ErrTooManyAbandoned
	}
	err := l.admit()
	switch { // after the addition: the goroutine that leases the lane sees it, or its lease is seen here
	case err != nil:
		return err
	case lease != 0 && l.lease.Load() != lease:
		err = ErrLeaseOver
	case lease == 0 && l.isLeased():
		err = errLeased
	default:
		return nil
	}
	l.unaccept()
	return err
}

// admit is accept for what leases do not concern.
func (l *lane) admit() error {
	l.accepted.Add(1)
	if l.p.refuses() { // after the addition: Shutdown sees one of the two
		l.unaccept()
		return ErrPoolShutdown
	}
	return nil
}

// unaccept takes accept back.
func (l *lane) unaccept() {
	l.accepted.Add(^uint64(0))
	l.counted()
}

// countEnded counts a call that was accepted and has ended with cause k.
func (l *lane) countEnded(k Cause) {
	l.ended.Add(1)
	if k != CauseReturned {
		l.ends[k].Add(1)
	}
	l.counted()
}

// unended returns how many calls were accepted and have not ended.
func (l *lane) unended() uint64 {
	ended := l.ended.Load() // first, so that the difference is not negative
	return l.accepted.Load() - ended
}

// isFree reports whether the lane has no call, and no permit is that of an overdue handler. If no call
// was accepted during the loads, all had ended before the load of overdue, so no step of one is
// without its duty then: C5 of callWord.
func (l *lane) isFree() bool {
	ended := l.ended.Load()
	return l.accepted.Load() == ended && l.overdue.Load() == 0 && l.accepted.Load() == ended
}

// notOverdue takes an overdue handler, which has returned or lost its permit, from the count.
func (l *lane) notOverdue() {
	l.overdue.Add(-1)
	l.counted()
}

// load returns how many calls wait for a slot, and how many others have not ended.
func (l *lane) load() (backlog, inFlight int) { return l.split(l.unended()) }

// split divides n calls that have not ended among the two.
func (l *lane) split(n uint64) (backlog, inFlight int) {
	backlog = int(min(max(l.waiting.Load(), 0), int64(n)))
	return backlog, int(n) - backlog
}

// send brings an accepted call to the lane. The error says why there is no room
// for it: the call is not ended then.
func (l *lane) send(c *call) (Cause, error) {
	if l.inline {
		l.sendInline(c)
		return CauseNone, nil
	}
	if l.waiting.Load() != 0 || !l.post(c) { // I3
		if k, err := l.push(c); err != nil {
			return k, err
		}
	}
	l.kick()
	return CauseNone, nil
}

// post puts c into a slot, if one is free.
func (l *lane) post(c *call) bool {
	slot, ticket, ok := l.tx.Claim()
	if !ok {
		return false
	}
	l.calls[slot].Set(c)
	l.tickets[slot] = ticket
	l.tx.Publish(slot) // E1
	return true
}

// push puts c into the backlog, when there is room or the policy makes some.
func (l *lane) push(c *call) (Cause, error) {
	policy := l.p.config.Overflow
	if c.flags&flagTry != 0 {
		policy = Fail
	}
	for l.room != nil && !l.room.TryAcquire() {
		switch policy {
		case Fail:
			return CauseRefused, ErrBacklogFull
		case CallerRuns:
			if !l.p.paused() {
				l.runHere(c)
				return CauseNone, nil
			}
			return l.pushWhenRoom(c)
		case DropOldest:
			l.dropOldest()
		default:
			return l.pushWhenRoom(c)
		}
	}
	l.enqueue(c)
	return CauseNone, nil
}

// enqueue pushes c to the backlog. The caller has acquired the room for it.
func (l *lane) enqueue(c *call) {
	l.waiting.Add(1) // before the push: I3
	l.backlog.Push(&c.node)
}

// pushWhenRoom waits until the backlog has room for c, or its context ends.
func (l *lane) pushWhenRoom(c *call) (Cause, error) {
	ctx := c.ctx
	if c.flags&flagLater != 0 { // a goroutine that has its future may end it in between
		ctx = &untilSettled{c.ctx, c}
	}
	var err error
	block(func() { err = l.room.Acquire(ctx) })
	if err == nil {
		l.enqueue(c)
		return CauseNone, nil
	}
	if c.ctx.Err() != nil {
		return c.contextEnd()
	}
	return CauseRefused, err
}

// dropOldest ends the call that has waited longest, and gives its room back.
func (l *lane) dropOldest() {
	var from mpsc.Consumer
	if l.backlog.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		park.Yield() // the holder is taking some, which makes room
		return
	}
	n := from.Pop()
	from.Release()
	if n != nil {
		l.waiting.Add(-1)
		c := callOf(n)
		c.refuse(CauseDropped, ErrDropped)
		l.giveRoom()
	} else {
		park.Yield() // the caller that took the last room has not pushed its call yet
	}
	l.kick() // the holder may have found the backlog taken
}

// kick schedules the drain if the pick and a permit are free. A goroutine that has made a call
// ready to run calls it afterwards: E2.
func (l *lane) kick() {
	if (!l.p.paused() || !l.pings.Empty()) && l.take() { // E2, E3
		l.schedule(nil)
	}
}

// look schedules the drain, on w if that is not nil, if a holder would find a call. A goroutine that
// has made the pick or a permit free calls it afterwards: E2.
func (l *lane) look(w *sched.Worker) {
	if l.ready() && l.take() { // E2, E3
		l.schedule(w)
	}
}

// schedule schedules the drain, for which the caller has made the pick queued. w is the worker of
// the caller, or nil.
func (l *lane) schedule(w *sched.Worker) {
	if l.p.isClosed() {
		l.failQueued(ErrThreadClosed)
		return
	}
	l.drains.Add(1)
	var err error
	if w != nil {
		err = w.Schedule(l.drainer.Task())
	} else {
		err = l.p.sched.Schedule(l.drainer.Task())
	}
	if err != nil && !isQueued(err) {
		// The scheduler has ended below the pool: no worker will run the calls.
		l.failQueued(l.p.endedBelow(err))
	}
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
				l.picker().put()
				l.failAll(CausePoolClosed, err, err)
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
		c := l.nextCall()
		if c == nil && woke {
			woke = false
			// The caller that the last call has woken is about to run here, and to call
			// again. It then finds the pick held, and no worker has to be woken for its
			// call. On a busy machine a call by a parked caller took 7.2 us without the
			// yield and 2.4 us with it. Beside goroutines that compute on all processors it
			// took 2.4 us and 10 ms: the yielder finds that out.
			// Callers that would rather run their calls find the pick free instead.
			// Otherwise those that met by chance would go on in a convoy: 64 callers of two
			// lanes made 1.7 to 2.0 M calls/s with two workers so, and make 2.4 to 2.7.
			// The next call may go to another lane, whose drain starts one more worker while
			// this one yields. A pool with more lanes than processors would have a worker
			// for each of them after a while. There this worker ends the drain, and lingers:
			// a call takes 0.9 us in place of 0.55 in a pool of two lanes, and 1.2 in place
			// of 2.1 in one of 256.
			if l.mayYield() && l.yielder.Yield() {
				c = l.nextCall()
			}
		}
		if c == nil {
			if !l.release() || !l.takeQueued() { // as any other holder: Discard may come between
				return
			}
			continue
		}
		var r *runner
		if r, woke = l.run(c, w); r == nil || !r.pickOrPut() {
			return
		}
	}
	l.give(pickQueued)
	l.schedule(w)
}

// mayYield reports whether a drain may yield while it has the pick: the lane has no other permit
// that would be idle, and a worker for each lane of the pool is not too many.
func (l *lane) mayYield() bool {
	return l.limit == 1 && len(l.p.roster.Load().lanes) <= l.p.processors
}

// release gives the pick and the permit of its holder up, and takes both again, with the pick
// queued, if a call has come since.
func (l *lane) release() (again bool) {
	l.giveAll(l.picker()) // E2, E3
	return l.ready() && l.take()
}

// ready reports whether a holder would find a call that may run.
func (l *lane) ready() bool {
	w := l.loadPermits()
	if !w.canTake() {
		return false
	}
	waits := w&permitLeft != 0 || l.rx.Pending() != 0 || l.backlog.Available()
	return waits && !l.p.paused() || !l.pings.Empty()
}

// nextCall returns the call whose turn it is, or nil: there is none, or the pool is paused. The
// caller is the holder.
func (l *lane) nextCall() *call {
	l.endPings(nil)
	if l.next.Get() == l.turns && !l.giveTurns() {
		return nil
	}
	if l.p.paused() { // after the call was seen: what was accepted during the pause does not start
		return nil
	}
	return l.popTurn()
}

// popTurn takes the next call out of those that have their turns.
func (l *lane) popTurn() *call {
	n := l.next.Get()
	c := l.taken[n]
	l.taken[n] = nil
	l.next.Set(n + 1)
	return c
}

// giveTurns gives the calls of the mailbox and of the backlog their turns, and
// reports whether there were any. The caller is the holder.
func (l *lane) giveTurns() bool {
	l.next.Set(0)
	l.turns = 0
	var waited mpsc.List
	l.popWaiting(&waited)                // before the load of the publish bits: I3
	if set := l.rx.Pending(); set != 0 { // E1
		for _, slot := range transport.InOrder(set, &l.tickets, &l.order) {
			l.giveTurn(l.calls[slot].Get())
			l.calls[slot].Set(nil)
		}
		l.rx.AckAll(set)
	}
	n := waited.Len()
	for node := waited.Pop(); node != nil; node = waited.Pop() {
		l.giveTurn(callOf(node))
	}
	if n > 0 {
		l.waiting.Add(-int64(n)) // after that load: I3
		for range n {
			l.giveRoom()
		}
	}
	return l.turns > 0
}

// giveTurn puts c behind those that have their turns.
func (l *lane) giveTurn(c *call) {
	l.taken[l.turns] = c
	l.turns++
}

// popWaiting moves up to a mailbox of calls from the backlog to list.
func (l *lane) popWaiting(list *mpsc.List) {
	var from mpsc.Consumer
	if l.backlog.Empty() || l.backlog.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		return // contended: dropOldest will kick
	}
	for range transport.Slots {
		n := from.Pop()
		if n == nil {
			break
		}
		list.Push(n)
	}
	from.Release() // ready sees the calls that are left
}

// giveRoom gives back the room of a call that has left the backlog.
func (l *lane) giveRoom() {
	if l.room != nil {
		l.room.Release()
	}
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
		if exited && r.leave(f) { // the goroutine ends, and the lane goes on
			r.giveBack()
		}
	}()
	direct := c.flags&flagDirect != 0 // before the memory is that of another call: see I1 of call
	woke = c.execute(true, l.limitOf(f, nil))
	exited = false
	if !r.leave(f) {
		return nil, false
	}
	return r, woke && !direct
}

// endAll ends all calls of the lane with err, also the one whose handler runs. Pings are
// answered, unless the pool is closed.
func (l *lane) endAll(k Cause, err error) {
	var pings error
	if l.p.isClosed() {
		pings = err
	}
	queued := l.seize()
	for i := range l.runners { // those that run have their handlers: no pick is given up before that
		r := &l.runners[i]
		if o, ok := r.takeAway(r.token.Load()); ok {
			r.put()
			o.c.endAndAwait(o.generation, k, err)
			o.c.losePermit(o.generation, l) // the call has started by now, or never will
		}
	}
	if queued && !l.p.isClosed() {
		// The drain is scheduled, or about to be, and cannot be scheduled twice.
		l.failWaiting(k, err, pings)
		l.give(pickQueued)
		return
	}
	if queued {
		l.picker().put()
	}
	l.failAll(k, err, pings)
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
		if l.rx.Pending() == 0 && !l.backlog.Available() && l.pings.Empty() || !l.hold(pickFree) {
			return
		}
	}
}

// failWaiting ends all calls that wait now, and the pings as endPings does. The caller is
// the holder.
func (l *lane) failWaiting(k Cause, err, pings error) {
	l.endPings(pings)
	for l.next.Get() < l.turns || l.giveTurns() {
		c := l.popTurn()
		c.endAndAwait(c.load().generation(), k, err)
		c.skip()
	}
}
