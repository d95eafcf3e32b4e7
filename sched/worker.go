package sched

import (
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strconv"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/self"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Worker runs tasks one after another. A callback gets the worker that runs it, and
// passes it on to the functions that it calls. Schedule on the worker is cheaper than on
// the scheduler, and a Wait that knows its worker runs tasks while it waits. Only the
// goroutine of the callback may use the Worker, and only until the callback returns. A later use
// panics if the worker runs no other callback then. Blocking, and a Wait for a group that has not ended,
// also panic on another goroutine.
type Worker struct {
	// A worker writes to its own fields for each task. Without the padding, the objects
	// that the allocator puts next to it would share its cache lines: another worker,
	// or a Group that external callers write to.
	_ lfsync.Pad

	frame self.Frame // entered while its goroutine runs callbacks

	s     *Scheduler
	role  role
	place *place // the one that it holds, or nil: see occupancy.go

	tally // of the tasks that it runs

	lingerer lingerer // what other goroutines access while it lingers

	labels *taskLabels // nil without Config.Labels, and for the goroutine of a caller

	waits     int             // calls of withoutPlace inside each other
	state     workerState     // whether it runs a callback without a place, or Config.OnIdle
	unit      countUnit       // of the worker count
	stop      <-chan struct{} // ends a Run; nil otherwise
	doGroup   *Group          // the group of a Do of several tasks
	forks     *forkHead       // the fork stack in use, if any
	observer  observer        // its memory of the computations of other places
	start     start           // claimed by a run of a Spawner that may fail, or after a failed spawn
	goroutine uintptr         // the identity of its goroutine since it has its place, with assertions only

	_ lfsync.Pad
}

// A role says on which goroutine a worker runs.
type role uint8

const (
	spawnedWorker role = iota // on a goroutine of the Spawner
	runWorker                 // on that of a Run, until its context ends
	callerWorker              // on that of a Do, a ForkJoin, a wait, a Shutdown or a Join; the Sync word does not count it
)

// newWorker returns a worker of s without a place. A worker that is not that of a caller has entered the
// worker count.
func newWorker(s *Scheduler, r role) *Worker {
	w := &Worker{s: s, role: r, unit: countUnit{counted: r != callerWorker}}
	w.frame.Owner = w
	return w
}

// A workerState distinguishes the states of a worker that its operations must know: see occupancy.go.
type workerState uint8

const (
	atWork    workerState = iota // searches, runs tasks with its place, is parked, or has left
	inHook                       // runs Config.OnIdle
	placeless                    // runs a callback without a place
)

// limit returns how many workers may exist when one with the role r enters the count again. max is
// MaxWorkers.
func (r role) limit(max int) int {
	if r == runWorker {
		return runLimit
	}
	return max
}

// ID returns the index of the place that w holds, which is below MaxWorkers. It returns
// -1 when the callback has released its place by blocking, and in a computation of a scheduler
// that has ended. It also returns -1 when w has a place beyond
// MaxWorkers because another worker stalls (see Config.StallAfter). Callbacks that run at
// the same time have different IDs, with two exceptions: -1, and a callback that waits and
// the tasks that run on top of its wait.
func (w *Worker) ID() int {
	p := w.holds()
	if p == nil || p.index >= w.s.max {
		return -1
	}
	return p.index
}

// Scheduler returns the scheduler that w belongs to.
func (w *Worker) Scheduler() *Scheduler { return w.s }

// Schedule queues tasks on the run queue of the place that w holds. While the ring of that
// place, of 256 tasks, has room, they run in order, after the tasks that are queued
// already, unless another worker steals them or a Wait runs them. With [Config.StallAfter] the
// tasks move to the injection queue while w is marked as stalled. Other workers run them then,
// after the tasks that are in the injection queue already, and their order may change. Without a
// place Schedule queues them as [Scheduler.Schedule] does. The errors are those of
// [Scheduler.Schedule], but a scheduler that drains still accepts these tasks.
func (w *Worker) Schedule(tasks ...*Task) error {
	p := w.holds()
	if err := claimAll(tasks, ungrouped); err != nil {
		return err
	}
	if p == nil {
		return w.s.inject(tasks)
	}
	return p.push(w.s, tasks)
}

// ScheduleBatch queues all tasks of b as Schedule does, with one notification, and leaves b
// empty. The errors are those of Schedule. b is unchanged when no task was queued.
func (w *Worker) ScheduleBatch(b *Batch) error {
	p := w.holds()
	if n, err := b.ready(); n == 0 || err != nil {
		return err
	}
	b.mark(ungrouped)
	if p == nil {
		return w.s.injectBatch(b)
	}
	return p.pushBatch(w.s, b)
}

// Blocking releases the place of the callback, if it holds one, and calls fn. Another worker can
// run tasks in the meantime. Use it for system calls, locks, channels, and other operations that
// may take long without computing.
//
// After fn has returned, the callback continues without a place. Tasks that it schedules
// through w go to the injection queue, and it may run in addition to MaxWorkers
// callbacks until it returns. It is therefore best to block late in a callback, or in a
// task of its own.
//
// A body of [ForkJoin] that holds a place is different. Its open forks become tasks first, so
// that other workers can run them. Forks stay when the context of their computation has ended, and
// when the scheduler was closed. When fn has returned, the body takes a place again if one is free.
// Inside another Blocking it does so when the outermost one has returned.
func (w *Worker) Blocking(fn func()) {
	if fn == nil {
		panic("sched: Blocking: nil function")
	}
	w.withoutPlace(fn)
}

// Wait returns when every task that was scheduled in g has finished.
//
// While it waits, it runs tasks of g that have not started, and tasks that a task of g
// waits for in turn, on top of the stack of the caller. It never runs any other task
// there, so the caller may hold a lock that other tasks need. When it finds no such task,
// it releases its place as Blocking does, so that the workers that could end the wait can
// run. The callback then continues as after Blocking.
//
// Wait finds such tasks among the newest of its own ring and among those that it steals:
// tasks that were scheduled through a worker, by [Group.Schedule] or
// [Group.ScheduleBatch], and some that a worker has moved there from the injection queue.
// It leaves the tasks in the injection queue, which [Group.Go] and calls without a worker
// have put there, to the workers. The exception is a scheduler that has no worker and can
// start none. With [Config.StallAfter] the tasks of a callback that runs for long may be in
// that queue as well: the scheduler moves them while the worker of the callback is marked as
// stalled.
//
// Wait returns the error of g: the first one, or all of them joined. That includes the end
// of the Context of g if a task was skipped: see [GroupConfig]. Wait raises a panic of
// a task of g again, as a [*PanicError]. With Config.OnPanic it returns the *PanicError
// instead.
//
// A panic of a task that runs on top of the caller ends that task only. Wait runs and awaits the
// other tasks of g before it raises the panic. The panic itself does not release the place. A
// panic of a task of another group, which a task of g waits for, is raised in the wait of the
// latter task. runtime.Goexit is different: in a task on top it ends the goroutine, and with it
// the callback that has called Wait.
//
// Wait panics if g is nil or if Config.OnIdle calls it. It also panics in three places, because it
// could not return: in a task of g, in a task that runs on
// top of one, and in a fork of a computation that either of them runs, also if another worker
// runs the fork. It does not find a wait for g in other tasks that a task of g waits for on
// another goroutine: tasks of another group or of a Do, and forks of a ForkJoin on another
// scheduler or of a callback that had released its place. Such a wait and the task of g wait for
// each other for ever. So do two tasks on
// different goroutines that wait for each other's groups. [Group.WaitContext] with a context
// that can end waits in these three places until the context ends.
func (w *Worker) Wait(g *Group) error {
	if g == nil {
		panic("sched: Worker.Wait: nil group")
	}
	return g.waitAs(w, nil)
}

// workerKey is the key of the worker in the contexts of Worker.Context.
type workerKey struct{}

// Context returns a context that carries w, so that [Group.WaitContext] waits as w. It is
// valid while the callback runs.
func (w *Worker) Context(parent context.Context) context.Context {
	return context.WithValue(parent, workerKey{}, w)
}

// holds returns the place of w, or nil if the callback has released it. It panics if w runs no
// callback. A callback without a place has the state placeless, so that a worker with a place
// pays for one compare.
//
// A Worker that is kept after its callback may have a place again, for another callback. Only
// the identity of the goroutine would show that, which takes 3 ns. Blocking, the waits and the joins
// compare it, and so do builds with assertions.
func (w *Worker) holds() *place {
	p := w.place
	if p == nil && w.state != placeless {
		panic("sched: a Worker is used after its callback has ended")
	}
	if invariant.Enabled && p != nil && w.goroutine != park.Self() {
		panic(otherGoroutine)
	}
	return p
}

// otherGoroutine is the text of the panic about a Worker that another goroutine uses.
const otherGoroutine = "sched: a Worker is used by another goroutine than that of its callback"

// taskLabels are the labels of the goroutine of a worker, for Config.Labels. Only that goroutine
// uses them. A program has a fixed number of functions, so the map does not grow without end.
type taskLabels struct {
	worker context.Context             // the label of the worker
	tasks  map[uintptr]context.Context // the labels of the worker and of a task, by its function
	now    context.Context             // the labels that are set
}

// newTaskLabels sets the label of the worker with the number n.
func newTaskLabels(n uint64) *taskLabels {
	worker := pprof.WithLabels(context.Background(), pprof.Labels("lanewright.worker", strconv.FormatUint(n, 10)))
	l := &taskLabels{worker: worker, tasks: make(map[uintptr]context.Context)}
	l.set(worker)
	return l
}

// set makes ctx the labels of the goroutine.
func (l *taskLabels) set(ctx context.Context) {
	l.now = ctx
	pprof.SetGoroutineLabels(ctx)
}

// enter labels the goroutine with the name of the function fn. It returns the labels that were
// set before.
func (l *taskLabels) enter(fn any) (outer context.Context) {
	pc := reflect.ValueOf(fn).Pointer()
	ctx := l.tasks[pc]
	if ctx == nil {
		ctx = pprof.WithLabels(l.worker, pprof.Labels("lanewright.task", runtime.FuncForPC(pc).Name()))
		l.tasks[pc] = ctx
	}
	outer = l.now
	l.set(ctx)
	return outer
}

// callFunc calls fn, the function of a task of [Scheduler.Go]. w is nil if the user calls the task.
func callFunc(w *Worker, fn func()) {
	if w != nil && w.labels != nil {
		defer w.labels.set(w.labels.enter(fn))
	}
	fn()
}
