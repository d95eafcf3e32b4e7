package pool

import (
	"context"
	"fmt"
)

// Resize changes the number of goroutine lanes, and returns when those that were taken
// out have no call, or with the cause of ctx. They finish what they have in any case.
// Inside a handler of the pool it returns [ErrInHandler] and changes nothing.
func (p *Pool) Resize(ctx context.Context, lanes int) error {
	if lanes < 1 || lanes > maxLanes {
		return fmt.Errorf("pool: Resize: %d is not in 1..%d", lanes, maxLanes)
	}
	if p.inHandler() {
		return ErrInHandler
	}
	p.lock()
	if p.state.Load() != open {
		p.mu.Unlock()
		return ErrPoolShutdown
	}
	for i := len(p.lanes); i < lanes; i++ {
		if err := p.bootstrap(i); err != nil {
			p.mu.Unlock()
			return err
		}
		p.lanes = append(p.lanes, newLane(p, i))
	}
	out := p.lanes[lanes:]
	p.setRoster(lanes)
	p.mu.Unlock()
	return p.waitFor(ctx, func() bool {
		for _, l := range out {
			if !l.isFree() {
				return false
			}
		}
		return true
	})
}
