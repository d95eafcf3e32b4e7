package sched

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// forkRoot is what the forks of one computation share. It is made when the first
// of them is promoted: a small computation needs none.
type forkRoot struct {
	group     Group // of the promoted forks: says who may run them while waiting
	cancelled atomix.Bool
}

// ForkJoin runs body with arg and a fork stack, and returns its result. What the body
// forks may run on other workers of s; what nobody takes runs where it was forked.
//
// The caller becomes a worker if a place is free, without any hand-off. When none
// is, or it is the turn of what is queued, as with [Scheduler.Do], the computation
// runs as a task of s, and the caller waits; on a scheduler
// that was shut down or closed it runs on the caller alone. Inside a callback it
// runs as the worker of that callback, and so on top of other computations, of the
// same types or others.
//
// A worker that waits for a fork which another one runs, runs other forks of the same
// computation meanwhile, and none of any other: the caller of ForkJoin may hold a
// lock that other tasks need, if those wait for it inside Blocking, but bodies of one computation may not hold one across
// a join that others of it take.
//
// A panic on the caller's goroutine passes through, after all forks have ended;
// one on another worker is raised again where the fork is joined, or where the
// caller waits, as a [*PanicError]. Forks that nobody has begun are dropped when a
// body unwinds. ForkJoin panics when forks and joins do not balance.
func ForkJoin[A, R any](s *Scheduler, body func(*Forks[A, R], A) R, arg A) R {
	return forkJoin(s, nil, body, arg)
}

// ForkJoinContext is ForkJoin with a context. When ctx ends, [Forks.Cancelled] is
// true and no fork is handed to another worker any more; the body sees to it that
// it returns. The result is what the body returned. The error is nil, or the cause
// of ctx if that ended meanwhile: the result may be incomplete then. It does not
// call body when ctx has ended before.
func ForkJoinContext[A, R any](ctx context.Context, s *Scheduler, body func(*Forks[A, R], A) R, arg A) (result R, err error) {
	if ctx == nil {
		panic("sched: ForkJoinContext: nil context")
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if ctx.Done() == nil {
		return forkJoin(s, nil, body, arg), nil
	}
	root := new(forkRoot)
	stop := context.AfterFunc(ctx, func() { root.cancelled.Store(true) })
	defer stop()
	result = forkJoin(s, root, body, arg)
	if ctx.Err() != nil { // the flag may come later
		err = context.Cause(ctx)
	}
	return result, err
}

func forkJoin[A, R any](s *Scheduler, root *forkRoot, body func(*Forks[A, R], A) R, arg A) R {
	if body == nil {
		panic("sched: ForkJoin: nil body")
	}
	s.init()
	w := s.self()
	if w != nil {
		return forkJoinOn(w, root, body, arg)
	}
	if s.life.phase.Load() == open || s.inside() {
		if w = s.enterAsCaller(); w == nil {
			return forkJoinAsTask(s, root, body, arg)
		}
		defer w.endDo()
		return forkJoinOn(w, root, body, arg)
	}
	return forkJoinOn(&Worker{s: s, callerWorker: true}, root, body, arg)
}

// forkJoinAsTask runs the computation as a task, because no place is free.
func forkJoinAsTask[A, R any](s *Scheduler, root *forkRoot, body func(*Forks[A, R], A) R, arg A) (result R) {
	ran := false
	err := s.doElsewhere([]*Task{{Fn: func(w *Worker, _ *Task) {
		ran = true
		result = forkJoinOn(w, root, body, arg)
	}}})
	switch {
	case err == nil:
		return result
	case !ran: // closed or shut down
		return forkJoinOn(&Worker{s: s, callerWorker: true}, root, body, arg)
	case err == ErrGoexit: //nolint:errorlint // the value itself is meant: a body may panic with one that wraps it
		runtime.Goexit()
	}
	panic(err) // Config.OnPanic has it, too
}

// forkJoinOn runs the computation on w, which may have no place.
func forkJoinOn[A, R any](w *Worker, root *forkRoot, body func(*Forks[A, R], A) R, arg A) R {
	if w.inHook {
		panic("sched: ForkJoin: called from Config.OnIdle")
	}
	f := takeForks[A, R](w)
	f.body = body
	w.enterForks(&f.forkHead)
	if root != nil {
		f.adopt(root)
	}
	ended := false
	defer func() {
		if err := f.close(ended); err != nil {
			panic(err.Value)
		}
	}()
	result := body(f, arg)
	ended = true
	return result
}

// takeForks returns an empty stack of the right types, from those that the place of
// w keeps.
func takeForks[A, R any](w *Worker) *Forks[A, R] {
	var f *Forks[A, R]
	if w.place != nil {
		kept := &w.place.forks.kept
		for i := len(*kept) - 1; i >= 0; i-- {
			var ok bool
			if f, ok = (*kept)[i].(*Forks[A, R]); ok {
				last := len(*kept) - 1
				(*kept)[i] = (*kept)[last]
				*kept = (*kept)[:last]
				f.w = w
				return f
			}
		}
	}
	f = &Forks[A, R]{slots: make([]A, max(2, min(64, firstBytes/slotBytes[A]())))}
	f.pointers = hasPointers(reflect.TypeFor[A]())
	f.stack = f
	f.limit.Store(int32(len(f.slots)))
	f.setProm(0)
	f.w = w
	return f
}

// Limits of the slots that a stack begins with, 64 if they are small, of the stacks that
// a place keeps, and of the slots of each.
const (
	firstBytes = 4 << 10
	keptStacks = 16
	keptBytes  = 64 << 10
)

// slotBytes returns the size of a slot.
func slotBytes[A any]() int {
	var slot A
	return max(int(unsafe.Sizeof(slot)), 1)
}

// hasPointers reports whether values of type t may hold pointers.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

// close ends the use of f by one computation, or one promoted fork, when its body
// has returned or unwinds. Forks that are open still are ended first. It returns
// an error when a body that returned has left some.
func (f *Forks[A, R]) close(ended bool) (err *PanicError) {
	left := int(f.top)
	f.top = f.prom // nobody is to promote what is private, while this one waits
	for i, k := range f.promoted {
		if k.claim() {
			k.takeArg()
			f.promoted[i] = nil
		}
	}
	for i, k := range f.promoted {
		if k != nil {
			f.w.awaitFork(&k.forkTask, false) // what it ran on top might call Goexit here
			f.promoted[i] = nil
		}
	}
	f.promoted = f.promoted[:0]
	if left > 0 {
		clear(f.slots)
	}
	f.top = 0
	f.setProm(0)
	f.w.leaveForks(&f.forkHead)
	w := f.w
	f.root, f.body, f.w = nil, nil, nil
	if p := w.place; p != nil && len(p.forks.kept) < keptStacks && len(f.slots)*slotBytes[A]() <= keptBytes {
		p.forks.kept = append(p.forks.kept, f)
	}
	if ended && left != 0 {
		err = &PanicError{Value: fmt.Sprintf("sched: ForkJoin: a body has returned with %d forks that it has not joined", left)}
	}
	return err
}

// ensureRoot returns the root of the computation, which is made now if need be.
func (h *forkHead) ensureRoot() *forkRoot {
	if h.root == nil {
		h.adopt(new(forkRoot))
	}
	return h.root
}

// adopt makes r the root of the computation of h. Whoever waits for what the caller
// of the computation is part of may run its forks.
func (h *forkHead) adopt(r *forkRoot) {
	h.root = r
	r.group.s.Store(h.w.s)
	switch {
	case h.outer != nil:
		r.group.parent.Store(&h.outer.ensureRoot().group)
	case h.w.grouped():
		r.group.parent.Store(h.w.cur)
	}
}
