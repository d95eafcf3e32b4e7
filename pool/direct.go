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
	if err != nil && c.fail(l.p.endedBelow(err)) {
		c.drop() // it was not run
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
		c.dropAs(ErrThreadClosed)
		return
	}
	l.direct.Add(1)
	if l.run(c) && l.release() {
		l.schedule(nil)
	}
}

// runNested runs c on top of a handler of the same goroutine, if that has the token.
func (l *lane) runNested(c *call) bool {
	if _, ok := l.isOf(park.Self()); !ok {
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
		l.p.left(o, park.Self())
		l.runOutside(o, nil)
	case c.flags&flagWaited != 0:
		l.spawnOutside(c, nil)
	default:
		done, over := lfsync.NewParker(), c.watch()
		l.spawnOutside(c, done.Unpark)
		l.p.block(func() { done.ParkDone(over) })
	}
}

// outside returns c as one that may get outside.
func (l *lane) outside(c *call) outsider { return outsider{c, c.generation(), l, false} }

// guest returns c as one that never has the lane.
func (l *lane) guest(c *call) outsider { return outsider{c, c.generation(), l, true} }

// spawnOutside runs a call on a goroutine of its own, and then calls over, if that is not
// nil; also when the hard limit ends the call.
func (l *lane) spawnOutside(c *call, over func()) {
	o := l.guest(c)
	l.p.left(o, 0) // before anybody can look for it in vain
	spawn(func() {
		l.p.present(o, 0, park.Self())
		if over != nil {
			defer over() // also after a Goexit
		}
		l.runOutside(o, over)
	})
}

// runOutside runs a call that is outside of its lane.
func (l *lane) runOutside(o outsider, over func()) {
	defer l.p.returned(o)
	var limit func()
	if l.p.config.HardLimit > 0 {
		limit = func() {
			if o.c.endAs(o.generation, ErrHardLimit) {
				l.dead.Add(1)
			}
			if over != nil {
				over()
			}
		}
	}
	o.c.execute(limit)
}

// guests are goroutines that run handlers of the inline lane which nothing but their
// return ends, as many as find room: a handler that would wait for itself is told so.
// Each entry is 0, or a goroutine that has put itself there.
type guests [16]guest

type guest struct{ g atomix.Uintptr }

// enter puts me into an entry, which me leaves afterwards, or returns nil when there
// is none.
func (g *guests) enter(me uintptr) *guest {
	for i := range g {
		if e := &g[(int(me>>8)+i)%len(g)]; e.g.Load() == 0 && e.g.CompareAndSwap(0, me) {
			return e
		}
	}
	return nil
}

// leave clears the entry, if there is one.
func (e *guest) leave() {
	if e != nil {
		e.g.Store(0)
	}
}

// has reports whether goroutine me is a guest.
func (g *guests) has(me uintptr) bool {
	for i := range g {
		if g[i].g.Load() == me {
			return true
		}
	}
	return false
}

// any reports whether there is a guest.
func (g *guests) any() bool {
	for i := range g {
		if g[i].g.Load() != 0 {
			return true
		}
	}
	return false
}
