package pool

import "context"

// Ping returns when the lane with that number has answered: its loop turns, and the
// answer comes before the calls that wait. A lane whose handler does not return
// answers when it does. The error is the cause of ctx, or says that there is no such lane.
func (p *Pool) Ping(ctx context.Context, number int) error {
	l, err := p.numbered(number)
	if err != nil {
		return err
	}
	return l.ping(ctx)
}

// ping sends a call that the lane answers by itself, and waits for the answer.
func (l *lane) ping(ctx context.Context) error {
	c := &call{body: pong{}, lane: l, ctx: ctx, flags: flagPing}
	if err := l.accept(true); err != nil {
		return &notStartedError{err}
	}
	if err := l.send(c); err != nil {
		c.fail(err)
	}
	settled := false
	l.p.block(func() { settled = c.await(ctx.Done()) })
	if !settled {
		c.abandon(context.Cause(ctx))
	}
	return c.err
}

// pong is the body of a ping.
type pong struct{}

// exec implements body.
func (pong) exec(c *call) (woke bool) { return c.finish() && c.settle() }

// forget implements body.
func (pong) forget(*call) {}
