package pool

// limitOf returns what happens when the handler of o, which has that token, has run for
// Config.HardLimit, or nil when there is no limit.
func (l *lane) limitOf(o outsider, token uint64) func() {
	if l.p.config.HardLimit == 0 {
		return nil
	}
	return func() { l.overtime(o, token) }
}

// overtime ends a call whose handler has run too long, if it has not ended, and takes
// the lane away from it, which goes on. A goroutine cannot be ended: the handler
// stays behind until it returns, and is counted.
func (l *lane) overtime(o outsider, token uint64) {
	ended := o.c.endAs(o.generation, CauseLimitExceeded, ErrHardLimit)
	_, taken := l.takeAway(token)
	if ended || taken {
		l.dead.Add(1)
	}
	if taken {
		l.move(tokenQueued)
		l.schedule(nil)
	}
}

// limitOf is that of a lane, for one seat.
func (st *seat) limitOf(o outsider, token uint64) func() {
	if st.l.p.config.HardLimit == 0 {
		return nil
	}
	return func() { st.overtime(o, token) }
}

// overtime is that of a lane, for one seat.
func (st *seat) overtime(o outsider, token uint64) {
	ended := o.c.endAs(o.generation, CauseLimitExceeded, ErrHardLimit)
	if _, taken := st.takeAway(token); ended || taken {
		st.l.dead.Add(1)
	}
}
