package sched

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// forkRoot is the state that the forks of one computation share. It is made when the
// first fork is promoted, so a small computation without a context has none.
type forkRoot struct {
	group     Group // of the promoted forks: it decides which waits may run them
	cancelled atomix.Bool

	// The forks read these fields, and adopt stores them before a fork is promoted.
	caller *Group    // the group of the callback that called ForkJoin, or a mark, or nil
	below  []*Group  // the groups of the tasks on whose top that callback ran
	outer  *forkRoot // the root of the computation on top of which this one runs, or nil
}

// isAwaitedIn reports whether a task of g waits for the computation of r: the task that calls
// ForkJoin, a task below it, or one of these two for a computation on top of which that of r runs.
// None of them finishes before all forks of the computation have ended.
func (r *forkRoot) isAwaitedIn(g *Group) bool {
	for ; r != nil; r = r.outer {
		if r.caller == g || slices.Contains(r.below, g) {
			return true
		}
	}
	return false
}

// ForkJoin runs body with arg and a fork stack, and returns the result of body. Forks of the
// body may run on other workers of s. A nil s means [Default]. A fork that no other worker
// takes runs on the goroutine that made it. See [Forks] for the form of a body.
//
// If a place is free, the caller becomes a worker without a hand-off. If no place is free
// or queued tasks have precedence, as in [Scheduler.Do], the computation runs as a task
// of s and the caller waits. On a scheduler that was shut down or closed, the computation
// runs on the caller alone. Inside a callback that holds its place it runs as the worker of that
// callback, and therefore on top of computations that this worker runs already. These may have the
// same types or others.
//
// While a worker waits for a fork that another worker runs, it runs other forks of the
// same computation and none of any other. The caller of ForkJoin may therefore hold a
// lock that other tasks need, if those tasks wait for the lock inside
// [Worker.Blocking]. A body may not hold a lock across a join if other bodies of the
// same computation take that lock.
//
// A panic on the goroutine of the caller passes through ForkJoin after all forks have
// ended. A panic on another worker is raised again at the join of its fork, or where the
// caller waits, as a [*PanicError]. When a body unwinds, its forks that no worker has
// begun are dropped.
//
// ForkJoin panics when forks and joins do not balance: each body joins the forks that it
// made, also after it has recovered from a panic. A body that recovers must run the code
// that may panic in a ForkJoin of its own. Otherwise the forks of that code stay open.
//
// ForkJoin panics if body is nil or if it is called from Config.OnIdle.
func ForkJoin[A, R any](s *Scheduler, body func(*Forks[A, R], A) R, arg A) R {
	return forkJoin(s, nil, body, arg)
}

// ForkJoinContext is [ForkJoin] with a context. When ctx ends, [Forks.Cancelled] becomes
// true and no further fork becomes a task for another worker. The body has to return by
// itself. The result is that of the body. The error is nil, or the cause of ctx if ctx
// ended before the computation did; the result may then be incomplete. If ctx has ended
// before the call, ForkJoinContext does not call body. It panics if ctx is nil.
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
	if ctx.Err() != nil { // the flag may be set later than this
		err = context.Cause(ctx)
	}
	return result, err
}

func forkJoin[A, R any](s *Scheduler, root *forkRoot, body func(*Forks[A, R], A) R, arg A) (result R) {
	if body == nil {
		panic("sched: ForkJoin: nil body")
	}
	if s == nil {
		s = &shared
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
		s.runRoot(w, func() { result = forkJoinOn(w, root, body, arg) })
		return result
	}
	return forkJoinOn(unplaced(s), root, body, arg)
}

// runRoot calls fn, which runs a computation on w, and returns the place of w. It has no type
// parameters, because the runtime does not say which arguments of a generic function are exact.
//
//go:noinline
func (s *Scheduler) runRoot(w *Worker, fn func()) {
	defer w.endDo()
	fn()
	runtime.KeepAlive(s) // s and w are exact in a stack trace: see callbacksIn
	runtime.KeepAlive(w)
}

// unplaced returns a worker for a computation that runs on its caller alone.
func unplaced(s *Scheduler) *Worker {
	w := newWorker(s, callerWorker)
	w.state = placeless
	return w
}

// forkJoinAsTask runs the computation as a task of s. It is for a caller that has found
// no free place.
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
		return forkJoinOn(unplaced(s), root, body, arg)
	case err == ErrGoexit: //nolint:errorlint // the value itself is meant: a body may panic with one that wraps it
		runtime.Goexit()
	}
	panic(err) // Config.OnPanic was called with it as well
}

// forkJoinOn runs the computation on w, which may have no place.
func forkJoinOn[A, R any](w *Worker, root *forkRoot, body func(*Forks[A, R], A) R, arg A) R {
	if w.state == inHook {
		panic("sched: ForkJoin: called from Config.OnIdle")
	}
	f := takeForks[A, R](w)
	f.body = body
	f.enter(w)
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

// takeForks returns an empty stack of these types. It takes one that the place of w
// keeps, or makes one.
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

// Limits of the memory of stacks.
const (
	firstBytes = 4 << 10  // bytes of a new stack: 64 slots, fewer if they are large, at least 2
	keptStacks = 16       // stacks that a place keeps, at most
	keptBytes  = 64 << 10 // bytes of a stack that a place keeps, at most
)

// slotBytes returns the size of a slot in bytes, and 1 for a slot without content.
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

// close ends the use of f by one computation or by one promoted fork. Its body has
// returned or unwinds. close first ends the forks that are still open. It returns an
// error if the body has returned and left open forks.
func (f *Forks[A, R]) close(ended bool) (err *PanicError) {
	left := int(f.top)
	f.top = f.prom // otherwise a wait below could promote a private fork
	for i, k := range f.promoted {
		if k.claim() {
			k.takeArg()
			f.promoted[i] = nil
		}
	}
	for i, k := range f.promoted {
		if k != nil {
			k.await(f.w, false) // without help: a task on top could call Goexit here
			f.promoted[i] = nil
		}
	}
	f.promoted = f.promoted[:0]
	if left > 0 {
		clear(f.slots)
	}
	f.top = 0
	f.setProm(0)
	f.leave()
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

// ensureRoot returns the root of the computation. It makes one if there is none.
func (h *forkHead) ensureRoot() *forkRoot {
	if h.root == nil {
		h.adopt(new(forkRoot))
	}
	return h.root
}

// adopt makes r the root of the computation of h. The parent of its group is the group
// of the callback or computation that called ForkJoin. A wait for that group may
// therefore run the forks of this computation. The running task may be another one, on top
// of a wait of the body. A wait for the group of that task may not run these forks.
func (h *forkHead) adopt(r *forkRoot) {
	h.root = r
	r.group.s.Store(h.w.s)
	r.caller, r.below = h.w.groupAt(int(h.depth)), slices.Clone(h.w.outer[:h.depth])
	switch {
	case h.outer != nil:
		r.outer = h.outer.ensureRoot()
		r.group.parent.Store(&r.outer.group)
	case r.caller.counts():
		r.group.parent.Store(r.caller)
	}
}
