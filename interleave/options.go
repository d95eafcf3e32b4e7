package interleave

import (
	"errors"
	"fmt"
	"time"
)

// Strategy says how an exploration picks the next execution.
type Strategy uint8

const (
	// DFS goes through the executions depth first and leaves none out, within
	// [Options.Preemptions]. It is the only strategy that can be complete.
	DFS Strategy = iota
	// PCT draws priorities for the threads and [Options.Depth]-1 points at
	// which the running thread loses its own. It finds a bug that needs d such
	// points with a probability of at least 1/(n*k^(d-1)) in each execution of
	// n threads and k steps (Burckhardt and others, ASPLOS 2010).
	PCT
	// Random draws the thread for each step, all with the same probability.
	Random
)

// String returns the name of the strategy.
func (s Strategy) String() string {
	switch s {
	case DFS:
		return "dfs"
	case PCT:
		return "pct"
	case Random:
		return "random"
	}
	return fmt.Sprintf("Strategy(%d)", uint8(s))
}

// Backend says what the threads of the program run on.
type Backend uint8

const (
	// Coroutines is the fast one. Each switch orders the threads in memory, so
	// the race detector of Go sees no races between them; [Cell] does.
	Coroutines Backend = iota
	// Baton runs each thread on a goroutine of its own and hands control over
	// unseen by the race detector. Under -race it then finds the races on
	// plain memory in the code under test, and [Explore] says which execution
	// has one. It takes several times as long.
	Baton
)

// String returns the name of the backend.
func (b Backend) String() string {
	switch b {
	case Coroutines:
		return "coroutines"
	case Baton:
		return "baton"
	}
	return fmt.Sprintf("Backend(%d)", uint8(b))
}

// All as [Options.Preemptions] explores every interleaving.
const All = -1

const (
	defaultExecutions = 10_000
	defaultDepth      = 3
	defaultMaxSteps   = 10_000

	maxThreads = 64 // in one execution: they are bits of a word
)

// Options say what to explore and when to stop. The zero value is a
// depth-first search without preemptions: threads change only where one ends,
// waits or yields.
type Options struct {
	// Strategy picks the executions.
	Strategy Strategy
	// Preemptions bounds how many times in one execution [DFS] takes the turn
	// from a thread that could go on. All (-1) is no bound.
	Preemptions int
	// SleepSets leaves out executions that only swap neighbouring steps which
	// do not touch each other: the outcomes stay the same, and there are often
	// a hundred times fewer of them. Needs DFS, Preemptions == All, no
	// Timeouts, and a program that does not call [Yield]: with any of these it
	// would leave out too much.
	SleepSets bool
	// Seed is where PCT and Random start. The same seed gives the same
	// executions.
	Seed uint64
	// Executions is how many PCT and Random try, 10,000 if it is 0. For DFS it
	// is a limit, and 0 means none.
	Executions int
	// Depth is the number of ordering constraints of the bugs that PCT looks
	// for, 3 if it is 0.
	Depth int
	// MaxSteps is the longest execution, 10,000 steps if it is 0. A longer one
	// fails as a livelock.
	MaxSteps int
	// Budget stops the exploration after this time, complete or not. 0 is no
	// limit.
	Budget time.Duration
	// Crash names a thread that may stop for ever before any of its steps, at
	// most once in an execution. The others must get on without it.
	Crash string
	// Timeouts lets timed waits time out at any step. Without it they never do.
	Timeouts bool
	// Replay is the schedule of a [Failure]. Exactly this execution is run.
	Replay string
	// Backend is what the threads run on.
	Backend Backend
}

// check fills in the defaults and refuses what cannot be meant.
func (o *Options) check() error {
	switch {
	case o.Strategy > Random:
		return fmt.Errorf("Options.Strategy: %v is not known", o.Strategy)
	case o.Backend > Baton:
		return fmt.Errorf("Options.Backend: %v is not known", o.Backend)
	case o.Preemptions < All:
		return fmt.Errorf("Options.Preemptions: %d is less than All", o.Preemptions)
	case o.Executions < 0:
		return fmt.Errorf("Options.Executions: %d is negative", o.Executions)
	case o.Depth < 0:
		return fmt.Errorf("Options.Depth: %d is negative", o.Depth)
	case o.MaxSteps < 0:
		return fmt.Errorf("Options.MaxSteps: %d is negative", o.MaxSteps)
	case o.Budget < 0:
		return fmt.Errorf("Options.Budget: %v is negative", o.Budget)
	}
	if o.SleepSets {
		switch {
		case o.Strategy != DFS:
			return fmt.Errorf("Options.SleepSets: needs DFS, not %v", o.Strategy)
		case o.Preemptions != All:
			return errors.New("Options.SleepSets: needs Preemptions == All, since together with a bound they leave out executions")
		case o.Timeouts:
			return errors.New("Options.SleepSets: cannot be used with Timeouts")
		}
	}
	if o.Executions == 0 && o.Strategy != DFS {
		o.Executions = defaultExecutions
	}
	if o.Depth == 0 {
		o.Depth = defaultDepth
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = defaultMaxSteps
	}
	return nil
}
