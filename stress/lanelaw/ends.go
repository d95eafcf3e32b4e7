package lanelaw

import (
	"context"
	"errors"
	"runtime"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
)

// endDuringCalls has several callers of lanes, ends the lanes while they call, and
// returns the trial. If held is not nil, three calls stay in their handlers until it is
// closed.
func endDuringCalls(r *harness.Run, k Kind, operations int, held chan struct{}, end func(*trial)) *trial {
	r.T.Helper()
	run := newTrial(r, k, operations+4, generateConfig(r))
	after, pauses := int64(r.Between(0, operations/2)), r.Between(0, 100)
	if held != nil {
		after = min(after, 1) // other calls may wait behind the held ones
	}
	fns := append(run.mixed(operations), func() {
		for run.next.Load() < after && !r.IsExpired() {
			runtime.Gosched()
		}
		for range pauses {
			runtime.Gosched()
		}
		end(run)
	})
	if held != nil {
		fns = append(fns, func() {
			var calls []*callRecord
			for range 3 {
				calls = append(calls, run.start(context.Background(), "call", held))
			}
			for _, c := range calls {
				run.record(c)
			}
		})
	}
	if !run.await("calls have not ended with their lanes", fns...) {
		return nil
	}
	return run
}

// lawShutdown shuts lanes down while calls are made.
func lawShutdown(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := endDuringCalls(r, k, operations, nil, func(run *trial) {
			run.noError("Shutdown", run.l.Shutdown(context.Background()))
		})
		if run == nil {
			return
		}
		run.refuses()
		finished := 0
		for i := range run.made() {
			if run.calls[i].err == nil {
				finished++
			}
		}
		run.checkOwn(pool.ErrPoolShutdown)
		run.checkOnce()
		run.checkCounts(finished)
	})
}

// lawClose closes lanes while calls are made and, in most rounds, handlers do not
// return.
func lawClose(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		for range 8 {
			var gate chan struct{}
			if k.Concurrency > 0 && r.Rand.IntN(4) > 0 {
				gate = make(chan struct{})
			}
			run := endDuringCalls(r, k, operations/8, gate, func(run *trial) { run.l.Close() })
			if run == nil {
				return
			}
			if gate != nil {
				close(gate)
			}
			run.refuses()
			for i := range run.made() {
				if c := &run.calls[i]; errors.Is(c.err, pool.ErrThreadClosed) && c.err.Error() != "Thread closed" {
					r.Failf("a call that Close ended has the error %q", c.err)
				}
			}
			run.checkOwn(pool.ErrThreadClosed, pool.ErrPoolShutdown)
			run.checkOnce()
			if c := run.l.Counts(); c.Accepted != c.Ended {
				r.Failf("after Close the lanes count %+v", c)
			}
		}
	})
}

// refuses checks that ended lanes refuse a call, and waits for their handlers.
func (run *trial) refuses() {
	run.r.T.Helper()
	run.await("ended lanes do not refuse a call", func() {
		c := run.call(context.Background(), "call")
		if !errors.Is(c.err, pool.ErrPoolShutdown) || !errors.Is(c.err, pool.ErrClosed) || !errors.Is(c.err, pool.ErrNotStarted) || c.err.Error() != "Pool is shut down" {
			run.r.Record("a call of ended lanes: %v", c.err)
		}
		run.noError("Join", run.l.Join(context.Background()))
	})
}
