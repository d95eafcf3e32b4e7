package pool

import (
	"context"

	"github.com/lanewright/lanewright/mpsc"
)

// Ping asks the lane with that number, as in [LaneInfo], for an answer and waits for it. The answer
// comes before the calls that wait. It takes no space of theirs and does not wait for Resume. A
// lane that runs as many handlers as it may answers when one of them returns. The error is the
// cause of ctx, or says that there is no such lane or that the pool is closed. It is
// [ErrBacklogFull] if a thousand others wait for the answer.
func (p *Pool) Ping(ctx context.Context, number int) error {
	l, err := p.numbered(number)
	if err != nil {
		return err
	}
	needContext(ctx)
	return l.ping(ctx)
}

// ping sends a call that the lane answers by itself, and waits for the answer.
func (l *lane) ping(ctx context.Context) error {
	// Its own context has no deadline, so that the holder, which answers it, runs no code of ctx.
	c := &call{body: &pong, task: l.p.pinged, lane: l, ctx: context.Background(), flags: flagWaited}
	if err := l.admit(ctx); err != nil {
		return notStarted(err)
	}
	if l.pinging.Add(1) > maxPings {
		l.pinging.Add(-1)
		l.unaccept()
		return notStarted(ErrBacklogFull)
	}
	l.pings.Push(&c.node)
	l.look(nil)
	c.awaitOrEnd(ctx)
	return c.outcomeError()
}

// maxPings is how many pings may wait in a lane, among them those whose callers have departed.
const maxPings = 1000

// endPings answers the pings, or ends them with err if that is not nil. The caller is the
// holder.
func (l *lane) endPings(err error) {
	var from mpsc.Consumer
	if l.pings.Empty() || l.pings.TryAcquire(&from, mpsc.FIFO) != mpsc.Acquired {
		return
	}
	for n := from.Pop(); n != nil; n = from.Pop() {
		l.pinging.Add(-1)
		c := callOf(n)
		if err == nil {
			c.execute(nil, nil)
		} else {
			c.end(CausePoolClosed, err)
		}
	}
	from.Release() // ready sees a ping that came since
}

// pong is the body of a ping.
var pong = body{
	exec: func(c *call) (woke bool) {
		_, woke = c.finish(CauseReturned)
		return woke
	},
	forget: func(*call) {},
}
