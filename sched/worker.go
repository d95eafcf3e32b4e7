package sched

import (
	"context"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strconv"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/self"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Worker runs tasks one after another. A callback gets the worker that runs it, and
// passes it on to the functions that it calls. Schedule on the worker is cheaper than on
// the scheduler, and a Wait that knows its worker runs tasks while it waits. Only the
// goroutine of the callback may use the Worker, and only until the callback returns. A later use
// panics if the worker runs no other callback then.
type Worker struct {
	// A worker writes to its own fields for each task. Without the padding, the objects
	// that the allocator puts next to it would share its cache lines: another worker,
	// or a Group that external callers write to.
	_ lfsync.Pad

	frame self.Frame // entered while its goroutine runs callbacks

	s     *Scheduler
	place *place // nil while parked, and after the callback has blocked

	// cur is the group of the innermost running task. done counts the tasks of cur
	// that have finished here and are not stored in cur yet.
	cur  *Group
	done uint64
	task *Task // the running task, kept for OnPanic only

	labels *taskLabels // nil without Config.Labels, and for the goroutine of a caller

	// runsAll is cur if every task of cur runs, and otherwise nil. The next task of that
	// group is entered without a look at the group.
	runsAll *Group

	outer           []*Group              // the groups of the tasks on whose top the running one runs, outermost first
	waits           int                   // calls of withoutPlace inside each other
	counted         bool                  // the Sync word counts this worker
	justSpawned     bool                  // was spawned, and has not taken the signal of its spawn yet
	callerWorker    bool                  // runs on the goroutine of the caller: of a Do, a ForkJoin, a wait, a Shutdown, a Join
	blocked         bool                  // runs a callback without a place
	beyondMax       bool                  // entered the count beyond MaxWorkers, and ends when it finds no task
	inHook          bool                  // runs Config.OnIdle
	runWorker       bool                  // the worker of a Run: runs until its context ends
	stop            <-chan struct{}       // ends a Run; nil otherwise
	parker          *lfsync.Parker        // for waits without a place, and to linger
	lingerState     atomix.Uint32         // see linger.go
	kept            atomix.Pointer[place] // the place with which the worker lingers: see linger.go
	doGroup         *Group                // the group of a Do of several tasks
	forks           *forkHead             // the fork stack in use, if any
	observer        observer              // its memory of the computations of other places
	keepsRequesting bool                  // has run a long fork and has not requested another one since
	begun           atomix.Bool           // a Spawner that may fail has called run, or has failed
	goroutine       uintptr               // the identity of its goroutine since it has its place, with assertions only

	_ lfsync.Pad
}

// ID returns the index of the place that w holds, which is below MaxWorkers. It returns
// -1 when the callback has released its place by blocking, and when w has a place beyond
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
// place has room, which is 256 tasks, they run in order, after the tasks that are queued
// already, unless another worker steals them. With [Config.StallAfter] the tasks move to the
// injection queue while w is marked as stalled. Other workers run them then, after the tasks
// that are in the injection queue already, and their order may change. Without a place
// Schedule queues them on the injection queue. The errors are those of [Scheduler.Schedule],
// but a scheduler that drains still accepts these tasks.
func (w *Worker) Schedule(tasks ...*Task) error {
	p := w.holds()
	if err := claimAll(tasks, ungrouped); err != nil {
		return err
	}
	return w.push(p, tasks)
}

// ScheduleBatch queues all tasks of b with one notification, and leaves b empty.
func (w *Worker) ScheduleBatch(b *Batch) error {
	p := w.holds()
	if n, err := b.ready(); n == 0 || err != nil {
		return err
	}
	b.mark(ungrouped)
	return w.pushBatch(p, b)
}

// holds returns the place of w, or nil if the callback has released it. It panics if w runs no
// callback. A callback without a place is recorded as blocked, so that a worker with a place
// pays for one compare.
//
// A Worker that is kept after its callback may have a place again, for another callback. Only
// the identity of the goroutine would show that, which takes 1.5 ns. The operations that
// release the place compare it, and so do builds with assertions.
func (w *Worker) holds() *place {
	p := w.place
	if p == nil {
		w.mustBeBlocked()
	}
	return p
}

// mustBeBlocked panics if w, which has no place, runs no callback.
func (w *Worker) mustBeBlocked() {
	if !w.blocked {
		panic("sched: a Worker is used after its callback has ended")
	}
}

// push queues claimed tasks through the place p of w, or without a place.
func (w *Worker) push(p *place, tasks []*Task) error {
	s := w.s
	if p == nil {
		return s.inject(tasks)
	}
	if invariant.Enabled {
		invariant.Assert(w.goroutine == park.Self(), otherGoroutine)
	}
	if s.closing.Load() {
		unclaimAll(tasks)
		return ErrClosed
	}
	p.list(s)
	var spilled bool
	if len(tasks) == 1 {
		spilled = p.queue.Push(&tasks[0].node)
	} else {
		spilled = p.queue.PushAll(nodesOf(tasks))
	}
	if spilled {
		p.counts.spilled++
	}
	return s.pushed()
}

// otherGoroutine is the text of the panic about a Worker that another goroutine uses.
const otherGoroutine = "sched: a Worker is used by another goroutine than that of its callback"

// pushBatch queues a marked batch as push does.
func (w *Worker) pushBatch(p *place, b *Batch) error {
	s := w.s
	if p == nil {
		return s.injectBatch(b)
	}
	if s.closing.Load() {
		b.mark(batched)
		return ErrClosed
	}
	p.list(s)
	if p.queue.PushList(&b.list) {
		p.counts.spilled++
	}
	return s.pushed()
}

// runOnce is run for a Spawner that may fail.
func (w *Worker) runOnce() {
	if !w.begin() {
		panic("sched: Config.Spawner has called run twice, or after Spawn has failed")
	}
	w.s.cold.begun.Add(1)
	w.run()
}

// begin claims the start of w: for run, or for the end of a failed spawn. It reports whether
// the caller is the first.
func (w *Worker) begin() bool { return !w.begun.Swap(true) }

// run is the life of a worker goroutine.
func (w *Worker) run() {
	w.enterFrame()
	defer w.frame.Leave()
	// A goroutine inherits the labels of the goroutine that has started it.
	if w.s.config.Labels {
		w.labels = newTaskLabels(w.s.cold.labels.Add(1))
	} else {
		pprof.SetGoroutineLabels(context.Background())
	}
	if w.s.config.LockOSThread {
		runtime.LockOSThread() // and never unlocked: the thread ends with the worker
	}
	defer w.s.life.workerEnded()
	w.s.runLoops(w)
}

// runLoops calls loop until w has to end.
func (s *Scheduler) runLoops(w *Worker) {
	ended := false
	defer func() {
		// A deferred call may panic while Goexit unwinds the callback. loop has
		// contained that panic, and Goexit continues. After a Goexit alone endWorker
		// has already run, and has no effect here.
		if !ended {
			w.endWorker()
		}
	}()
	for w.loop() { // each pass ends with a contained panic
	}
	ended = true
	runtime.KeepAlive(s) // s and w are exact in a stack trace: see callbacksIn
	runtime.KeepAlive(w)
}

// loop searches for tasks and runs them. It reports false when the worker has to end, and
// true when it has contained the panic of a callback.
func (w *Worker) loop() (again bool) {
	s := w.s
	ended := false
	defer func() {
		if !ended {
			again = w.contain(recover())
		}
	}()
	d, ok := mustNone, true
	if w.justSpawned {
		// The spawn was a signal. The worker takes it before it runs anything. Otherwise
		// the signal would stay in the word if the first callback never returned.
		w.justSpawned = false
		d, ok = w.await(d)
	}
	for ok {
		if w.blocked && !w.rejoin() {
			break
		}
		if w.place == nil {
			if p := s.takeOrAwaitPlace(); p != nil {
				w.attach(p)
			} else {
				s.startStallMonitor()
			}
		}
		if w.place != nil {
			p := w.place
			d = w.work(d)
			if w.place != p { // a callback has released it, and may have another one
				continue
			}
		}
		d, ok = w.await(d)
		if w.place != nil {
			w.beginOccupancy()
		}
	}
	ended = true
	return false
}

// obligation states whether a searching worker must notify once it has found a task.
type obligation uint8

const (
	mustNone   obligation = iota
	mustNotify            // it took a notification, which may stand for more than one push
	mustWake              // likewise, and it is the waking worker
)

// work runs tasks until it finds none, the worker has to stop, or a callback has released
// the place. It returns the obligation that w still has.
//
//go:noinline
func (w *Worker) work(d obligation) obligation {
	s, p := w.s, w.place
	for {
		if w.stops() {
			return d
		}
		var n *mpsc.Node
		var pushed bool
		if p.tick--; p.tick != 0 { // the common case, without a call
			n = p.queue.Pop()
		} else {
			n, pushed = p.fair(s)
		}
		if n == nil {
			if n, pushed = p.find(s, w); n == nil {
				if n, pushed = w.requestFork(); n == nil {
					return d
				}
			}
		}
		if pushed || d != mustNone {
			w.flush() // the action may take long
			s.found(d, pushed)
			d = mustNone
		}
		if t := taskOf(n); w.enter(t) {
			p.counts.executed++
			if s.instrumented {
				w.runInstrumented(t)
			} else {
				t.Fn(w, t)
			}
		}
		w.done++
		if w.place != p {
			return mustNone
		}
	}
}

// found carries out the obligation d of a worker that has found a task. more states that the
// worker knows of further ones. If no other task is available, no notify is needed: another
// task that a notification stood for was taken, or the holder of its queue notifies. While a
// computation is open, another worker may request a fork of it, so the worker notifies. The look
// at the queues is left out if no worker can be woken or spawned.
func (s *Scheduler) found(d obligation, more bool) {
	if word := s.sync.Load(); !more && (word.Idle() > 0 || word.Spawned() < s.max) && !s.anyAvailable() && !s.anyComputing() {
		if d != mustWake || s.sync.Rest() {
			return
		}
	}
	s.notify(d == mustWake)
}

// enter makes t the running task and reports true, or reports false if the group of t skips
// it. From then on t belongs to the caller. The worker counts t as finished in both cases. In
// the common case enter costs a load and a compare.
func (w *Worker) enter(t *Task) (runs bool) {
	runs = t.group == w.runsAll || w.enterGroup(t)
	t.group = nil
	return runs
}

// enterGroup makes the group of t the one whose finished tasks are counted. It first stores
// the count of the previous group. It reports false if the group skips t.
func (w *Worker) enterGroup(t *Task) (runs bool) {
	g := t.group
	if g == batched || g == appended {
		g = ungrouped
	}
	if g != w.cur {
		w.flush()
		w.cur = g
	}
	w.runsAll = nil
	if !g.maySkip() {
		w.runsAll = g
		return true
	}
	if !g.skips() {
		return true
	}
	if isFunc(t) {
		g.release()
	}
	return false
}

// leaveGroup makes g, which may be nil, the group of the running task t again.
func (w *Worker) leaveGroup(g *Group, t *Task) {
	w.cur, w.task, w.runsAll = g, t, nil
}

// flush stores the count of finished tasks in their group.
func (w *Worker) flush() {
	n := w.done
	if n == 0 {
		return
	}
	w.done = 0
	if w.grouped() {
		w.cur.addFinished(w.place, n)
	}
}

// runInstrumented runs t for a configuration with Trace, OnPanic or Labels.
func (w *Worker) runInstrumented(t *Task) {
	w.task = t
	if w.labels != nil {
		defer w.labels.set(w.labels.enter(t.Fn))
	}
	if w.s.config.Trace {
		defer trace.StartRegion(context.Background(), "sched.Task").End()
	}
	t.Fn(w, t)
}

// stops reports whether the worker has to end, or to return its place, after this task. It
// inlines.
func (w *Worker) stops() bool {
	return (w.s.attention.Load() != 0 || w.stop != nil) && w.stopping()
}

// stopping is the slow path of stops, for a worker that may have a reason to stop.
func (w *Worker) stopping() bool {
	if w.place != nil {
		w.place.unmark(w.s)
	}
	if w.s.closing.Load() || w.clearProbe() {
		return true
	}
	if w.stop == nil {
		return false
	}
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// fair takes a task from the injection queue once every fairEvery tasks, and halfway between
// two of these from the own overflow queue. Once in stealEvery times it first tries another
// place, picked at random, and the injection queue if it finds nothing there. Tasks that
// reschedule themselves for ever therefore starve neither queue, nor a task that is queued
// behind a long callback of another worker. pushed reports that more tasks are available, so
// that the caller must notify.
func (p *place) fair(s *Scheduler) (n *mpsc.Node, pushed bool) {
	p.counts.publish(&p.published)
	if p.injectionNext = !p.injectionNext; p.injectionNext {
		p.tick = fairEvery - overflowOffset
		n, pushed = p.queue.TakeOverflow()
	} else {
		p.tick = overflowOffset
		if p.fairCalls++; p.fairCalls%stealEvery == 0 {
			n, pushed = p.stealOnce(s)
		}
		if n == nil {
			n, pushed = takeOne(&s.injection, injectionOrder)
		}
	}
	if n == nil {
		n, pushed = p.queue.Pop(), false
	}
	return n, pushed
}

// injectionOrder is the order in which the injection queue is read.
const injectionOrder = mpsc.FIFO

// A worker that has found fewer than drainedTasks tasks in the injection queue is faster
// than the external callers. It spins for spinPerTask rounds for each of these tasks, and
// for maxRefillSpin rounds at most, before it loads the queue again. That is 60 ns after one
// task and 2 µs at most. Otherwise the worker and the callers would take the cache lines of
// the queue and of the Sync word from each other. Measured with one external caller, two
// workers and two processors: 88 ns a task without the spin, 32 with 16 rounds, 27 with
// 48, 21 with 96. At other times on the same machine it is 60 ns or more with any number,
// probably because the two processors are then far from each other. A spin of 96 rounds
// after a single task took half of the time of a caller that waits for each of its tasks.
const (
	drainedTasks  = 64
	spinPerTask   = 3
	maxRefillSpin = 96
)

// refillSpin returns the number of rounds to spin after a refill of n tasks.
func refillSpin(n int) uint32 {
	if n == 1 || n >= drainedTasks {
		return 0
	}
	return uint32(min(spinPerTask*n, maxRefillSpin))
}

// find searches for a task when the own ring is empty: in the own overflow queue, in the
// injection queue, and then in the other places. pushed is as in fair.
func (p *place) find(s *Scheduler, w *Worker) (n *mpsc.Node, pushed bool) {
	if n, pushed = p.queue.Refill(); n != nil {
		p.counts.refilled++
		return n, pushed
	}
	if p.refillSpin != 0 {
		w.flush()
		lfsync.Relax(p.refillSpin)
		p.refillSpin = 0
	}
	if n, pushed = p.queue.RefillFrom(&s.injection, injectionOrder); n != nil {
		p.counts.refilled++
		moved := p.queue.Len()
		if moved != 0 {
			p.list(s)
		}
		p.refillSpin = refillSpin(moved + 1)
		return n, pushed
	}
	if n, pushed = p.steal(s); n != nil {
		return n, pushed
	}
	p.counts.publish(&p.published)
	return nil, false
}

// steal takes tasks from the other places, beginning at a random one: from the overflow
// queue of a victim before its ring. It reports pushed if the victim has tasks left,
// because another thief may have found the ring held and parked.
func (p *place) steal(s *Scheduler) (n *mpsc.Node, pushed bool) {
	made := s.places.made.Load()
	if made < 2 {
		return nil, false
	}
	s.places.anyListedFrom(p.random()%made, made, func(v *place) bool {
		n, pushed = p.stealFrom(s, v)
		return n != nil
	})
	return n, pushed
}

// stealOnce is steal from a single place.
func (p *place) stealOnce(s *Scheduler) (n *mpsc.Node, pushed bool) {
	if v := p.other(s); v != nil {
		n, pushed = p.stealFrom(s, v)
	}
	return n, pushed
}

// otherAvailable reports whether the queue of one other place is available.
func (p *place) otherAvailable(s *Scheduler) bool {
	v := p.other(s)
	return v != nil && v.queue.Available()
}

// other returns another place that may hold tasks, or nil if there is none. Each of them is
// as likely as the others.
func (p *place) other(s *Scheduler) (other *place) {
	n := uint32(0)
	s.places.anyListed(func(v *place) bool {
		if v != p {
			if n++; p.random()%n == 0 {
				other = v
			}
		}
		return false
	})
	return other
}

// stealFrom steals from v, which may be p itself.
func (p *place) stealFrom(s *Scheduler, v *place) (n *mpsc.Node, pushed bool) {
	if v == p {
		return nil, false
	}
	if n, pushed = p.queue.StealFrom(&v.queue); n == nil {
		return nil, false
	}
	if p.queue.Len() != 0 {
		p.list(s)
	}
	p.counts.steals++
	return n, pushed || !v.queue.Empty()
}

// takeOne takes a single node off a shared queue.
func takeOne(q *mpsc.Queue, o mpsc.Order) (n *mpsc.Node, more bool) {
	var c mpsc.Consumer
	for q.TryAcquire(&c, o) == mpsc.Acquired {
		n = c.Pop()
		if more = c.Release(); n != nil || !more {
			return n, more
		}
	}
	return nil, false
}

// await waits for a notification and returns the obligation that comes with it. It reports
// false when the worker has to end. The worker has left the worker count then. A worker
// that parks returns its place or lingers. Otherwise it keeps the place.
//
// The worker stores the count of finished tasks after the Sync word counts it as idle. Otherwise
// a caller that waits for each of its tasks could schedule the next one before that, and the push
// would start another worker.
func (w *Worker) await(d obligation) (next obligation, ok bool) {
	s, waking := w.s, d == mustWake
	if w.endOccupancy() {
		w.flush()
		return mustNone, w.rejoinAfterStall(waking)
	}
	if w.stops() || w.beyondMax {
		w.leave(waking, false)
		return mustNone, false
	}
	out, lingers := w.beginWait(waking)
	idle := out == lfsync.OutcomePark
	w.flush()
	if idle {
		w.leaveGroup(nil, nil) // a parked worker must not keep them reachable
		s.armIdleEnd()
		if lingers {
			switch w.linger() {
			case lingerResumed:
				return mustWake, true
			case lingerClosed:
				out = lfsync.OutcomeShutdown // without a wake token for w
			}
		}
		w.beforePark()
	}
	for woken := false; out == lfsync.OutcomePark; out, woken = s.sync.Wait(false, true), true {
		if (woken || lingers) && w.mayEnd() {
			w.leave(false, true)
			return mustNone, false
		}
		if woken {
			s.cold.emptyWakes.Add(1)
		}
		s.cold.parks.Add(1)
		if !s.idle.WaitDone(w.stop) {
			w.leave(false, true)
			return mustNone, false
		}
	}
	switch out {
	case lfsync.OutcomeSearch:
		return mustNotify, true
	case lfsync.OutcomeSearchWaking:
		return mustWake, true
	}
	w.leave(false, idle)
	return mustNone, false
}

// beforePark calls the idle hook and returns the place.
//
//go:noinline
func (w *Worker) beforePark() {
	if w.place == nil {
		return
	}
	if hook := w.s.config.OnIdle; hook != nil {
		w.inHook = true
		hook(w)
		w.inHook = false
	}
	w.s.returnPlace(w)
}

// leave ends a worker. It passes on the waking state, or a signal that may have been meant
// for w. It returns the place last, when the word allows another worker to be spawned. A
// worker without a place looks at all queues, too, because a push may have relied on it
// while it was counted.
func (w *Worker) leave(waking, idle bool) {
	w.flush()
	w.leaveCount(waking, idle)
	if w.place != nil {
		w.s.returnPlace(w)
	}
	w.s.notifyAvailable()
}

// leaveCount subtracts w from the worker count, so that another worker can be spawned.
func (w *Worker) leaveCount(waking, idle bool) {
	w.endOccupancy()
	if w.counted {
		w.counted = false
		word, action := w.s.sync.Leave(waking, idle, w.s.max)
		w.s.act(action, false)
		if !idle {
			w.s.subtracted(word)
		}
	}
}

// contain ends a task that has panicked or called Goexit. r is the result of recover. It
// reports whether the worker can continue.
func (w *Worker) contain(r any) (again bool) {
	if w.inHook { // no task runs
		w.leave(false, true)
		if r != nil {
			panic(r)
		}
		return false
	}
	defer func() {
		if !again { // also when OnPanic panics or calls Goexit
			w.endWorker()
		}
	}()
	if r == nil { // Goexit: this goroutine unwinds
		w.failTask(ErrGoexit)
		return false
	}
	if !w.capture(r) {
		panic(r) // no goroutine awaits the task
	}
	return true
}

// endWorker ends a worker in the middle of a callback.
func (w *Worker) endWorker() {
	w.leave(false, false)
	if w.blocked {
		w.endBlocking()
	}
}

// capture passes the panic value r to Config.OnPanic and to the group of the task, and
// counts the task as finished. It reports false when there is neither.
func (w *Worker) capture(r any) bool {
	hook := w.s.config.OnPanic
	if hook == nil && !w.grouped() {
		return false
	}
	err, raised := r.(*PanicError) // raised again by a Wait in this task
	if !raised {
		err = &PanicError{Value: r, Stack: debug.Stack()}
	}
	defer w.failTask(err) // also when the hook does not return
	if hook != nil {
		hook(w.task, r, err.Stack)
	}
	return true
}

// failTask counts the running task as finished with err.
func (w *Worker) failTask(err error) {
	if w.grouped() {
		w.cur.fail(err)
	}
	w.done++
	w.flush()
}

// grouped reports whether the running task is counted in a group.
func (w *Worker) grouped() bool { return w.cur != nil && w.cur != ungrouped }

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

// call calls fn, the function of a task of [Scheduler.Go].
func (w *Worker) call(fn func()) {
	if w != nil && w.labels != nil {
		defer w.labels.set(w.labels.enter(fn))
	}
	fn()
}
