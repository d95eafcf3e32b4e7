package interleave

import (
	"errors"
	"flag"
	"fmt"
	"time"
)

// Strategy selects how an exploration picks the next execution.
type Strategy uint8

const (
	// DFS searches depth first. It runs each execution within
	// [Options.Preemptions] and [Options.Rounds] once, except those that
	// [Options.Reduce] leaves out. It is the only strategy that can be complete.
	DFS Strategy = iota
	// PCT gives the threads random priorities and runs the thread with the
	// highest one. At [Options.Depth]-1 random steps the running thread loses
	// its priority. A bug that needs d ordering constraints, with d = Depth, is
	// found with a probability of at least 1/(n*k^(d-1)) in each execution of n
	// threads and k steps (Burckhardt and others, ASPLOS 2010). k is the length of
	// the longest execution so far, and at least 16. The probability holds for programs without
	// [Yield], [Choose], [Options.Crash] and [Options.Timeouts].
	PCT
	// Random picks the thread for each step, all with the same probability.
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

// Backend selects what the threads of the program run on.
type Backend uint8

const (
	// Coroutines runs the threads on coroutines. It is the faster backend. The
	// race detector takes each switch for synchronization and reports no race
	// between the threads. The checks of [Cell] are not affected.
	Coroutines Backend = iota
	// Baton runs each thread on a goroutine of its own and hides the switches
	// from the race detector. Under -race the detector then reports races on
	// plain memory in the code under test, and [Explore] returns the execution
	// that has one. Without -race Baton takes 1.5 to 1.9 times as long.
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

const (
	// All as [Options.Preemptions] is no bound on preemptions.
	All = -1
	// None as [Options.Preemptions] or [Options.Rounds] is the number 0.
	None = -2
)

const (
	defaultExecutions = 10_000
	defaultDepth      = 3
	defaultMaxSteps   = 10_000
	mostSteps         = maxSchedule / 4 // a step may have more than one entry in the schedule
	defaultBudget     = 10 * time.Second
	shortBudget       = time.Second

	maxThreads = 64 // in one execution: a set of threads is one word
)

// Options configure an exploration. The zero value deepens: it searches with 0
// preemptions, with 1, with 2 and so on, and runs executions of PCT at the end, for ten
// seconds in all. A failure that the search finds has the fewest preemptions.
type Options struct {
	// Strategy picks the executions.
	Strategy Strategy
	// Preemptions is how many times in one execution [DFS] may switch away from
	// a thread that could continue. All is no bound, and None is a bound of 0.
	// With 0, DFS deepens: it searches with the bounds 0, 1, 2 and so on until
	// no execution is left out or four fifths of the Budget are used. The
	// remaining time is for executions of PCT. PCT and Random have no bound.
	Preemptions int
	// Rounds bounds how often a thread continues in a row although nothing has
	// changed for it: at a [Yield], while no other thread has changed an object
	// that the thread has read since its last Yield, and with Timeouts at a
	// timed wait, after a first timeout, while no other thread has changed any
	// object. 0 is 1, and None is 0.
	Rounds int
	// Reduce leaves out executions that differ from another one only in the
	// order of neighbouring steps on different objects, or of two reads. There
	// are often a hundred times fewer executions, with the same outcomes. They are
	// the same only if all plain memory that the threads share is in a [Cell]
	// or is ordered by their steps, and if they share no channel or context
	// other than by [Sema.WaitDone]. Reduce needs DFS without a bound, so
	// Preemptions is All or 0, and no Timeouts. A thread that calls Yield must
	// have read an object since its last Yield. [Result.Assumes] contains
	// "reduce=on", because the explorer cannot check the rule on plain memory.
	Reduce bool
	// Seed is the seed of PCT and Random. The same seed gives the same
	// executions.
	Seed uint64
	// Executions is the number of executions of PCT and Random, 10,000 if it is
	// 0. For DFS it is a limit on the sum over all bounds, and 0 is no limit. The
	// executions of PCT after a search that deepens have the same limit of their own.
	Executions int
	// Depth is the number of ordering constraints of the bugs that PCT looks
	// for, 3 if it is 0.
	Depth int
	// MaxSteps is the number of steps after which an execution fails as a
	// [Livelock]. It fails as a [Deadlock] if some thread that is no daemon waits, and
	// only daemons have taken steps since half of MaxSteps. It is 10,000 if it is 0, and
	// 4,194,304 at most.
	MaxSteps int
	// Budget ends the exploration after this time, complete or not. 0 is no
	// limit, except for a search that deepens: there 0 is 10 s, or 1 s under go
	// test -short.
	Budget time.Duration
	// Crash is the name of a thread that may stop for ever before any of its
	// steps, at most once in an execution. The execution fails if the other
	// threads do not end without it. If no thread of a search has this name,
	// [Result.Assumes] contains "crash=absent", because nothing was tried. If that
	// search is complete and Preemptions, Rounds and Timeouts have left out no execution,
	// no thread can have the name, and the exploration fails as a [Misuse].
	Crash string
	// Timeouts allows a timed wait to time out at any step, within Rounds.
	// Without Timeouts a timed wait never times out. If a thread then comes to one,
	// [Result.Assumes] contains "timeouts=off".
	Timeouts bool
	// Replay is the schedule of a [Failure]. Explore runs this execution and no
	// other. Rounds, MaxSteps, Crash and Timeouts must be those with which the
	// schedule was found.
	Replay string
	// Backend selects what the threads run on.
	Backend Backend
}

// bound returns the bound on preemptions of a search that does not deepen.
func (o *Options) bound() int {
	switch {
	case o.Strategy != DFS || o.Preemptions == 0:
		return All
	case o.Preemptions == None:
		return 0
	}
	return o.Preemptions
}

// deepens reports whether the search raises its bound by itself.
func (o *Options) deepens() bool {
	return o.Strategy == DFS && o.Preemptions == 0 && o.Replay == ""
}

// searchTime returns the part of the Budget after which a search that deepens ends, and
// executions of PCT follow.
func (o *Options) searchTime() time.Duration { return o.Budget / 5 * 4 }

// check fills in the defaults. It returns an error for options that are invalid.
func (o *Options) check() error {
	switch {
	case o.Strategy > Random:
		return fmt.Errorf("Options.Strategy: %v is not known", o.Strategy)
	case o.Backend > Baton:
		return fmt.Errorf("Options.Backend: %v is not known", o.Backend)
	case o.Preemptions < None:
		return fmt.Errorf("Options.Preemptions: %d is less than None", o.Preemptions)
	case o.Rounds < None || o.Rounds == -1:
		return fmt.Errorf("Options.Rounds: %d is negative and not None", o.Rounds)
	case o.Executions < 0:
		return fmt.Errorf("Options.Executions: %d is negative", o.Executions)
	case o.Depth < 0:
		return fmt.Errorf("Options.Depth: %d is negative", o.Depth)
	case o.MaxSteps < 0:
		return fmt.Errorf("Options.MaxSteps: %d is negative", o.MaxSteps)
	case o.MaxSteps > mostSteps:
		return fmt.Errorf("Options.MaxSteps: %d is more than %d", o.MaxSteps, mostSteps)
	case o.Budget < 0:
		return fmt.Errorf("Options.Budget: %v is negative", o.Budget)
	}
	if o.Reduce {
		if o.Preemptions == 0 {
			o.Preemptions = All
		}
		switch {
		case o.Strategy != DFS:
			return fmt.Errorf("Options.Reduce: needs DFS, not %v", o.Strategy)
		case o.Preemptions != All:
			return errors.New("Options.Reduce: cannot be used with a bound on preemptions, since together they leave out executions")
		case o.Timeouts:
			return errors.New("Options.Reduce: cannot be used with Timeouts")
		}
	}
	if o.Depth == 0 {
		o.Depth = defaultDepth
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = defaultMaxSteps
	}
	switch o.Rounds {
	case 0:
		o.Rounds = 1
	case None:
		o.Rounds = 0
	}
	if o.deepens() && o.Budget == 0 {
		o.Budget = defaultBudget
		if f := flag.Lookup("test.short"); f != nil && f.Value.String() == "true" {
			o.Budget = shortBudget
		}
	}
	return nil
}
