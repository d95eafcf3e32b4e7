package sched

import (
	"context"

	lfsync "github.com/lanewright/lanewright/sync"
)

// runLimit is the limit of the worker count for callers of Run, which may come in
// addition to MaxWorkers.
const runLimit = lfsync.MaxWorkers

// Run makes the caller a worker until ctx ends or the scheduler is shut down or closed.
// At most MaxWorkers workers that are not stalled hold a place at a time, and callers of
// Run are among them. A callback that runs when ctx ends is finished first. A task that
// calls runtime.Goexit ends the goroutine of the caller.
//
// Run returns nil when the scheduler has ended, and the cause of ctx when ctx has ended.
// It returns [ErrInCallback] inside a callback, and [ErrTooManyWorkers] when 16,383
// workers exist.
func (s *Scheduler) Run(ctx context.Context) error {
	if ctx == nil {
		panic("sched: Run: nil context")
	}
	s.init()
	if s.inside() {
		return ErrInCallback
	}
	if !s.sync.Enter(runLimit) {
		if s.sync.Load().State() == lfsync.StateShutdown {
			return nil
		}
		return ErrTooManyWorkers
	}
	s.life.alive.Add(1)
	defer s.life.workerEnded()
	w := &Worker{s: s, counted: true, runWorker: true, stop: ctx.Done()}
	w.enterFrame()
	defer w.frame.Leave()
	w.runLoops()
	if s.life.phase.Load() == closed {
		return nil
	}
	return context.Cause(ctx)
}
