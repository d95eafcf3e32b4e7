package sched

import (
	"runtime"
	"runtime/debug"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// forkTask is a promoted fork, without its types.
//
// Roles:
//
//	runner  the worker that took the task: runs the body, then stores done
//	joiner  the owner of the stack that the fork was made on
//	closer  who discards the task because the scheduler was closed: stores unrun
//
// State:
//
//	state   forkOpen, forkAwaited (the joiner parks), forkDone: CAS by the joiner, swap by the others
//	parker  the joiner's, stored before forkAwaited
//
// Invariants:
//
//	I1  one of runner and closer gets the task, and swaps the state once
//	I2  the joiner touches what the runner writes only after it has seen forkDone
//
// Happens-before edges:
//
//	E1  swap to forkDone  ->  load by the joiner    it sees the result
//	E2  CAS to forkAwaited  ->  swap to forkDone    the runner sees the parker
//
// That the runner sees the argument is the edge of the queue.
//
// Progress: wait-free but for the joiner, who waits.
type forkTask struct {
	task Task // first, so that a task is its fork
	root *forkRoot

	state  atomix.Uint32
	parker *lfsync.Parker

	// Of the runner until forkDone, then of the joiner: I2.
	unrun   bool // nobody has run it
	failure *PanicError
	exited  bool // it has called runtime.Goexit

	// dropped tells the runner that nobody wants the result: the joiner unwinds.
	dropped atomix.Bool
}

const (
	forkOpen uint32 = iota
	forkAwaited
	forkDone
)

// fork is a promoted fork.
type fork[A, R any] struct {
	forkTask

	body   func(*Forks[A, R], A) R
	arg    A
	result R
}

func (k *forkTask) init(r *forkRoot, fn func(*Worker, *Task)) {
	k.root = r
	k.task.Fn = fn
	k.task.group = &r.group
}

// finish ends the part of the runner, or of the closer.
func (k *forkTask) finish() {
	if k.state.Swap(forkDone) == forkAwaited { // E1, E2
		k.parker.Unpark()
	}
}

// discard is finish for a task that nobody will run: the joiner runs it.
func (k *forkTask) discard() {
	k.unrun = true
	k.finish()
}

func (k *forkTask) done() bool { return k.state.Load() == forkDone } // E1

// raise carries on what ended the fork, if it did not end by itself.
func (k *forkTask) raise() {
	if k.failure != nil {
		panic(k.failure)
	}
	if k.exited {
		runtime.Goexit()
	}
}

// runFork is the callback of a promoted fork.
func runFork[A, R any](w *Worker, t *Task) {
	k := forkOf[A, R](t)
	if k.dropped.Load() {
		k.finish()
		return
	}
	f := takeForks[A, R](w)
	f.root = k.root
	f.body = k.body
	w.enterForks(&f.forkHead)
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
		k.finish()
	}()
	arg := k.arg
	var zero A
	k.arg = zero
	k.result = k.body(f, arg)
	ended = true
}

// asPanicError returns the panic value r with the stack of where it was raised.
func asPanicError(r any) *PanicError {
	if err, ok := r.(*PanicError); ok { // of a fork of this one
		return err
	}
	return &PanicError{Value: r, Stack: debug.Stack()}
}

// awaitFork returns when k is done. The worker runs forks of the same computation
// meanwhile; it parks when it has found none for a while. It takes a place if it
// has lost its own and one is free: k may lie where nobody comes.
func (w *Worker) awaitFork(k *forkTask) {
	for !k.done() {
		w.comeBack()
		if !w.helpFork(k) {
			w.parkForFork(k)
		}
	}
	w.comeBack()
}

// parkForFork parks without a place until k is done, or until a worker that was to
// run it may be missing.
func (w *Worker) parkForFork(k *forkTask) {
	if w.parker == nil {
		w.parker = lfsync.NewParker()
	}
	k.parker = w.parker
	w.giveAway()
	if !k.state.CompareAndSwap(forkOpen, forkAwaited) && k.done() { // E2
		return
	}
	if !w.s.unsure {
		for !k.done() {
			w.parker.Park()
		}
		return
	}
	if w.s.rely(w.parker) && !k.done() {
		w.parker.Park()
	}
	w.s.life.starved.drop(w.parker)
}
