package interleave

import (
	"runtime"
	"runtime/debug"
)

type opKind uint8

const (
	opNone opKind = iota
	opLoad
	opStore
	opUpdate // Add, Swap, CompareAndSwap, And, Or
	opPost
	opTryWait
	opWait
	opWaitDone
	opWaitFor
	opLock
	opTryLock
	opUnlock
	opGet
	opPut
	opYield
)

var opNames = [...]string{
	opNone: "its first step", opLoad: "a load of", opStore: "a store to", opUpdate: "an update of",
	opPost: "Post of", opTryWait: "TryWait of", opWait: "Wait of", opWaitDone: "WaitDone of", opWaitFor: "WaitFor of",
	opLock: "Lock of", opTryLock: "TryLock of", opUnlock: "Unlock of",
	opGet: "Get of", opPut: "Put to",
	opYield: "Yield",
}

// canBlock reports whether the operation can block.
func (k opKind) canBlock() bool { return k >= opWait && k <= opLock }

// objectType returns the type of the objects of the operation in reports of waits.
func (k opKind) objectType() string {
	switch k {
	case opLock:
		return "Mutex"
	case opGet, opPut:
		return "Pool"
	}
	return "Sema"
}

// An op is the step that a thread takes next.
type op struct {
	kind opKind
	obj  uint32 // number of the object; not used by opYield
}

// dependOn reports whether the order of the announced steps of two threads can change
// an outcome.
//
//go:norace
func (x *explorer) dependOn(t, u *thread) bool {
	a, b := t.op, u.op
	if a.kind == opWaitDone || b.kind == opWaitDone {
		return true // any thread may close the channel without a step
	}
	if x.awaits(t, b) || x.awaits(u, a) {
		return true
	}
	return a.kind != opYield && b.kind != opYield && a.obj == b.obj && (a.kind != opLoad || b.kind != opLoad)
}

// awaits reports whether thread t is at a Yield, or has passed one with no step since, and
// the step o may be its reason to continue.
//
//go:norace
func (x *explorer) awaits(t *thread, o op) bool {
	if t.op.kind != opYield && !t.afterYield || o.kind == opYield {
		return false
	}
	return o.kind != opLoad && x.objects.list[o.obj].readers&t.bit != 0
}

type threadState uint8

const (
	stateNew     threadState = iota // has not reached its first step
	stateLive                       // has announced its next step
	stateCrashed                    // stopped for ever
	stateEnded
)

// A thread is one thread of the program. The record and its carrier are used
// again in the next execution.
type thread struct {
	x          *explorer
	id         int
	bit        uint64
	name       string
	f          func()
	daemon     bool
	state      threadState
	op         op              // the step that it has announced
	sema       *Sema           // for a wait: the semaphore
	done       <-chan struct{} // for opWaitDone
	clock      clock
	afterYield bool     // its last step was a Yield
	reads      []uint32 // its read set: the objects that it has read since its last Yield
	overtook   bool     // its last pass of a Yield without reads had a reason
	idle       int      // Yields in a row that it has passed while not awake
	links      int      // a daemon: of its round, see await.go
	byChange   int      // a daemon: the links of a round whose reason is a change of its read set
	byStep     int      // the same for a step while it has read nothing
	late       int      // timeouts in a row without a change by another thread
	last       int      // the number of its last step
	event      int      // its last event, or that of its creator before its creation, or -1
	taken      uint32   // the number of its events
	killed     bool     // it unwinds as soon as it has control
	unwindOps  int      // model operations since it unwinds
	prio       int64    // PCT: its priority
	where      string   // the position of op, when tracing
	local      any      // its variable of Local

	// Happens-before edges. The race detector sees these two, and otherwise no
	// order between threads but that of the program:
	//
	//	in   the creation of the thread, or the order to unwind  ->  its actions after that
	//	out  the actions of the thread  ->  those of the explorer after the execution
	in, out mark

	carrier *carrier // nil: start assigns one
}

// spawn adds a thread to the execution. parent is nil while the body runs.
//
//go:norace
func (x *explorer) spawn(parent *thread, name string, f func(), daemon bool) {
	if f == nil {
		panic("interleave: Go: nil function for thread " + name)
	}
	id := len(x.threads)
	if id == maxThreads {
		panic("interleave: Go: an execution has more than 64 threads")
	}
	if id == len(x.records) {
		x.records = append(x.records, &thread{x: x, id: id, bit: 1 << id})
	}
	t := x.records[id]
	x.threads = x.records[:id+1]
	x.objects.mostThreads = max(x.objects.mostThreads, id+1)
	t.name, t.f, t.daemon = name, f, daemon
	t.local = nil
	t.state = stateNew
	t.op = op{}
	t.afterYield, t.killed, t.unwindOps = false, false, 0
	t.reads = t.reads[:0]
	x.awake &^= t.bit
	x.overtaken &^= t.bit
	x.refreshed &^= t.bit
	x.chained &^= t.bit
	x.daemons &^= t.bit
	x.blind &^= t.bit
	if daemon {
		x.daemons |= t.bit
		x.blind |= t.bit
	}
	t.links, t.byChange, t.byStep = 0, noLinks, noLinks
	t.idle, t.late, t.last = 0, 0, 0
	t.event, t.taken = -1, 0
	if parent != nil {
		t.event = parent.event
	}
	if parent == nil {
		t.clock.clear(maxThreads)
	} else {
		t.clock = parent.clock
		parent.clock[parent.id]++
	}
	t.clock[id] = 1
	if x.strategy == PCT {
		t.prio = int64(x.randUint64()>>2) + int64(x.opts.Depth)
	}
	t.in.add()
	x.unstarted = true
}

// run runs the function of the thread on its carrier. It does not return when the
// function calls Goexit.
func (t *thread) run() {
	t.in.load()
	t.body()()
}

// body returns the function of the thread without a read that the race detector sees.
//
//go:norace
func (t *thread) body() func() { return t.f }

// end is called on the carrier when the thread has returned, panicked, or
// called Goexit.
//
//go:norace
func (t *thread) end() {
	x := t.x
	t.out.store()
	x.overtake(t, opNone)
	t.f = nil
	if t.state != stateCrashed {
		t.state = stateEnded
	}
	x.live &^= t.bit
	x.atWait &^= t.bit
	x.atYield &^= t.bit
	x.leave()
}

// leave picks the next holder of control when the running thread has ended or
// crashed.
//
//go:norace
func (x *explorer) leave() {
	x.next = nil
	switch {
	case x.phase != phaseRun || x.failure != nil || x.starting || x.lost():
	case x.unstarted:
		x.from = nil
	default:
		x.next = x.decide(nil)
	}
}

// panicked is called on the carrier while the stack of the panic still exists.
//
//go:norace
func (t *thread) panicked(v any) {
	if t.x.phase == phaseRun {
		t.x.fail(&Failure{
			Kind:    Panic,
			Thread:  t.x.label(t),
			Message: "thread " + t.x.label(t) + " panicked: " + sprint(v),
			Stack:   string(debug.Stack()),
		})
	}
}

// step announces the next step of the thread. It returns when the explorer has
// picked that step.
//
//go:norace
func (t *thread) step(kind opKind, obj uint32) {
	x := t.x
	t.op = op{kind, obj}
	if x.tracing {
		t.where = x.caller()
	}
	x.overtake(t, kind)
	if t.state == stateNew {
		t.state = stateLive
		x.live |= t.bit
	}
	if kind.canBlock() {
		x.atWait |= t.bit
	} else if kind == opYield {
		x.announceYield(t)
	}
	afterYield := t.afterYield
	if x.crashName != "" && !x.crashed && t.name == x.crashName && x.failure == nil && x.crashNow(t) {
		x.crashed = true
		t.state = stateCrashed
		x.live &^= t.bit
		x.atWait &^= t.bit
		x.atYield &^= t.bit
		x.leave()
		t.suspend() // for ever: the thread gets control again only to unwind
	}
	switch {
	case x.failure != nil:
		x.next, x.from = nil, nil
		t.suspend()
	case x.starting:
		x.next = nil
		t.suspend()
	case x.unstarted:
		x.next, x.from = nil, t
		t.suspend()
	default:
		if next := x.decide(t); next != t {
			x.next = next
			t.suspend()
		}
	}
	// The step is taken.
	x.steps++
	if x.asked.Load() {
		x.answer()
	}
	t.last = x.steps
	x.logStep(t.op, t)
	x.atWait &^= t.bit
	if x.opts.Reduce {
		x.wakeDependent(t)
		x.addEvent(t)
	}
	if kind == opYield {
		x.atYield &^= t.bit
		t.afterYield = true
		return
	}
	if afterYield {
		x.beginRound(t)
		t.afterYield = false
	}
}

// suspend gives control to the next thread, or to the explorer when there is
// none. It returns when the thread has control again. It calls Goexit when the
// thread is to unwind.
//
//go:norace
func (t *thread) suspend() {
	t.carrier.suspend()
	if t.killed {
		t.in.load()
		runtime.Goexit()
	}
}

// objectID returns the number of a model object.
//
//go:norace
func (x *explorer) objectID(p address) uint32 {
	id, _ := x.objects.find(p)
	return id
}

// load is a step that reads an atomic. The actions before the write that it sees
// happen before the next actions of the thread.
//
//go:norace
func (x *explorer) load(p address) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(p)
		return
	}
	id := x.objectID(p)
	t.step(opLoad, id)
	t.clock.join(&x.objects.list[id].clock, len(x.threads))
	x.read(t, id)
}

// store is a step that writes an atomic. Its happens-before edge replaces that of
// the previous write.
//
//go:norace
func (x *explorer) store(p address) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(p)
		return
	}
	id := x.objectID(p)
	t.step(opStore, id)
	x.objects.list[id].clock.assign(&t.clock, len(x.threads))
	t.clock[t.id]++
}

// update is a step that reads an atomic and may write it. If it writes, the caller
// then calls updated.
//
//go:norace
func (x *explorer) update(p address) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(p)
		return
	}
	id := x.objectID(p)
	t.step(opUpdate, id)
	t.clock.join(&x.objects.list[id].clock, len(x.threads))
	x.read(t, id)
}

// updated records that the current update of the running thread has written.
// changed reports whether the value is another one than before.
//
//go:norace
func (x *explorer) updated(changed bool) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		return
	}
	x.objects.list[t.op.obj].clock.assign(&t.clock, len(x.threads))
	t.clock[t.id]++
	if x.opts.Reduce {
		x.lastEvent().writes = true
	}
	if changed {
		x.change(t, t.op.obj)
	}
}

// limitUnwind is called by each model operation that is no step: in the body, in
// Final, or in a thread that unwinds. It ends a deferred function that loops: no
// other thread runs that could end the loop.
//
//go:norace
func (x *explorer) limitUnwind() {
	if t := x.current; t != nil && x.phase == phaseUnwind {
		if t.unwindOps++; t.unwindOps > maxUnwindOps {
			t.unwindOps = 0
			runtime.Goexit()
		}
	}
}

// maxUnwindOps is the number of model operations of an unwinding thread after
// which limitUnwind calls Goexit again. Chosen.
const maxUnwindOps = 10_000
