package lanelaw

import (
	"context"

	"github.com/lanewright/lanewright/pool"
)

// Kind describes lanes: it makes lanes and states what they promise. The errors of the
// lanes are those of package pool.
type Kind struct {
	// Name appears in messages.
	Name string

	// New returns lanes with the handlers that [Tasks] returns for the gate. The lanes
	// apply the fields Lanes, Backlog, Overflow, AbortCapacity and Timeout of c. The
	// kind chooses the rest.
	New func(c pool.Config, gate Gate) Lanes

	// Concurrency is the number of handlers that a lane runs at once. 0 means that the
	// callers which wait for calls run the handlers: at least one at once, and Close
	// leaves running calls alone.
	Concurrency int

	// Ordered states that the calls of one caller to one lane start in the order in
	// which the caller made them.
	Ordered bool

	// Shared states that a call waits only while every lane runs Concurrency handlers.
	Shared bool

	// Bounded states that Backlog and Overflow of c bound the number of calls that wait.
	Bounded bool

	// NoCallerRuns states that no caller runs a call, so that the policy pool.CallerRuns
	// does not exist.
	NoCallerRuns bool

	// AbortSlots states that AbortCapacity bounds the number of calls of abortable
	// tasks, and that [Call].Aborted reports an abort to their handlers.
	AbortSlots bool

	// Leases states that the lanes are [LeasedLanes].
	Leases bool

	// Nested is the error of a call that a handler makes. nil means that a handler may
	// make calls.
	Nested error

	// Exits states that a handler may call runtime.Goexit, which ends its call only.
	Exits bool

	// MaxPayload is the largest size of an argument, in bytes. 0 means that the size is
	// not bounded.
	MaxPayload int
}

// Lanes take calls. Their methods are called concurrently.
type Lanes interface {
	// Call makes a call of the named task, waits for it, and returns its outcome.
	Call(ctx context.Context, task string, payload any) (any, error)

	// Go makes a call of one of [Tasks] and does not wait for it.
	Go(ctx context.Context, task string, payload any) Future

	// Ping returns nil when lane 0 has answered.
	Ping(ctx context.Context) error

	// Pause delays the calls that are accepted from now on: they start after Resume.
	Pause()

	// Resume ends the pause.
	Resume()

	// Counts returns a snapshot of the sums over all lanes.
	Counts() Counts

	// Shutdown refuses later calls. It returns when all accepted calls have ended.
	Shutdown(ctx context.Context) error

	// Close refuses later calls and ends all accepted calls. It does not wait for
	// handlers.
	Close()

	// Join returns when all handlers have returned. A law calls it after Shutdown or
	// Close.
	Join(ctx context.Context) error
}

// Future is the outcome of a call. Its methods are called concurrently.
type Future interface {
	// Done returns a channel that is closed when the call has ended.
	Done() <-chan struct{}

	// Wait waits until the call has ended, and returns its outcome.
	Wait(ctx context.Context) (any, error)

	// Abort ends the call with cause, unless the call has ended. The cause nil stands
	// for pool.ErrAborted.
	Abort(cause error)
}

// Counts is a snapshot of the numbers of calls.
type Counts struct {
	Accepted, Ended   uint64 // accepted calls; those of them that have an outcome
	Backlog, InFlight int    // calls that wait; all others that have not ended
}
