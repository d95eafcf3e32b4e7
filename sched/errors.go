package sched

import (
	"errors"
	"fmt"
)

// Errors of scheduling, waiting and shutting down. Test for them with errors.Is.
var (
	// ErrNilTask reports a nil task, a task without Fn, or a nil function.
	ErrNilTask = errors.New("sched: nil task or task without Fn")

	// ErrAlreadyScheduled reports a task that is queued, or in a batch, already.
	ErrAlreadyScheduled = errors.New("sched: task is scheduled already")

	// ErrQueued reports that the task was accepted and is queued, and that no worker
	// is counted to run it because the Spawner failed. The next Schedule, and a Wait
	// of its group, try to start a worker again. Run, Do, Shutdown, Join and such a
	// Wait run tasks themselves. Only the caller whose spawn failed gets this error.
	// Other callers whose tasks rely on the same worker do not, nor do earlier callers
	// when the last worker ends and the next one cannot be started.
	ErrQueued = errors.New("sched: queued, but no worker could be started")

	// ErrShutdown reports a scheduler that drains or has drained. It has taken none
	// of the tasks.
	ErrShutdown = errors.New("sched: shut down")

	// ErrClosed reports a scheduler that was closed. A Wait returns it when Close
	// cancelled tasks of the group before they started.
	ErrClosed = errors.New("sched: closed")

	// ErrNotClosed reports a Join before Shutdown or Close.
	ErrNotClosed = errors.New("sched: neither shut down nor closed")

	// ErrDefault reports a Shutdown or Close of the scheduler that [Default] returns. It is
	// an error and no panic, because a function that ends the scheduler of its caller
	// does not know which one it has got.
	ErrDefault = errors.New("sched: the default scheduler cannot be shut down or closed: the whole program shares it")

	// ErrInCallback reports a call that is not allowed inside a callback of the same
	// scheduler: Shutdown, Join, Close, or Run.
	ErrInCallback = errors.New("sched: called from inside a callback of this scheduler")

	// ErrTooManyWorkers reports more than 16,383 workers, or with Config.LockOSThread more
	// than the runtime allows threads.
	ErrTooManyWorkers = errors.New("sched: too many workers")

	// ErrNoScheduler reports a zero Group that is used without a worker: it does
	// not know which scheduler it belongs to.
	ErrNoScheduler = errors.New("sched: group without a scheduler: use Scheduler.NewGroup")

	// ErrGoexit is the error of a Wait when a task of the group called
	// runtime.Goexit. A task may run on top of the callback that waits for it, or on
	// the goroutine of a caller of Do, Wait, Shutdown or Join. That goroutine then
	// ends with the task.
	ErrGoexit = errors.New("sched: task called runtime.Goexit")
)

// PanicError carries a panic of a task to the waiters of its group or of its Do, and a panic
// of a fork to the goroutine that joins the fork.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // the stack of the worker at the panic, as debug.Stack prints it
}

// Error prints the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("sched: task panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
