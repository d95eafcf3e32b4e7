package pool

import (
	"context"
	"time"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// executor is the part of a lane that runs its calls. Each lane has one. Its kind is known to the functions
// that make lanes, and to no others: TestNoBranchOnTheExecutor. The lane itself counts its calls,
// and the pool has the queue of those that name no lane.
type executor interface {
	// signals reports whether handlers get the signal of an Abortable task.
	signals() bool
	// clock returns a clock for a call of p.
	clock(p *Pool) *clock
	// isFree reports whether no call occupies the lane.
	isFree() bool
	// takes reports whether the balancer may send a call to the lane, which is not leased.
	takes(r *roster) bool
	// stays reports whether the handler of c, which runs without a permit, may run on the goroutine
	// that has come with c, although c may end before its handler returns.
	stays(c *call) bool

	// admit makes c, which names no lane, a call of p. The balancer has picked the lane for it.
	admit(c *call, p *Pool) error
	// perform brings c, which was admitted and for which its caller waits with ctx, to its end. job
	// is memory for it.
	perform(c *call, ctx context.Context, job *sched.Job[*call])

	// encode makes of the argument of c, which its caller makes with ctx, what the executor sends. It comes before
	// the call is accepted, on the goroutine of the caller. x is memory for it, or nil. It returns what c has then.
	encode(c *call, ctx context.Context, x *extra) (*extra, error)

	// open makes the lane ready for calls. If it is not ready when open returns, ready waits until it is, or returns
	// why it will not be, or the cause of the context when that has ended.
	open() (ready func(context.Context) error)
	// look looks for calls, after one has become ready to run or a pause has ended. w is the worker of
	// the caller, or nil.
	look(w *sched.Worker)
	// start starts c, for which its sender has taken the pick and a permit.
	start(c *call)
	// scheduleDrain lets the drain run, for which the caller has made the pick queued. w is the worker of the
	// caller, or nil.
	scheduleDrain(w *sched.Worker)

	// interrupt comes after the claim of a call whose handler runs, or is about to.
	interrupt()
	// overtime ends the call o, whose handler has had the permit of r for the time of the hard limit, if that
	// is not nil.
	overtime(o detachedCall, r *runner, permit uint64)
	// discard ends the calls of the lane if the generation is that of the lane and the lease, if it is not 0, is
	// the word of the lease that has it.
	discard(generation, lease uint32, reason error) error
	// setOut says whether a Resize has taken the lane out, or has made it and not put it in. One Resize at a time
	// calls it, after the change.
	setOut(out bool)
	// close ends all calls of the lane. The pool takes no others.
	close()
}

// executorOfAnyLane returns the executor of a call that waits for any lane.
func executorOfAnyLane(processes bool) executor {
	if processes {
		return (*processExecutor)(nil)
	}
	return goroutineExecutor{}
}

// executorOf returns the executor of l. If l is nil, it is that of a call that waits for any lane.
func (p *Pool) executorOf(l *lane) executor {
	if l == nil {
		return p.anyLane
	}
	return l.executor
}

// goroutineExecutor is the executor of a lane whose calls run on workers of the scheduler of the
// pool, or on the goroutine of a caller that waits for the call anyway. The lane of a call that
// waits for any lane is nil.
type goroutineExecutor struct{ *lane }

func (goroutineExecutor) open() func(context.Context) error { return nil }
func (goroutineExecutor) setOut(bool)                       {}
func (goroutineExecutor) signals() bool                     { return true }
func (goroutineExecutor) clock(p *Pool) *clock              { return clockOf(&p.clocks) }
func (goroutineExecutor) takes(*roster) bool                { return true }
func (g goroutineExecutor) stays(c *call) bool              { return c.isBound(g.p) }

func (g goroutineExecutor) admit(c *call, p *Pool) error {
	c.allowDirect(p)
	return c.beginAnywhere(p, g.lane)
}

func (g goroutineExecutor) perform(c *call, ctx context.Context, job *sched.Job[*call]) {
	if c.flags&flagPlaced != 0 && c.flags&flagDirect != 0 {
		g.runDirect(c, job)
		if c.direct && c.load().cause().ofRunner() { // it is counted, and does not become over: C8
			return
		}
	} else {
		c.dispatch(ctx)
	}
	if !c.isOver() {
		c.awaitOrEnd(ctx)
	}
}

func (goroutineExecutor) encode(_ *call, _ context.Context, x *extra) (*extra, error) { return x, nil }

func (g goroutineExecutor) start(c *call) { g.startWith(c) }

func (g goroutineExecutor) scheduleDrain(w *sched.Worker) {
	var err error
	if w != nil {
		err = w.Schedule(g.drainer.Task())
	} else {
		err = g.p.sched.Schedule(g.drainer.Task())
	}
	if err != nil && !isQueued(err) {
		// The scheduler has ended below the pool: no worker will run the calls.
		g.failBelow(err)
	}
}

func (goroutineExecutor) interrupt() {} // the handler has the context of its call

func (g goroutineExecutor) close() { g.endAll(CausePoolClosed, ErrThreadClosed) }

// directTurns is how many direct calls of a lane come before their caller yields its processor. A
// worker that was woken for another call would otherwise wait for the end of its time slice.
const directTurns = 64

// runDirect runs a call, for which its caller has taken the pick and a permit, on the goroutine of
// that caller. The permits bound what runs at once, so the call takes no place of the scheduler if
// that is the pool's own. It takes a place of a given scheduler, or a worker runs it if none is free.
//
// It never runs any other call, since the caller may hold a lock that others need.
func (l *lane) runDirect(c *call, job *sched.Job[*call]) {
	if l.p.own {
		l.runPlaced(c, nil)
		if l.direct.Load()%directTurns == 0 {
			park.Pause()
		}
		return
	}
	job.Fn, job.Value = runDirect, c
	ran, err := l.p.sched.TryDo(job.Task())
	job.Value = nil
	switch {
	case ran:
	case err != nil:
		c.refuse(CausePoolClosed, l.p.endedBelow(err))
		l.failBelow(err)
	default: // no place is free
		l.startWith(c)
	}
}

// runDirect is the task of a call for which its caller has taken the pick of its lane. It runs on
// the goroutine of the caller if a place is free there.
func runDirect(w *sched.Worker, j *sched.Job[*call]) { j.Value.lane.runPlaced(j.Value, w) }

// runPlaced runs a call for which its caller, which is the calling goroutine, has taken the pick and
// a permit. w is the worker of the caller, or nil.
func (l *lane) runPlaced(c *call, w *sched.Worker) {
	if !l.takeQueued() {
		c.refuse(CausePoolClosed, ErrThreadClosed)
		return
	}
	l.direct.Add(1)
	c.direct = true
	if r, _ := l.run(c, w); r != nil {
		r.giveBack()
	}
}

// runHere runs a call on the goroutine of its caller, which has come with ctx, without a permit of
// its lane.
func (l *lane) runHere(ctx context.Context, c *call) {
	l.direct.Add(1)
	l.runWithoutPermit(ctx, c)
}

// runWithoutPermit runs a call without a permit of its lane. A Remote one gets a goroutine of its
// own, and so does one that may not stay on this one. Unless a caller waits for that call anyway,
// the calling goroutine waits for its handler, as long as the call has not ended.
func (l *lane) runWithoutPermit(ctx context.Context, c *call) {
	own := c.task.opts.Remote || !l.executor.stays(c)
	switch {
	case !own:
		o := l.withoutPermit(c)
		l.p.detach(o)
		l.runDetached(o, nil)
	case c.flags&flagWaited != 0:
		l.spawnDetached(c, nil)
	default:
		done, over := lfsync.NewParker(), c.watchEnd()
		l.spawnDetached(c, done.Unpark)
		block(ctx, func() { done.ParkDone(over) })
	}
}

// withoutPermit returns c as a call whose handler never has a permit of the lane.
func (l *lane) withoutPermit(c *call) detachedCall {
	return detachedCall{c, c.load().generation(), l, true}
}

// spawnDetached runs a call on a goroutine of its own, and then calls over, if that is not
// nil; also when the hard limit ends the call.
func (l *lane) spawnDetached(c *call, over func()) {
	o := l.withoutPermit(c)
	l.p.detach(o) // before another goroutine looks for it
	spawn(func() {
		if over != nil {
			defer over() // also after a Goexit
		}
		l.runDetached(o, over)
	})
}

// runDetached runs a call that is detached.
func (l *lane) runDetached(o detachedCall, over func()) {
	defer l.p.returned(o)
	f := new(frame)
	f.enter(o.c, l, nil, 0)
	defer f.leave()
	l.enter(o.c, f, over)
}

// enter enters the handler of c with frame f. over is as in startLimit. It reports what call.execute does.
func (l *lane) enter(c *call, f *frame, over func()) (woke bool) {
	if l.p.hasAbandonedMany() { // it was accepted before the handlers that hang were left behind
		c.end(CauseRefused, ErrTooManyAbandoned)
	}
	return c.execute(f, over)
}

// startLimit ends the call of the handler with frame f when that has run for Config.HardLimit, unless the clock
// is released before. over is called then, if it is not nil. The clock is nil if there is no limit. A handler
// with a permit runs on a worker, so all of them use the same clocks. Others may be in a bubble of
// testing/synctest, the time of which is its own.
func (l *lane) startLimit(f *frame, over func()) (k *clock) {
	limit := l.p.config.HardLimit
	if limit == 0 {
		return nil
	}
	if f.runner != nil {
		k = clockOf(&l.p.limits)
	} else {
		k = new(clock)
	}
	k.start(timed{f.detachedCall(), true, f.runner, f.permit, over}, time.Now().Add(limit))
	return k
}

// overtime ends a call whose handler has run too long, if it has not ended, and takes the permit
// away from the handler. A goroutine cannot be ended: the handler stays behind until it returns,
// and is counted.
func (l *lane) overtime(o detachedCall, r *runner, permit uint64) {
	o.c.endAs(o.generation, CauseLimitExceeded, ErrHardLimit)
	taken := false
	if r != nil {
		_, taken = r.takeAway(permit)
	}
	o.c.leaveBehind(o.generation, l) // also if another cause has ended the call, and the handler blocks
	if taken {
		o.c.losePermit(o.generation, l)
		r.giveBack()
	}
}
