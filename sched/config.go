package sched

import (
	"fmt"
	"runtime"
	"time"

	lfsync "github.com/lanewright/lanewright/sync"
)

// Config configures a [Scheduler]. The zero Config is the default.
type Config struct {
	// MaxWorkers is how many tasks may run at once, in workers. 0 means
	// GOMAXPROCS at the time of New; at most 16,383.
	MaxWorkers int

	// Spawner starts the workers. nil starts goroutines, which cannot fail.
	Spawner Spawner

	// LockOSThread wires each worker that the scheduler starts to a thread of its
	// own; not callers of Run, Do and waits, which run tasks where they are.
	// Waking such a worker costs about 100 times as much: use it for callbacks
	// that need thread-local state of the system only.
	LockOSThread bool

	// OnIdle is called by a worker that found nothing to run, once each time
	// before it parks. It may schedule tasks through w, typically those that an
	// I/O poll made ready. It must not block: a worker in OnIdle counts as one
	// that can be woken. Blocking, Do, and waits panic there.
	OnIdle func(w *Worker)

	// OnPanic is called on the worker for each panic of a task, with the value
	// and the stack; the task is over then and the worker goes on. When OnPanic
	// is nil, a panic of a task in a group is raised again by the Wait of that
	// group, and a panic of any other task crashes the program.
	OnPanic func(t *Task, value any, stack []byte)

	// StallAfter is how long a worker may run one task while others are queued and no place
	// is free. Then it is counted out: it goes on, but another worker runs in its place,
	// until its callback ends. So callbacks that block without telling, or compute
	// for long, do not keep what is queued waiting, and more than MaxWorkers of them may
	// run: one more every StallAfter, 1,024 at most. It is seen after StallAfter
	// to twice that. 0 means never. A few milliseconds are a good choice; it costs nothing
	// while nothing is queued. While a place is free it is the Spawner that has to start
	// another worker: when that fails, nobody is counted out.
	StallAfter time.Duration

	// Trace wraps each task in a region "sched.Task" of runtime/trace.
	Trace bool

	// Labels gives each worker that the scheduler starts the pprof label
	// "lanewright.worker" with its number, counted from 1 in the order in which
	// the workers started.
	Labels bool
}

// Spawner starts workers.
type Spawner interface {
	// Spawn calls run on a goroutine of its own, or returns an error when it
	// cannot, and does not call run then. It must not wait for run. A panic counts
	// as a failure, and goes to the caller of Schedule, or crashes the program when
	// it was a worker or a wait that needed another worker.
	Spawn(run func()) error
}

// goSpawner is the default Spawner.
type goSpawner struct{}

func (goSpawner) Spawn(run func()) error {
	go run()
	return nil
}

func (goSpawner) infallible() {}

// sureSpawner is a Spawner that never fails: waits need not be told when it does.
type infallibleSpawner interface{ infallible() }

// normalized returns the configuration with its defaults filled in, or an error
// that names the field.
func (c Config) normalized() (Config, error) {
	switch {
	case c.MaxWorkers < 0:
		return c, fmt.Errorf("sched: Config.MaxWorkers is %d: must not be negative", c.MaxWorkers)
	case c.MaxWorkers > lfsync.MaxWorkers:
		return c, fmt.Errorf("sched: Config.MaxWorkers is %d, the limit is %d: %w",
			c.MaxWorkers, lfsync.MaxWorkers, ErrTooManyWorkers)
	case c.StallAfter < 0:
		return c, fmt.Errorf("sched: Config.StallAfter is %v: must not be negative", c.StallAfter)
	}
	if c.MaxWorkers == 0 {
		c.MaxWorkers = min(runtime.GOMAXPROCS(0), lfsync.MaxWorkers)
	}
	if c.Spawner == nil {
		c.Spawner = goSpawner{}
	}
	return c, nil
}
