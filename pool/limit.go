package pool

import "time"

// limitTime calls overtime when the handler of o, which has that token, has run for
// Config.HardLimit.
func (l *lane) limitTime(o outsider, token uint64) *time.Timer {
	return time.AfterFunc(l.p.config.HardLimit, func() { l.overtime(o, token) })
}

// overtime ends a call whose handler has run too long, if it has not ended, and takes
// the lane away from it, which goes on. A goroutine cannot be ended: the handler
// stays behind until it returns, and is counted.
func (l *lane) overtime(o outsider, token uint64) {
	o.c.endAs(o.generation, ErrHardLimit)
	if _, ok := l.takeAway(token); ok {
		l.dead.Add(1)
		l.move(tokenQueued)
		l.schedule(nil)
	}
}

// limitTime is that of a lane, for one seat.
func (st *seat) limitTime(o outsider, token uint64) *time.Timer {
	return time.AfterFunc(st.l.p.config.HardLimit, func() { st.overtime(o, token) })
}

// overtime is that of a lane, for one seat.
func (st *seat) overtime(o outsider, token uint64) {
	o.c.endAs(o.generation, ErrHardLimit)
	if _, ok := st.takeAway(token); ok {
		st.l.dead.Add(1)
	}
}
