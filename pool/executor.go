package pool

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// runDirect runs a call, for which its caller has taken the pick and a permit, on the goroutine of that
// caller, if the scheduler has a place. Otherwise a worker runs it.
//
// It never runs any other call, since the caller may hold a lock that others need.
func (l *lane) runDirect(c *call, job *sched.Job[*call]) {
	job.Fn, job.Value = runDirect, c
	ran, err := l.p.sched.TryDo(job.Task())
	job.Value = nil
	if err != nil && c.end(CausePoolClosed, l.p.endedBelow(err)) {
		c.skip() // it was not run
		l.failBelow(err)
	}
	if !ran && err == nil { // no place is free
		c.flags &^= flagDirect // nor would there be one next time
		l.startWith(c)
	}
}

// runDirect is the task of a call for which its caller has taken the pick of its lane. It runs on
// the goroutine of the caller if a place is free there.
func runDirect(w *sched.Worker, j *sched.Job[*call]) {
	c := j.Value
	l := c.lane
	if !l.takeQueued() {
		c.refuse(CausePoolClosed, ErrThreadClosed)
		return
	}
	l.direct.Add(1)
	if r, _ := l.run(c, w); r != nil {
		r.giveBack()
	}
}

// runHere runs a call on the goroutine of its caller, beside its lane, or because that
// is the lane of the callers.
func (l *lane) runHere(c *call) {
	l.direct.Add(1)
	l.runWithoutPermit(c)
}

// runWithoutPermit runs a call without a permit of its lane. A Remote one gets a
// goroutine of its own, and so does one that has to end for its caller before its handler
// returns, if it is not of the inline lane. Unless a caller waits for that call anyway, the
// calling goroutine waits for its handler, as long as the call has not ended.
func (l *lane) runWithoutPermit(c *call) {
	own := c.task.opts.Remote || !l.inline && !c.isBound(l.p)
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
		block(func() { done.ParkDone(over) })
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
	o.c.execute(false, l.limitOf(f, over))
}

// limitOf returns what happens when the handler with frame f has run for Config.HardLimit, or nil if
// there is no limit. over is called then, if it is not nil.
func (l *lane) limitOf(f *frame, over func()) func() {
	if l.p.config.HardLimit == 0 {
		return nil
	}
	o, r, permit := f.detachedCall(), f.runner, f.permit // the frame may be that of another handler then
	return func() {
		l.overtime(o, r, permit)
		if over != nil {
			over()
		}
	}
}

// overtime ends a call whose handler has run too long, if it has not ended, and takes the permit
// away from the handler. A goroutine cannot be ended: the handler stays behind until it returns,
// and is counted.
func (l *lane) overtime(o detachedCall, r *runner, permit uint64) {
	ended := o.c.endAs(o.generation, CauseLimitExceeded, ErrHardLimit)
	taken := false
	if r != nil {
		_, taken = r.takeAway(permit)
	}
	if ended || taken {
		l.dead.Add(1)
		o.c.leaveBehind(o.generation, l.p)
	}
	if taken {
		o.c.losePermit(o.generation, l)
		r.giveBack()
	}
}

// inlineRunners are the frames of handlers of the inline lane whose calls end only when their handler
// returns, as many as there is space for. Such calls need no memory of their own.
type inlineRunners [16]inlineRunner

type inlineRunner struct {
	taken atomix.Bool
	frame frame // of the goroutine that has taken it
}

// enter takes an inline runner for the calling goroutine, which leaves it afterwards, or returns nil
// if all are taken.
func (g *inlineRunners) enter(l *lane) *inlineRunner {
	from := int(park.Self() >> 8)
	for i := range g {
		if e := &g[(from+i)%len(g)]; !e.taken.Load() && e.taken.CompareAndSwap(false, true) {
			e.frame.enter(nil, l, nil, 0)
			return e
		}
	}
	return nil
}

// leave gives the inline runner back.
func (e *inlineRunner) leave() {
	e.frame.leave()
	e.taken.Store(false)
}
