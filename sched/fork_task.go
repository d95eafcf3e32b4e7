package sched

import (
	"runtime"
	"runtime/debug"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	lfsync "github.com/lanewright/lanewright/sync"
)

// forkTask is a promoted fork, without its types.
//
// Roles:
//
//	runner  the worker that took the task: runs the body if it can claim the fork, then stores done
//	joiner  the owner of the stack that the fork was made on: runs or drops what it can claim, and awaits the rest
//
// State:
//
//	claimed  swapped by both: who finds false there owns the argument
//	state    forkOpen, forkAwaited (the joiner parks), forkDone: CAS by the joiner, swap by the runner
//	parker   the joiner's, stored before forkAwaited
//
// Invariants:
//
//	I1  a fork is run, or dropped, once: by who has claimed it
//	I2  the joiner touches what the runner writes only after it has seen forkDone
//
// So a joiner waits for forks only that somebody runs, and needs no worker
// for one that nobody has come for, be it that none could be started or that the
// scheduler was closed. The task of a fork that its joiner has claimed does nothing.
//
// Happens-before edges:
//
//	E1  swap to forkDone  ->  load by the joiner    it sees the result
//	E2  CAS to forkAwaited  ->  swap to forkDone    the runner sees the parker
//
// That the runner sees the argument is the edge of the queue. To claim before the
// argument is read is what keeps a thief from a copy of an argument that was
// replaced meanwhile.
//
// Progress: wait-free but for the joiner, who waits.
type forkTask struct {
	task Task // first, so that a task is its fork
	root *forkRoot

	state  atomix.Uint32
	parker *lfsync.Parker

	claimed atomix.Bool

	// Of the runner until forkDone, then of the joiner: I2.
	failure *PanicError
	exited  bool // it has called runtime.Goexit
}

// claim makes the caller the one who runs the fork, or drops it, unless there is one.
func (k *forkTask) claim() bool { return !k.claimed.Swap(true) } // I1

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

// takeArg returns the argument to whoever has claimed the fork.
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

// finish ends the part of the runner.
func (k *forkTask) finish() {
	if k.state.Swap(forkDone) == forkAwaited { // E1, E2
		k.parker.Unpark()
	}
}

func (k *forkTask) done() bool { return k.state.Load() == forkDone } // E1

// raise carries on what ended the fork, if it did not end by itself.
func (k *forkTask) rethrow() {
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
	if !k.claim() {
		return
	}
	began := cpu.Ticks()
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
		w.keepsRequesting = cpu.Ticks()-began >= requestAfterMicros*cpu.TicksPerMicrosecond()
		k.finish()
	}()
	k.result = k.body(f, k.takeArg())
	ended = true
}

// asPanicError returns the panic value r with the stack of where it was raised.
func asPanicError(r any) *PanicError {
	if err, ok := r.(*PanicError); ok { // of a fork of this one
		return err
	}
	return &PanicError{Value: r, Stack: debug.Stack()}
}

// awaitFork returns when k, which another worker has claimed, is done. With help, the
// worker runs forks of the same computation meanwhile; it parks when it has found
// none for a while. It takes a place if it has lost its own and one is free.
func (w *Worker) awaitFork(k *forkTask, help bool) {
	for !k.done() {
		w.retakePlace()
		if !w.helpFork(k, help) {
			w.parkForFork(k)
		}
	}
	w.retakePlace()
}

// parkForFork parks without a place until k is done.
func (w *Worker) parkForFork(k *forkTask) {
	if w.parker == nil {
		w.parker = lfsync.NewParker()
	}
	k.parker = w.parker
	w.releasePlace()
	if k.state.CompareAndSwap(forkOpen, forkAwaited) { // E2
		for !k.done() {
			w.parker.Park()
		}
	}
}
