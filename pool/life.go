package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Pause stops the dispatch: calls that the pool accepts afterwards do not start
// before Resume. Handlers that run continue, and the pool takes calls up to its limits. A
// Pause during Shutdown holds that up.
func (p *Pool) Pause() { p.pauses.Store(true) }

// Resume ends a Pause: what waits is dispatched, in its order.
func (p *Pool) Resume() {
	p.pauses.Store(false)
	for _, l := range p.everyLane() {
		l.executor.look(nil)
	}
}

// everyLane returns all lanes, also those that Resize has taken out.
func (p *Pool) everyLane() []*lane { return *p.every.Load() }

// pending returns how many calls were accepted and have not ended: 0 means that at
// one moment during the call there was none.
func (p *Pool) pending() uint64 {
	for {
		gates := p.gates.Load()
		var ended, accepted uint64
		for _, g := range *gates {
			ended += g.ended.Load()
		}
		for _, g := range *gates {
			accepted += g.came()
		}
		if p.gates.Load() == gates { // else Resize has made a lane that was not counted
			return accepted - ended
		}
	}
}

// counted wakes the goroutines whose state may be reached after a change of the counts of the gate. It marks
// the bits of candidates. Beside goroutines that wait for other gates it costs some loads.
func (p *Pool) counted(g *gate) {
	if p.waiters.Load() == 0 { // after the change: W2, and K3 of candidates
		return
	}
	if g.lane != nil && p.walkers.Load() {
		g.lane.markCandidates()
	}
	if p.general.Load() != 0 || g.awaited.Load() != 0 && (g.unended() == 0 || g.isFree()) {
		p.wakeWaiters(g)
	}
	if p.leases.waiting.Load() != 0 && (g.lane == nil || g.lane.concernsLeases()) {
		p.grantLeases(g.lane)
	}
}

// stateWaiter is a goroutine that waits for a state of the pool. Most states are reached when
// certain lanes have become idle one after another. Such a waiter waits for one of the busy lanes,
// and then for the next, so the end of a call on another lane does not wake it. A general waiter
// has no lanes. Each change of the counts after which its state is reached wakes it.
//
// Invariants:
//
//	W1  a goroutine whose change of the counts makes a gate idle or free wakes the waiters of the gate for
//	    which it is not busy then
//	W2  a waiter counts itself in Pool.waiters, and in Pool.general or gate.awaited, before it looks. The
//	    other side changes the counts of the gate before it loads these three. So the waiter sees the
//	    change, or the other side wakes it (needs sequential consistency)
type stateWaiter struct {
	reached func() bool        // whether the state is reached. Of a general waiter: only loads
	gates   func() []*gate     // nil: general
	busy    func(g *gate) bool // whether the state cannot be reached before the gate is idle
	from    int                // index of the gate in gates
	gate    atomix.Pointer[gate]
	parker  *lfsync.Parker
}

// choose makes w wait for a gate that is busy. It reports false if it finds none.
func (w *stateWaiter) choose() bool {
	if w.gates == nil {
		return true
	}
	gates := w.gates()
	for range gates {
		if w.from %= len(gates); w.busy(gates[w.from]) {
			g := gates[w.from]
			w.gate.Store(g)
			g.awaited.Add(1) // after that store: a goroutine that sees the count finds w
			if w.busy(g) {   // W2
				return true
			}
			w.leave()
		}
		w.from++
	}
	return false
}

// leave ends what choose has begun.
func (w *stateWaiter) leave() {
	if g := w.gate.Load(); g != nil {
		g.awaited.Add(-1)
		w.gate.Store(nil)
	}
}

// concerns reports whether the state of w may be reached after a change of the counts of g, or, if g is
// nil, after any other change.
func (w *stateWaiter) concerns(g *gate) bool {
	if w.gates == nil {
		return w.reached()
	}
	return g == nil || w.gate.Load() == g && !w.busy(g)
}

// wakeWaiters wakes the goroutines whose state may be reached after a change of the counts of g, or,
// if g is nil, after any other change.
func (p *Pool) wakeWaiters(g *gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.stateWaiters {
		if w.concerns(g) || p.inlineReady() {
			w.parker.Unpark()
		}
	}
}

// waitFor returns when w has reached its state, or when ctx ends, with its cause. It runs calls of
// the inline lane until then.
func (p *Pool) waitFor(ctx context.Context, w *stateWaiter) error { return p.helpUntil(ctx, w, nil) }

// helpUntil is waitFor of a goroutine that waits for the call own, if that is not nil. A
// handler, of whichever pool, runs only that on top of it: others may wait for that very
// handler, and get goroutines of their own. Of Remote calls it runs one after another, on
// goroutines of their own, and leaves the last one when its own wait is over.
func (p *Pool) helpUntil(ctx context.Context, w *stateWaiter, own *call) error {
	onTop := p.inline == nil || !isPartOf(ctx, func(*execution) bool { return true })
	w.parker = lfsync.NewParker()
	var remote *atomix.Bool // the handler of the last Remote call has returned
	run := func(c *call) (goOn bool) {
		switch {
		case !onTop && c != own, c == own && c.task.opts.Remote:
			p.inline.spawnDetached(c, nil)
		case c.task.opts.Remote:
			returned := new(atomix.Bool)
			remote = returned
			p.inline.spawnDetached(c, func() { returned.Store(true); w.parker.Unpark() })
			return false
		default:
			p.inline.runWithoutPermit(ctx, c)
		}
		return true
	}
	p.waiters.Add(1) // W2
	defer p.waiters.Add(-1)
	if w.gates == nil {
		p.general.Add(1) // W2
		defer p.general.Add(-1)
	}
	p.mu.Lock()
	p.stateWaiters = append(p.stateWaiters, w)
	p.mu.Unlock()
	defer p.forget(w)
	for !w.reached() {
		if (remote == nil || remote.Load()) && p.runInlineBatch(run) {
			if ctx.Err() != nil && !w.reached() {
				return context.Cause(ctx)
			}
			continue
		}
		told := true
		if w.choose() {
			block(ctx, func() { told = w.parker.ParkDone(ctx.Done()) })
			w.leave()
		} else { // the gates were busy one after another, and calls end while it looks
			told = ctx.Err() == nil
			park.Yield()
		}
		if !told {
			return context.Cause(ctx)
		}
	}
	return nil
}

// forget ends the wait of w.
func (p *Pool) forget(w *stateWaiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stateWaiters = slices.DeleteFunc(p.stateWaiters, func(o *stateWaiter) bool { return o == w })
}

// Wait returns when no call is queued or runs, or when ctx ends, with its cause. When no call is left, the
// channel of [Future.Done] is closed for each. While the pool is paused and calls wait, Wait blocks until Resume.
// It runs calls of the inline lane until then. Inside a handler of the pool, whose call would have to end first, it
// returns [ErrInHandler].
func (p *Pool) Wait(ctx context.Context) error {
	needContext(ctx)
	if p.isInside(ctx) {
		return ErrInHandler
	}
	return p.idle.wait(ctx, p)
}

// idleWaiters are the goroutines that wait for the end of all calls, in their order. The first one, the
// leader, waits for the others as well, so that the end of a call costs the same beside any number
// of them. In a pool with an inline lane each of them leads, because each runs calls of that lane.
type idleWaiters struct {
	joined atomix.Uint64 // how many have come
	queue  []*idleWaiter // with Pool.mu
}

type idleWaiter struct {
	number      uint64 // how many had come then
	parker      *lfsync.Parker
	leads, done bool // with Pool.mu
}

// wait is Pool.Wait outside of handlers of p.
func (q *idleWaiters) wait(ctx context.Context, p *Pool) error {
	w, ended := &idleWaiter{parker: lfsync.NewParker()}, ctx.Done()
	if p.inline != nil {
		return q.lead(ctx, p, w)
	}
	p.mu.Lock()
	w.number = q.joined.Add(1)
	leads := len(q.queue) == 0
	q.queue = append(q.queue, w)
	p.mu.Unlock()
	if !leads {
		block(ctx, func() { w.parker.ParkDone(ended) })
		p.mu.Lock()
		done := w.done
		if leads = w.leads; !done && !leads { // ctx has ended
			q.remove(w)
		}
		p.mu.Unlock()
		switch {
		case done:
			return nil
		case !leads:
			return context.Cause(ctx)
		}
	}
	return q.lead(ctx, p, w)
}

// lead is wait of the leader w.
func (q *idleWaiters) lead(ctx context.Context, p *Pool, w *idleWaiter) error {
	var covered, joined uint64
	if p.inline == nil {
		defer func() { q.handOver(p, w, covered) }() // also if a method of ctx panics
	}
	err := p.waitFor(ctx, &stateWaiter{
		gates: func() []*gate { return *p.gates.Load() },
		busy:  func(g *gate) bool { return g.unended() != 0 },
		reached: func() bool {
			// Before the look: the pool is idle after they have joined.
			joined = q.joined.Load()
			return p.pending() == 0 && p.telling.Load() == 0 // in this order: see observers
		},
	})
	if err == nil {
		covered = joined
	}
	return err
}

// handOver ends the waits of the first goroutines, as many as covered says, and makes the next one the
// leader in place of w.
func (q *idleWaiters) handOver(p *Pool, w *idleWaiter, covered uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.remove(w)
	for len(q.queue) > 0 && q.queue[0].number <= covered {
		f := q.queue[0]
		q.queue = q.queue[1:]
		f.done = true
		f.parker.Unpark()
	}
	if len(q.queue) > 0 {
		next := q.queue[0]
		next.leads = true
		next.parker.Unpark()
	}
}

// remove takes w out of the queue. The caller has Pool.mu.
func (q *idleWaiters) remove(w *idleWaiter) {
	i := slices.Index(q.queue, w)
	q.queue = slices.Delete(q.queue, i, i+1)
}

// Shutdown refuses new calls, waits until all that were accepted have ended, also those of a paused
// pool, which it resumes, and closes the pool. When ctx ends first, it closes the pool then, and
// returns a [*ShutdownError], which names the calls that were left and wraps the cause. Inside a
// handler of the pool it returns [ErrInHandler] and does nothing.
func (p *Pool) Shutdown(ctx context.Context) error {
	needContext(ctx)
	if p.isInside(ctx) {
		return ErrInHandler
	}
	p.beginShutdown()
	return p.finishShutdown(ctx)
}

// beginShutdown refuses new calls.
func (p *Pool) beginShutdown() {
	p.state.CompareAndSwap(open, draining)
	p.grantLeases(nil)                // refuses those who wait for a lane
	p.running(p.infos(p.everyLane())) // a look, so that an error says which handlers have run since then
	p.Resume()
}

// finishShutdown closes the pool when nothing is left to do, or when ctx ends.
func (p *Pool) finishShutdown(ctx context.Context) error {
	err := p.Wait(ctx)
	if err != nil {
		err = p.unfinished(err)
	}
	p.closeNow()
	return err
}

// Close refuses new calls and ends those that have not finished with
// [ErrThreadClosed], at once: handlers that run are asked to stop, if their task is
// Abortable, and not waited for. With Config.DrainOnClose it is Shutdown without an
// end, for which it does not wait inside a handler of the pool. It always returns nil, and
// may be called again, and from inside a handler.
func (p *Pool) Close() error {
	switch {
	case !p.config.DrainOnClose:
		p.closeNow()
	case p.isInside(context.Background()):
		p.beginShutdown()
		go p.drainBehind()
	default:
		p.beginShutdown()
		_ = p.finishShutdown(context.Background()) // a context that does not end
	}
	return nil
}

// drainBehind is finishShutdown on a goroutine of its own. A handler of the inline lane that it
// runs may end its goroutine.
func (p *Pool) drainBehind() {
	over := false
	defer func() {
		if !over {
			go p.drainBehind()
		}
	}()
	_ = p.finishShutdown(context.Background())
	over = true
}

// closeNow ends all calls, and returns when they have ended.
func (p *Pool) closeNow() {
	if p.state.Swap(shut) == shut {
		<-p.closed // another one ends them
		return
	}
	p.pauses.Store(false)
	for _, l := range p.lanesAndSpares() {
		l.executor.close()
	}
	p.failShared(ErrThreadClosed)
	for p.moves.Load() != 0 {
		park.Yield() // a handler that lost its permit before endAll came is not listed yet
	}
	p.endDetached(CausePoolClosed, ErrThreadClosed, func(detachedCall) bool { return true })
	if p.own {
		if _, err := p.sched.Close(); errors.Is(err, sched.ErrInCallback) {
			go func() { _, _ = p.sched.Close() }() // the pool has no tasks there any more
		}
	}
	p.grantLeases(nil) // refuses those who wait for a lane
	for p.telling.Load() != 0 {
		park.Yield() // a goroutine has settled a call and closes its Done: see observers
	}
	close(p.closed)
	p.wakeWaiters(nil)
}

// lanesAndSpares returns all lanes, also those that a Resize has made and not put in, which may have processes. A Resize
// that comes later finds the pool closed.
func (p *Pool) lanesAndSpares() []*lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.everyLane(), p.spare)
}

// Terminate closes the pool, waits until all handlers have returned, and returns how
// many of them are left, which is 0. When ctx ends first it returns its cause, and how
// many there are then; it may be called again. Inside a handler it closes nothing and
// returns [ErrInHandler].
func (p *Pool) Terminate(ctx context.Context) (remaining int, err error) {
	needContext(ctx)
	if p.isInside(ctx) {
		return 1, ErrInHandler
	}
	p.closeNow()
	left := func() (all, handlers int) {
		n := int(p.moves.Load()) // first: a handler that loses its permit is seen
		all, handlers = p.detachedCalls()
		n += int(p.pending()) // calls that their callers run have not ended
		if p.processes != nil {
			n += int(p.processes.alive.Load())
		}
		return all + n, handlers + n
	}
	if err := p.waitFor(ctx, &stateWaiter{reached: func() bool { n, _ := left(); return n == 0 }}); err != nil {
		_, handlers := left()
		return handlers, err
	}
	if p.own {
		_, _ = p.sched.Close() // a handler may have closed the pool, and not this
		block(ctx, func() { _, err = p.sched.Join(ctx) })
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx) // without the text about the scheduler
		}
	}
	return 0, err
}

// Resize changes the number of lanes that are not the lane of the callers, and returns when those that were taken
// out are not occupied any more, as [Pool.Acquire] defines it, or with the cause of ctx. They finish what
// they have in any case. Calls that wait for such a lane by its id end with [ErrNoSuchLane].
// Inside a handler of the pool it returns [ErrInHandler] and changes nothing. It changes nothing
// either if lanes is not in 1 to 4,096, if the pool is shut down ([ErrPoolShutdown]), or if
// Config.Bootstrap fails ([*BootstrapError]). Nor does it if the process of a new lane does not become ready, or ctx ends
// before. The pool's own scheduler keeps its number of workers: see
// [Config].
//
// A worker process whose lane was taken out ends when no call occupies the lane and no lease has it. When a
// Resize puts the lane back, its next process starts, as after a death: Resize does not wait for that, and
// the calls run on other lanes until then.
func (p *Pool) Resize(ctx context.Context, lanes int) error {
	needContext(ctx)
	if lanes < 1 || lanes > maxLanes {
		return fmt.Errorf("pool: Resize: %d is not in 1..%d", lanes, maxLanes)
	}
	if p.isInside(ctx) {
		return ErrInHandler
	}
	out, err := p.resize(ctx, lanes)
	if err != nil {
		return err
	}
	for _, l := range out {
		if q := l.named.made.Load(); q != nil {
			q.fail(CauseLaneDiscarded, ErrNoSuchLane, nil) // after the change of the roster: a later sender sees that
		}
	}
	gates := make([]*gate, len(out))
	for i, l := range out {
		gates[i] = &l.gate
	}
	busy := func(g *gate) bool { return !g.isFree() && !g.lane.isOpenLane() }
	return p.waitFor(ctx, &stateWaiter{
		gates:   func() []*gate { return gates },
		busy:    busy,
		reached: func() bool { return !slices.ContainsFunc(gates, busy) },
	})
}

// SetConcurrency changes how many calls each lane runs at once, which [Config].Concurrency has set.
// Calls that wait start if the number has grown, as far as the scheduler has places: the pool's own
// one keeps its number, see [Config]. If the number has become smaller, the handlers that run
// continue, and each lane may start one more call, of which a worker or a caller is in charge already.
// Then a lane starts no call before fewer than n of its handlers run.
//
// SetConcurrency applies to lanes that Resize makes later as well, and not to the lane of the
// callers. It waits for no call and runs no code of the program, so any goroutine may call it, also
// a handler and [Config].Bootstrap. A lane keeps the memory of the largest number that it has had,
// about 300 bytes a permit. SetConcurrency returns an error if n is not in 1..16,383, or in 1..31 with
// [Config].Process, and [ErrPoolShutdown] while the pool shuts down or afterwards.
func (p *Pool) SetConcurrency(n int) error {
	if n < 1 || n > p.maxConcurrency() {
		return fmt.Errorf("pool: SetConcurrency: %d is not in 1..%d", n, p.maxConcurrency())
	}
	lanes, err := p.setConcurrency(n)
	for _, l := range lanes {
		l.executor.look(nil) // the new permits are free before
	}
	return err
}

// maxConcurrency returns the largest number for SetConcurrency.
func (p *Pool) maxConcurrency() int {
	if p.processes != nil {
		return maxProcessCalls
	}
	return lfsync.MaxWorkers
}

// setConcurrency makes the change, and returns the lanes that have to look: they have more permits than before, or a process
// that has to learn of the number.
func (p *Pool) setConcurrency(n int) (changed []*lane, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Load() != open {
		return nil, ErrPoolShutdown
	}
	old := int(p.concurrency.Swap(int64(n)))
	for _, lanes := range [][]*lane{p.lanes, p.spare} {
		for _, l := range lanes {
			if l.allowed.Load() != 0 { // otherwise its next process brings as many
				l.allow(n)
			}
		}
	}
	if n > old || p.processes != nil {
		return p.lanes, nil // a copy of the list: Resize appends to it only
	}
	return nil, nil
}

// resize makes the change, and returns the lanes that were taken out. It holds no lock
// that the rest of the pool needs while it calls Config.Bootstrap.
func (p *Pool) resize(ctx context.Context, lanes int) (out []*lane, err error) {
	if !p.resizes.TryLock() {
		block(ctx, p.resizes.Lock) // a Bootstrap may wait for the handler that resizes
	}
	defer p.resizes.Unlock()
	if p.state.Load() != open {
		return nil, ErrPoolShutdown
	}
	defer p.setOut()                                       // also after an error
	for i := len(p.lanes) + len(p.spare); i < lanes; i++ { // p.lanes changes here only
		if err := p.bootstrap(i); err != nil {
			return nil, err
		}
		p.mu.Lock()
		l := newLane(p, i)
		p.spare = append(p.spare, l) // with mu: SetConcurrency changes this lane, or is seen by it
		p.mu.Unlock()
		if ready := l.executor.open(); ready != nil {
			var err error
			if block(ctx, func() { err = ready(ctx) }); err != nil {
				p.dropSpare(l)
				return nil, err
			}
		}
	}
	defer p.callLanes()      // the new lanes take calls that wait
	defer p.wakeWaiters(nil) // another Resize may wait for lanes that are back
	defer p.grantLeases(nil) // the new lanes are free, and no lease waits for a lane that is out
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Load() != open {
		return nil, ErrPoolShutdown
	}
	before := len(p.roster.Load().lanes)
	if p.inline != nil {
		before--
	}
	n := max(lanes-len(p.lanes), 0)
	p.lanes = append(p.lanes, p.spare[:n]...)
	p.spare = p.spare[n:]
	p.setRoster(lanes)
	if lanes > before {
		return nil, nil
	}
	return p.lanes[lanes:], nil // among them those that an earlier Resize has taken out
}

// dropSpare closes a lane that is not ready, unless a goroutine that closes the pool does so.
func (p *Pool) dropSpare(l *lane) {
	p.mu.Lock()
	drops := p.state.Load() != shut // otherwise closeNow may have seen the lane
	if drops {
		p.spare = slices.DeleteFunc(p.spare, func(o *lane) bool { return o == l })
	}
	p.mu.Unlock()
	if drops {
		l.executor.close()
	}
}

// setOut says to each lane whether it is out. The caller has resizes, so the lists do not change.
func (p *Pool) setOut() {
	n := len(p.roster.Load().open)
	for i, l := range p.lanes {
		l.executor.setOut(i >= n)
	}
	for _, l := range p.spare {
		l.executor.setOut(true)
	}
}

// callLanes lets each lane look for calls that wait.
func (p *Pool) callLanes() {
	for _, l := range p.roster.Load().open {
		l.look(nil)
	}
}
