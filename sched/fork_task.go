package sched

import (
	"runtime"
	"runtime/debug"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// forkTask is a promoted fork, without its types.
//
// Roles:
//
//	runner  the worker that took the task: runs the body if it claims the fork, then stores forkDone
//	joiner  the owner of the stack that the fork was made on: runs or drops a fork that it claims, and awaits any other
//
// State:
//
//	claimed  swapped by both: the goroutine that reads false owns the argument
//	state    forkOpen, forkAwaited (the joiner parks), forkDone: CAS by the joiner, swap by the runner
//	parker   that of the joiner, stored before forkAwaited
//
// Invariants:
//
//	I1  a fork is either run or dropped, and only once, by the goroutine that has claimed it
//	I2  the joiner accesses the fields that the runner writes only after it has read forkDone
//
// A joiner therefore waits only for forks that a worker runs. It needs no worker for a
// fork that no worker has begun, for example when none could be started or when the
// scheduler was closed. The task of a fork that its joiner has claimed does nothing.
//
// Happens-before edges:
//
//	E1  swap to forkDone  ->  load by the joiner    the joiner sees the result
//	E2  CAS to forkAwaited  ->  swap to forkDone    the runner sees the parker
//
// The run queue has the edge by which the runner sees the argument. The runner claims the
// fork before it reads the argument. Otherwise a thief could take a copy of an argument
// that was replaced in between.
//
// Progress: wait-free, except for the joiner, which waits.
type forkTask struct {
	task Task // first, so that the address of the task is that of the fork
	root *forkRoot

	state  atomix.Uint32
	parker *lfsync.Parker

	claimed atomix.Bool

	// The runner owns these fields until forkDone, and the joiner afterwards: I2.
	failure *PanicError
	exited  bool // the body has called runtime.Goexit
}

// claim reports whether the caller is the first to claim the fork. The caller then runs
// the fork or drops it.
func (k *forkTask) claim() bool { return !k.claimed.Swap(true) } // I1

const (
	forkOpen uint32 = iota
	forkAwaited
	forkDone
)

// fork is a promoted fork with its types.
type fork[A, R any] struct {
	forkTask

	body   func(*Forks[A, R], A) R
	arg    A
	result R
}

// takeArg returns the argument and clears it. Only the goroutine that has claimed the
// fork may call it.
func (k *fork[A, R]) takeArg() A {
	arg := k.arg
	var zero A
	k.arg = zero
	return arg
}

func (k *forkTask) init(r *forkRoot, fn func(*Worker, *Task)) {
	k.root = r
	k.task.Fn = fn
	k.task.group = &r.group
}

// finish stores that the fork is done and unparks the joiner if that has parked. It is the
// last access of the runner to the fork.
func (k *forkTask) finish() {
	if k.state.Swap(forkDone) == forkAwaited { // E1, E2
		k.parker.Unpark()
	}
}

func (k *forkTask) done() bool { return k.state.Load() == forkDone } // E1

// rethrow raises the panic of the fork again, or repeats its runtime.Goexit. It does
// nothing after a body that has returned.
func (k *forkTask) rethrow() {
	if k.failure != nil {
		panic(k.failure)
	}
	if k.exited {
		runtime.Goexit()
	}
}

// runFork is the callback of the task of a promoted fork.
func runFork[A, R any](w *Worker, t *Task) {
	k := forkOf[A, R](t)
	if !k.claim() {
		return
	}
	began := cpu.Ticks()
	f := takeForks[A, R](w)
	f.root = k.root
	f.body = k.body
	f.enter(w)
	ended := false
	defer func() {
		if !ended {
			if r := recover(); r != nil {
				k.failure = asPanicError(r)
			} else {
				k.exited = true
			}
		}
		if err := f.close(ended); err != nil && k.failure == nil {
			k.failure = err
		}
		w.observer.keepsRequesting = cpu.Ticks()-began >= requestAfterMicros*cpu.TicksPerMicrosecond()
		k.finish()
	}()
	k.result = k.body(f, k.takeArg())
	ended = true
}

// asPanicError returns the panic value r with the stack of the goroutine that panicked.
func asPanicError(r any) *PanicError {
	if err, ok := r.(*PanicError); ok { // raised again by the join of a fork
		return err
	}
	return &PanicError{Value: r, Stack: debug.Stack()}
}

// await returns when k is done. Another worker than the joiner w has claimed k. With help, the
// joiner runs forks of the same computation while it waits. It parks when it has found none for
// some time.
func (k *forkTask) await(w *Worker, help bool) {
	for {
		w.settle()
		if k.done() {
			return
		}
		if !k.awaitRounds(w, help) {
			k.park(w)
		}
	}
}

// park releases the place of the joiner w and parks until k is done.
func (k *forkTask) park(w *Worker) {
	k.parker = w.lingerer.ownParker()
	w.withoutPlace(func() {
		if k.state.CompareAndSwap(forkOpen, forkAwaited) { // E2
			for !k.done() {
				k.parker.Park()
			}
		}
	})
}

// awaitRounds waits until k is done and reports true. With help, it also reports true after the
// joiner w has run a task of the computation. It reports false when neither has happened within
// requestRounds. w counts as a requester while it waits, but not while it runs a task.
func (k *forkTask) awaitRounds(w *Worker, help bool) (ok bool) {
	var t *Task
	w.s.requesters.Add(1)
	for round := 1; !ok && t == nil && round <= requestRounds; round++ {
		if ok = k.done(); !ok {
			if help {
				t = k.takeOther(w)
			}
			if t == nil {
				w.observer.spin(w.s, w.place, round)
			}
		}
	}
	w.s.requesters.Add(-1)
	w.s.notifyAvailable() // a push may have relied on this requester and not have notified
	if t != nil {
		w.runNested(t)
	}
	return ok || t != nil
}

// takeOther returns a queued task of the computation of k for the joiner w, or nil. A task of a
// group that a task of the computation waits for counts as well.
func (k *forkTask) takeOther(w *Worker) *Task {
	if w.place == nil || len(w.outer) >= maxFrames || w.place.queue.Empty() && !w.s.anyAvailable() {
		return nil
	}
	return w.place.takeFor(w.s, w, func(n *mpsc.Node) bool { return taskOf(n).group.awaitedBy(&k.root.group) })
}

// unqueue removes the task of k from the ring of the joiner w. The joiner has claimed the fork, so
// the task would wake a worker without effect. A task that is not among the newest
// scanSlots of the ring stays and does nothing.
func (k *forkTask) unqueue(w *Worker) {
	if w.place == nil || w.place.queue.Empty() {
		return
	}
	if w.place.queue.TakeNewest(func(n *mpsc.Node) bool { return n == &k.task.node }, scanSlots) != nil {
		k.root.group.addFinished(w.place, 1)
	}
	if !w.place.queue.Empty() { // thieves that found the ring held may have parked
		w.s.notify(false)
	}
}
