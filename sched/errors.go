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

	// ErrQueued reports that the task was accepted and lies in a queue, and that
	// no worker exists to run it because the Spawner failed. The next Schedule,
	// Run, or Wait of its group tries again; a Wait also runs tasks of its group
	// itself. While the Spawner fails for one caller, others that rely on the worker
	// it was to start are not told, and no more are those who have scheduled when
	// the last worker ends and the next cannot be started.
	ErrQueued = errors.New("sched: queued, but no worker could be started")

	// ErrShutdown reports a scheduler that drains or has drained. Nothing was taken.
	ErrShutdown = errors.New("sched: shut down")

	// ErrClosed reports a scheduler that was closed. A Wait returns it when Close
	// cancelled tasks of the group before they started.
	ErrClosed = errors.New("sched: closed")

	// ErrNotClosed reports a Join before Shutdown or Close.
	ErrNotClosed = errors.New("sched: neither shut down nor closed")

	// ErrInCallback reports a call that would wait for its own callback to end.
	ErrInCallback = errors.New("sched: called from inside a callback of this scheduler")

	// ErrTooManyWorkers reports a worker count that the Sync word cannot hold.
	ErrTooManyWorkers = errors.New("sched: too many workers")

	// ErrNoScheduler reports a zero Group that is used without a worker: it does
	// not know which scheduler it belongs to.
	ErrNoScheduler = errors.New("sched: group without a scheduler: use Scheduler.NewGroup")

	// ErrGoexit is what a Wait returns when a task of the group ended its
	// goroutine with runtime.Goexit. When that task ran on top of the callback, or
	// the caller of Do, that waits for it, their goroutine ends with it.
	ErrGoexit = errors.New("sched: task called runtime.Goexit")
)

// PanicError carries a panic of a task to whoever waits for its group.
type PanicError struct {
	Value any    // what the task passed to panic
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
