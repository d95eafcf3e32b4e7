package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lanewright/lanewright/sched"
)

// Errors of calls. Test for them with errors.Is.
var (
	// ErrClosed is what all errors of a pool that takes no calls any more wrap.
	ErrClosed = errors.New("pool: closed")
	// ErrThreadClosed ends the calls that were not finished when the pool was
	// closed. It wraps ErrClosed.
	ErrThreadClosed error = &closedError{"Thread closed"}
	// ErrPoolShutdown refuses a call to a pool that was shut down or closed. It
	// wraps ErrClosed.
	ErrPoolShutdown error = &closedError{"Pool is shut down"}
	// ErrNotStarted marks the error of a call whose handler was not entered and
	// never will be: to make the call again is safe.
	ErrNotStarted = errors.New("pool: the call had not started")
	// ErrAborted ends a call whose Abort gave no cause.
	ErrAborted = errors.New("pool: call aborted")
	// ErrAbortSlotsExhausted refuses a call of an abortable task while
	// Config.AbortCapacity of them have not returned.
	ErrAbortSlotsExhausted = errors.New("pool: no abort slot is free")
	// ErrBacklogFull refuses a call while as many calls of the pool wait as Config.Backlog allows,
	// when Config.Overflow is Fail, and for TryCall and TryGo. The call has ErrNotStarted as well.
	ErrBacklogFull = errors.New("pool: backlog full")
	// ErrDropped ends the oldest waiting call when the backlog is full and Config.Overflow
	// is DropOldest.
	ErrDropped = errors.New("pool: dropped from a full backlog")
	// ErrHardLimit ends a call whose handler ran longer than Config.HardLimit. The
	// lane continues without it.
	ErrHardLimit = errors.New("pool: hard limit exceeded")
	// ErrTooManyAbandoned refuses a call while Config.MaxAbandoned handlers that Config.HardLimit or a
	// Discard has left behind have not returned.
	ErrTooManyAbandoned = errors.New("pool: too many handlers that were left behind have not returned")
	// ErrGoexit ends a call whose handler called runtime.Goexit.
	ErrGoexit = errors.New("pool: handler called runtime.Goexit")
	// ErrUnbound reports a Func whose Handlers no pool was made of. After a New that failed in
	// Config.Bootstrap, the error of a call is its [*BootstrapError] as well.
	ErrUnbound = errors.New("pool: the function belongs to no pool yet")
	// ErrBound reports Handlers that a pool was made of already.
	ErrBound = errors.New("pool: the handlers belong to a pool already")
	// ErrReservedName reports a handler with the name "request", which every
	// worker answers by itself.
	ErrReservedName = errors.New(`pool: the name "request" is reserved`)
	// ErrDuplicateName reports two handlers with one name.
	ErrDuplicateName = errors.New("pool: two handlers have one name")
	// ErrNilHandler reports a handler that is nil.
	ErrNilHandler = errors.New("pool: nil handler")
	// ErrTooManyTasks reports more than 65,536 handlers.
	ErrTooManyTasks = errors.New("pool: too many tasks, the maximum is 65536")
	// ErrPayloadType reports an untyped call of a typed handler with a value of
	// another type.
	ErrPayloadType = errors.New("pool: wrong type of payload")
	// ErrNoHandler reports a Submit to a pool whose handlers are not exactly one,
	// and none of which is named "".
	ErrNoHandler = errors.New("pool: Submit needs a single handler, or one with an empty name")
	// ErrInHandler reports a call that would wait for its own handler to return.
	ErrInHandler = errors.New("pool: called from inside a handler of this pool")
)

// closedError is an error with an exact text that wraps ErrClosed.
type closedError struct{ text string }

func (e *closedError) Error() string { return e.text }
func (e *closedError) Unwrap() error { return ErrClosed }

// notStartedError is the error of a call that had not started. It is its cause and ErrNotStarted.
type notStartedError struct{ cause error }

// notStarted returns err as the error of a call that has not started. It may be that of another such
// call.
func notStarted(err error) error {
	if e, ok := err.(*notStartedError); ok { //nolint:errorlint // a wrapped one has another text
		return e
	}
	return &notStartedError{err}
}

// Error adds to the text of the cause that the call has not started. The protocol fixes the texts
// of some causes.
func (e *notStartedError) Error() string {
	text := e.cause.Error()
	switch e.cause.(type) { //nolint:errorlint // a wrapped one has another text
	case *closedError, *UnknownTaskError:
		return text
	}
	return text + "; the call has not started"
}

func (e *notStartedError) Unwrap() []error { return []error{e.cause, ErrNotStarted} }

// unboundError is ErrUnbound after a New that failed with cause.
type unboundError struct{ cause error }

func (e *unboundError) Error() string   { return ErrUnbound.Error() + ": " + e.cause.Error() }
func (e *unboundError) Unwrap() []error { return []error{ErrUnbound, e.cause} }

// UnknownTaskError reports a call by a name that no handler has.
type UnknownTaskError struct {
	Type string // the name
}

// Error returns the text that the protocol fixes.
func (e *UnknownTaskError) Error() string { return `Unknown task type "` + e.Type + `"` }

// BootstrapError reports that Config.Bootstrap failed for a lane.
type BootstrapError struct {
	Lane  int // its number
	cause error
}

// Error names the lane and the cause.
func (e *BootstrapError) Error() string {
	return fmt.Sprintf("pool: bootstrap of lane %d: %v", e.Lane, e.cause)
}

// Unwrap returns the error of Config.Bootstrap.
func (e *BootstrapError) Unwrap() error { return e.cause }

// contextError ends a call whose context has panicked with value. The value is nil after a Goexit,
// and if another goroutine has the panic.
type contextError struct{ value any }

func (e *contextError) Error() string {
	if e.value == nil {
		return "pool: a method of the context of the call has not returned"
	}
	return fmt.Sprintf("pool: the context of the call has panicked: %v", e.value)
}

// Unwrap returns the value if it is an error.
func (e *contextError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// schedulerError ends calls of a pool whose scheduler was ended below it. It reads
// as its cause, and is ErrClosed as well.
type schedulerError struct{ cause error }

func (e *schedulerError) Error() string   { return "pool: no scheduler: " + e.cause.Error() }
func (e *schedulerError) Unwrap() []error { return []error{e.cause, ErrClosed} }

// isQueued reports whether the scheduler has taken a task in spite of err.
func isQueued(err error) bool { return errors.Is(err, sched.ErrQueued) }

// RemoteError is the failure of a handler: the error that it returned, or its
// panic. On lanes in this process it wraps the error itself, so that errors.Is and
// errors.As see through it.
type RemoteError struct {
	Message string         // the text of the error, or the value of the panic; may be empty
	Task    string         // the name of the task that panicked or called runtime.Goexit, or empty
	Type    string         // the Go type of the error, "panic" or "goexit"
	Stack   string         // where the handler panicked, or empty
	Fields  map[string]any // further members of an error that came as an object
	cause   error
}

// Error returns the message. That of a panic names the task.
func (e *RemoteError) Error() string {
	if e.Type == typePanic && e.Task != "" {
		return fmt.Sprintf("panic in task %q: %s", e.Task, e.Message)
	}
	return e.Message
}

// The types of a RemoteError without a Go error.
const (
	typePanic  = "panic"
	typeGoexit = "goexit"
)

// Unwrap returns the error that the handler returned, or panicked with, if any. It is never
// ErrNotStarted: a call that the handler made may have had that error, and this call has
// started.
func (e *RemoteError) Unwrap() error { return withoutNotStarted(e.cause) }

// withoutNotStarted returns err as the error of a call that has started: it may be that of
// another one, which had not.
func withoutNotStarted(err error) error {
	if isNotStarted(err) {
		return &startedError{err}
	}
	return err
}

// isNotStarted reports whether err is ErrNotStarted. A panic of a method of err counts as no: the
// goroutine that reads the error meets the panic, and not the one that ends the call.
func isNotStarted(err error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return errors.Is(err, ErrNotStarted)
}

// startedError is an error without the mark ErrNotStarted. It is compared by address, as
// its cause may be of a type that cannot be compared.
type startedError struct{ cause error }

func (e *startedError) Error() string { return e.cause.Error() }
func (e *startedError) Is(target error) bool {
	return target != ErrNotStarted && errors.Is(e.cause, target)
}
func (e *startedError) As(target any) bool { return errors.As(e.cause, target) }

// handlerError returns what a handler returned as the outcome of the call.
func handlerError(err error) *RemoteError {
	if err == nil {
		return nil
	}
	return remoteError(err)
}

// remoteError returns err if it is a RemoteError itself, and otherwise one that says the same.
func remoteError(err error) *RemoteError {
	e, ok := err.(*RemoteError) //nolint:errorlint // the outcome of a nested call is passed on as it is; one that is wrapped has another text
	switch {
	case !ok:
		return &RemoteError{Message: err.Error(), Type: fmt.Sprintf("%T", err), cause: err}
	case e == nil: // which is no nil error, and cannot be read
		return &RemoteError{Message: "<nil>", Type: fmt.Sprintf("%T", err)}
	}
	return e
}

// textOf returns the text of the value of a panic, or its type if a method of the value panics.
func textOf(value any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", value)
		}
	}()
	return fmt.Sprint(value)
}

// brokenError returns the outcome of a handler of the task with that name that panicked with value,
// or called Goexit if value is nil.
func brokenError(task string, value any, stack []byte) *RemoteError {
	if value == nil {
		return &RemoteError{Message: ErrGoexit.Error(), Task: task, Type: typeGoexit, Stack: string(stack), cause: ErrGoexit}
	}
	cause, _ := value.(error)
	return &RemoteError{Message: textOf(value), Task: task, Type: typePanic, Stack: string(stack), cause: cause}
}

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
	CauseWorkerLost                  // its worker process has died, or was killed, before it answered
	causes                           // the number of causes
)

var causeNames = [causes]string{
	"none", "returned", "failed", "panicked", "exited", "aborted", "context ended", "timed out",
	"limit exceeded", "pool closed", "dropped", "lane discarded", "refused", "argument failed", "worker lost",
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
