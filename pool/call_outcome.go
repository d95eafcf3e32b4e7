package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Cause is why a call has ended.
type Cause uint8

// The causes. A call that ended with one of the first four after CauseNone ended with its
// handler.
const (
	CauseNone           Cause = iota // the call has not ended
	CauseReturned                    // the handler returned no error
	CauseFailed                      // the handler returned an error
	CausePanicked                    // the handler panicked
	CauseExited                      // the handler called runtime.Goexit
	CauseAborted                     // Future.Abort
	CauseContextEnded                // the context of the call ended
	CauseTimedOut                    // the call took longer than its Timeout
	CauseLimitExceeded               // the handler ran longer than Config.HardLimit
	CausePoolClosed                  // the pool was closed, or its scheduler has ended
	CauseDropped                     // a newer call took its space in the backlog
	CauseLaneDiscarded               // its lane was discarded
	CauseRefused                     // there was no space for it
	CauseArgumentFailed              // the future that was to be its argument failed: see Func.After
	causes                           // the number of causes
)

var causeNames = [causes]string{
	"none", "returned", "failed", "panicked", "exited", "aborted", "context ended", "timed out",
	"limit exceeded", "pool closed", "dropped", "lane discarded", "refused", "argument failed",
}

// String returns the name of the cause in words.
func (k Cause) String() string {
	if k >= causes {
		return fmt.Sprintf("Cause(%d)", uint8(k))
	}
	return causeNames[k]
}

// ofRunner reports whether the runner has written the outcome.
func (k Cause) ofRunner() bool { return CauseReturned <= k && k <= CauseExited }

// Ended is a call that has ended with an error, or a panic of a handler whose call has ended before.
type Ended struct {
	Task  string // the name of its handler
	Lane  int    // the number of its lane, as in LaneInfo; -2: it ended before a lane took it
	Cause Cause  // why it has ended
	Err   error  // the error that a Wait returns
	Stack string // of a panic or a runtime.Goexit
}

// errTimeout stands for context.DeadlineExceeded in the end of a call by its Timeout. It
// distinguishes that from a deadline of the caller, and is not seen outside.
var errTimeout = errors.New("pool: Timeout")

// contextEnd returns the cause and the error with which a call ends because ctx, the context of
// its caller, has ended.
func contextEnd(ctx context.Context) (Cause, error) { return CauseContextEnded, context.Cause(ctx) }

// contextEnd returns the cause and the error with which the call ends because the context of its
// handler has ended: by its Timeout, or with the context of the caller.
func (c *call) contextEnd() (Cause, error) {
	if x, ok := c.ctx.(*callContext); ok && c.task.opts.timeout(c.pool()) > 0 && x.parent.Err() == nil {
		return CauseTimedOut, errTimeout
	}
	return contextEnd(c.ctx)
}

// outcomeError returns the error of a call that is settled.
func (c *call) outcomeError() error {
	switch {
	case !c.load().cause().ofRunner():
		return c.err
	case c.failed != nil:
		return c.failed
	}
	return nil
}

// reportEnd reports a call that has ended with an error, and that no goroutine waits for. The
// memory of the call is not used again, because only a caller that waits does that.
func (p *Pool) reportEnd(c *call, l *lane, k Cause) {
	e := Ended{Task: c.task.name, Lane: noLaneIndex, Cause: k, Err: c.outcomeError()}
	if l != nil {
		e.Lane = l.index
	}
	var remote *RemoteError
	if k.ofRunner() && errors.As(e.Err, &remote) {
		e.Stack = remote.Stack
	}
	p.report(e)
}

// report gives e to Config.OnEnd. Without that a panic goes to the log. A goroutine does so,
// because the one that ends the call may hold locks of the program, and a task would be lost when
// Close ends the scheduler.
func (p *Pool) report(e Ended) {
	if p.config.OnEnd != nil || e.Cause == CausePanicked {
		spawn(func() { p.tell(e) })
	}
}

// tell calls Config.OnEnd, or writes to the log. A panic of OnEnd goes to the log as well.
func (p *Pool) tell(e Ended) {
	log := func(text string, about any) {
		slog.Error(text, "task", e.Task, "lane", e.Lane, "cause", e.Cause.String(), "error", about, "stack", e.Stack)
	}
	if p.config.OnEnd == nil {
		log("pool: a handler has panicked, and no goroutine learns of it", e.Err)
		return
	}
	returned := false
	defer func() {
		if r := recover(); !returned && r != nil {
			log("pool: Config.OnEnd has panicked", r)
		}
	}()
	p.config.OnEnd(e)
	returned = true
}
