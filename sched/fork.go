package sched

import "github.com/lanewright/lanewright/internal/atomix"

// Forks is the fork stack of a worker that runs a fork-join computation. It holds the
// forks that the worker has made and has not joined yet. A fork is an argument for the
// body of the computation. To make one costs a store and a compare. To take it back costs
// a compare. When another worker has nothing to do, the oldest fork becomes a task for it.
//
// A body makes a fork of n-2, does other work, and joins the fork:
//
//	f.Push(n - 2)
//	if f.Wanted() {
//		f.Promote()
//	}
//	x := fib(f, n-1)
//	if f.TakeBack() {
//		return x + fib(f, n-2)
//	}
//	return x + f.Await()
//
// This form is the fastest for arguments without pointers. With pointers in the argument
// use [Forks.TakeBackPointer]. [Forks.Fork] and [Forks.Join2] are shorter forms, and [Scope]
// is the form for closures.
//
// Each body joins the forks that it made, the newest first. [ForkJoin] panics when forks
// and joins do not balance. A Forks belongs to the body that was called with it: only the
// goroutine of that body may use it, and only until the body returns.
type Forks[A, R any] struct {
	forkHead

	slots    []A           // slot i holds the argument of fork i while that is private
	promoted []*fork[A, R] // promoted[i] is the task of fork i
	body     func(*Forks[A, R], A) R
}

// forkHead is the part of a Forks that does not depend on its types.
//
// Roles:
//
//	owner     the goroutine of the bodies: stores all fields
//	searcher  a worker without work, or the fork monitor: stores -1 in limit
//
// State:
//
//	top    the number of open forks
//	prom   forks below prom are promoted, the others are private
//	own    TakeBack takes back the forks from own on
//	limit  Wanted is true from this number of forks on: the number of slots, or -1
//
// Invariants:
//
//	I1  0 <= prom <= top, except for the moment in which a promoted fork is joined
//	I2  own is prom if slots hold no pointers, and otherwise beyond every slot: TakeBackPointer and Await take such forks back and clear the slot
//	I3  limit is at most the number of slots, so that after a Push without Promote a slot is free for the next Push
//
// Only the owner reads the slots. When another worker is to run a fork, the owner first
// copies it into a task. A slot is therefore free again at once, and it needs no atomics.
//
// The methods are methods of forkHead and not of Forks because the compiler does not
// inline atomic loads of a generic method into other packages.
//
// Source: the split deque of Lace (van Dijk, van de Pol, 2014). Here the owner alone
// moves the split point, as in private deques (Acar, Charguéraud, Rainey, 2013). Private
// forks are like the latent jobs of Spice and chili, which a clock promotes. Here the
// requests of other workers promote them.
type forkHead struct {
	top   int32
	own   int32
	limit atomix.Int32
	prom  int32

	pointers bool // slots may hold pointers

	w     *Worker
	root  *forkRoot // nil until a fork is promoted or a context is given
	depth int32     // the number of tasks below the callback that called ForkJoin
	outer *forkHead // the stack that this goroutine used before and will use again
	stack forkStack // the Forks of this head
}

// forkStack is a Forks of any type.
type forkStack interface {
	detachOldest() *forkTask // makes a task of the oldest private fork; one must exist
}

// Push makes a fork of arg. These lines must follow it:
//
//	if f.Wanted() {
//		f.Promote()
//	}
//
// They also make room for the next fork. Without them, Push panics with an index out of
// range when all slots are in use. A new stack has at most 64 slots.
func (f *Forks[A, R]) Push(arg A) {
	f.slots[f.top] = arg
	f.top++
}

// Wanted reports whether Promote must be called, because another worker requests a fork
// or the stack has no room for the next fork. It costs one load and a compare.
func (h *forkHead) Wanted() bool { return h.top >= h.limit.Load() }

// TakeBack takes back the newest fork and reports true. The caller then runs the fork.
// TakeBack reports false if the fork has become a task. The caller then calls Await, which
// returns the result of the fork. For arguments with pointers TakeBack always reports
// false and Await runs the fork; [Forks.TakeBackPointer] is the faster form.
func (h *forkHead) TakeBack() bool {
	if h.top <= h.own { // I2
		return false
	}
	h.top--
	return true
}

// Promote makes room for more forks. If another worker has requested a fork, Promote
// makes the oldest fork a task for it.
//
//go:noinline
func (f *Forks[A, R]) Promote() {
	if n := int(f.top); n >= len(f.slots) {
		slots := make([]A, 2*n)
		copy(slots, f.slots)
		f.slots = slots
	}
	f.limit.Store(int32(len(f.slots))) // I3; before the load of the demand flag, see fork_demand.go
	if f.w.place != nil {
		f.promoteOnDemand()
	}
}

// PromoteNow makes the oldest fork a task at once and notifies a worker. Promote does
// so only on request. PromoteNow is for a body that will compute for long before its
// next Promote or join, because no other goroutine can promote its forks in between. It
// costs as much as scheduling a task. It does nothing when every fork is a task already,
// when the worker has no place, when MaxWorkers is 1, when the scheduler was closed, and when
// the context of the computation has ended.
func (h *forkHead) PromoteNow() {
	if w := h.w; h.top > h.prom && w.place != nil && w.s.max > 1 && !h.Cancelled() && !w.s.closing.Load() {
		h.promote()
		w.s.notify(false)
	}
}

// Fork is Push, Wanted and Promote in one call. The call costs a nanosecond or two more
// than the separate calls, because the compiler inlines Push and Wanted:
//
//	f.Fork(n.Right)
//	sum := n.Value + walk(f, n.Left)
//	if f.TakeBackPointer() {
//		return sum + walk(f, n.Right)
//	}
//	return sum + f.Await()
//
//go:noinline
func (f *Forks[A, R]) Fork(arg A) {
	f.slots[f.top] = arg
	f.top++
	if f.Wanted() {
		f.Promote()
	}
}

// TakeBackPointer is TakeBack for arguments of every type. It also clears the slot of the
// fork, so that an argument with pointers does not stay reachable. For arguments without
// pointers TakeBack is faster.
func (f *Forks[A, R]) TakeBackPointer() bool {
	if f.top <= f.prom {
		return false
	}
	f.top--
	var zero A
	f.slots[f.top] = zero
	return true
}

// Await returns the result of the newest fork. It may be called only after TakeBack or
// TakeBackPointer has reported false. If no worker has begun the fork, Await runs it.
// While another worker runs the fork, Await runs other forks of the same computation.
// When it finds none for some time, it releases the place as [Worker.Blocking] does and
// parks. Afterwards it takes a place again if one is free. [Worker.ID] may then return
// another index.
//
// If the fork panicked on another worker, Await raises the panic again, as a
// [*PanicError]. If it called runtime.Goexit there, Await calls runtime.Goexit as well.
//
//go:noinline
func (f *Forks[A, R]) Await() R {
	if f.top == 0 {
		panic("sched: Forks: a join without a fork")
	}
	f.top--
	i := f.top
	if i >= f.prom { // private: TakeBack has refused it because slots hold pointers
		if !f.pointers {
			panic("sched: Forks: Await without a TakeBack or TakeBackPointer that returned false")
		}
		arg := f.slots[i]
		var zero A
		f.slots[i] = zero
		return f.body(f, arg)
	}
	k := f.promoted[i]
	claimed := k.claim()
	if !claimed {
		k.await(f.w, true)
	}
	f.promoted[i] = nil
	f.promoted = f.promoted[:i]
	f.setProm(i)
	if claimed {
		k.unqueue(f.w)
		return f.body(f, k.takeArg())
	}
	k.rethrow()
	return k.result
}

// Join2 runs the body on a and on b and returns both results. Another worker that has
// nothing to do may run the body on b at the same time. Join2 costs about one nanosecond
// more than the separate calls (fork-join/fib and fork-join/fib-join2 in BENCHMARKS.md).
func (f *Forks[A, R]) Join2(a, b A) (x, y R) {
	f.Push(b)
	if f.Wanted() {
		f.Promote()
	}
	x = f.body(f, a)
	if f.TakeBack() {
		y = f.body(f, b)
	} else {
		y = f.Await()
	}
	return x, y
}

// Worker returns the worker that runs the caller. A body schedules tasks with it, and
// starts nested computations with its [Worker.Scheduler].
func (h *forkHead) Worker() *Worker { return h.w }

// Cancelled reports whether the context of the computation has ended. It may report the
// end a moment late. From then on, no further fork of the computation becomes a task.
// Cancelled costs one load, so a body may call it often and return early.
func (h *forkHead) Cancelled() bool { return h.root != nil && h.root.cancelled.Load() }

// setProm stores the boundary between promoted and private forks.
func (h *forkHead) setProm(n int32) {
	h.prom, h.own = n, n
	if h.pointers {
		h.own = beyondSlots
	}
}

// beyondSlots is larger than the index of every slot.
const beyondSlots = 1<<31 - 1

// detachOldest copies the oldest private fork into a task. The caller queues the task.
func (f *Forks[A, R]) detachOldest() *forkTask {
	i := f.prom
	k := &fork[A, R]{arg: f.slots[i], body: f.body}
	var zero A
	f.slots[i] = zero
	f.promoted = append(f.promoted, k)
	f.setProm(i + 1)
	k.init(f.ensureRoot(), runFork[A, R])
	return &k.forkTask
}
