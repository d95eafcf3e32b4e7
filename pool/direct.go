package pool

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// runDirect runs an accepted call on the goroutine of its caller, as its lane, when
// that is idle: nothing is queued there, nobody has the token, and a place is free. It
// reports whether the call is settled, or is being settled. A call of a handler to its
// own lane runs at once, on top of the handler, which has the token: the lane could run
// nothing before it returns.
//
// It never runs any other call, since the caller may hold a lock that others need.
func (l *lane) runDirect(c *call, job *sched.Job[*call]) bool {
	if l.limit > 1 || l.p.paused() {
		return false
	}
	if !l.take(tokenLoop) {
		return l.runNested(c)
	}
	others := l.next.Get() < l.turns || l.rx.Pending() != 0 || l.waiting.Load() != 0
	l.move(tokenQueued)
	if others { // they come first
		l.schedule(nil)
		return false
	}
	job.Fn, job.Value = runDirect, c
	ran, err := l.p.sched.TryDo(job.Task())
	job.Value = nil
	if err != nil && c.end(CausePoolClosed, l.p.endedBelow(err)) {
		c.skip() // it was not run
		l.failQueued(l.p.endedBelow(err))
	}
	if !ran && err == nil { // no place is free
		if l.takeQueued() && l.release() {
			l.schedule(nil)
		}
		c.flags &^= flagDirect // nor would there be one next time
		return false
	}
	return true
}

// runDirect is the task of a call whose caller has the token of its lane for it. It
// runs on the goroutine of the caller if a place is free there.
func runDirect(_ *sched.Worker, j *sched.Job[*call]) {
	c := j.Value
	l := c.lane
	if !l.takeQueued() {
		c.refuse(CausePoolClosed, ErrThreadClosed)
		return
	}
	l.direct.Add(1)
	if l.run(c) && l.release() {
		l.schedule(nil)
	}
}

// runNested runs c on top of a handler of the same goroutine, if that has the token.
func (l *lane) runNested(c *call) bool {
	if !l.isHeldHere() {
		return false
	}
	l.runHere(c)
	return true
}

// runHere runs a call on the goroutine of its caller, beside its lane, or because that
// is the lane of the callers.
func (l *lane) runHere(c *call) {
	l.direct.Add(1)
	l.runAsGuest(c)
}

// runAsGuest runs a call without the token: outside of its lane. A Remote one gets a
// goroutine of its own, and so does one that has to end for its caller before its handler
// returns, if it is not of the inline lane. Unless somebody waits for that call anyway, the
// caller waits for its handler, as long as the call has not ended.
func (l *lane) runAsGuest(c *call) {
	own := c.task.opts.Remote || !l.inline && !c.isBound()
	switch {
	case !own:
		o := l.guest(c)
		l.p.left(o)
		l.runOutside(o, nil)
	case c.flags&flagWaited != 0:
		l.spawnOutside(c, nil)
	default:
		done, over := lfsync.NewParker(), c.watch()
		l.spawnOutside(c, done.Unpark)
		block(func() { done.ParkDone(over) })
	}
}

// outside returns c as one that may get outside.
func (l *lane) outside(c *call) outsider { return outsider{c, c.load().generation(), l, false} }

// guest returns c as one that never has the lane.
func (l *lane) guest(c *call) outsider { return outsider{c, c.load().generation(), l, true} }

// spawnOutside runs a call on a goroutine of its own, and then calls over, if that is not
// nil; also when the hard limit ends the call.
func (l *lane) spawnOutside(c *call, over func()) {
	o := l.guest(c)
	l.p.left(o) // before anybody can look for it in vain
	spawn(func() {
		if over != nil {
			defer over() // also after a Goexit
		}
		l.runOutside(o, over)
	})
}

// runOutside runs a call that is outside of its lane.
func (l *lane) runOutside(o outsider, over func()) {
	defer l.p.returned(o)
	f := new(frame)
	f.enter(o.c, l, nil, 0)
	defer f.leave()
	var limit func()
	if l.p.config.HardLimit > 0 {
		limit = func() {
			if o.c.endAs(o.generation, CauseLimitExceeded, ErrHardLimit) {
				l.dead.Add(1)
			}
			if over != nil {
				over()
			}
		}
	}
	o.c.execute(limit)
}

// guests are the frames of handlers of the inline lane whose calls end only when their handler
// returns, as many as find room. They need no memory of their own.
type guests [16]guest

type guest struct {
	taken atomix.Bool
	frame frame // of the goroutine that has taken the guest
}

// enter takes a guest for the calling goroutine, which leaves it afterwards, or returns nil if
// all are taken.
func (g *guests) enter(l *lane) *guest {
	from := int(park.Self() >> 8)
	for i := range g {
		if e := &g[(from+i)%len(g)]; !e.taken.Load() && e.taken.CompareAndSwap(false, true) {
			e.frame.enter(nil, l, nil, 0)
			return e
		}
	}
	return nil
}

// leave gives the guest back.
func (e *guest) leave() {
	e.frame.leave()
	e.taken.Store(false)
}
