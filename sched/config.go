package sched

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Config configures a [Scheduler]. The zero Config is the default.
type Config struct {
	// MaxWorkers is the number of places, and so the number of tasks that may run at
	// once. Callbacks that have blocked or are stalled run in addition. 0 means
	// GOMAXPROCS at the time of New, or of the first use of a zero Scheduler. The limit is
	// 16,383.
	MaxWorkers int

	// Spawner starts the workers. nil starts goroutines, which cannot fail.
	Spawner Spawner

	// LockOSThread gives each worker that the scheduler starts an operating-system
	// thread of its own. It does not apply to tasks that run on the goroutine of a
	// caller of Run or Do, or of a waiter. To wake such a worker costs about 100 times
	// as much. Use it only for callbacks that need thread-local state.
	//
	// The Go runtime ends the program when it has more threads than
	// [debug.SetMaxThreads] allows, 10,000 by default. New therefore refuses MaxWorkers
	// from that limit on, because the runtime needs a thread of its own as well. The
	// limit can be read only by setting it. New sets it to its largest value for a moment,
	// so a program that raises it does so before New, and not at the same time. New counts
	// no other threads of the program, and none of workers that replace stalled ones.
	LockOSThread bool

	// OnIdle is called by a worker that has found nothing to run, once each time
	// before it returns its place to park. It may schedule tasks through w, such as those that an
	// I/O poll has made ready. It must not block, because a worker in OnIdle already counts as
	// parked, and a task may rely on its wake-up. Blocking, Do, ForkJoin and waits for tasks that
	// have not finished panic there. With OnIdle every parked worker returns its place.
	//
	// A panic of OnIdle that it does not recover ends the worker, and then the program. In the
	// worker of a Run it passes to the caller of Run. runtime.Goexit in OnIdle ends the worker. In
	// both cases another worker runs the tasks that OnIdle has scheduled.
	OnIdle func(w *Worker)

	// OnPanic is called on the worker for each panic of a task, with the value and
	// the stack. The task has then ended, and the worker continues. When OnPanic is
	// nil, a panic of a task in a group is raised again by the Wait of that group,
	// and a panic of any other task crashes the program.
	OnPanic func(t *Task, value any, stack []byte)

	// StallAfter is how long a worker may run one task while other tasks are queued
	// and no place is free. The scheduler then marks the worker as stalled, and
	// another worker runs in its stead until the callback ends. This takes
	// from StallAfter to twice StallAfter. A callback that blocks outside
	// [Worker.Blocking], or computes for long, therefore delays a queued task by at
	// most twice StallAfter, if no other callback stalls at the same time.
	//
	// Each stalled callback allows one worker more than MaxWorkers. One worker is
	// marked per StallAfter, and at most 1,024 callbacks are stalled at a time. A few
	// milliseconds are a good choice. StallAfter costs nothing while nothing is
	// queued. While a place is free no worker is marked. The scheduler tries to start a
	// worker again instead.
	//
	// 0 means never if MaxWorkers is set, because MaxWorkers is a promise then. Otherwise it
	// means [DefaultStallAfter], and a worker is marked while the goroutines of the program leave a
	// processor idle. Callbacks that compute therefore do not exceed GOMAXPROCS, as long as one of
	// them begins or ends within a second, which is 100 times DefaultStallAfter. After each second
	// without that, one worker is marked although no processor is idle: the callbacks may have
	// blocked while other goroutines use the processors, and the scheduler cannot tell.
	// Callbacks that have blocked at the same time may later compute at the same time.
	// [NeverStalled] means never in both cases.
	StallAfter time.Duration

	// IdleTimeout is how long all workers stay parked before they end. They end after one to
	// two times this time without a task, and the next task starts a worker again. A
	// scheduler that the program has forgotten then has no goroutine, and the garbage collector
	// frees it. The caller of a Run stays. 0 means
	// [DefaultIdleTimeout], 10 seconds. With a negative value workers stay until the scheduler ends.
	IdleTimeout time.Duration

	// Trace wraps each task in a region "sched.Task" of runtime/trace.
	Trace bool

	// Labels gives each worker that the scheduler starts the pprof label
	// "lanewright.worker" with its number, counted from 1 in the order in which
	// the workers started. While the worker runs a task, it has the label
	// "lanewright.task" with the name of its function as well. A goroutine that the task
	// starts inherits both. A task on the goroutine of a caller of Run or Do, or of a
	// waiter, changes no label. The label of the task costs two changes of the labels
	// and a look-up for each task.
	Labels bool

	stallIfIdle bool // StallAfter is the default: a worker is marked only while a processor is idle
}

const (
	// DefaultStallAfter is the StallAfter of a [Config] without MaxWorkers.
	DefaultStallAfter = 10 * time.Millisecond

	// NeverStalled is a StallAfter with which no worker is marked as stalled.
	NeverStalled time.Duration = -1
)

// Spawner starts workers.
type Spawner interface {
	// Spawn calls run once on a goroutine of its own, or returns an error and does not
	// call run. It must not wait for run, and not call Blocking, Do or ForkJoin of the
	// scheduler or wait for one of its groups. The scheduler counts a panic of Spawn as a
	// failed spawn. In a Schedule method the panic then passes to the caller. Anywhere
	// else the panic ends the program.
	//
	// A second call of run panics, and so does a call after Spawn has failed. If Spawn
	// fails after it has called run, the scheduler panics as if Spawn had panicked, and the
	// worker runs. The goroutine may begin late. Until it does, the worker is counted in
	// Stats.Starting, and the tasks that rely on it wait.
	Spawn(run func()) error
}

// goSpawner is the default Spawner.
type goSpawner struct{}

func (goSpawner) Spawn(run func()) error {
	go run()
	return nil
}

func (goSpawner) infallible() {}

// infallibleSpawner is a Spawner that never fails. Waits need not be woken when a
// spawn fails, and skip the list for that.
type infallibleSpawner interface{ infallible() }

// threadLimit guards the limit of threads while checkThreads reads it.
var threadLimit park.Mutex

// checkThreads returns an error if the workers cannot all have a thread of their own.
func (c Config) checkThreads() error {
	if !c.LockOSThread {
		return nil
	}
	threadLimit.Lock()
	limit := debug.SetMaxThreads(math.MaxInt32)
	debug.SetMaxThreads(limit)
	threadLimit.Unlock()
	if c.MaxWorkers < limit {
		return nil
	}
	return fmt.Errorf("sched: Config.LockOSThread with %d workers, and the runtime allows %d threads: "+
		"call debug.SetMaxThreads before: %w", c.MaxWorkers, limit, ErrTooManyWorkers)
}

// normalized returns the configuration with its defaults filled in, or an error
// that names the field.
func (c Config) normalized() (Config, error) {
	switch {
	case c.MaxWorkers < 0:
		return c, fmt.Errorf("sched: Config.MaxWorkers is %d: must not be negative", c.MaxWorkers)
	case c.MaxWorkers > lfsync.MaxWorkers:
		return c, fmt.Errorf("sched: Config.MaxWorkers is %d, the limit is %d: %w",
			c.MaxWorkers, lfsync.MaxWorkers, ErrTooManyWorkers)
	case c.StallAfter < 0 && c.StallAfter != NeverStalled:
		return c, fmt.Errorf("sched: Config.StallAfter is %v: must not be negative, except NeverStalled", c.StallAfter)
	}
	switch {
	case c.StallAfter == NeverStalled:
		c.StallAfter = 0
	case c.StallAfter == 0 && c.MaxWorkers == 0:
		c.StallAfter, c.stallIfIdle = DefaultStallAfter, true
	}
	if c.MaxWorkers == 0 {
		c.MaxWorkers = min(runtime.GOMAXPROCS(0), lfsync.MaxWorkers)
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.Spawner == nil {
		c.Spawner = goSpawner{}
	}
	return c, nil
}
