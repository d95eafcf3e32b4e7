package lanelaw_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/lanelaw"
	"github.com/lanewright/lanewright/transport"
)

// laneFault is a fault of lanes of channels.
type laneFault int

const (
	noLaneFault laneFault = iota
	swapsResults
	settlesTwice
	settlesWhenLate
	entersTwice
	losesCalls
	countsWaitingTwice
	countsNoEnds
	reorders
	runsOneMore
	runsOneLess
	bindsCalls
	idlesLastLane
	leasedTakesCalls
	losesWaits
	losesCause
	reservesNothing
	discardsOnlyWaiting
	keepsWaits
	keepsID
	takesLateCalls
	losesMessage
	ignoresEmptyError
	diesOfExit
	knowsNoNames
	cutsPayloads
	takesAnySize
	nestsOnWorker
	pingsOnlyWhenIdle
	pingsByCall
	ignoresPause
	stopsHandlersInPause
	abortWaitsForHandler
	abortedStarts
	abortIsNotNotified
	abortChangesOutcome
	abortNotifiesAll
	losesAbortSlots
	takesOneMoreSlot
	deadlineFromStart
	losesSlots
	refusedRuns
	neverRefuses
	blocksNobody
	callerQueues
	dropsNewest
	shutdownDrops
	shutdownTakes
	closeForgets
	closeSaysOther
)

// chanMaxPayload is the largest size of an argument of chanLanes, in bytes.
const chanMaxPayload = 64 << 10

// errChanNested is the error of a call that a handler of chanLanes makes.
var errChanNested = errors.New("a handler cannot call")

// channelKind returns a kind of lanes with another algorithm than those of package
// pool: each lane is a channel and its goroutines.
func channelKind(concurrency int, fault laneFault) lanelaw.Kind {
	return newChannelKind("channel lanes", concurrency, false, fault)
}

// sharedKind returns a kind of lanes whose goroutines receive from one channel.
func sharedKind(concurrency int, fault laneFault) lanelaw.Kind {
	return newChannelKind("lanes of one channel", concurrency, true, fault)
}

func newChannelKind(name string, concurrency int, shared bool, fault laneFault) lanelaw.Kind {
	k := lanelaw.Kind{
		Name:        fmt.Sprintf("%s of %d", name, concurrency),
		Concurrency: concurrency,
		Ordered:     concurrency == 1,
		Shared:      shared,
		Bounded:     true,
		AbortSlots:  true,
		Exits:       true,
		Leases:      true,
		Nested:      errChanNested,
		MaxPayload:  chanMaxPayload,
	}
	if fault == nestsOnWorker {
		k.Nested = nil
	}
	k.New = func(c pool.Config, gate lanelaw.Gate) lanelaw.Lanes {
		p := &chanLanes{config: c, fault: fault, tasks: lanelaw.Tasks(gate), live: map[*chanLaneCall]bool{}, quit: make(chan struct{})}
		if c.AbortCapacity == 0 {
			p.config.AbortCapacity = pool.DefaultAbortCapacity
		}
		p.ended.L = &p.mu
		p.resumed = make(chan struct{})
		close(p.resumed)
		workers, capacity := concurrency, c.Backlog
		switch fault {
		case runsOneMore:
			workers++
		case runsOneLess:
			workers--
		}
		if c.Backlog == pool.Unlimited {
			capacity = 1 << 16
		}
		in := make(chan *chanLaneCall, capacity)
		for i := range c.Lanes {
			if !shared || fault == bindsCalls {
				in = make(chan *chanLaneCall, capacity)
			}
			l := &chanLane{
				p: p, in: in, pings: make(chan chan struct{}), changed: make(chan struct{}),
				id: pool.LaneID{Lane: i, Generation: 1}, own: make(chan *chanLaneCall, 1<<16),
			}
			p.lanes = append(p.lanes, l)
			if fault == idlesLastLane && i == c.Lanes-1 {
				break
			}
			for range workers {
				p.workers.Go(l.work)
			}
		}
		return p
	}
	return k
}

type chanLanes struct {
	config  pool.Config
	fault   laneFault
	tasks   map[string]lanelaw.Task
	lanes   []*chanLane
	next    atomic.Uint64
	workers sync.WaitGroup
	quit    chan struct{}
	abort   atomic.Bool // for abortNotifiesAll

	mu      sync.Mutex
	ended   sync.Cond
	live    map[*chanLaneCall]bool
	resumed chan struct{} // closed while the lanes are not paused
	refuses bool
	closed  bool
	slots   int // taken abort slots
	counts  lanelaw.Counts
	last    any           // for swapsResults
	before  *chanLaneCall // for settlesTwice
	n       int           // calls ended
	waits   []*chanWait   // for leases, in order
}

type chanLane struct {
	p     *chanLanes
	in    chan *chanLaneCall
	pings chan chan struct{}
	lost  atomic.Int64       // for losesSlots
	own   chan *chanLaneCall // calls through leases

	// Protected by p.mu.
	id       pool.LaneID
	lease    *chanLease
	reserved bool          // for a goroutine that waits for a lease
	busy     int           // workers that run other calls, or may receive one
	pending  int           // calls through leases that have not returned
	changed  chan struct{} // closed at a change of lease or reserved
}

// work runs the calls of a lane.
func (l *chanLane) work() {
	ended, took := false, false
	defer func() {
		if !ended && l.p.fault != diesOfExit {
			l.end(took)
			l.p.workers.Go(l.work) // a handler has ended the goroutine
		}
	}()
	for {
		var in chan *chanLaneCall
		var changed chan struct{}
		in, changed, took = l.begin()
		select {
		case c := <-in:
			if l.p.fault == reorders {
				select {
				case next := <-in:
					next.runUnpaused()
				default:
				}
			}
			c.runUnpaused()
		case c := <-l.own:
			if l.runOwn(c) {
				ended = true
				return
			}
		case pong := <-l.pings:
			close(pong)
		case <-changed:
		case <-l.p.quit:
			ended = true
			return
		}
		l.end(took)
	}
}

type chanLaneCall struct {
	p       *chanLanes
	task    lanelaw.Task
	payload any
	ctx     context.Context
	cancel  context.CancelFunc
	slot    bool
	aborted atomic.Bool
	done    chan struct{}

	lease *chanLease // nil: none

	// Protected by p.mu.
	started, ended bool
	left           bool // Discard has left its handler behind
	value          any
	err            error
}

// notStartedError is the error of a call that has not started.
type notStartedError struct{ error }

func (e notStartedError) Unwrap() []error { return []error{e.error, pool.ErrNotStarted} }

func (p *chanLanes) Call(ctx context.Context, task string, payload any) (any, error) {
	if _, ok := p.tasks[task]; !ok {
		if p.fault == knowsNoNames {
			return nil, notStartedError{errors.New("no such task")}
		}
		return nil, notStartedError{&pool.UnknownTaskError{Type: task}}
	}
	return p.Go(ctx, task, payload).Wait(context.Background())
}

func (p *chanLanes) Go(ctx context.Context, task string, payload any) lanelaw.Future {
	c := &chanLaneCall{p: p, task: p.tasks[task], payload: payload, done: make(chan struct{})}
	if c.ctx, c.cancel = context.WithCancel(ctx); p.config.Timeout > 0 {
		c.ctx, c.cancel = context.WithTimeout(ctx, p.config.Timeout)
	}
	if err := c.accept(); err != nil {
		c.err = notStartedError{err}
		c.cancel()
		close(c.done)
		return c
	}
	if p.fault != deadlineFromStart {
		c.endWithContext()
	}
	p.lanes[p.next.Add(1)%uint64(len(p.lanes))].send(c)
	return c
}

// accept counts an accepted call, or returns why the lanes refuse it.
func (c *chanLaneCall) accept() error {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	most := p.config.AbortCapacity
	if p.fault == takesOneMoreSlot {
		most++
	}
	switch {
	case p.refuses:
		return pool.ErrPoolShutdown
	case sizeOf(c.payload) > chanMaxPayload && p.fault != takesAnySize:
		return transport.ErrPayloadTooLarge
	case c.task.Abortable && p.slots >= most:
		return pool.ErrAbortSlotsExhausted
	case c.task.Abortable:
		c.slot = true
		p.slots++
	}
	p.live[c] = true
	p.counts.Accepted++
	p.counts.Backlog++
	return nil
}

func sizeOf(payload any) int {
	switch v := payload.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 0
}

// endWithContext ends the call when its context ends.
func (c *chanLaneCall) endWithContext() {
	context.AfterFunc(c.ctx, func() { c.end(nil, context.Cause(c.ctx)) })
}

// send queues a call, or applies the overflow policy.
func (l *chanLane) send(c *chanLaneCall) {
	switch l.p.fault {
	case losesCalls:
		if len(l.in) > 20 {
			return
		}
	case neverRefuses:
		if l.p.config.Overflow == pool.Fail {
			l.in <- c
			return
		}
	}
	if int64(len(l.in))+l.lost.Load() < int64(cap(l.in)) {
		select {
		case l.in <- c:
			return
		default:
		}
	}
	switch l.p.config.Overflow {
	case pool.Fail:
		l.refuse(c)
	case pool.CallerRuns:
		if l.p.fault == callerQueues {
			go func() { l.in <- c }()
			return
		}
		c.run()
	case pool.DropOldest:
		l.dropFor(c)
	default:
		if l.p.fault == blocksNobody {
			go func() { l.in <- c }()
			return
		}
		select {
		case l.in <- c:
		case <-c.done:
			c.release()
		}
	}
}

// refuse ends a call that a full lane refuses.
func (l *chanLane) refuse(c *chanLaneCall) {
	switch l.p.fault {
	case losesSlots:
		l.lost.Add(1)
	case refusedRuns:
		defer func() { go c.enter() }()
	}
	c.end(nil, pool.ErrBacklogFull)
	c.release()
}

// dropFor drops queued calls until c is queued.
func (l *chanLane) dropFor(c *chanLaneCall) {
	for {
		if l.p.fault == dropsNewest {
			c.end(nil, pool.ErrDropped)
			return
		}
		select {
		case old := <-l.in:
			old.end(nil, pool.ErrDropped)
			old.release()
		default:
		}
		select {
		case l.in <- c:
			return
		default:
		}
	}
}

// runUnpaused waits for the end of a pause and runs the call.
func (c *chanLaneCall) runUnpaused() {
	if c.p.fault != ignoresPause {
		c.p.mu.Lock()
		resumed := c.p.resumed
		c.p.mu.Unlock()
		<-resumed
	}
	c.run()
}

// run enters the handler, unless the call has ended.
func (c *chanLaneCall) run() {
	defer c.release()
	if c.ctx.Err() != nil && c.p.fault != deadlineFromStart {
		c.end(nil, context.Cause(c.ctx))
	}
	c.p.mu.Lock()
	runs := !c.ended || c.p.fault == abortedStarts
	if !c.ended {
		c.started = true
		c.p.counts.Backlog--
	}
	c.p.mu.Unlock()
	if c.p.fault == deadlineFromStart {
		c.endWithContext()
	}
	if runs {
		c.enter()
	}
}

// enter calls the handler and ends the call with its result.
func (c *chanLaneCall) enter() {
	returned := false
	defer func() {
		if returned {
			return
		}
		err := &pool.RemoteError{Message: pool.ErrGoexit.Error(), Type: "goexit", Stack: string(debug.Stack())}
		if value := recover(); value != nil {
			err.Message, err.Type = fmt.Sprint(value), "panic"
		}
		if c.p.fault == losesMessage {
			err.Message = "it broke"
		}
		c.end(nil, err)
	}()
	call := lanelaw.Call{Context: c.ctx, Aborted: c.isAborted, Call: c.nested}
	value, err := c.task.Run(call, c.payload)
	if c.p.fault == entersTwice && c.p.next.Load()%10 == 0 {
		value, err = c.task.Run(call, c.payload)
	}
	returned = true
	switch {
	case err == nil:
	case c.p.fault == ignoresEmptyError && err.Error() == "":
		err = nil
	default:
		err = &pool.RemoteError{Message: err.Error()}
	}
	if s, ok := value.(string); ok && c.p.fault == cutsPayloads {
		value = s[:min(len(s), 512)]
	}
	c.end(value, err)
}

func (c *chanLaneCall) isAborted() bool {
	return c.aborted.Load() || c.p.fault == abortNotifiesAll && c.p.abort.Load()
}

func (c *chanLaneCall) nested(task string, payload any) (any, error) {
	if c.p.fault == nestsOnWorker {
		return c.p.Call(c.ctx, task, payload)
	}
	return nil, errChanNested
}

// end writes the outcome of a call that has none.
func (c *chanLaneCall) end(value any, err error) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if c.ended {
		if p.fault == settlesWhenLate && err == nil {
			c.value, c.err = value, nil
		}
		return
	}
	if p.fault == settlesTwice && p.n%50 == 0 {
		if p.before != nil {
			p.before.value = value
		}
		p.before = c
	}
	if p.fault == swapsResults && p.n%10 == 0 {
		value, p.last = p.last, value
	}
	if !c.started {
		p.counts.Backlog--
		if err != nil {
			err = notStartedError{err}
		}
	}
	if p.fault != countsNoEnds || p.n%100 != 0 {
		p.counts.Ended++
	}
	c.ended, c.value, c.err = true, value, err
	delete(p.live, c)
	close(c.done)
	c.aborted.Store(err != nil && p.fault != abortIsNotNotified)
	if p.fault != abortIsNotNotified {
		c.cancel()
	}
	if err != nil {
		p.abort.Store(true)
	}
	p.ended.Broadcast()
}

// release releases the abort slot of the call.
func (c *chanLaneCall) release() {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.slot && (c.p.fault != losesAbortSlots || c.err == nil) {
		c.slot = false
		c.p.slots--
	}
}

func (c *chanLaneCall) Done() <-chan struct{} { return c.done }

func (c *chanLaneCall) Wait(ctx context.Context) (any, error) {
	select {
	case <-c.done:
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		return c.value, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *chanLaneCall) Abort(cause error) {
	if cause == nil {
		cause = pool.ErrAborted
	}
	c.p.mu.Lock()
	started, ended := c.started, c.ended
	if ended && c.p.fault == abortChangesOutcome {
		c.value, c.err = nil, cause
	}
	c.p.mu.Unlock()
	if c.p.fault == abortWaitsForHandler && started {
		c.aborted.Store(true)
		return
	}
	if !ended {
		c.end(nil, cause)
	}
}

func (p *chanLanes) Ping(ctx context.Context) error {
	if p.fault == pingsByCall {
		_, err := p.Call(ctx, "call", uint64(0))
		return err
	}
	pong := make(chan struct{})
	if p.fault == pingsOnlyWhenIdle && p.Counts().InFlight+p.Counts().Backlog > 0 {
		<-pong
	}
	select {
	case p.lanes[0].pings <- pong:
		<-pong
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *chanLanes) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumed = make(chan struct{})
	if p.fault == stopsHandlersInPause {
		for c := range p.live {
			if c.started {
				go c.end(nil, pool.ErrAborted)
			}
		}
	}
}

func (p *chanLanes) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.resumed:
	default:
		close(p.resumed)
	}
}

func (p *chanLanes) Counts() lanelaw.Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.InFlight = int(c.Accepted-c.Ended) - c.Backlog
	if p.fault == countsWaitingTwice {
		c.InFlight += c.Backlog
	}
	return c
}

func (p *chanLanes) Shutdown(context.Context) error {
	p.mu.Lock()
	p.refuses = p.fault != shutdownTakes
	p.mu.Unlock()
	p.Resume()
	if p.fault != shutdownDrops {
		p.mu.Lock()
		for len(p.live) > 0 {
			p.ended.Wait()
		}
		p.mu.Unlock()
	}
	if p.fault != shutdownTakes {
		p.Close()
	}
	return nil
}

func (p *chanLanes) Close() {
	p.mu.Lock()
	p.refuses = true
	first := !p.closed
	p.closed = true
	p.endWaits(pool.ErrPoolShutdown, func(*chanWait) bool { return true })
	var calls []*chanLaneCall
	for c := range p.live {
		if p.fault != closeForgets || c.started {
			calls = append(calls, c)
		}
	}
	p.mu.Unlock()
	if !first {
		return
	}
	p.Resume()
	err := pool.ErrThreadClosed
	if p.fault == closeSaysOther {
		err = fmt.Errorf("lanes: %w", err)
	}
	for _, c := range calls {
		c.end(nil, err)
	}
	close(p.quit)
}

func (p *chanLanes) Join(context.Context) error {
	p.Close()
	p.workers.Wait()
	return nil
}
