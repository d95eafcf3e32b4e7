package pool

import (
	"context"
	"fmt"
	"slices"
)

// Resize changes the number of goroutine lanes, and returns when those that were taken
// out have no call and no overdue handler, or with the cause of ctx. They finish what they have in any
// case.
// Inside a handler of the pool it returns [ErrInHandler] and changes nothing. The pool's own
// scheduler keeps its number of workers: see [Config].
func (p *Pool) Resize(ctx context.Context, lanes int) error {
	needContext(ctx)
	if lanes < 1 || lanes > maxLanes {
		return fmt.Errorf("pool: Resize: %d is not in 1..%d", lanes, maxLanes)
	}
	if p.inHandler() {
		return ErrInHandler
	}
	out, err := p.resize(lanes)
	if err != nil {
		return err
	}
	busy := func(l *lane) bool { return !l.isFree() && !slices.Contains(p.roster.Load().lanes, l) }
	return p.waitFor(ctx, &stateWaiter{
		lanes:   func() []*lane { return out },
		busy:    busy,
		reached: func() bool { return !slices.ContainsFunc(out, busy) },
	})
}

// resize makes the change, and returns the lanes that were taken out. It holds no lock
// that the rest of the pool needs while it calls Config.Bootstrap.
func (p *Pool) resize(lanes int) (out []*lane, err error) {
	if !p.resizes.TryLock() {
		block(p.resizes.Lock) // a Bootstrap may wait for the handler that resizes
	}
	defer p.resizes.Unlock()
	if p.state.Load() != open {
		return nil, ErrPoolShutdown
	}
	for i := len(p.lanes) + len(p.spare); i < lanes; i++ { // p.lanes changes here only
		if err := p.bootstrap(i); err != nil {
			return nil, err
		}
		p.spare = append(p.spare, newLane(p, i))
	}
	defer p.wakeWaiters(nil) // another Resize may wait for lanes that are back
	defer p.grantLeases()    // the new lanes are free, and no lease waits for a lane that is out
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Load() != open {
		return nil, ErrPoolShutdown
	}
	before := len(p.roster.Load().lanes)
	if p.inline != nil {
		before--
	}
	n := max(lanes-len(p.lanes), 0)
	p.lanes = append(p.lanes, p.spare[:n]...)
	p.spare = p.spare[n:]
	p.setRoster(lanes)
	if lanes > before {
		return nil, nil
	}
	return p.lanes[lanes:], nil // among them those that an earlier Resize has taken out
}
