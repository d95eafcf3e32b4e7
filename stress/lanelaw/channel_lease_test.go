package lanelaw_test

import (
	"context"
	"slices"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/lanelaw"
)

// chanLease is a lease of a chanLane.
type chanLease struct {
	l  *chanLane
	id pool.LaneID
}

// chanWait is a goroutine that waits for a lease.
type chanWait struct {
	l   *chanLane // nil: any
	got chan chanGot
}

// chanGot ends a wait for a lease.
type chanGot struct {
	lease *chanLease
	err   error
}

// begin lets a worker of the lane wait for a call. The channel of other calls is nil while the lane is
// leased, or a goroutine waits for a lease of it. The worker keeps the lane occupied if took is true.
func (l *chanLane) begin() (in chan *chanLaneCall, changed chan struct{}, took bool) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	switch {
	case l.lease != nil && l.p.fault == leasedTakesCalls:
		return l.in, l.changed, false
	case l.lease != nil || l.reserved:
		return nil, l.changed, false
	}
	l.busy++
	return l.in, l.changed, true
}

// end ends what begin has begun. The lane may be free now.
func (l *chanLane) end(took bool) {
	if took {
		l.p.mu.Lock()
		defer l.p.mu.Unlock()
		l.busy--
		l.p.grant()
	}
}

// runOwn runs a call through a lease. It reports whether Discard has left its handler behind, and has
// replaced the worker.
func (l *chanLane) runOwn(c *chanLaneCall) (left bool) {
	c.runUnpaused()
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if !c.left {
		l.pending--
		l.p.grant()
	}
	return c.left
}

// change lets the workers of the lane look at its lease again.
func (l *chanLane) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// isFree reports whether the lane may be leased.
func (l *chanLane) isFree() bool { return l.lease == nil && l.busy == 0 && l.pending == 0 }

// grant leases free lanes to the goroutines that wait, in their order, and reserves lanes for the others.
// The caller has p.mu.
func (p *chanLanes) grant() {
	reserved := map[*chanLane]bool{}
	p.waits = slices.DeleteFunc(p.waits, func(w *chanWait) bool {
		l := w.l
		for _, o := range p.lanes {
			if w.l == nil && o.lease == nil && !reserved[o] && (l == nil || o.isFree()) {
				l = o
			}
		}
		switch {
		case l == nil || l.lease != nil || p.fault == reservesNothing && len(l.in) > 0:
			return false
		case !l.isFree():
			reserved[l] = true
			return false
		}
		l.lease = &chanLease{l, l.id}
		w.got <- chanGot{l.lease, nil}
		return true
	})
	for _, l := range p.lanes {
		if l.reserved != reserved[l] {
			l.reserved = reserved[l]
			l.change()
		}
	}
}

// endWaits ends such waits with err. The caller has p.mu.
func (p *chanLanes) endWaits(err error, such func(w *chanWait) bool) {
	p.waits = slices.DeleteFunc(p.waits, func(w *chanWait) bool {
		if such(w) {
			w.got <- chanGot{nil, err}
			return true
		}
		return false
	})
}

func (p *chanLanes) Acquire(ctx context.Context, lane int) (lanelaw.Lease, error) {
	if lane < 0 {
		return p.acquire(ctx, nil, pool.LaneID{})
	}
	return p.acquire(ctx, p.lanes[lane], pool.LaneID{})
}

func (p *chanLanes) AcquireID(ctx context.Context, id pool.LaneID) (lanelaw.Lease, error) {
	return p.acquire(ctx, p.lanes[id.Lane], id)
}

// acquire waits for a lease of l, or of any lane if l is nil. id is that of l, or zero for any.
func (p *chanLanes) acquire(ctx context.Context, l *chanLane, id pool.LaneID) (lanelaw.Lease, error) {
	w := &chanWait{l, make(chan chanGot, 1)}
	p.mu.Lock()
	switch {
	case p.refuses:
		w.got <- chanGot{nil, pool.ErrPoolShutdown}
	case id != pool.LaneID{} && id != l.id:
		w.got <- chanGot{nil, pool.ErrLaneDiscarded}
	default:
		p.waits = append(p.waits, w)
		p.grant()
	}
	p.mu.Unlock()
	select {
	case got := <-w.got:
		return p.leaseOf(got)
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waits, w)
	if i >= 0 {
		p.waits = slices.Delete(p.waits, i, i+1)
		p.grant()
	}
	p.mu.Unlock()
	switch {
	case i < 0:
		return p.leaseOf(<-w.got)
	case p.fault == losesCause:
		return nil, ctx.Err()
	}
	return nil, context.Cause(ctx)
}

func (p *chanLanes) leaseOf(got chanGot) (lanelaw.Lease, error) {
	if got.err != nil {
		return nil, got.err
	}
	return got.lease, nil
}

func (l *chanLease) ID() pool.LaneID { return l.id }

func (l *chanLease) Go(ctx context.Context, task string, payload any) lanelaw.Future {
	p := l.l.p
	c := &chanLaneCall{p: p, task: p.tasks[task], payload: payload, lease: l, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if err := c.accept(); err != nil {
		c.err = notStartedError{err}
		c.cancel()
		close(c.done)
		return c
	}
	c.endWithContext()
	p.mu.Lock()
	over := l.l.lease != l && p.fault != takesLateCalls
	if !over {
		l.l.pending++
	}
	p.mu.Unlock()
	if over {
		c.end(nil, pool.ErrLeaseOver)
		c.release()
		return c
	}
	l.l.own <- c
	return c
}

func (l *chanLease) Release() {
	p := l.l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.l.lease == l {
		l.l.lease = nil
		if p.fault == losesWaits && len(p.waits) > 1 {
			p.waits = p.waits[1:]
		}
		l.l.change()
		p.grant()
	}
}

func (l *chanLease) Discard(reason error) {
	p := l.l.p
	p.mu.Lock()
	if l.l.lease != l {
		p.mu.Unlock()
		return
	}
	l.l.lease = nil
	if p.fault != keepsID {
		l.l.id.Generation++
	}
	var calls []*chanLaneCall
	workers := 0 // in place of those that are left behind
	for c := range p.live {
		if c.lease != l || c.started && p.fault == discardsOnlyWaiting {
			continue
		}
		if calls = append(calls, c); c.started {
			c.left = true
			l.l.pending--
			workers++
		}
	}
	if p.fault != keepsWaits {
		p.endWaits(pool.ErrLaneDiscarded, func(w *chanWait) bool { return w.l == l.l })
	}
	l.l.change()
	p.grant()
	p.mu.Unlock()
	for _, c := range calls {
		c.end(nil, reason)
	}
	for range workers { // after the ends: they find no call of the lease
		p.workers.Go(l.l.work)
	}
}
