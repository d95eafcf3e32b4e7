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
// what does not fit, and a token for who takes calls out and runs them. Values
// cross by reference.
//
// Roles:
//
//	sender  anybody who calls: fills a slot or pushes to the backlog, then takes
//	        the token if it is free, and schedules the drain
//	holder  who has the token: the drain, which is a task of the scheduler, or a
//	        caller who found the lane empty and runs its own call
//	closer  Close, and the end of a hard limit: takes the token from a holder whose
//	        handler runs
//
// State:
//
//	token       two bits: tokenFree; tokenQueued, the drain is scheduled;
//	            tokenLoop, the holder picks a call; tokenHandler, it is in a handler.
//	            Above them the number of the handler. CAS from tokenFree by all, from
//	            tokenHandler by the holder and the closer, from tokenQueued by the
//	            drain and the closer; all else is stored by the holder
//	frame       the frame for the handlers of the holder, or nil: plain memory of the
//	            holder. A closer clears it, because the old holder has it still
//	calls       slot i: written by its claimer before Publish, read and cleared by
//	            the holder before Ack
//	waiting     how many calls were pushed to the backlog and have no turn yet:
//	            added to before the push, taken from by the holder
//	taken       calls that have a turn, in order: the holder's
//	pings       questions that the holder answers itself, before it looks for calls;
//	            they take no slot and no room
//	current     the call whose handler the holder runs: plain memory of the holder,
//	            which the closer is when it reads it
//
// Invariants:
//
//	I1  taken, next, turns, woke and yielder are read and written by the holder only, which is
//	    one: a closer becomes the holder by its CAS, and the old one learns of it
//	    when its handler returns, and touches nothing any more
//	I2  whenever the token is free and a call may run, or a ping waits, a sender is
//	    still between its publication and its look at the token, or a holder between
//	    its store of tokenFree and its second look. So nothing is stranded
//	I3  turns go by ticket, and then by the order of the backlog: a caller goes to
//	    the mailbox only while waiting is 0, which the holder makes it only after
//	    it has looked at the mailbox once more. So calls of one caller keep their
//	    order
//
// Linearization points: a call has its turn when the holder reads its publish bit,
// or pops it; it is accepted by the addition to accepted.
//
// Happens-before edges:
//
//	E1  publish bit, push  ->  the holder's load, pop   it sees the call
//	E2  publication, then CAS of the token, against store of tokenFree, then load
//	    of the publish bits: one of the two sees the other. needs: sequentially
//	    consistent
//	E3  store of tokenFree  ->  CAS   the next holder sees taken
//
// Progress: a sender is lock-free while there is room. A holder that stalls, or a
// handler that runs for ever, keeps its lane and no other; Config.HardLimit bounds
// it. A drain that comes while Discard has its token waits for that.
//
// Rejected: to let whoever waits run the calls of others meanwhile. A caller may
// hold a lock that another call needs. Tried without a gain beyond the noise, on two
// processors: a sender that leaves the token to the sender of another call that the
// holder has not taken yet (32 calls outstanding, 2.7 to 3.0 million calls a second
// against 2.3 to 2.7, but a stalled sender would then hold up others); a caller that
// spins for about 150 ns for a token that is taken (64 callers, 1.6 million a second
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
	token   atomix.Uint64
	current atomix.Cell[outsider]
	frame   atomix.Cell[*frame]
	_       lfsync.Pad

	pings mpsc.Queue      // popped by the holder
	taken [maxTurns]*call // I1
	order [transport.Slots]uint8
	next  atomix.Cell[int]
	turns int
	woke  bool // the last call has woken somebody who is going to send another one

	yielder park.Yielder // of the holder

	seats seats // for limit > 1

	_        lfsync.Pad
	accepted atomix.Uint64 // added to by senders
	waiting  atomix.Int64
	_        lfsync.Pad
	ended    atomix.Uint64 // added to by settlers
	stale    atomix.Uint64 // outcomes that came after the end of their call
	direct   atomix.Uint64 // calls that their callers ran
	_        lfsync.Pad
	drains   atomix.Uint64         // times that the drain was scheduled
	dead     atomix.Uint64         // handlers that were left behind
	ends     [causes]atomix.Uint64 // calls by the cause of their end; without CauseReturned
	pinging  atomix.Int32          // pings that wait
	lease    atomix.Uint32

	discarded atomix.Pointer[discard]

	guests  *guests // of the inline lane
	drainer sched.Job[*lane]
}

// The states of lane.token.
const (
	tokenFree = iota
	tokenQueued
	tokenLoop
	tokenHandler
	tokenState  = 3 // the bits of the state
	tokenNumber = 4 // what one handler adds
)

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
	if l.limit > 1 {
		l.seats.init(l)
	}
	return l
}

// accept counts a call in, or says why the lane takes none. From then on the call
// ends exactly once. lease is the word of the lease through which the call comes, or 0.
func (l *lane) accept(lease uint32) error {
	err := l.admit()
	switch { // after the addition: who leases the lane sees one of the two
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
	l.p.counted()
}

// countEnded counts a call that was accepted and has ended with cause k.
func (l *lane) countEnded(k Cause) {
	l.ended.Add(1)
	if k != CauseReturned {
		l.ends[k].Add(1)
	}
	l.p.counted()
}

// unended returns how many calls were accepted and have not ended.
func (l *lane) unended() uint64 {
	ended := l.ended.Load() // first, so that the difference is not negative
	return l.accepted.Load() - ended
}

// isFree reports whether the lane has no call.
func (l *lane) isFree() bool { return l.unended() == 0 }

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
	for l.room != nil && !l.room.TryAcquire() {
		switch l.p.config.Overflow {
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
	if c.flags&flagLater != 0 { // whoever has its future may end it meanwhile
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
		park.Yield() // who took the last room has not pushed its call yet
	}
	l.kick() // the holder may have found the backlog taken
}

// kick schedules the drain if nobody holds the token. Whoever made a call ready to
// run calls it afterwards: E2.
func (l *lane) kick() {
	if (!l.p.paused() || !l.pings.Empty()) && l.take(tokenQueued) {
		l.schedule(nil)
	}
}

// take takes the token if it is free.
func (l *lane) take(state uint64) bool {
	t := l.token.Load()
	return t&tokenState == tokenFree && l.token.CompareAndSwap(t, t|state) // E2, E3
}

// move changes the state of the token. The caller is the holder.
func (l *lane) move(state uint64) { l.token.Store(l.token.Load()&^tokenState | state) }

// schedule hands the token to the drain. The caller is the holder, has made it
// tokenQueued, and w is its worker or nil.
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
		// Somebody has ended the scheduler below the pool: nobody will run the calls.
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

// failQueued is failAll for a holder that has made the token tokenQueued, unless
// somebody has taken it since.
func (l *lane) failQueued(err error) {
	for {
		switch l.token.Load() & tokenState {
		case tokenQueued:
			if l.tryQueued() {
				l.failAll(CausePoolClosed, err, err)
				return
			}
		case tokenLoop:
			park.Yield() // Discard has it for a moment
		default:
			return
		}
	}
}

// tryQueued makes the caller the holder if the token is queued.
func (l *lane) tryQueued() bool {
	t := l.token.Load()
	return t&tokenState == tokenQueued && l.token.CompareAndSwap(t, t&^tokenState|tokenLoop)
}

// takeQueued makes the task for which the token is queued the holder. It reports false
// when Close has taken the token.
func (l *lane) takeQueued() bool {
	for {
		if l.tryQueued() {
			return true
		}
		if l.p.isClosed() {
			return false
		}
		park.Yield() // Discard has it for a moment
	}
}

// drain is the task that runs the calls of the lane. It has the token, unless Close
// has taken it.
func (l *lane) drain(w *sched.Worker) {
	if !l.takeQueued() {
		return
	}
	for range visit {
		c := l.nextCall()
		if c == nil && l.woke {
			l.woke = false
			// The caller that the last call has woken is about to run here, and to call
			// again. It then finds the token held, and no worker has to be woken for its
			// call. On a busy machine a call by a parked caller took 7.2 us without the
			// yield and 2.4 us with it. Beside goroutines that compute on all processors it
			// took 2.4 us and 10 ms: the yielder finds that out.
			// Callers that would rather run their calls find the token free instead.
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
		if !l.dispatch(c) {
			return
		}
	}
	l.move(tokenQueued)
	l.schedule(w)
}

// mayYield reports whether a worker for each lane of the pool is not too many.
func (l *lane) mayYield() bool { return len(l.p.roster.Load().lanes) <= l.p.processors }

// release frees the token, and takes it again, as tokenQueued, if a call has come
// meanwhile.
func (l *lane) release() (again bool) {
	rest := l.next.Get() < l.turns
	l.move(tokenFree) // E2, E3
	return l.ready(rest) && l.take(tokenQueued)
}

// ready reports whether a holder would find a call that may run. rest says that
// some have their turns already.
func (l *lane) ready(rest bool) bool {
	waits := rest || l.rx.Pending() != 0 || l.backlog.Available()
	return l.seats.any() && (waits && !l.p.paused() || !l.pings.Empty())
}

// nextCall returns the call whose turn it is, or nil: there is none, or the pool is
// paused, or all seats are taken. The caller is the holder.
func (l *lane) nextCall() *call {
	if l.seats.any() {
		l.endPings(nil)
	}
	if l.next.Get() == l.turns && !l.giveTurns() {
		return nil
	}
	if l.p.paused() || !l.seats.any() { // after the call was seen: what was accepted during the pause does not start
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
	from.Release() // what is left is seen by ready
}

// giveRoom gives back the room of a call that has left the backlog.
func (l *lane) giveRoom() {
	if l.room != nil {
		l.room.Release()
	}
}

// dispatch runs c, or hands it to a seat. It reports whether the caller is still the
// holder.
func (l *lane) dispatch(c *call) bool {
	if l.limit == 1 {
		return l.run(c)
	}
	if l.p.isClosed() { // else Close, which ends the calls that have seats, comes after this one has its
		c.refuse(CausePoolClosed, ErrThreadClosed)
	} else {
		l.seats.dispatch(c)
	}
	return true
}

// run enters the handler of c, and reports whether the caller, who is the holder, is
// that still.
func (l *lane) run(c *call) (mine bool) {
	o := l.outside(c)
	l.current.Set(o)
	f := l.frame.Get()
	if f == nil {
		f = new(frame)
		l.frame.Set(f)
	}
	t := l.token.Load()&^tokenState + tokenNumber
	f.enter(c, l, nil, t|tokenHandler)
	l.token.Store(t | tokenHandler)
	if l.p.isClosed() { // after that store: Close sees one of the two
		c.end(CausePoolClosed, ErrThreadClosed)
	}
	exited := true
	defer func() {
		if exited { // the goroutine ends, and the lane goes on
			f.leave()
			l.exited(o, t)
		}
	}()
	direct := c.flags&flagDirect != 0 // before the memory is that of another call: I3
	woke := c.execute(l.limitOf(o, t|tokenHandler))
	exited = false
	f.leave()
	if !l.token.CompareAndSwap(t|tokenHandler, t|tokenLoop) { // I1
		l.p.returned(o)
		return false
	}
	l.current.Set(outsider{})
	l.woke = woke && !direct
	return true
}

// exited hands the token on after a handler with number t whose goroutine ends.
func (l *lane) exited(o outsider, t uint64) {
	if !l.token.CompareAndSwap(t|tokenHandler, t|tokenLoop) { // I1
		l.p.returned(o)
		return
	}
	l.current.Set(outsider{})
	l.move(tokenQueued)
	l.schedule(nil)
}

// endAll ends all calls of the lane with err, also the one whose handler runs. Pings are
// answered, unless the pool is closed.
func (l *lane) endAll(k Cause, err error) {
	var pings error
	if l.p.isClosed() {
		pings = err
	}
	for {
		t := l.token.Load()
		switch t & tokenState {
		case tokenLoop:
			park.Yield() // the holder picks a call: it will be in its handler, or gone
		case tokenHandler:
			if o, ok := l.takeAway(t); ok {
				o.c.endAs(o.generation, k, err)
				l.failAll(k, err, pings)
				return
			}
		default:
			if !l.token.CompareAndSwap(t, t&^tokenState|tokenLoop) {
				continue
			}
			l.seats.endAll(k, err) // nobody hands out calls now
			if t&tokenState == tokenQueued && !l.p.isClosed() {
				// Its drain is scheduled, or about to be, and cannot be scheduled twice.
				l.failWaiting(k, err, pings)
				l.move(tokenQueued)
				return
			}
			l.failAll(k, err, pings)
			return
		}
	}
}

// takeAway makes the caller the holder of the token t of a handler, and returns the
// call of that handler, which is outside from now on.
func (l *lane) takeAway(t uint64) (o outsider, ok bool) {
	l.p.moves.Add(1)                                         // before the CAS: whoever sees it made sees the move, or its end
	if !l.token.CompareAndSwap(t, t&^tokenState|tokenLoop) { // I1
		l.p.moved()
		return o, false
	}
	o = l.current.Get()
	l.current.Set(outsider{})
	l.frame.Set(nil)
	l.p.moveOut(o)
	return o, true
}

// failAll ends all calls that wait, and the pings as endPings does. The caller is the
// holder, and frees the token.
func (l *lane) failAll(k Cause, err, pings error) {
	for {
		l.failWaiting(k, err, pings)
		l.move(tokenFree)
		if l.rx.Pending() == 0 && !l.backlog.Available() && l.pings.Empty() || !l.take(tokenLoop) {
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
		c.refuse(k, err)
	}
}
