package schedlaw

// Kind describes schedulers to be checked, and makes them.
type Kind struct {
	// Name stands in messages.
	Name string

	// New returns a scheduler that runs up to so many tasks at once.
	New func(workers int) Scheduler

	// MaxWorkers is the most that New may be asked for. 0 means any number.
	MaxWorkers int
}

// Scheduler runs tasks. All methods are called by several goroutines at once.
//
// A Scheduler may also be a [Grouper], a [Counter] and a [Closer], and its
// workers may be [Blocker]s. A law that needs one of these and finds it missing
// says so and does nothing.
type Scheduler interface {
	// Schedule hands over a task from outside of the scheduler. It reports false
	// when the task was refused and will not run. It does not wait for the task.
	Schedule(task Task) bool

	// Shutdown refuses tasks from outside and returns when every accepted task
	// has run and the workers have ended. It is called once.
	Shutdown()
}

// Task is what a scheduler runs, once.
type Task func(w Worker)

// Worker is what a task gets to schedule others with. It is used until the task
// returns, by its goroutine only.
type Worker interface {
	// Schedule hands over a task from inside of another one, and reports false
	// when it was refused. It does not wait for the task.
	Schedule(task Task) bool
}

// Grouper is a [Scheduler] whose tasks can be waited for.
type Grouper interface {
	// NewGroup returns a group without tasks. Any goroutine may call it.
	NewGroup() Group
}

// Group is a set of tasks to wait for. Its methods are called by several
// goroutines at once, those of its tasks among them.
type Group interface {
	// Schedule hands over a task that belongs to the group, and reports false when
	// it was refused. w is the worker of the task that calls, or nil outside.
	Schedule(w Worker, task Task) bool

	// Wait returns when every accepted task of the group has run, or will not be
	// run since the scheduler was closed. w is as in Schedule.
	Wait(w Worker)
}

// Blocker is a [Worker] whose task may block without holding up others.
type Blocker interface {
	// Blocking calls fn, which waits for something. Meanwhile the scheduler runs
	// as many other tasks as if this one had ended.
	Blocking(fn func())
}

// Counter is a [Scheduler] that counts what it does.
type Counter interface {
	Counters() Counters // a snapshot, which any goroutine may ask for
}

// Counters is what a [Counter] counts.
type Counters struct {
	Executed uint64 // tasks that were run; it may lag while tasks run

	Workers int // workers that exist, or 0 if nobody counts them
	Parked  int // of those, parked
}

// Closer is a [Scheduler] that can end without running what is queued.
type Closer interface {
	// Close refuses tasks from outside and inside, lets those that run end, runs
	// no other, and returns how many accepted tasks were not run; tasks of a group
	// may be left out of that number. It is called once, in place of Shutdown.
	Close() (unrun int)
}
