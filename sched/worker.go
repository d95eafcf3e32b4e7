package sched

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strconv"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Worker is what runs tasks one after another. A callback gets the worker that
// runs it and hands it on to what it calls: Schedule on the worker is cheaper
// than on the scheduler, and a Wait that knows its worker helps. A Worker may be
// used by the goroutine of the callback only, and only until the callback
// returns.
type Worker struct {
	// A worker writes to itself for each task. Without the space around it, what
	// the allocator puts beside it (another worker, or a Group, which callers
	// outside write to) would share its cache lines.
	_ lfsync.Pad

	s     *Scheduler
	place *place // nil while parked, and after the callback has blocked

	// cur is the group of the innermost task that runs; done counts the tasks of
	// cur that finished here and are not stored in it yet.
	cur  *Group
	done uint64
	task *Task   // the running task, kept for OnPanic only
	self uintptr // the goroutine of a callback that has blocked

	frames          int             // tasks that run on top of each other in Waits
	counted         bool            // the Sync word counts this worker as spawned
	justSpawned     bool            // was spawned, and has not taken that signal yet
	callerWorker    bool            // belongs to a Do: its goroutine is the caller's
	blocked         bool            // gave its place away inside the callback
	beyondMax       bool            // came back beyond MaxWorkers, and ends after its task
	inHook          bool            // runs Config.OnIdle
	runWorker       bool            // belongs to a Run, which lasts until its context ends
	stop            <-chan struct{} // ends a Run; nil otherwise
	parker          *lfsync.Parker  // for waits without a place
	doGroup         *Group          // what a Do of several tasks counts with
	forks           *forkHead       // the fork stack in use, if any
	observer        observer        // what it has seen of computations
	keepsRequesting bool            // has run a fork that took long, and begged not since

	_ lfsync.Pad
}

// ID returns the index of the place that w holds, below MaxWorkers, or -1 when
// the callback gave its place away by blocking, or has one beyond MaxWorkers because
// another worker stalls (see Config.StallAfter). No two callbacks that run at the
// same time have the same ID, other than -1, and than a callback that waits and
// those that run on top of it meanwhile.
func (w *Worker) ID() int {
	if w.place == nil || w.place.index >= w.s.max {
		return -1
	}
	return w.place.index
}

// Scheduler returns the scheduler that w belongs to.
func (w *Worker) Scheduler() *Scheduler { return w.s }

// Schedule queues tasks on the run queue of w, where they run in order after what
// is queued there, unless another worker steals them. It returns nil or an error
// as [Scheduler.Schedule] does; while the scheduler drains it still takes tasks.
func (w *Worker) Schedule(tasks ...*Task) error {
	if err := claimAll(tasks, ungrouped); err != nil {
		return err
	}
	return w.push(tasks)
}

// ScheduleBatch queues all tasks of b, with one notify, and leaves b empty.
func (w *Worker) ScheduleBatch(b *Batch) error {
	if n, err := b.ready(); n == 0 || err != nil {
		return err
	}
	b.mark(ungrouped)
	return w.pushBatch(b)
}

// push queues claimed tasks.
func (w *Worker) push(tasks []*Task) error {
	s, p := w.s, w.place
	if p == nil {
		return s.inject(tasks)
	}
	if invariant.Enabled {
		invariant.Assert(p.holder.Load() == park.Self(), "sched: Worker used by another goroutine than that of its callback")
	}
	if s.closing.Load() {
		unclaimAll(tasks)
		return ErrClosed
	}
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

// pushBatch queues a marked batch.
func (w *Worker) pushBatch(b *Batch) error {
	s, p := w.s, w.place
	if p == nil {
		return s.injectBatch(b)
	}
	if s.closing.Load() {
		b.mark(batched)
		return ErrClosed
	}
	if p.queue.PushList(&b.list) {
		p.counts.spilled++
	}
	return s.pushed()
}

// run is the life of a worker goroutine.
func (w *Worker) run() {
	// A goroutine inherits the labels of the one that happened to start it.
	labels := context.Background()
	if w.s.config.Labels {
		labels = pprof.WithLabels(labels, pprof.Labels("lanewright.worker", strconv.FormatUint(w.s.cold.labels.Add(1), 10)))
	}
	pprof.SetGoroutineLabels(labels)
	if w.s.config.LockOSThread {
		runtime.LockOSThread() // and never unlocked: the thread ends with the worker
	}
	defer w.s.life.workerEnded()
	w.runLoops()
}

// turns calls loop until the worker has to end.
func (w *Worker) runLoops() {
	ended := false
	defer func() {
		// A deferred call that panics while Goexit unwinds the callback: loop has
		// contained the panic, and Goexit goes on. After a Goexit alone the worker
		// has retired already, and does nothing here.
		if !ended {
			w.endWorker()
		}
	}()
	for w.loop() { // each turn ends with a contained panic
	}
	ended = true
}

// loop works until the worker has to end, and reports false, or until a callback
// panicked and was contained, and reports true.
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
		// The spawn was a signal, which is this worker's to take before anything
		// else: it would stay in the word if the first callback never returned.
		w.justSpawned = false
		d, ok = w.await(d)
	}
	for ok {
		if w.blocked && !w.rejoin() {
			break
		}
		if w.place == nil {
			if p := s.takePlace(); p != nil {
				w.attach(p)
			} else {
				s.startStallMonitor()
			}
		}
		if w.place != nil {
			p := w.place
			d = w.work(d)
			if w.place != p { // a callback gave it away, and may have another one
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

// duty is what a worker that searches has to do when it has found a task.
type obligation uint8

const (
	mustNone   obligation = iota
	mustNotify            // it took a notification, which may have been that of more than one push: notify
	mustWake              // likewise, as the waking worker
)

// work runs tasks until there are none to be found, or the worker is told to
// stop, or a callback gave the place away. It returns the duty that w has still.
func (w *Worker) work(d obligation) obligation {
	s, p := w.s, w.place
	for {
		if w.stops() {
			return d
		}
		var n *mpsc.Node
		var pushed bool
		if p.tick--; p.tick != 0 { // the usual case, without a call
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
			s.notify(d == mustWake)
			d = mustNone
		}
		t := taskOf(n)
		if g := t.group; g != w.cur {
			w.enterGroup(g)
		}
		t.group = nil // from here on the task is the caller's
		p.counts.executed++
		if s.instrumented {
			w.runInstrumented(t)
		} else {
			t.Fn(w, t)
		}
		w.done++
		if w.place != p {
			return mustNone
		}
	}
}

// enter makes t the running task and gives it back to the caller.
func (w *Worker) enter(t *Task) {
	if g := t.group; g != w.cur {
		w.enterGroup(g)
	}
	t.group = nil
}

// enterGroup makes g the group whose tasks are counted. What was counted for the
// last one is stored first.
func (w *Worker) enterGroup(g *Group) {
	w.flush()
	if g == batched || g == appended {
		g = ungrouped
	}
	w.cur = g
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

// observe runs t for a configuration that wants to know of each task.
func (w *Worker) runInstrumented(t *Task) {
	w.task = t
	if w.s.config.Trace {
		defer trace.StartRegion(context.Background(), "sched.Task").End()
	}
	t.Fn(w, t)
}

// stops reports whether the worker is to end, or to give its place back, after this
// task. It inlines.
func (w *Worker) stops() bool {
	return (w.s.attention.Load() != 0 || w.stop != nil) && w.stopping()
}

// stopping is stops when there may be a reason.
func (w *Worker) stopping() bool {
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

// fair is the turn of the injection queue, each fairEvery-th time, and half way
// between two of those of the own overflow queue, so that tasks which reschedule
// themselves for ever starve neither. pushed says that there is more to be had,
// which somebody has to be told.
func (p *place) fair(s *Scheduler) (n *mpsc.Node, pushed bool) {
	p.counts.publish(&p.published)
	if p.injectionNext = !p.injectionNext; p.injectionNext {
		p.tick = fairEvery - overflowOffset
		n, pushed = p.queue.TakeOverflow()
	} else {
		p.tick = overflowOffset
		n, pushed = takeOne(&s.injection, injectionOrder)
	}
	if n == nil {
		n, pushed = p.queue.Pop(), false
	}
	return n, pushed
}

// injectionOrder is the order in which the injection queue is read.
const injectionOrder = mpsc.FIFO

// A worker that found fewer than caughtUpTasks tasks in the injection queue has
// caught up with who pushes there. It spins for catchUpRounds, some 2 µs, before
// it looks again: both take the line of the queue from each other, and the one of
// the Sync word. One outside caller, two workers, two processors: 88 ns a task
// without the pause, 32 with 16 rounds, 27 with 48, 21 with 96. At other times on
// the same machine, probably with the processors far from each other, it is 60 or
// more in any case.
const (
	drainedTasks      = 64
	drainedSpinRounds = 96
)

// find looks for a task when the own ring is empty: own overflow, injection, then
// the others. pushed is as in fair.
func (p *place) find(s *Scheduler, w *Worker) (n *mpsc.Node, pushed bool) {
	w.flush()
	if n, pushed = p.queue.Refill(); n != nil {
		p.counts.refilled++
		return n, pushed
	}
	if p.injectionDrained {
		lfsync.Relax(drainedSpinRounds)
	}
	if n, pushed = p.queue.RefillFrom(&s.injection, injectionOrder); n != nil {
		p.counts.refilled++
		p.injectionDrained = p.queue.Len() < drainedTasks
		return n, pushed
	}
	if n, pushed = p.steal(s); n != nil {
		return n, pushed
	}
	p.counts.publish(&p.published)
	return nil, false
}

// steal takes from the other places in a random order: of each the overflow
// queue before the ring. A victim that still has tasks afterwards counts as
// pushed: a thief that was turned away while this one held the ring may have
// parked.
func (p *place) steal(s *Scheduler) (n *mpsc.Node, pushed bool) {
	made := s.places.made.Load()
	if made < 2 {
		return nil, false
	}
	at := p.random() % made
	for range made {
		if v := s.places.all[at].Load(); v != nil && v != p {
			if n, pushed = p.queue.StealFrom(&v.queue); n != nil {
				p.counts.steals++
				return n, pushed || !v.queue.Empty()
			}
		}
		if at++; at == made {
			at = 0
		}
	}
	return nil, false
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

// await waits for a notification and returns the duty that comes with it. It
// reports false when the worker has to end, which it has been counted out for by
// then. The place is given back before w parks, and kept when it need not.
func (w *Worker) await(d obligation) (next obligation, ok bool) {
	s, waking := w.s, d == mustWake
	w.flush()
	if w.endOccupancy() {
		return mustNone, w.rejoinAfterStall(waking)
	}
	if w.stops() || w.beyondMax {
		w.leave(waking, false)
		return mustNone, false
	}
	for idle, woken := false, false; ; {
		switch s.sync.Wait(waking, idle) {
		case lfsync.OutcomeSearch:
			return mustNotify, true
		case lfsync.OutcomeSearchWaking:
			return mustWake, true
		case lfsync.OutcomeShutdown:
			w.leave(false, idle)
			return mustNone, false
		case lfsync.OutcomePark:
			if woken {
				s.cold.emptyWakes.Add(1)
			}
			if !idle {
				idle, waking = true, false
				w.cur, w.task = nil, nil // or a parked worker would keep them reachable
				w.beforePark()
			}
			s.cold.parks.Add(1)
			if !s.idle.WaitDone(w.stop) {
				w.leave(false, true)
				return mustNone, false
			}
			woken = true
		}
	}
}

// beforePark gives the idle hook its turn and the place back.
func (w *Worker) beforePark() {
	if w.place == nil {
		return
	}
	if hook := w.s.config.OnIdle; hook != nil {
		w.inHook = true
		hook(w)
		w.inHook = false
	}
	w.place.injectionDrained = false // whoever wakes does not spin first
	w.s.returnPlace(w)
}

// leave ends a worker: a duty or a signal that may be its own is passed on, and
// the place goes back last, when the word says that another may be started. A
// worker without a place looks at the queues, too: while it was counted, who
// pushed may have relied on it.
func (w *Worker) leave(waking, idle bool) {
	w.flush()
	w.leaveCount(waking, idle)
	if w.place != nil {
		w.s.returnPlace(w)
	} else if w.s.anyAvailable() {
		w.s.notify(false)
	}
}

// countOut takes w out of the Sync word, so that another worker can be started.
func (w *Worker) leaveCount(waking, idle bool) {
	w.endOccupancy()
	if w.counted {
		w.counted = false
		_, action := w.s.sync.Leave(waking, idle, w.s.max)
		w.s.act(action, false)
	}
}

// contain ends a task that panicked or called Goexit, given what recover said.
// It reports whether the worker can go on.
func (w *Worker) contain(r any) (again bool) {
	if w.inHook { // no task to blame
		w.leave(false, true)
		if r != nil {
			panic(r)
		}
		return false
	}
	defer func() {
		if !again { // also when OnPanic panics, or calls Goexit
			w.endWorker()
		}
	}()
	if r == nil { // Goexit: this goroutine unwinds
		w.failTask(ErrGoexit)
		return false
	}
	if !w.capture(r) {
		panic(r) // nobody awaits it
	}
	return true
}

// retire ends a worker in the middle of a callback.
func (w *Worker) endWorker() {
	w.leave(false, false)
	if w.blocked {
		w.endBlocking()
	}
}

// capture hands the panic value r to whoever is to learn of it and counts the
// task as finished, or reports false when there is nobody.
func (w *Worker) capture(r any) bool {
	hook := w.s.config.OnPanic
	if hook == nil && !w.grouped() {
		return false
	}
	err, raised := r.(*PanicError) // by a Wait in this task
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
