package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// laneSoak is a pool in a scenario, and the record of its calls.
type laneSoak struct {
	r      *round
	p      *pool.Pool
	s      *sched.Scheduler // nil: the pool has its own scheduler
	ends   bool             // the pool is ended during the calls
	limits bool             // the pool refuses and ends calls
	shared bool             // callers may run the calls of other callers

	work, abortable, remote, prompt *pool.Func[soakCall, uint64]
	first                           *pool.Func[soakCall, soakCall] // returns its argument

	next  atomic.Int64
	calls []soakRecord
}

// soakCall is the argument of a call: its number and what its handler does.
type soakCall struct {
	id, depth int
	root      int // the call of a caller, in whose handlers this call was made
	action    soakAction
	rng       uint64
}

// soakRecord records what happened to one call.
type soakRecord struct {
	action  soakAction
	entered atomic.Int32
	ended   atomic.Int32 // outcomes that were seen
	refused atomic.Bool  // its error states that it had not started
}

// soakAction is what a handler does.
type soakAction int

const (
	soakReturns soakAction = iota
	soakYields
	soakBlocks
	soakFails
	soakPanics
	soakExits
	soakCalls
	soakWaits
	soakAwaits // waits for its abort
	soakActions
)

// newLaneSoak makes a pool for at most the given number of calls.
func newLaneSoak(r *round, c pool.Config, calls int) *laneSoak {
	k := &laneSoak{r: r, shared: c.Inline != nil || c.Overflow == pool.CallerRuns, calls: make([]soakRecord, calls)}
	if r.rng.IntN(2) == 0 {
		k.s = r.open(sched.Config{MaxWorkers: r.pick(1, 2, 4), StallAfter: 2 * time.Millisecond}, nil)
		c.Scheduler = k.s
	}
	var h pool.Handlers
	k.work = pool.Register(&h, "work", k.handle)
	k.abortable = pool.Register(&h, "abortable", k.handle, pool.TaskOptions{Abortable: true})
	k.remote = pool.Register(&h, "remote", k.handle, pool.TaskOptions{Remote: true})
	k.prompt = pool.Register(&h, "prompt", k.handle, pool.TaskOptions{Prompt: true})
	k.first = pool.Register(&h, "first", func(_ context.Context, c soakCall) (soakCall, error) { return c, nil })
	p, err := pool.New(&h, c)
	if err != nil {
		panic(err) // a mistake in the scenario
	}
	k.p = p
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, p)
	return k
}

// generateCall generates the argument of a call. It returns false when all calls were
// made.
func (k *laneSoak) generateCall(rng *rand.Rand, depth int) (soakCall, bool) {
	id := int(k.next.Add(1) - 1)
	if id >= len(k.calls) {
		return soakCall{}, false
	}
	c := soakCall{id: id, depth: depth, root: id, action: soakAction(rng.IntN(int(soakActions))), rng: rng.Uint64()}
	if rng.IntN(2) == 0 || depth > 4 && c.action >= soakCalls || k.shared && c.action == soakExits {
		c.action = soakReturns
	}
	k.calls[id].action = c.action
	return c, true
}

// funcOf returns a function that supports the action of the call.
func (k *laneSoak) funcOf(c soakCall) *pool.Func[soakCall, uint64] {
	switch {
	case c.action == soakAwaits:
		return k.abortable
	case c.action == soakExits:
		return k.remote
	}
	return []*pool.Func[soakCall, uint64]{k.work, k.abortable, k.remote, k.prompt}[c.rng%4]
}

// handle is the handler of all tasks.
func (k *laneSoak) handle(ctx context.Context, c soakCall) (uint64, error) {
	rec := &k.calls[c.id]
	if n := rec.entered.Add(1); n != 1 {
		k.r.Errorf("the handler of call %d was entered %d times", c.id, n)
	}
	rng := rand.New(rand.NewPCG(c.rng, 2))
	switch c.action {
	case soakYields:
		for range rng.IntN(50) {
			runtime.Gosched()
		}
	case soakBlocks:
		k.r.faults.blocks.Add(1)
		here := make(chan struct{})
		go close(here)
		<-here
	case soakFails:
		return 0, fmt.Errorf("call %d: %w", c.id, errSoak)
	case soakPanics:
		k.r.faults.panics.Add(1)
		panic(errSoak)
	case soakExits:
		k.r.faults.goexits.Add(1)
		runtime.Goexit()
	case soakCalls, soakWaits:
		if err := k.nest(ctx, rng, c); err != nil {
			return 0, err
		}
	case soakAwaits:
		<-ctx.Done()
	}
	return soakAnswer(uint64(c.id)), nil
}

// nest makes a call in a handler and waits for it.
func (k *laneSoak) nest(ctx context.Context, rng *rand.Rand, c soakCall) error {
	inner, ok := k.generateCall(rng, c.depth+1)
	inner.root = c.root
	if !ok || inner.action == soakAwaits || inner.action == soakExits {
		k.skip(inner, ok)
		return nil
	}
	if c.action == soakCalls {
		var v uint64
		var err error
		call := func(ctx context.Context) { v, err = k.funcOf(inner).Call(ctx, inner) }
		if rng.IntN(3) == 0 { // by a goroutine that works for the handler
			carried, over := pool.Carry(ctx), make(chan struct{})
			go func() {
				defer close(over)
				call(carried)
			}()
			k.p.Blocking(func() { <-over })
		} else {
			call(ctx)
		}
		k.checkOutcome(inner, v, err)
		return k.passOn(err)
	}
	f := k.funcOf(inner).Go(ctx, inner)
	v, err := f.Wait(context.Background())
	k.checkOutcome(inner, v, err)
	return k.passOn(err)
}

// passOn returns the result of a handler whose nested call returned err.
func (k *laneSoak) passOn(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("a nested call: %w", err)
}

// skip records that a generated call is not made.
func (k *laneSoak) skip(c soakCall, generated bool) {
	if generated {
		k.calls[c.id].ended.Add(1)
		k.calls[c.id].refused.Store(true)
	}
}

// checkOutcome checks the outcome of a call.
func (k *laneSoak) checkOutcome(c soakCall, v uint64, err error) {
	rec := &k.calls[c.id]
	rec.ended.Add(1)
	k.r.did(1)
	k.r.calls.Add(1)
	switch {
	case err == nil && v != soakAnswer(uint64(c.id)):
		k.r.Errorf("call %d returned %d, which is not its own result", c.id, v)
	case err == nil && rec.entered.Load() == 0:
		k.r.Errorf("call %d has a result, and its handler was not entered", c.id)
	case err == nil && (c.action == soakFails || c.action == soakPanics):
		k.r.Errorf("the handler of call %d failed, and the call did not", c.id)
	case c.depth > 0 && k.calls[c.root].ended.Load() > 0 && isAny(err, pool.ErrPoolShutdown, pool.ErrThreadClosed):
		// the handler that made it was abandoned: the root call had ended before the pool
	case err != nil && !isAny(err, append(k.allowedEnds(), pool.ErrGoexit)...):
		k.r.Errorf("call %d ended with %v", c.id, err)
	}
	if errors.Is(err, pool.ErrNotStarted) {
		rec.refused.Store(true)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, pool.ErrHardLimit) {
		k.r.faults.timeouts.Add(1)
	}
}

// step does one operation of a caller.
func (k *laneSoak) step(rng *rand.Rand) {
	switch rng.IntN(12) {
	case 0, 1:
		k.callOnce(rng)
	case 2, 3:
		k.futures(rng, 1+rng.IntN(3))
	case 4:
		k.futures(rng, 1+rng.IntN(100))
	case 5:
		k.after(rng)
	case 6:
		k.leased(rng)
	case 7:
		k.untyped()
	case 8:
		k.counters()
	case 9:
		k.named(rng)
	case 10:
		k.tries(rng)
	case 11:
		k.observed(rng)
	}
}

// callBy generates a call, makes it by call with a context that may end early, and checks its outcome. refusal is as in
// checkTaken, or nil.
func (k *laneSoak) callBy(rng *rand.Rand, refusal error, call func(ctx context.Context, c soakCall) (uint64, error)) {
	c, ok := k.generateCall(rng, 0)
	if !ok {
		return
	}
	ctx, cancel := k.context(rng, c)
	defer cancel()
	v, err := call(ctx, c)
	k.checkTaken(c, v, err, refusal)
}

// named makes a call that names its lane by an id. The lane may be leased, discarded or taken out in between.
func (k *laneSoak) named(rng *rand.Rand) {
	lanes := k.p.Lanes()
	lane := lanes[rng.IntN(len(lanes))]
	if lane.Inline {
		return
	}
	k.callBy(rng, pool.ErrNoSuchLane, func(ctx context.Context, c soakCall) (uint64, error) {
		if rng.IntN(2) == 0 {
			return pool.CallAt(ctx, lane.ID, k.funcOf(c), c)
		}
		return pool.GoAt(ctx, lane.ID, k.funcOf(c), c).Wait(context.Background())
	})
}

// tries makes a call that never waits for space.
func (k *laneSoak) tries(rng *rand.Rand) {
	k.callBy(rng, pool.ErrBacklogFull, func(ctx context.Context, c soakCall) (uint64, error) {
		if rng.IntN(2) == 0 {
			return k.funcOf(c).TryCall(ctx, c)
		}
		return k.funcOf(c).TryGo(ctx, c).Wait(context.Background())
	})
}

// checkTaken checks the outcome of a call, which may also be an error that says that the pool has not taken the call. The
// handler may have failed with such an error of another call.
func (k *laneSoak) checkTaken(c soakCall, v uint64, err, refusal error) {
	if !errors.Is(err, refusal) || !errors.Is(err, pool.ErrNotStarted) {
		k.checkOutcome(c, v, err)
		return
	}
	rec := &k.calls[c.id]
	rec.ended.Add(1)
	rec.refused.Store(true)
	k.r.did(1)
	if rec.entered.Load() != 0 {
		k.r.Errorf("call %d was entered and ended with %v", c.id, err)
	}
}

// observed makes a call whose end a function learns of.
func (k *laneSoak) observed(rng *rand.Rand) {
	k.callBy(rng, nil, func(ctx context.Context, c soakCall) (uint64, error) {
		f := k.funcOf(c).Go(ctx, c)
		told := make(chan struct{})
		f.OnDone(func() { close(told) })       // a second call would panic
		v, err := f.Wait(context.Background()) // it may have to run the call, if that is one of the inline lane
		<-told
		return v, err
	})
}

// callOnce makes a call and waits for it until its context ends.
func (k *laneSoak) callOnce(rng *rand.Rand) {
	k.callBy(rng, nil, func(ctx context.Context, c soakCall) (uint64, error) { return k.funcOf(c).Call(ctx, c) })
}

// context returns a context for a call. It ends early at random, and always if the
// handler waits for its abort.
func (k *laneSoak) context(rng *rand.Rand, c soakCall) (context.Context, context.CancelFunc) {
	switch n := rng.IntN(6); {
	case n == 0 || c.action == soakAwaits:
		return context.WithTimeout(context.Background(), time.Duration(rng.IntN(300))*time.Microsecond)
	case n == 1:
		ctx, cancel := context.WithCancel(context.Background())
		k.r.faults.cancels.Add(1)
		go cancel()
		return ctx, cancel
	}
	return context.Background(), func() {}
}

// futures makes n calls, aborts some of them, and checks all outcomes.
func (k *laneSoak) futures(rng *rand.Rand, n int) {
	type pending struct {
		c soakCall
		f *pool.Future[uint64]
	}
	var list []pending
	for range n {
		c, ok := k.generateCall(rng, 0)
		if !ok {
			break
		}
		ctx, cancel := k.context(rng, c)
		defer cancel()
		list = append(list, pending{c, k.funcOf(c).Go(ctx, c)})
	}
	var aborts sync.WaitGroup
	for _, u := range list {
		if u.c.action == soakAwaits || rng.IntN(8) == 0 {
			k.r.faults.aborts.Add(1)
			aborts.Go(func() { u.f.Abort(errSoakAbort) })
		}
	}
	for _, u := range list {
		v, err := u.f.Wait(context.Background())
		k.checkOutcome(u.c, v, err)
	}
	aborts.Wait()
	for _, u := range list {
		v, err := u.f.Wait(context.Background())
		if rec := &k.calls[u.c.id]; rec.refused.Load() != errors.Is(err, pool.ErrNotStarted) || err == nil && v != soakAnswer(uint64(u.c.id)) {
			k.r.Errorf("the outcome of call %d has changed to %d, %v", u.c.id, v, err)
		}
	}
}

// after makes a call whose argument is the outcome of another call.
func (k *laneSoak) after(rng *rand.Rand) {
	c, ok := k.generateCall(rng, 0)
	if !ok {
		return
	}
	if c.action == soakAwaits || c.action == soakExits {
		k.skip(c, true)
		return
	}
	first := k.first.Go(context.Background(), c)
	f := k.work.After(context.Background(), first)
	v, err := f.Wait(context.Background())
	k.checkOutcome(c, v, err)
}

// leased makes calls of a leased lane.
func (k *laneSoak) leased(rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(1000))*time.Microsecond)
	defer cancel()
	l, err := k.p.Acquire(ctx)
	if err != nil {
		k.r.want("Acquire", err, append(k.allowedEnds(), context.DeadlineExceeded)...)
		return
	}
	k.r.faults.leases.Add(1)
	var calls []soakCall
	var futures []*pool.Future[uint64]
	for range rng.IntN(4) {
		c, ok := k.generateCall(rng, 0)
		if !ok {
			break
		}
		if c.action == soakAwaits {
			k.skip(c, true)
			continue
		}
		calls = append(calls, c)
		futures = append(futures, pool.GoOn(context.Background(), l, k.funcOf(c), c))
	}
	if rng.IntN(3) == 0 {
		l.Discard(nil)
	}
	for i, f := range futures {
		v, err := f.Wait(context.Background())
		k.checkOutcome(calls[i], v, err)
	}
	l.Release()
}

// untyped makes calls that enter no handler.
func (k *laneSoak) untyped() {
	_, err := k.p.RunTask(context.Background(), "none", nil)
	var unknown *pool.UnknownTaskError
	if !errors.As(err, &unknown) {
		k.r.Errorf("a call of a task that does not exist: %v", err)
	}
	_, err = k.p.RunTask(context.Background(), "request", nil)
	k.r.want("request", err, k.allowedEnds()...)
}

// counters checks the counters of the pool.
func (k *laneSoak) counters() {
	for _, l := range k.p.Metrics().Lanes {
		if l.Backlog < 0 || l.InFlight < 0 || uint64(l.Backlog+l.InFlight) != l.Accepted-l.Ended {
			k.r.Errorf("the counters of a lane do not add up: %+v", l)
		}
	}
}

// control pauses and resizes the pool until quit is closed. The pool is not paused when
// control returns.
func (k *laneSoak) control(rng *rand.Rand, quit <-chan struct{}) {
	for n := 0; ; n++ {
		action := rng.IntN(8)
		if n < 2 {
			action = n
		}
		switch action {
		case 0:
			k.r.faults.pauses.Add(1)
			k.p.Pause()
			for range rng.IntN(20) {
				runtime.Gosched()
			}
			k.p.Resume()
		case 1:
			k.r.faults.resizes.Add(1)
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			k.r.want("Resize", k.p.Resize(ctx, 1+rng.IntN(4)), context.DeadlineExceeded)
			cancel()
		case 2:
			k.r.want("SetConcurrency", k.p.SetConcurrency(1+rng.IntN(4)), k.allowedEnds()...)
		case 3:
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			k.r.want("Ping", k.p.Ping(ctx, 0), context.DeadlineExceeded)
			cancel()
		default:
			for range rng.IntN(100) {
				runtime.Gosched()
			}
		}
		select {
		case <-quit:
			return
		default:
		}
	}
}

// end ends the pool, waits for its handlers, and checks the records.
func (k *laneSoak) end(stop func()) {
	stop()
	n, err := k.p.Terminate(context.Background())
	if k.r.must("Terminate", err); n != 0 {
		k.r.Errorf("Terminate left %d handlers", n)
	}
	if m := k.p.Metrics(); m.Accepted != m.Ended || m.Backlog != 0 || m.InFlight != 0 || m.Detached != 0 {
		k.r.Errorf("after the end of the pool: %+v", m)
	}
	for id := range min(int(k.next.Load()), len(k.calls)) {
		rec := &k.calls[id]
		entered := rec.entered.Load()
		if rec.ended.Load() != 1 || entered > 1 || entered > 0 && rec.refused.Load() {
			k.r.Errorf("call %d, %d: %d outcomes, entered %d times, not started by its error: %v", id, rec.action, rec.ended.Load(), entered, rec.refused.Load())
		}
	}
	if k.s != nil {
		k.r.end(k.s, -1)
		return
	}
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	k.r.stats = append(k.r.stats, k.p.Metrics().Scheduler)
}
