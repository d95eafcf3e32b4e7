package schedlaw

// Kind describes a scheduler: it makes schedulers and states their limit.
type Kind struct {
	// Name appears in messages.
	Name string

	// New returns a scheduler that runs at most the given number of tasks at once.
	New func(workers int) Scheduler

	// MaxWorkers is the highest number that a law passes to New. 0 means any number.
	MaxWorkers int

	// DrainAccepts states that the scheduler accepts every task of a running task until
	// Shutdown returns.
	DrainAccepts bool

	// ReplacesStalled states that a task may wait for queued tasks outside Blocking: after
	// some time another worker runs in its stead. More tasks than the number given to New may
	// then run at once.
	ReplacesStalled bool

	// ReplacesIfIdle states the same of a scheduler that replaces a stalled worker while the
	// process leaves a processor idle, or when none of its tasks has begun or ended for a second.
	// Tasks that compute for less than that then exceed the number given to New by at most one.
	// That number is GOMAXPROCS.
	ReplacesIfIdle bool
}

// replaces reports whether tasks may wait for queued tasks outside Blocking.
func (k Kind) replaces() bool { return k.ReplacesStalled || k.ReplacesIfIdle }

// Scheduler runs tasks. Its methods are called concurrently.
//
// A Scheduler may also be a [Grouper], a [Counter] and a [Closer], and its workers may
// be [Blocker]s. A law that needs a missing one logs that it was skipped.
type Scheduler interface {
	// Schedule schedules a task for an external caller: a goroutine that is no worker
	// of the scheduler. It returns false when the scheduler refuses the task, which
	// then never runs. It does not wait for the task.
	Schedule(task Task) bool

	// Shutdown makes every later Schedule return false; the workers may still accept
	// tasks. It returns when every accepted task has run and all workers have ended. A
	// law calls it once.
	Shutdown()
}

// Task is a unit of work. A scheduler runs it once.
type Task func(w Worker)

// Worker schedules tasks for a running task. Only the goroutine of the task uses it,
// until the task returns.
type Worker interface {
	// Schedule schedules a task from a running task. It returns false when the
	// scheduler refuses the task. It does not wait for the task.
	Schedule(task Task) bool
}

// Grouper is a [Scheduler] with groups of tasks.
type Grouper interface {
	// NewGroup returns a group without tasks. A law calls it on any goroutine.
	NewGroup() Group
}

// Group is a set of tasks that can be waited for. External callers and tasks of the
// group call its methods concurrently.
type Group interface {
	// Schedule schedules a task that belongs to the group. It returns false when the
	// scheduler refuses the task. w is the worker of the calling task, and nil for an
	// external caller.
	Schedule(w Worker, task Task) bool

	// Wait returns when every accepted task of the group has run, or when the scheduler
	// was closed and will not run the others. w is as in Schedule.
	Wait(w Worker)
}

// Blocker is a [Worker] whose task may block without a delay for other tasks.
type Blocker interface {
	// Blocking calls fn, which waits for an event. Until fn returns, the scheduler runs
	// as many other tasks as if the calling task had ended.
	Blocking(fn func())
}

// Counter is a [Scheduler] that counts its work.
type Counter interface {
	Counters() Counters // returns a snapshot, on any goroutine
}

// Counters is a snapshot of a [Counter].
type Counters struct {
	Executed uint64 // tasks that have run; it may lag while tasks run

	Workers int // existing workers; 0 if the scheduler does not count them
	Parked  int // parked workers, a part of Workers
}

// Closer is a [Scheduler] that can end without running the queued tasks.
type Closer interface {
	// Close refuses every later task, of external callers and of tasks. Running tasks
	// end, and no other task starts. Close returns the number of accepted tasks that
	// did not run; tasks of a group need not be counted. A law calls it once, in place
	// of Shutdown.
	Close() (unrun int)
}
