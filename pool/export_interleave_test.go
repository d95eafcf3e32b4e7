//go:build interleave

package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
)

func init() {
	spawn = func(f func()) {
		if park.Explored() {
			interleave.Go("handler", f)
		} else {
			go f()
		}
	}
	spawnRunner = func(f func()) { interleave.GoDaemon("runner", f) }
	spawnService = func(begin func() *processLink, serve func(*processLink)) {
		k := begin()
		interleave.GoDaemon("service", func() { serve(k) })
	}
}

// Own makes p end its scheduler with itself, as if New had made that.
func (p *Pool) Own() { p.own = true }

// EndLane ends all calls of a lane, as Lease.Discard does.
func (p *Pool) EndLane(lane int, reason error) { p.lanes[lane].endAll(CauseLaneDiscarded, reason) }

// Drain is the drain of a lane in the caller's thread, if the lane has no holder.
func (p *Pool) Drain(lane int) {
	if l := p.lanes[lane]; l.take() {
		l.drain(nil)
	}
}

// Pending returns how many calls have not ended.
func (p *Pool) Pending() uint64 { return p.pending() }

// ResumeSilently ends a pause, and leaves the lanes to the holders of their picks.
func (p *Pool) ResumeSilently() { p.pauses.Store(false) }

// Settled reports whether f has its outcome.
func (f *Future[R]) Settled() bool { return f.isSettled() }

// Over reports whether f has its outcome and the end is counted.
func (f *Future[R]) Over() bool { return f.isOver() }

// CountedEnds returns how many ends of calls the queue of the pool and its lanes have counted.
func (p *Pool) CountedEnds() (n uint64) {
	for _, g := range *p.gates.Load() {
		n += g.ended.Load()
	}
	return n
}

// Outcome returns the outcome of a call that is settled.
func (f *Future[R]) Outcome() (R, error) { return f.outcome() }

// Overtime returns what the timer of a hard limit does to the handler of the caller. That
// handler has a permit.
func (p *Pool) Overtime() func() {
	f := innermost()
	l, o, r, permit := f.lane, f.detachedCall(), f.runner, f.permit
	return func() { l.overtime(o, r, permit) }
}

// Free reports whether a lane is free.
func (p *Pool) Free(lane int) bool { return p.lanes[lane].isFree() }

// IsInside reports whether the caller works with ctx for a handler of the pool.
func (p *Pool) IsInside(ctx context.Context) bool { return p.isInside(ctx) }

// HasLane reports whether the caller is a handler that has a permit of lane 0.
func (p *Pool) HasLane() bool { return p.lanes[0].isHeldHere() }

// Await waits for f as Func.Call does, without a channel. One goroutine at a time may
// do so.
func (f *Future[R]) Await() (R, error) {
	f.await(nil)
	return f.outcome()
}

// End is Abort without the wait for another one that is ending the call, on a channel.
func (f *Future[R]) End(cause error) bool { return f.end(CauseAborted, cause) }

// Busy says what p still holds after the last call has ended, or nothing.
func (p *Pool) Busy() string {
	for _, l := range p.everyLane() {
		if s := l.busy(); s != "" {
			return fmt.Sprintf("lane %d: %s", l.index, s)
		}
	}
	n := int32(0)
	for _, l := range p.lanes {
		if l.hasLease() {
			n++
		}
	}
	if counted := p.leased.Load(); counted != n {
		return fmt.Sprintf("%d lanes are leased, and %d count as leased", n, counted)
	}
	if lanes := p.Reserved(); len(lanes) != 0 {
		return fmt.Sprintf("lanes %v are reserved", lanes)
	}
	if n := p.shared.dead.Load(); n != 0 {
		return fmt.Sprintf("%d calls that have ended are in the queue", n)
	}
	if n, q := p.shared.unended(), &p.shared; n != 0 || !q.calls.Empty() || q.leased() != 0 || q.later.Load() != 0 || q.blocked.Load() != 0 {
		return fmt.Sprintf("%d calls wait, %d at lanes, %d for their arguments, %d callers are blocked; the queue is empty: %t",
			n, q.leased(), q.later.Load(), q.blocked.Load(), q.calls.Empty())
	}
	if n, _ := p.detachedCalls(); n != 0 || len(p.detached) != 0 {
		return fmt.Sprintf("%d calls are outside, %d are listed", n, len(p.detached))
	}
	if n := p.abandoned.Load(); n != 0 {
		return fmt.Sprintf("%d handlers are abandoned", n)
	}
	ids := 0
	for _, ok := p.aborts.Acquire(); ok; _, ok = p.aborts.Acquire() {
		ids++
	}
	if ids != p.config.AbortCapacity {
		return fmt.Sprintf("%d of %d abort slots are free", ids, p.config.AbortCapacity)
	}
	return ""
}

func (l *lane) busy() string {
	accepted, ended := l.came(), l.ended.Load()
	switch {
	case accepted != ended:
		return fmt.Sprintf("%d calls were accepted, %d have ended", accepted, ended)
	case l.census().moving != 0:
		return fmt.Sprintf("%d calls move to the lane", l.census().moving)
	case l.overdue.Load() != 0:
		return fmt.Sprintf("%d handlers are overdue", l.overdue.Load())
	case !l.backlog.calls.Quiet() || l.backlog.dead.Load() != 0 || l.waiting.Load() != 0:
		return fmt.Sprintf("the backlog is not empty, %d calls in it have ended, or %d wait", l.backlog.dead.Load(), l.waiting.Load())
	case l.p.isInline(l):
		return ""
	case l.named.made.Load() != nil && (l.named.make(l).dead.Load() != 0 || !l.named.quiet()):
		return fmt.Sprintf("calls that name the lane wait, or %d of them have ended there", l.named.make(l).dead.Load())
	case l.first.Load() != nil:
		return "the call for which the pick was taken has not begun"
	case l.loadPermits().pick() != pickFree && !l.p.isClosed():
		return fmt.Sprintf("the pick is %d", l.loadPermits().pick())
	case l.loadPermits().surplus() && !l.p.isClosed():
		return "more permits are to be retired"
	}
	if n, all := l.freePermits(), int(l.allowed.Load()); n != all && !l.p.isClosed() {
		return fmt.Sprintf("%d of %d permits are free", n, all)
	}
	return ""
}

// AddOverdue adds to the overdue handlers of a lane.
func (p *Pool) AddOverdue(lane int, n int64) { p.lanes[lane].overdue.Add(n) }

// EndLeaseWait ends the wait of the goroutine that is next to have a lane, with err, as the end of its
// context does. It reports false if no goroutine waits.
func (p *Pool) EndLeaseWait(err error) bool {
	p.mu.Lock()
	var w *leaseWaiter
	if len(p.leases.queue) > 0 {
		w = p.leases.queue[0]
	}
	p.mu.Unlock()
	if w == nil || !p.endWait(w) {
		return false
	}
	w.err = err
	p.grantLeases(w.lane)
	w.parker.Unpark()
	return true
}

// QueueLease adds a wait for the lane, or for any if the number is negative, as the beginning of Acquire. The
// function that it returns is the rest, without the first look for a lane.
func (p *Pool) QueueLease(lane int) (await func() (*Lease, error)) {
	var to target
	if lane >= 0 {
		l := p.lanes[lane]
		to = target{l: l, generation: l.generation()}
	}
	w := p.queueLease(to)
	return func() (*Lease, error) {
		w.parker.Park()
		p.waiters.Add(-1)
		return w.got, w.err
	}
}

// GrantLeases gives lanes to the goroutines that wait for them, or reserves lanes, after a change of the lane, or
// of any if the number is negative.
func (p *Pool) GrantLeases(lane int) {
	if lane < 0 {
		p.grantLeases(nil)
	} else {
		p.grantLeases(p.lanes[lane])
	}
}

// Owe makes a lane owe a call, as the end of a lease does while calls wait.
func (p *Pool) Owe(lane int) { p.lanes[lane].owes.Store(true) }

// Look lets a lane look for calls.
func (p *Pool) Look(lane int) { p.lanes[lane].look(nil) }

// EndOverdue is the end of such a handler.
func (p *Pool) EndOverdue(lane int) { p.lanes[lane].notOverdue() }

// Claimed reports whether a goroutine writes the outcome, or has written it.
func (f *Future[R]) Claimed() bool { return f.load().has(callClaimed) }

// TakePermit takes a free permit of a lane as a handler has it. It returns the function that
// returns the permit.
func (p *Pool) TakePermit(lane int) (give func()) {
	r := p.lanes[lane].takeFree()
	return func() { r.end(put) }
}

// Permits returns the state of the permits of a lane.
func (p *Pool) Permits(lane int) PermitState { return PermitStateOf(p.lanes[lane].loadPermits()) }

// freePermits returns how many permits are free. No goroutine uses the lane.
func (l *lane) freePermits() (n int) {
	for top := l.loadPermits().top(); top != 0 && n <= int(l.p.concurrency.Load()); n++ {
		top = l.runner(top - 1).below.Load()
	}
	return n
}

// Clock is the clock of calls, whose timer a model fires itself.
type Clock struct{ k clock }

// NewClock returns a clock whose timer is stopped.
func NewClock() *Clock {
	c := new(Clock)
	c.k.timer = time.AfterFunc(time.Hour, func() {})
	c.k.timer.Stop()
	return c
}

// Fire is the function of the timer.
func (c *Clock) Fire() { c.k.fire() }

// ClockedCall runs one call after another, in the same memory as long as calls return. Each has the
// given deadline. It returns the causes of their ends.
func (c *Clock) ClockedCall(memory *Future[int], deadlines ...time.Time) (causes []Cause) {
	call, l, task := &memory.call, &lane{p: new(Pool), executor: goroutineExecutor{}}, &entry{ends: new([taskStripes]taskEnds)}
	for _, at := range deadlines {
		call.body, call.task, call.lane, call.flags = &pong, task, l, flagWaited
		if !at.IsZero() {
			c.k.set(call, at)
		}
		if call.start(false) {
			if mine, _ := call.finish(CauseReturned); !mine {
				call.await(nil) // the clock is ending it
			}
		} else {
			call.await(nil)
		}
		c.k.clear()
		k := call.load().cause()
		causes = append(causes, k)
		if k.ofRunner() { // I1 of call: the clock may use the memory still otherwise
			call.reset()
		} else {
			call = &new(Future[int]).call
		}
	}
	return causes
}

// TakeFree takes the pick and a permit of that lane or of another one that is available. It
// returns the number of the lane, or -1.
func (p *Pool) TakeFree(lane int) int {
	if l, _ := p.search(lane, nil); l != nil {
		return l.index
	}
	return -1
}

// GiveUp gives both up.
func (p *Pool) GiveUp(lane int) {
	if l := p.lanes[lane]; l.takeQueued() && l.release() {
		l.schedule(nil)
	}
}

// IsMarked reports whether the summary has the lane.
func (p *Pool) IsMarked(lane int) bool { return p.available.next(lane, lane+1) == lane }

// ClearAtOnce makes each walker over the lanes with a property clear the bits of the others.
func (p *Pool) ClearAtOnce() { p.free.kept, p.unfilled.kept = 0, 0 }

// Occupy counts a call at the lane until leave is called, which counts its end.
func (p *Pool) Occupy(lane int) (leave func()) {
	l := p.lanes[lane]
	if err := l.accept(context.Background(), 0); err != nil {
		panic(err)
	}
	return func() { l.countEnded(CauseReturned) }
}

// HasMarks reports whether the bits of the lane say that no call occupies it and that it has a permit that
// no call has.
func (p *Pool) HasMarks(lane int) bool {
	return p.free.bits.isMarked(lane) && p.unfilled.bits.isMarked(lane)
}

// CountWaiting counts a call that occupies the lane as one that waits there, until start is called.
func (p *Pool) CountWaiting(lane int) (start func()) {
	l := p.lanes[lane]
	l.countWaiting()
	return l.notWaiting
}

// AdmitUnused counts a call as waiting if an unused permit makes space for it, until leave is called. It
// reports false if none does.
func (p *Pool) AdmitUnused() (leave func(), ok bool) { return p.admitUnused(&p.shared.callQueue) }

// AdmitUnusedAt is AdmitUnused for a call through the lease of a lane.
func (p *Pool) AdmitUnusedAt(lane int) (leave func(), ok bool) {
	return p.admitUnused(&p.lanes[lane].backlog)
}

func (p *Pool) admitUnused(to *callQueue) (leave func(), ok bool) {
	return func() { p.shared.ended.Add(1) }, p.shared.admitUnused(to)
}
