package pool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/race"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// processExecutor is the executor of a lane whose calls run in a worker process, one process after another. That of a
// call that waits for any lane is nil.
//
// Roles:
//
//	sender   holds the pick of the lane and has a permit. It makes its call running, and publishes it
//	service  one goroutine for the whole life of the lane. It starts a process, buries it when it has died, and starts
//	         the next one
//	receiver the holder of the turn of the link: the service, or a caller that waits for its answer and has borrowed
//	         the turn. It drains the queues of the lane and receives the answers. Without a link it is the service
//	ender    ends a call: see call. It signals the service if the call is running
//	closer   Close, or a Discard. It gives the service an order and waits for that
//
// State:
//
//	calls    entry i is the call that has the permit with index i: see sentCall
//	link     the process that takes calls; nil: there is none. Stored by the service
//	todo     the signals: what is to be done. Set by any goroutine. The service takes all of them, and a caller that is
//	         the receiver takes the drain only
//	orders   the discards that wait; with mu
//	sent     how many calls were sent; of the holder of the pick
//
// Invariants:
//
//	S1  a call that has a permit of the lane has the entry of that permit from before it is published until it has
//	    ended or waits in a queue again. The permit comes back when the entry is empty
//	S2  a sender publishes to a link while it holds the pick. When a process has died, the service takes its link
//	    away and then seizes the pick. So no sender publishes to that process afterwards
//	S3  the service returns a call of a dead process to the queue of the pool after S2, and after it has received
//	    the answers of that process, and only if the process has not stored the generation of the id of the call
//	S4  the lane may have permits only while it has a link. A sender with a permit that finds no link leaves its
//	    call to the service, which takes it back: after the generation of the lane has changed, if it names the lane
//	S5  a signal is set before the service is woken, and taken before the receiver looks at what the signal says
//	S6  the service takes a call back only after it has cleared the token of the runner. The hard limit ends a call
//	    after it has cleared the token. So it ends no call that waits again or runs elsewhere
//	S7  a call of the pool is sent ahead, behind the calls that have the permits of the lane, only after an answer that
//	    has taken less than 100 µs. It waits in the queue of the pool, so no lane was available when it came there, or
//	    a goroutine is about to look for one. It may come after a call that turns out to take long: the process runs
//	    the calls in the order in which they were sent
//	S8  the service ends the process of a lane that is out in two steps. When the lane is free, it takes the link
//	    away, as in S2. A sender may have found the link before, so the service ends the process when the lane is
//	    free again. So no call is lost
//
// Happens-before edges:
//
//	E1  store of out, then load of the word of the call  against  claim of the call, then look of the receiver at the
//	    entries: the sender sees the end, or the receiver sees that the call is published. needs: sequentially
//	    consistent
//	E2  store of id  ->  load of id by the receiver   the receiver sees the entry, also where the race detector sees
//	    no order in memory that two processes share
//
// Progress: a sender is lock-free but for the pick. The receiver runs no code of the program: callers encode their
// arguments, and a result that needs code of the program is decoded by a goroutine of its own. The methods of a
// context, and of the error of a closer, at the end of a call are the exception, as for all enders.
//
// Rejected: a permit that a closer takes away, as it does from a goroutine. The process knows the call by the index of
// that permit until it has answered. So the permits of a process come back when it has answered, or when it is buried.
type processExecutor struct {
	*lane
	calls  [maxProcessCalls]sentCall
	link   atomix.Pointer[processLink]
	sent   uint64
	starts uint32 // how many processes were started; of the service
	todo   atomix.Uint32
	parker lfsync.Parker // of the service outside of the link
	host   atomix.Pointer[transport.HostEnd]
	out    atomix.Bool // a Resize has taken the lane out
	info   *WorkerInfo // with processes.mu

	mu     park.Mutex
	orders []*discardOrder // with mu

	ready lfsync.Parker  // of the goroutine that has called open
	first error          // the outcome of the first start, before ready
	ended lfsync.Parker  // of Close, when the service has ended all calls
	over  bool           // it has; stored by the service, with mu
	apart []detachedCall // the calls that other goroutines settle, and that may have ended; of the receiver
	retry backOff        // of the service

	unanswered atomix.Int32 // how many calls were published and not answered
	ahead      int          // how many calls may be sent ahead: see sendAhead; of the receiver
	told       atomix.Int64 // how many handlers the process knows that may run; stored by the service

	starved uint32 // the signals that wait for a free slot, or for memory of a payload; of the receiver

	pinged, asked []*call // the pings that wait, and those that the process was asked for; of the receiver
}

// maxProcessCalls is how many calls may be under way to a worker process: one for each slot of its mailbox, less the
// slot of the messages that are no calls.
const maxProcessCalls = transport.Slots - 1

// taken calls yield for each entry that has a call, as isTaken says. A sender uses no entry but those of the permits that
// the lane has had.
func (e *processExecutor) taken(yield func(sc *sentCall) bool) {
	for i := range e.calls[:e.runners()] {
		if sc := &e.calls[i]; sc.isTaken() && !yield(sc) {
			return
		}
	}
}

// The signals of a service.
const (
	signalDrain  = 1 << iota // the pick is queued for the drain
	signalScan               // a call has ended that the process runs
	signalLate               // an entry waits to be published
	signalOrder              // a closer has an order
	signalPing               // a ping waits
	signalClosed             // the pool is closed
	signalLimit              // SetConcurrency has changed how many handlers may run
	signalOut                // a Resize has taken the lane out or put it in, or the lane is free
)

// processLink is a process that takes the calls of a lane, or has taken them.
type processLink struct {
	worker     workerProcess
	generation uint32                // of the lane when it began to take calls
	answered   bool                  // it has answered a call; of the receiver
	retired    bool                  // it ends because the lane is out: S8; of the service
	blame      atomix.Pointer[error] // why the host has killed it, or nil
	receive    func(m *transport.Message, bad error)
}

// workerProcess is a [process.Worker], or what stands for one in a model.
type workerProcess interface {
	Host() *transport.HostEnd
	IsDead() bool
	Done() <-chan struct{}
	OutputRead() <-chan struct{}
	State() *child.State
	Pid() int
	Kill() error
	Tail() string
	Close() error
}

// kill ends the process because of err.
func (k *processLink) kill(err error) {
	if k.worker.IsDead() {
		return // by itself
	}
	k.blame.CompareAndSwap(nil, &err)
	_ = k.worker.Kill() // without an effect on a process that has ended
}

// reason returns why the calls of the process, which has ended, have no outcome.
func (k *processLink) reason() error {
	if blame := k.blame.Load(); blame != nil {
		return WorkerError{*blame}
	}
	state := k.worker.State()
	switch {
	case state == nil:
		return WorkerError{errors.New("another part of the program has waited for the process")}
	case state.Signal == nil:
		return ExitError{state.Code}
	}
	return WorkerError{errors.New(state.String())}
}

// discardOrder is a Discard that the service carries out.
type discardOrder struct {
	generation, lease uint32
	reason            error
	err               error // before done
	done              lfsync.Parker
}

// newProcessExecutor returns the executor of l, which has no process yet. The caller has Pool.mu, or the lane is not
// shared yet.
func newProcessExecutor(l *lane) *processExecutor {
	l.allow(0) // S4
	e := &processExecutor{lane: l, info: &WorkerInfo{Lane: l.index, State: stateStarting}}
	for _, p := range []*lfsync.Parker{&e.parker, &e.ready, &e.ended} {
		p.Init()
	}
	return e
}

func (*processExecutor) signals() bool                 { return true }
func (*processExecutor) clock(p *Pool) *clock          { return clockOf(&p.clocks) }
func (*processExecutor) stays(*call) bool              { return false }
func (*processExecutor) takes(*roster) bool            { return true }
func (e *processExecutor) isFree() bool                { return e.gate.isFree() && e.allowed.Load() > 0 }
func (e *processExecutor) interrupt()                  { e.signal(signalScan) }
func (e *processExecutor) scheduleDrain(*sched.Worker) { e.signal(signalDrain) }

func (*processExecutor) encode(c *call, ctx context.Context, x *extra) (*extra, error) {
	if err := c.pool().refused(); err != nil {
		return x, err
	}
	return c.encodeRequest(ctx, x)
}

func (e *processExecutor) admit(c *call, p *Pool) error {
	if e == nil {
		return c.beginAnywhere(p, nil)
	}
	return c.beginAnywhere(p, e.lane)
}

func (*processExecutor) perform(c *call, ctx context.Context, _ *sched.Job[*call]) {
	c.dispatch(ctx)
	if !c.isOver() {
		c.awaitOrEnd(ctx)
	}
}

// start sends c on the goroutine of its sender.
func (e *processExecutor) start(c *call) {
	if !e.takeQueued() {
		c.refuse(CausePoolClosed, ErrThreadClosed)
		return
	}
	if e.send(c, e.picker(), false) {
		e.look(nil)
	}
}

// overtime ends the call, and kills the process, because that cannot end one handler alone. The token of the runner
// decides between this goroutine, which ends the call, and the service, which settles it or takes it back: S6.
func (e *processExecutor) overtime(o detachedCall, r *runner, permit uint64) {
	sc := &e.calls[r.index]
	k := sc.link.Load() // first: if the token is that of the call, so is the link
	if k == nil || !r.clear(permit) {
		return // the answer has come, or the process has died
	}
	if o.c.endAs(o.generation, CauseLimitExceeded, ErrHardLimit) || sc.id.Load() == idOf(r, permit) {
		k.kill(errOtherHardLimit)
	}
}

// look lets the service look at pings as well, and at the number of handlers that may run.
func (e *processExecutor) look(w *sched.Worker) {
	if e.told.Load() != e.p.concurrency.Load() {
		e.signal(signalLimit)
	}
	if !e.pings.Empty() {
		e.signal(signalPing)
	}
	e.lane.look(w)
}

// takePings takes the pings out of their queue.
func (e *processExecutor) takePings() {
	var from mpsc.Consumer
	if e.pings.Empty() || e.pings.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		return
	}
	for n := from.Pop(); n != nil; n = from.Pop() {
		e.pinged = append(e.pinged, callOf(n))
	}
	from.Release() // the goroutine of a later ping signals
}

// ask asks the process for an answer, if pings wait and it was not asked.
func (e *processExecutor) ask(k *processLink) {
	if k == nil || len(e.pinged) == 0 || len(e.asked) != 0 {
		return
	}
	h := k.worker.Host()
	slot, ok := h.Claim()
	if !ok || h.Publish(slot, &transport.Header{Flags: transport.FlagPing, Tag: transport.TagNil}, nil) != nil {
		e.starved |= signalPing
		return
	}
	e.asked, e.pinged = e.pinged, nil
}

// pong answers the pings for which the process was asked, which has answered.
func (e *processExecutor) pong() {
	for _, c := range e.asked {
		e.pinging.Add(-1)
		c.execute(nil, nil)
	}
	e.asked = nil
	e.signal(signalPing) // others may have come
}

// discard lets the service end the calls of the lane, and waits for that.
func (e *processExecutor) discard(generation, lease uint32, reason error) error {
	o := &discardOrder{generation: generation, lease: lease, reason: reason}
	o.done.Init()
	e.mu.Lock()
	over := e.over
	if !over {
		e.orders = append(e.orders, o)
	}
	e.mu.Unlock()
	if over {
		return nil // Close has ended all calls
	}
	e.signal(signalOrder)
	block(context.Background(), o.done.Park)
	return o.err
}

func (e *processExecutor) setOut(out bool) {
	if e.out.Swap(out) != out {
		e.signal(signalOut)
	}
}

func (e *processExecutor) close() {
	e.signal(signalClosed)
	e.ended.Park()
	if !e.p.isClosed() { // the lane never was one of the pool
		e.p.processes.forget(e.info)
	}
}

// signal lets the service do what s says.
func (e *processExecutor) signal(s uint32) {
	if e.todo.Or(s)&s != 0 {
		return // another goroutine is waking the service: S5
	}
	e.parker.Unpark()
	if h := e.host.Load(); h != nil {
		h.WakeOwn()
	}
}

// begin starts the first process of the service. It returns nil if that is not possible, or if the pool is closed.
func (e *processExecutor) begin() (k *processLink) {
	defer e.ready.Unpark()
	if e.p.isClosed() {
		e.first = ErrPoolShutdown
		return nil
	}
	if k, e.first = e.p.processes.boot(e); e.first != nil {
		return nil
	}
	e.takeCalls(k)
	return k
}

// serve is the service, with its first process. It ends after the pool, or at once without a process.
func (e *processExecutor) serve(k *processLink) {
	p := e.p
	defer func() {
		e.endForClose()
		p.processes.alive.Add(-1)
		p.wakeWaiters(nil) // Terminate waits for the process
	}()
	for ; k != nil; k = e.restart() {
		e.run(k)
		e.bury(k)
		switch {
		case k.answered, k.retired:
			e.retry = backOff{}
		case !e.over:
			e.died(k.reason())
		}
	}
}

// restart starts the next process. It returns nil if the pool is closed.
func (e *processExecutor) restart() *processLink {
	for e.awaitReturn(); !e.over; e.awaitReturn() {
		k, err := e.p.processes.boot(e)
		switch {
		case err == nil:
			e.takeCalls(k)
			return k
		case e.over:
			return nil
		}
		e.failed(err)
	}
	return nil
}

// takeCalls lets the process have calls.
func (e *processExecutor) takeCalls(k *processLink) {
	p := e.p
	e.note(func(i *WorkerInfo) { i.State = stateServing })
	e.unanswered.Store(0)
	e.ahead = 0
	k.generation = e.generation()
	k.receive = func(m *transport.Message, bad error) { e.receive(k, m, bad) }
	e.link.Store(k)
	p.processes.up.Add(1)
	p.processes.refusal.Store(nil)
	e.pinged, e.asked = append(e.asked, e.pinged...), nil
	e.signal(signalPing)
	p.mu.Lock()
	e.allow(int(p.concurrency.Load()))
	p.mu.Unlock()
	e.look(nil)
	p.grantLeases(nil) // goroutines may wait for the lane
	if e.out.Load() {
		e.signal(signalOut) // the service may have taken that without a process
	}
}

// tell says to the process how many handlers may run, if that has changed.
func (e *processExecutor) tell(k *processLink) {
	n := e.p.concurrency.Load()
	if k == nil || k.worker.IsDead() || e.told.Load() == n {
		return // the next process learns of it: see takeCalls
	}
	if e.notice(k, noticeLimit, uint64(n)) {
		e.told.Store(n)
	} else {
		e.starved |= signalLimit
	}
}

// notice sends a notice to the process. It reports false if no slot is free.
func (e *processExecutor) notice(k *processLink, kind uint32, id uint64) bool {
	h := k.worker.Host()
	slot, ok := h.Claim()
	if ok { // an error says that the link is closed
		_ = h.Publish(slot, &transport.Header{Flags: transport.FlagNotice, Meta: kind, ID: id, Tag: transport.TagNil}, nil)
	}
	return ok
}

// takeNone lets the process have no more calls. The caller is the service.
func (e *processExecutor) takeNone() {
	if e.link.Swap(nil) == nil {
		return
	}
	p := e.p
	p.mu.Lock()
	e.allow(0)
	p.mu.Unlock()
	p.processes.up.Add(-1)
}

// run sends calls to the process and receives its answers until it has died.
func (e *processExecutor) run(k *processLink) {
	h := k.worker.Host()
	for n := 0; !k.worker.IsDead(); {
		e.obey(k)
		if n > 0 {
			e.sendAhead()
		}
		if e.over {
			h.Close() // the process ends when it has seen that
			e.awaitDeath(k)
			return
		}
		var err error
		if n, err = h.Drain(k.receive); err != nil {
			k.kill(err)
			e.awaitDeath(k)
			return
		}
		if n > 0 || e.todo.Load() != 0 {
			continue
		}
		want := transport.Published
		if e.starved != 0 {
			want |= transport.Freed
		}
		if h.ParkUntil(want, 0)&transport.Closed != 0 {
			e.awaitDeath(k) // the process ends
			return
		}
	}
}

// receiveFor receives the answers of the process in place of the service, if that is parked and no other caller does so. It
// does so until c is over, done is closed, or nothing has come for a while. The caller waits for c, which was sent to a
// process of the lane. So the answer needs no wake-up of the service and none of the caller.
func (e *processExecutor) receiveFor(c *call, done <-chan struct{}) {
	k := e.link.Load()
	if k == nil || !k.worker.Host().Borrow() {
		return
	}
	h, returned := k.worker.Host(), false
	defer func() {
		if !returned { // also after a Goexit in a method of a context: see Progress
			h.HandOver()
		}
	}()
	for wasOver := false; ; {
		h.TakeWoken() // before the looks: S5
		n, err := h.Drain(k.receive)
		todo := e.todo.Load()
		isOver := c.isOver() || isClosed(done)
		if err != nil || todo&^signalDrain != 0 || e.starved != 0 || k.worker.IsDead() {
			return // the service does the rest
		}
		if todo != 0 { // a call can be sent
			e.todo.And(^uint32(signalDrain)) // S5
			e.drain()
		}
		if n > 0 {
			e.sendAhead()
		}
		switch {
		case isOver && wasOver: // the answers of others do not keep the caller
			returned = h.Return()
			return
		case isOver:
			if returned = h.Return(); returned {
				return
			}
		case n == 0 && todo == 0:
			switch v := h.Spin(); {
			case v&transport.Closed != 0:
				return // the process ends
			case v == 0:
				if returned = h.Return(); returned {
					return
				}
			}
		}
		wasOver = isOver
	}
}

// isClosed reports whether done is closed. nil is not.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// awaitDeath returns when the process has ended. It kills the process after Process.StopGrace.
func (e *processExecutor) awaitDeath(k *processLink) {
	e.note(func(i *WorkerInfo) { i.State = stateEnding })
	for until := time.Now().Add(e.p.processes.config.StopGrace); ; {
		e.obey(k)
		switch {
		case k.worker.IsDead(): // before each wait: the end of the process unparks the service once
			return
		case k.blame.Load() != nil:
			e.parker.Park()
		case !e.parker.ParkFor(leftUntil(until)):
			k.kill(errStopGrace)
		}
	}
}

// obey does what the signals say. k is the process, or nil.
func (e *processExecutor) obey(k *processLink) {
	s := e.todo.Swap(0) | e.starved // an attempt that has failed is made again each time
	e.starved = 0
	if k != nil {
		k.worker.Host().NoteFreed() // before the attempts
	}
	if s&signalOrder != 0 {
		e.obeyOrders(k)
	}
	if s&signalClosed != 0 || e.p.isClosed() {
		e.endForClose()
	}
	if s&signalPing != 0 {
		e.takePings()
		e.ask(k)
	}
	if s&signalDrain != 0 {
		e.drain()
	}
	if s&signalLate != 0 {
		e.publishLate(k)
	}
	if s&signalScan != 0 {
		e.scan(k)
	}
	if s&signalLimit != 0 {
		e.tell(k)
	}
	if s&signalOut != 0 && k != nil {
		e.retire(k)
	}
}

// retire ends the process if the lane is out and free: S8.
func (e *processExecutor) retire(k *processLink) {
	switch {
	case e.over, !k.retired && e.link.Load() != k:
		return // the process ends for another reason. The next one looks again: see takeCalls
	case !k.retired && e.out.Load() && e.isUnused():
		k.retired = true
		e.takeNone()
		fresh := e.seizeLease(k.generation, 0) // otherwise a Discard was first
		queued := e.seize()                    // S2
		if fresh {
			e.discarded.Store(&discard{k.generation, ErrLaneDiscarded})
		}
		e.endGeneration(fresh, queued)
	}
	retired := k.retired
	switch {
	case retired && e.gate.isFree(): // then each call has its answer
		k.worker.Host().Close() // the process ends when it has seen that
	case retired || e.out.Load():
		spawn(func() { e.awaitUnused(retired) })
	}
}

// endGeneration ends the calls that wait for the generation of a process, and gives the lane back, if fresh is true: the
// service has seized the lane. Otherwise a Discard has done that before. endGeneration gives the pick up, which the service
// has seized, and which was queued before or free.
func (e *processExecutor) endGeneration(fresh, queued bool) {
	switch {
	case fresh:
		e.endWaiting(queued, CauseLaneDiscarded, ErrLaneDiscarded, nil)
		e.giveBack()
	case queued:
		e.give(pickQueued)
	default:
		e.give(pickFree)
		e.look(nil)
	}
}

// isUnused reports whether no call occupies the lane and no lease has it.
func (e *processExecutor) isUnused() bool { return e.gate.isFree() && e.isUnleased() }

// awaitUnused signals the service when the lane is unused. It also returns when the lane is in again, unless its process
// is retired.
func (e *processExecutor) awaitUnused(retired bool) {
	reached := func() bool { return e.isUnused() || !retired && !e.out.Load() || e.p.isClosed() }
	_ = e.p.waitFor(context.Background(), &stateWaiter{ // a context that does not end
		gates:   func() []*gate { return []*gate{&e.gate} },
		busy:    func(*gate) bool { return !reached() },
		reached: reached,
	})
	e.signal(signalOut)
}

// awaitReturn returns when the lane is not out, or has ended. The lane has no process.
func (e *processExecutor) awaitReturn() {
	for first := true; ; first = false {
		e.obey(nil)
		if e.over || !e.out.Load() {
			return
		}
		if first {
			e.note(func(i *WorkerInfo) { i.State = stateOut })
		}
		for _, c := range e.pinged { // they have come while Resize took the lane out
			e.pinging.Add(-1)
			c.end(CauseLaneDiscarded, ErrNoSuchLane)
		}
		e.pinged = nil
		e.parker.Park()
	}
}

// drain sends calls while the lane has a permit for one.
func (e *processExecutor) drain() {
	for e.takeQueued() {
		k := e.link.Load()
		if k == nil {
			e.picker().end(putBoth) // S4
			e.p.notify(nil)         // another lane, because this one was chosen for a call of the pool
			return
		}
		e.takePings() // otherwise the lane would be ready without a call
		e.ask(k)      // the goroutine that has sent the ping may find none
		if c := e.next(nil); c == nil {
			if !e.release() {
				return
			}
		} else if e.send(c, e.picker(), false); !e.retake() {
			return
		}
	}
}

// sendAhead sends calls of the pool although calls have all permits of the lane, up to as many more as e.ahead says. The
// process runs them one after another without the host. The receiver calls it when it has received answers and has drained
// the queues: S7. A call that is sent ahead has one permit more than the lane may have, which is retired as after
// SetConcurrency.
func (e *processExecutor) sendAhead() {
	p, held := e.p, false
	if e.ahead == 0 || e.link.Load() == nil || p.isClosed() { // S4
		return
	}
	limit := min(int(p.concurrency.Load())+e.ahead, maxProcessCalls)
	for int(e.unanswered.Load()) < limit && e.lacksCalls() && e.hold(pickFree) {
		held = true
		r := e.counts.extra(e.lane, maxProcessCalls)
		if r == nil { // calls that are answered and not settled have permits
			e.give(pickFree)
			break
		}
		c := e.nextShared(nil)
		if c == nil {
			r.end(putBoth)
			break
		}
		e.send(c, r, true)
	}
	if held {
		e.look(nil)
	}
}

// lacksCalls reports whether calls wait for any lane, none waits for this one, and it may run one.
func (e *processExecutor) lacksCalls() bool {
	return e.p.shared.calls.Available() && !e.backlog.calls.Available() && !e.named.ready() && !e.p.paused() && e.takesCalls()
}

// pace decides by the answer to the call of the entry how many calls may be sent ahead: none at first, one after a quick
// answer, twice as many after each further one, and none after an answer that was not quick. The host does not know how
// long the handler takes of a call that was sent ahead. With Config.HardLimit, which counts from the publication, it
// sends none ahead.
func (e *processExecutor) pace(sc *sentCall) {
	took := ticks() - sc.since
	switch {
	case sc.since == 0 || took >= 2*quick*cpu.TicksPerMicrosecond() || e.p.config.HardLimit != 0:
		e.ahead = 0
	case took < quick*cpu.TicksPerMicrosecond():
		e.ahead = min(max(2*e.ahead, 1), maxProcessCalls)
	}
}

// quick is how many microseconds an answer may take after the publication of its call, so that more calls are sent ahead.
// After twice the time none is. So if all handlers take the same time, a call that was sent ahead waits for 100 µs.
const quick = 50

// endForClose ends all calls of the lane of a closed pool.
func (e *processExecutor) endForClose() {
	if e.over {
		return
	}
	e.mu.Lock()
	e.over = true
	orders := e.orders
	e.orders = nil
	e.mu.Unlock()
	e.takeNone()
	queued := e.seize()
	e.takePings()
	for _, c := range append(e.pinged, e.asked...) {
		e.pinging.Add(-1)
		c.end(CausePoolClosed, ErrThreadClosed)
	}
	e.pinged, e.asked = nil, nil
	e.endSent(CausePoolClosed, ErrThreadClosed)
	e.endWaiting(queued, CausePoolClosed, ErrThreadClosed, ErrThreadClosed)
	for _, o := range orders {
		o.done.Unpark()
	}
	e.ended.Unpark()
}

// obeyOrders carries the orders out.
func (e *processExecutor) obeyOrders(k *processLink) {
	e.mu.Lock()
	orders := e.orders
	e.orders = nil
	e.mu.Unlock()
	for _, o := range orders {
		if !e.seizeLease(o.generation, o.lease) {
			o.err = ErrLaneDiscarded
			o.done.Unpark()
			continue
		}
		e.takeNone()
		if k != nil {
			k.kill(o.reason)
		}
		e.discarded.Store(&discard{o.generation, o.reason})
		e.takePings() // the next process answers them
		queued := e.seize()
		e.endSent(CauseLaneDiscarded, o.reason)
		e.endWaiting(queued, CauseLaneDiscarded, o.reason, nil)
		e.giveBack()
		o.done.Unpark()
	}
}

// sentCall is the entry of a permit in processExecutor.calls.
//
// State:
//
//	id        of the call on the link; 0: the entry is empty. Stored by the sender when the other fields have their
//	          values, and cleared by the goroutine that gives the permit back
//	late      the call is not published, and the service has it: set by the sender after its last use of the
//	          entry, cleared by the service
//	out       the call is published: set by the goroutine that has published it
//	link      the process to which the call was published, or is about to be
//	frame     that of the call: see execution. It is on no stack
//	order     how many calls were sent before
//	limit     the clock of Config.HardLimit, from before the publication, or nil
//	since     the time before the publication, if the call was sent ahead or calls waited behind it; otherwise 0
//	answered  the id of the last call whose answer has come. Another goroutine may settle that call and empty the
//	          entry. noticed: the id of the last call whose end the process knows. Both are the receiver's
type sentCall struct {
	id    atomix.Uint64
	late  atomix.Bool
	out   atomix.Bool
	link  atomix.Pointer[processLink]
	frame *frame
	order uint64
	limit *clock
	since uint64
	sent  race.Edge // from the use of the request to the answer

	answered, noticed uint64
}

// isTaken reports whether the entry has a call that was not answered. Then only the receiver empties the entry. The caller is
// the receiver, and sees the entry.
func (sc *sentCall) isTaken() bool {
	id := sc.id.Load() // E2 of processExecutor
	return id != 0 && id != sc.answered
}

// request returns that of the call.
func (sc *sentCall) request() *request { return sc.frame.call.Get().extra.request }

// hasEnded reports whether the call was claimed. The entry has the call, so the memory is that of no other call.
func (sc *sentCall) hasEnded() bool { return sc.frame.call.Get().load().has(callClaimed) }

// beginSent makes f the frame of c, whose handler runs elsewhere with the permit of r. No goroutine has the frame on
// its stack.
func (r *runner) beginSent(c *call) *frame {
	f := r.frame.Get()
	if f == nil {
		f = new(frame)
		r.frame.Set(f)
	}
	token := (r.token.Load() + tokenNumber) | tokenHandler
	f.call.Set(c)
	f.generation = c.load().generation()
	f.lane, f.runner, f.permit = r.l, r, token
	if r.task.Load() != c.task {
		r.task.Store(c.task)
	}
	r.token.Store(token)
	return f
}

// idOf returns the id of the call that has that permit. Its generation is another one for the next 2^32 - 2 calls with
// the permit.
func idOf(r *runner, token uint64) uint64 {
	return transport.CallID(int(r.index), uint32(token/tokenNumber%(1<<32-1))+1)
}

// send makes c running with the permit of r, and publishes it. The caller is the holder of the pick, and gives it up.
// isAhead says that calls have all other permits. send reports whether another permit is free.
func (e *processExecutor) send(c *call, r *runner, isAhead bool) (more bool) {
	sc := &e.calls[r.index]
	until := c.until()
	discarded := e.discarded.Load() // after the lane has it: the service ends it, or is seen
	isStale := c.names != 0 && discarded != nil && discarded.has(c)
	isLate := !until.IsZero() && !time.Now().Before(until)
	if isStale || isLate || !c.start(true) {
		r.end(putBoth) // before the end of the call, which may run code of the program
		switch {
		case isStale:
			c.skipTaken()
			c.end(CauseLaneDiscarded, discarded.reason)
		case isLate:
			c.skipLate()
		default:
			c.skipTaken()
		}
		return true
	}
	sc.frame = r.beginSent(c)
	e.sent++
	sc.order, sc.limit, sc.since = e.sent, nil, 0
	if isAhead || e.p.shared.calls.Available() {
		sc.since = ticks()
	}
	sc.out.Store(false)
	k := e.link.Load()
	if k != nil {
		e.prepare(k, sc)
	}
	sc.request().at.Store(e)
	sc.id.Store(idOf(r, sc.frame.permit)) // S1, E2
	if k == nil || !e.publish(k, sc, until) {
		sc.late.Store(true) // the entry is the service's
		e.signal(signalLate)
	}
	more = e.give(pickFree)
	if c.load().has(callClaimed) { // E1. The memory may be that of another call by now, which costs a look
		e.signal(signalScan)
	}
	return more
}

// skipLate drops a call whose time was over before it started. Its context, or its clock, is about to end it: see isLate.
func (c *call) skipLate() {
	generation := c.load().generation()
	c.skipTaken()
	time.AfterFunc(lateGrace, func() { c.endAs(generation, CauseContextEnded, context.DeadlineExceeded) })
}

// prepare makes the entry ready for the publication to the process.
func (e *processExecutor) prepare(k *processLink, sc *sentCall) {
	sc.link.Store(k) // before the clock begins: see overtime
	if limit := e.p.config.HardLimit; limit != 0 {
		sc.limit = clockOf(&e.p.limits)
		sc.limit.start(timed{sc.frame.detachedCall(), true, sc.frame.runner, sc.frame.permit, nil}, time.Now().Add(limit))
	}
}

// publish sends the call of the entry, which is prepared, to the process. It reports false if the mailbox or the memory
// of its payloads is full, or the link is closed. The handler is to end at that time, if it is not zero.
func (e *processExecutor) publish(k *processLink, sc *sentCall, until time.Time) bool {
	h, c, req := k.worker.Host(), sc.frame.call.Get(), sc.request()
	tag, arg := req.tag, req.arg // the last use of the request
	slot, ok := h.Claim()
	if !ok {
		sc.release()
		return false
	}
	head := transport.Header{Fn: c.task.number, Tag: tag, ID: sc.id.Load()}
	e.unanswered.Add(1)
	if !until.IsZero() {
		left := int64(time.Until(until)) // first: the handler does not end before
		head.Deadline = max(h.Now()+left, 1)
	}
	sc.sent.Give()
	if err := h.Publish(slot, &head, arg); err != nil {
		e.unanswered.Add(-1)
		sc.release()
		return false
	}
	sc.out.Store(true)
	if e.unanswered.Load() > 1 && e.p.concurrency.Load() > 1 { // another call was counted before it was published, and its handler may run
		h.Urge()
	}
	return true
}

// release gives the clock of the hard limit back.
func (sc *sentCall) release() {
	if sc.limit != nil {
		sc.limit.release()
		sc.limit = nil
	}
}

// inOrder returns the entries that have a call, in the order in which the calls were sent.
func (e *processExecutor) inOrder() []*sentCall {
	return slices.SortedFunc(e.taken, func(a, b *sentCall) int { return cmp.Compare(a.order, b.order) })
}

// publishLate publishes the calls that wait for a slot or for memory. Without a process it takes them back: S4.
func (e *processExecutor) publishLate(k *processLink) {
	var back mpsc.List
	for _, sc := range e.inOrder() {
		c := sc.frame.call.Get()
		switch {
		case !sc.late.Load():
		case sc.hasEnded():
			sc.late.Store(false)
			e.conclude(sc)
		case e.link.Load() == nil:
			sc.late.Store(false)
			e.takeBack(sc, &back)
		default:
			e.prepare(k, sc)
			if e.publish(k, sc, c.until()) {
				sc.late.Store(false)
			} else {
				e.starved |= signalLate
			}
		}
	}
	e.p.shared.putFront(&back)
	e.look(nil) // permits may have come back
}

// scan tells the process which calls have ended that it runs.
func (e *processExecutor) scan(k *processLink) {
	if k == nil || k.worker.IsDead() {
		return
	}
	for sc := range e.taken {
		if sc.noticed == sc.id.Load() || !sc.hasEnded() {
			continue
		}
		if !sc.out.Load() { // E1
			if sc.late.Load() {
				e.signal(signalLate)
			}
			continue // otherwise the sender looks at the call when it has published it
		}
		c := sc.frame.call.Get()
		id, kind := sc.id.Load(), noticeEnded
		if cause := c.load().cause(); !c.task.opts.Abortable && cause != CauseContextEnded && cause != CauseTimedOut {
			kind = noticeDropped // the handler does not learn of it
		}
		if (kind == noticeEnded || !k.worker.Host().Started(id)) && !e.notice(k, kind, id) {
			e.starved |= signalScan
			return
		}
		sc.noticed = id
	}
}

// receive takes an answer of the process.
func (e *processExecutor) receive(k *processLink, m *transport.Message, bad error) {
	switch {
	case m.Flags&transport.FlagNotice != 0 && bad == nil:
		return // none is known
	case m.Flags&transport.FlagPing != 0 && bad == nil:
		e.pong()
		return
	}
	index := uint32(m.ID)
	if m.ID == 0 || index >= maxProcessCalls || !e.calls[index].isTaken() || e.calls[index].id.Load() != m.ID {
		e.stale.Add(1) // an answer to no call
		return
	}
	sc := &e.calls[index]
	sc.sent.Take()
	e.unanswered.Add(-1)
	sc.answered, k.answered = m.ID, true
	e.pace(sc)
	sc.frame.runner.clear(sc.frame.permit) // the hard limit ends no call whose answer has come, and kills no process for it
	sc.release()
	a := answer{cause: CauseReturned, tag: m.Tag}
	if m.Flags&transport.FlagReject != 0 {
		if a.cause = Cause(m.Meta); a.cause != CausePanicked && a.cause != CauseExited {
			a.cause = CauseFailed
		}
	}
	if m.Flags&transport.FlagReject != 0 && Cause(m.Meta) == CauseContextEnded { // its time was over: K-138
		e.part(sc, func() { e.refuse(sc) })
		return
	}
	c := sc.frame.call.Get()
	ended := c.flags&flagEnds != 0 && sc.request().hasEnded()
	if !ended {
		until := c.until()
		ended = !until.IsZero() && !time.Now().Before(until)
	}
	apart := ended || bad == nil && a.cause == CauseReturned && runsCode(m.Tag) || c.extra.stop.Load() != nil
	switch {
	case bad != nil:
	case !apart && m.Len <= transport.ValueBytes && m.Tag != transport.TagBytes:
		a.payload = m.Value[:m.Len] // valid until receive returns, and no part of the result
	default:
		a.payload, bad = m.Append(nil)
	}
	if apart {
		e.part(sc, func() { e.settleApart(sc, a, bad, ended) })
		return
	}
	e.settle(sc, a, bad)
}

// part lets a goroutine of its own settle the call of the entry, whose answer has come.
func (e *processExecutor) part(sc *sentCall, settle func()) {
	e.apart = slices.DeleteFunc(e.apart, func(o detachedCall) bool {
		w := o.c.load()
		return w.generation() != o.generation || w.has(callSettled)
	})
	e.apart = append(e.apart, sc.frame.detachedCall())
	spawn(settle)
}

// refuse ends a call that the process has not run, because its time was over.
func (e *processExecutor) refuse(sc *sentCall) {
	c := sc.frame.call.Get()
	k, err := c.endOfTime()
	sc.drop()
	if c.unsend(false) { // otherwise another goroutine has ended it
		e.empty(sc)
		c.refuse(k, err)
	} else {
		c.finish(CauseWorkerLost)
		e.empty(sc)
	}
	e.look(nil)
}

// settleApart is settle on a goroutine of its own, because it runs code of the program. A Goexit of that is a failure
// of the call. If ended is true, the context of the call has ended before its answer has come.
func (e *processExecutor) settleApart(sc *sentCall, a answer, bad error, ended bool) {
	settled := false
	defer func() {
		if !settled {
			e.settle(sc, answer{cause: CauseFailed}, errDecodeExit)
		}
	}()
	if ended {
		contained(func() { sc.endWithContext() })
	}
	e.settle(sc, a, bad)
	settled = true
}

// endWithContext ends a call that has been answered after the end of its context or of its time.
func (sc *sentCall) endWithContext() {
	c := sc.frame.call.Get()
	if c.flags&flagEnds != 0 {
		c.endWithContext()
	}
	if until := c.until(); !until.IsZero() && !time.Now().Before(until) {
		k, err := c.endOfTime()
		c.endAs(sc.frame.generation, k, err)
	}
}

// settle ends the call of the entry with the answer, unless it has ended, and gives the permit back.
func (e *processExecutor) settle(sc *sentCall, a answer, bad error) {
	f := sc.frame
	c := f.call.Get()
	var failed *RemoteError
	switch {
	case bad != nil:
	case a.cause == CauseReturned:
		bad = c.body.decode(c, a.tag, a.payload)
	default:
		failed, bad = c.task.table.decodeError(a.payload)
	}
	if bad != nil {
		a.cause, failed = CauseFailed, remoteError(bad)
	}
	sc.drop()
	crash.At(crash.Settling)
	c.failed = failed
	if mine, _ := c.finish(a.cause); !mine { // otherwise the memory may be another call now
		c.body.drop(c)
		c.failed = nil
		e.reportPanic(a.cause, failed)
	}
	e.empty(sc)
	e.look(nil)
}

// empty empties the entry, whose token is cleared, and gives the permit back.
func (e *processExecutor) empty(sc *sentCall) {
	r := sc.frame.runner
	sc.frame.call.Set(nil)
	sc.link.Store(nil)
	sc.id.Store(0) // S1
	r.end(put)
}

// conclude is the end of the handler of a call that has ended, and that the process does not run any more or has never
// run.
func (e *processExecutor) conclude(sc *sentCall) {
	f := sc.frame
	f.runner.clear(f.permit)
	sc.release()
	sc.drop()
	f.call.Get().finish(CauseWorkerLost)
	e.empty(sc)
}

// lose ends a call that the process may have run.
func (e *processExecutor) lose(sc *sentCall, k Cause, err error) {
	o := sc.frame.detachedCall()
	o.c.endAndAwait(o.generation, k, err)
	e.conclude(sc)
}

// drop drops the argument of the call, whose runner is the caller. The memory is kept for the next call of a caller that
// waits, unless there is much of it.
func (sc *sentCall) drop() {
	if r := sc.request(); sc.frame.call.Get().flags&flagWaited == 0 || cap(r.arg) > maxArgument {
		r.arg = nil
	}
}

// maxArgument is the largest memory for arguments that is kept. It is chosen: the default of Payload.PerValue. The garbage
// collector drops it with the memory of the call. New memory for each argument of 1 MiB took a third of such a call.
const maxArgument = 1 << 20

// takeBack takes a call back that the process has not run, and adds it to list. A call that names a lane of a former
// generation ends, because the state of the lane on which it may rely is gone.
func (e *processExecutor) takeBack(sc *sentCall, list *mpsc.List) {
	f := sc.frame
	c := f.call.Get()
	named := c.names != 0
	if !f.runner.clear(f.permit) { // the hard limit ends it: S6
		e.lose(sc, CauseLimitExceeded, ErrHardLimit)
		return
	}
	if !c.unsend(!named) {
		e.conclude(sc)
		return
	}
	sc.release()
	e.empty(sc)
	if named {
		c.refuse(CauseLaneDiscarded, e.discarded.Load().reason)
		return
	}
	list.Push(&c.node)
}

// unsend makes a call queued again. If waits is true, it waits in the queue of the pool, which counts it then. It reports
// false if the call has ended.
func (c *call) unsend(waits bool) bool {
	l, q := c.lane, &c.lane.p.shared
	if waits {
		c.extra.request.back = true
		q.back.Add(1)
		q.accepted.Add(1) // before the call waits: sharedQueue counts each call that waits
	}
	for {
		w := c.load()
		next, ok := w.unsend(waits)
		if !ok {
			if waits {
				c.extra.request.back = false
				q.back.Add(-1)
				q.refused.Add(1)
				q.ended.Add(1)
				if q.blocked.Load() != 0 {
					q.unblock()
				}
				q.p.counted(&q.gate)
			}
			return false
		}
		if c.word.CompareAndSwap(uint64(w), uint64(next)) {
			break
		}
	}
	if waits { // the lane counts it as ended, because Wait loads what has ended first: see pending
		l.ended.Add(1)
		l.resent.Add(1)
		l.p.counted(&l.gate)
	}
	return true
}

// endSent ends the calls that the process has, or that are about to be published, also those that other goroutines
// settle.
func (e *processExecutor) endSent(k Cause, err error) {
	for _, sc := range e.inOrder() {
		o := sc.frame.detachedCall()
		o.c.endAndAwait(o.generation, k, err)
	}
	for _, o := range e.apart {
		o.c.endAndAwait(o.generation, k, err)
	}
}

// putFront puts calls in front of those that wait.
func (q *callQueue) putFront(list *mpsc.List) {
	for !list.Empty() {
		var from mpsc.Consumer
		switch q.calls.TryAcquire(&from, mpsc.FIFO) {
		case mpsc.Acquired:
			from.PutBack(list)
			from.Release() // they are left
		case mpsc.Empty:
			q.calls.PushList(list)
		case mpsc.Contended:
			park.Yield() // another goroutine takes a call
			continue
		}
		q.endStale(0) // E2
		q.notify(nil) // E1
	}
}

// bury ends the calls of a process that has ended, or returns them to the queue of the pool.
func (e *processExecutor) bury(k *processLink) {
	<-k.worker.Done()
	e.note(func(i *WorkerInfo) {
		i.Pid, i.State = 0, stateEnding
		if !e.over && !k.retired {
			i.Deaths++
		}
	})
	e.takeNone()
	e.takePings()                                                            // the next process answers them
	fresh := e.generation() == k.generation && e.seizeLease(k.generation, 0) // otherwise a Discard was first
	queued := e.seize()                                                      // S2
	h := k.worker.Host()
	crash.At(crash.Draining)
	for { // S3
		if n, err := h.Drain(k.receive); n == 0 || err != nil {
			break
		}
	}
	err := k.reason()
	if fresh {
		e.discarded.Store(&discard{k.generation, ErrLaneDiscarded})
	}
	var back mpsc.List
	for _, sc := range e.inOrder() {
		switch {
		case sc.hasEnded():
			sc.late.Store(false)
			e.conclude(sc)
		case sc.out.Load() && h.Started(sc.id.Load()):
			e.lose(sc, CauseWorkerLost, err)
		default:
			sc.late.Store(false)
			e.takeBack(sc, &back)
		}
	}
	e.p.shared.putFront(&back)
	e.endGeneration(fresh, queued)
	e.p.grantLeases(nil)
	e.host.Store(nil)
	_ = k.worker.Close()
}
