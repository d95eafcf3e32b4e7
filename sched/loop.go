package sched

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"

	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// run is the life of a worker goroutine.
func (w *Worker) run() {
	w.frame.Enter()
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
	for justSpawned := w.role == spawnedWorker; w.loop(justSpawned); justSpawned = false { // each pass ends with a contained panic
	}
	ended = true
	runtime.KeepAlive(s) // s and w are exact in a stack trace: see callbacksIn
	runtime.KeepAlive(w)
}

// loop searches for tasks and runs them. It reports false when the worker has to end, and
// true when it has contained the panic of a callback. justSpawned states that w was spawned and has
// not taken the signal of its spawn yet.
func (w *Worker) loop(justSpawned bool) (again bool) {
	s := w.s
	ended := false
	defer func() {
		if !ended {
			again = w.contain(recover())
		}
	}()
	d, ok := mustNone, true
	if justSpawned {
		// The spawn was a signal. The worker takes it before it runs anything. Otherwise
		// the signal would stay in the word if the first callback never returned.
		d, ok = w.await(d)
	}
	for ok {
		if w.state == placeless && !w.rejoin() {
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
			w.place.beginOccupancy(s, w.unit.counted)
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
				if n, pushed = p.requestFork(s, w); n == nil {
					return d
				}
			}
		}
		if pushed || d != mustNone {
			w.flush(p) // the action may take long
			s.found(d, pushed)
			d = mustNone
		}
		if t := taskOf(n); w.enter(t, p) {
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
		w.flush(w.place)
		return mustNone, w.rejoinAfterStall(waking)
	}
	if w.stops() || w.unit.beyondMax {
		w.leave(waking, false)
		return mustNone, false
	}
	out, lingers := w.beginWait(waking)
	idle := out == lfsync.OutcomePark
	w.flush(w.place)
	if idle {
		w.leaveGroup(nil, nil) // a parked worker must not keep them reachable
		s.armIdleEnd()
		if lingers {
			var state uint32
			state, w.place = w.lingerer.park(s, w.stop)
			switch state {
			case lingerResumed:
				return mustWake, true
			case lingerClosed:
				out = lfsync.OutcomeShutdown // without a wake token for w
			}
		}
		w.beforePark()
	}
	for woken := false; out == lfsync.OutcomePark; out, woken = s.sync.Wait(false, true), true {
		if (woken || lingers) && s.mayEnd(w.role) {
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

// runNested runs or skips t on top of the callback that waits. Afterwards the group of that
// callback is the counted one again, also when t unwinds this goroutine.
func (w *Worker) runNested(t *Task) {
	outer := w.task
	w.outer = append(w.outer, w.cur)
	runs := w.enter(t, w.place)
	if runs {
		w.place.counts.executed++
	}
	ended := false
	defer func() {
		defer func() {
			w.flush(w.place)
			top := len(w.outer) - 1
			if w.outer[top] == nil && w.forks == nil && w.place != nil && w.s.attention.Load() != 0 {
				w.place.unmark(w.s) // t ran on top of no callback: see inspect.go
			}
			w.leaveGroup(w.outer[top], outer)
			w.outer[top] = nil // otherwise it would stay reachable
			w.outer = w.outer[:top]
		}()
		if ended {
			return
		}
		r := recover()
		if r == nil { // Goexit: the waiting callback unwinds as well
			w.failTask(ErrGoexit, w.place)
			return
		}
		if !w.capture(r) {
			panic(r)
		}
	}()
	switch {
	case !runs:
	case w.s.instrumented:
		w.runInstrumented(t)
	default:
		t.Fn(w, t)
	}
	w.done++
	ended = true
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
	if w.s.closing.Load() || w.place != nil && w.place.clearProbe(w.s) {
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

// contain ends a task that has panicked or called Goexit. r is the result of recover. It
// reports whether the worker can continue.
func (w *Worker) contain(r any) (again bool) {
	if w.state == inHook { // no task runs
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
		w.failTask(ErrGoexit, w.place)
		return false
	}
	if !w.capture(r) {
		panic(r) // no goroutine awaits the task
	}
	return true
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
	defer func() { w.failTask(err, w.place) }() // also when the hook does not return; it may release the place
	if hook != nil {
		hook(w.task, r, err.Stack)
	}
	return true
}
