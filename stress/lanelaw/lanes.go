package lanelaw

import (
	"context"

	"github.com/lanewright/lanewright/pool"
)

// Kind describes lanes to be checked, whatever runs their calls, and makes them.
// Their errors are those of package pool.
type Kind struct {
	// Name stands in messages.
	Name string

	// New returns lanes that have [Tasks] of the gate. Of c they heed Lanes,
	// Backlog, Overflow, AbortCapacity and Timeout; what else there is to choose is
	// the kind's.
	New func(c pool.Config, gate Gate) Lanes

	// Concurrency is how many handlers a lane runs at once. 0 means that those who wait
	// for calls run them: at least one at once, and Close leaves those that run alone.
	Concurrency int

	// Ordered says that calls which one caller makes of a lane start in the order in
	// which it made them.
	Ordered bool

	// Slots is how many calls of a lane wait without counting for its backlog. 0 means
	// that there is no bound.
	Slots int

	// AbortSlots says that AbortCapacity bounds the calls of abortable tasks, and
	// that their handlers learn of an abort by [Call] Aborted.
	AbortSlots bool

	// Nested is what a call inside of a handler fails with. nil means that it is a
	// call like any other.
	Nested error

	// Exits says that a handler may call runtime.Goexit: only its call ends.
	Exits bool

	// MaxPayload is how many bytes an argument may have, in bytes. 0 means any number.
	MaxPayload int
}

// Lanes take calls. All methods are called by several goroutines at once.
type Lanes interface {
	// Call makes a call of the task with that name and returns its outcome.
	Call(ctx context.Context, task string, payload any) (any, error)

	// Go makes a call of one of [Tasks], and does not wait for it.
	Go(ctx context.Context, task string, payload any) Future

	// Ping returns nil when the lane that has the number 0 has answered.
	Ping(ctx context.Context) error

	Pause()  // what is accepted from now on does not start
	Resume() // until Resume

	// Counts returns a snapshot of all lanes together.
	Counts() Counts

	// Shutdown refuses calls and returns when those that were accepted have ended.
	Shutdown(ctx context.Context) error

	// Close refuses calls and ends all others, and does not wait for handlers.
	Close()

	// Join returns, after Shutdown or Close, when all handlers have returned.
	Join(ctx context.Context) error
}

// Future is the outcome of a call. All methods are called by several goroutines
// at once.
type Future interface {
	Done() <-chan struct{}                 // closed when the outcome is there
	Wait(ctx context.Context) (any, error) // the outcome
	Abort(cause error)                     // ends the call with cause, unless it has ended
}

// Counts says how many calls there were, and where those are that have not ended.
type Counts struct {
	Accepted, Ended   uint64 // calls taken, and of those the ones that have their outcome
	Backlog, InFlight int    // calls that wait for a slot, and others that have not ended
}
