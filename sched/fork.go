package sched

import "github.com/lanewright/lanewright/internal/atomix"

// Forks is the fork stack of a worker that runs a fork-join computation: the forks
// which it has made and not joined yet. A fork is an argument for the body of the
// computation. It costs a store and a compare to make, and a compare to take back,
// which is what mostly happens. Only when another worker has nothing to do, the
// oldest fork becomes a task that this one steals: see [ForkJoin].
//
// A body makes a fork, does other work, and joins the fork, in this form, which is
// the fastest for arguments without pointers:
//
//	func fib(f *sched.Forks[int, int], n int) int {
//		if n < 2 {
//			return n
//		}
//		f.Push(n - 2)
//		if f.Wanted() {
//			f.Promote()
//		}
//		x := fib(f, n-1)
//		if f.TakeBack() {
//			return x + fib(f, n-2)
//		}
//		return x + f.Await()
//	}
//
// For arguments with pointers [Forks.TakeBackPointer] takes the place of TakeBack, as it clears
// the slot, and [Forks.Fork] is Push and Promote in one call, which costs a nanosecond
// or two:
//
//	f.Fork(n.Right)
//	sum := n.Value + walk(f, n.Left)
//	if f.TakeBackPointer() {
//		return sum + walk(f, n.Right)
//	}
//	return sum + f.Await()
//
// [Forks.Join2] does all of it in one call and costs some nanoseconds more. The
// closure form is [Scope].
//
// Joins come in the reverse order of forks, and each body joins what it forked:
// also when it recovers from a panic in between. What it recovers from has to be a
// computation of its own, a ForkJoin within the body: the forks of a body that
// panicked stay open otherwise. When the forks and joins of a computation do not
// balance, ForkJoin panics. A Forks may be used by the goroutine of the body that got
// it only, and only until that returns.
type Forks[A, R any] struct {
	forkHead

	slots    []A           // slot i holds the argument of fork i while that is private
	promoted []*fork[A, R] // promoted[i] is what fork i has become
	body     func(*Forks[A, R], A) R
}

// forkHead is the part of a Forks that does not depend on its types.
//
// Roles:
//
//	owner     the goroutine of the bodies: stores all fields
//	searcher  a worker without work, or the watch: stores -1 in limit
//
// State:
//
//	top    how many forks are open
//	prom   forks below are promoted, the others private
//	own    TakeBack takes forks from here on back
//	limit  Wanted from here on: how many slots there are, or -1
//
// Invariants:
//
//	I1  0 <= prom <= top, but for the moment in which a promoted fork is joined
//	I2  own is prom, or beyond every slot where slots hold pointers: there, a fork is taken back by TakeBackPointer or Await, which clear its slot
//	I3  limit is at most the number of slots, so that after a Push without Promote there is room for the next
//
// Nobody but the owner ever reads a slot: a fork that another worker is to run is
// copied into a task first, by the owner. So a slot can be used again at once, and
// needs no atomics.
//
// The methods stand here, and not at Forks, because the compiler does not inline
// atomic loads of a generic method into other packages.
//
// Source: the split deque of Lace (van Dijk, van de Pol, 2014), with the split
// point moved by the owner alone, as in private deques (Acar, Charguéraud,
// Rainey, 2013); the latent jobs of Spice and chili, without their clock.
type forkHead struct {
	top   int32
	own   int32
	limit atomix.Int32
	prom  int32

	pointers bool // slots hold pointers

	w     *Worker
	root  *forkRoot // nil until something is promoted
	outer *forkHead // the stack that this goroutine has used before, and will again
	stack forkStack // the Forks of this head
}

// forkStack is a Forks of any type.
type forkStack interface {
	detachOldest() *forkTask // makes a task of the oldest private fork, which must exist
}

// Push makes a fork of arg. It must be followed by
//
//	if f.Wanted() {
//		f.Promote()
//	}
func (f *Forks[A, R]) Push(arg A) {
	f.slots[f.top] = arg
	f.top++
}

// Wanted reports whether Promote has something to do: another worker wants a fork, or
// there is no room for the next.
func (h *forkHead) Wanted() bool { return h.top >= h.limit.Load() }

// TakeBack takes the newest fork back and reports true: the caller then runs it. It
// reports false when Await has to be called instead, which returns its result.
func (h *forkHead) TakeBack() bool {
	if h.top <= h.own { // I2
		return false
	}
	h.top--
	return true
}

// Promote makes room for more forks, and makes the oldest one a task for another worker
// when one has asked for it.
//
//go:noinline
func (f *Forks[A, R]) Promote() {
	if n := int(f.top); n >= len(f.slots) {
		slots := make([]A, 2*n)
		copy(slots, f.slots)
		f.slots = slots
	}
	f.limit.Store(int32(len(f.slots))) // I3; before the demand is looked at, see fork_demand.go
	if f.w.place != nil {
		f.w.promoteOnDemand()
	}
}

// PromoteNow makes the oldest fork a task at once, and tells the workers, where Promote waits until
// one asks. It is for a body that takes long before it feeds or joins the next time:
// nobody else can hand its forks over meanwhile. It costs as much as scheduling a
// task, and does nothing when the scheduler has one worker only.
func (h *forkHead) PromoteNow() {
	if w := h.w; h.top > h.prom && w.place != nil && w.s.max > 1 && !h.Cancelled() && !w.s.closing.Load() {
		w.promote(h)
		w.s.notify(false)
	}
}

// Fork is Push and Promote in one call.
//
//go:noinline
func (f *Forks[A, R]) Fork(arg A) {
	f.slots[f.top] = arg
	f.top++
	if f.Wanted() {
		f.Promote()
	}
}

// TakeBackPointer is TakeBack for arguments with pointers: it clears the slot, so that nothing
// stays reachable.
func (f *Forks[A, R]) TakeBackPointer() bool {
	if f.top <= f.prom {
		return false
	}
	f.top--
	var zero A
	f.slots[f.top] = zero
	return true
}

// Await returns the result of the newest fork, after TakeBack or TakeBackPointer has reported
// false. It runs the fork if nobody has begun it. While another worker runs it, it runs
// other forks of the same computation, and when there are none, it gives the place
// away as Blocking does, and takes one again afterwards if one is free: the
// index of the worker may have changed.
//
// When another worker ran the fork, a panic of it is raised again here, as a
// [*PanicError], and a runtime.Goexit continues here.
//
//go:noinline
func (f *Forks[A, R]) Await() R {
	if f.top == 0 {
		panic("sched: Forks: a join without a fork")
	}
	f.top--
	i := f.top
	if i >= f.prom { // TakeBack, where slots hold pointers
		if !f.pointers {
			panic("sched: Forks: Await of a fork that TakeBack or TakeBackPointer has taken back")
		}
		arg := f.slots[i]
		var zero A
		f.slots[i] = zero
		return f.body(f, arg)
	}
	k := f.promoted[i]
	claimed := k.claim()
	if !claimed {
		f.w.awaitFork(&k.forkTask, true)
	}
	f.promoted[i] = nil
	f.promoted = f.promoted[:i]
	f.setProm(i)
	if claimed {
		f.w.unqueue(&k.forkTask)
		return f.body(f, k.takeArg())
	}
	k.rethrow()
	return k.result
}

// Join2 runs the body on a, while another worker that has nothing to do may run it
// on b, and returns both results.
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

// Worker returns the worker that runs the caller. It is the one to schedule tasks
// and to start nested computations with.
func (h *forkHead) Worker() *Worker { return h.w }

// Cancelled reports whether the context of the computation has ended, a moment ago
// or earlier. It is one load: a body may ask often, and return early. No more
// forks become tasks from then on.
func (h *forkHead) Cancelled() bool { return h.root != nil && h.root.cancelled.Load() }

// setProm stores the boundary between promoted and private forks.
func (h *forkHead) setProm(n int32) {
	h.prom, h.own = n, n
	if h.pointers {
		h.own = beyondSlots
	}
}

// noneMine is beyond every slot.
const beyondSlots = 1<<31 - 1

// detachOldest copies the oldest private fork into a task, which the caller queues.
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
