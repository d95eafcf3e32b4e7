package interleave

import "math/bits"

// This file is the reduction: source sets (dynamic partial-order reduction) with sleep
// sets.
//
// # Idea
//
// Two steps of different threads are dependent if their order can matter: they concern
// the same object, and one of them is no read. Executions that differ only in the order
// of neighbouring independent steps have the same outcome. They form a trace. Steps of
// a trace are ordered by happens-before: the order of each thread and the order of
// dependent steps. (These clocks are not those of Cells: here a read is ordered before
// a later write.)
//
// The search begins with one execution. Two dependent steps e and f race if e happens
// before f for no other reason than their own dependence. Each race of an execution has
// two orders, and the search has seen one. For the other order, f and the steps that do
// not happen after e must come first. Call that sequence v. An initial of v is a thread
// whose first step in v happens after no other step of v. To explore v before e, the
// search has to try one initial of v at the node at which e was chosen. If it has tried
// one there, or will, or one sleeps there, nothing is added (source sets).
//
// A sleep set prevents that the search repeats a trace in another order: a thread that
// was tried at a node sleeps in the later branches of the node until a dependent step.
// An execution in which all threads that can run sleep is abandoned (Result.Pruned).
// Pure sleep sets try every thread at every node and abandon most of these executions.
//
// # Steps that block
//
// A Lock or a Wait f cannot come before the step that made it possible. The race to
// reverse is that with the last step on the object before which f could have been taken
// (transition.available): for a Lock this is the previous Lock, and not its Unlock. A thread
// that is still blocked at the end of an execution has not taken its step, so its race
// is sought there as well. Otherwise the order in which it takes the token first would
// be lost.
//
// # Yield
//
// A Yield, and the step after it, read each object of the read set again: they depend on
// the writes of these objects. A Yield may not be possible before the step that woke its
// thread. If no initial of v can run at the node, every thread that can run there is added.
//
// A Yield with an empty read set is refused. Any step of another thread since the beginning of
// the round lets it continue, so the order of all steps relative to that beginning would
// matter, and nothing would be left out.
//
// WaitDone depends on every step, because any thread may close the channel between its
// steps. It adds every thread at every node since the last step that is ordered before
// it.
//
// # Bounds
//
// The reduction is refused with a bound on preemptions: the execution that stands for a
// trace may need more preemptions than another one of the trace.
//
// Source: Abdulla, Aronis, Jonsson and Sagonas, Optimal dynamic partial order reduction,
// POPL 2014 (Source-DPOR); for blocking steps, Flanagan and Godefroid, POPL 2005.

// A transition is an event: a step of the current execution, with its clock.
type transition struct {
	op        op
	thread    int
	seq       uint32   // its number among the steps of its thread, from 1
	before    int      // the previous event of the thread, or that before its creation, or -1
	node      int      // the node at which it was chosen, or -1 if there was no choice
	writes    bool     // it is no read
	available bool     // Sema, Mutex: the object could be taken before this event
	awaits    bool     // it is a Yield or the step after one
	reads     []uint32 // awaits: the read set
	clock     clock    // entry i is the number of steps of thread i that happen before it
}

// addEvent appends the step that thread t takes. Events of the path that the execution
// shares with the one before are there already.
//
//go:norace
func (x *explorer) addEvent(t *thread) {
	i := x.happened
	x.happened++
	before := t.event
	t.event = i
	t.taken++
	if i < x.settled {
		return
	}
	if i == len(x.events) {
		x.events = extend(x.events)
	}
	e := &x.events[i]
	e.op, e.thread, e.seq = t.op, t.id, t.taken
	e.before, e.node = before, x.chosenAt
	e.writes = t.op.kind != opLoad && t.op.kind != opUpdate && t.op.kind != opYield
	e.available = false
	e.reads = e.reads[:0]
	e.awaits = t.op.kind == opYield || t.afterYield
	if e.awaits {
		for _, id := range t.reads {
			e.reads = extend(e.reads)
			e.reads[len(e.reads)-1] = id
		}
	}
}

// lastEvent returns the event of the current step.
//
//go:norace
func (x *explorer) lastEvent() *transition { return &x.events[x.happened-1] }

// dependent reports whether the order of two events of different threads can matter.
//
//go:norace
func dependent(a, b *transition) bool {
	if a.op.kind == opWaitDone || b.op.kind == opWaitDone {
		return true
	}
	if awaits(a, b) || awaits(b, a) {
		return true
	}
	return a.op.kind != opYield && b.op.kind != opYield && a.op.obj == b.op.obj && (a.writes || b.writes)
}

// awaits reports whether y is a Yield or the step after one, and e may be its reason to
// continue.
//
//go:norace
func awaits(y, e *transition) bool {
	if !y.awaits || e.op.kind == opYield || !e.writes {
		return false
	}
	for _, id := range y.reads {
		if id == e.op.obj {
			return true
		}
	}
	return false
}

// findRaces computes the clocks of the new events of this execution and adds to the
// nodes of the path the threads that reverse their races.
//
//go:norace
func (x *explorer) findRaces() {
	for i := x.settled; i < x.happened; i++ {
		e := &x.events[i]
		x.settle(e, i)
		e.clock[e.thread] = e.seq
	}
	x.settled = x.happened
	for s := x.live & x.atWait; s != 0; s &= s - 1 {
		t := x.threads[bits.TrailingZeros64(s)]
		if x.ready(t) {
			continue // it sleeps
		}
		x.pending = transition{op: t.op, thread: t.id, seq: t.taken + 1, before: t.event, writes: true, awaits: t.afterYield, reads: t.reads}
		x.settle(&x.pending, x.happened)
	}
}

// settle computes the clock of e, without its own entry, and handles its races with the
// first n events.
//
//go:norace
func (x *explorer) settle(e *transition, n int) {
	threads := len(x.threads)
	var past clock // what happens before e by the order of its thread
	if e.before >= 0 {
		past.assign(&x.events[e.before].clock, threads)
	}
	e.clock.clear(threads)
	e.clock.assign(&past, threads)
	takes := e.op.kind == opWait || e.op.kind == opWaitFor || e.op.kind == opLock
	reversed := false // takes: the race has been found
	for i := n - 1; i >= 0; i-- {
		f := &x.events[i]
		if f.thread == e.thread || past[f.thread] >= f.seq || !dependent(f, e) {
			continue
		}
		switch {
		case e.op.kind == opWaitDone:
			x.tryAll(f)
		case takes && f.op.obj == e.op.obj && f.op.kind != opYield:
			if !reversed && f.available {
				reversed = true
				x.reverse(i, e, &past, n)
			}
		case e.clock[f.thread] < f.seq:
			x.reverse(i, e, &past, n)
		}
		e.clock.join(&f.clock, threads)
	}
}

// reverse makes the search explore e before event i, if it does not do so already. past
// is the clock of e without the edges of its own dependences. The events after i are
// those up to n.
//
//go:norace
func (x *explorer) reverse(i int, e *transition, past *clock, n int) {
	f := &x.events[i]
	if f.node < 0 {
		return // the other threads that could run sleep
	}
	nd := &x.nodes[f.node]
	// v is the sequence of the events after f that do not happen after it, and e.
	var first clock // for each thread, the number of its first event in v, or 0
	var initials, seen uint64
	direct := false // e depends on an event of v
	for j := i + 1; j < n; j++ {
		g := &x.events[j]
		if g.clock[f.thread] >= f.seq {
			continue
		}
		bit := uint64(1) << g.thread
		if g.thread != e.thread && !direct && dependent(g, e) {
			direct = true
		}
		if seen&bit != 0 {
			continue
		}
		if !happensAfter(&g.clock, &first, seen) {
			initials |= bit
		}
		seen |= bit
		first[g.thread] = g.seq
	}
	if bit := uint64(1) << e.thread; seen&bit == 0 && !direct && !happensAfter(past, &first, seen) {
		initials |= bit
	}
	if initials&(nd.done|nd.todo|1<<nd.chosen|nd.sleep) != 0 {
		return
	}
	switch own := uint64(1) << e.thread; {
	case initials&nd.cand&own != 0:
		nd.todo |= own
	case initials&nd.cand != 0:
		nd.todo |= initials & nd.cand & -(initials & nd.cand)
	default:
		nd.todo |= nd.cand &^ (nd.done | 1<<nd.chosen)
	}
}

// happensAfter reports whether an event with clock c happens after one of the first
// events of the threads.
//
//go:norace
func happensAfter(c, first *clock, threads uint64) bool {
	for s := threads; s != 0; s &= s - 1 {
		if t := bits.TrailingZeros64(s); c[t] >= first[t] {
			return true
		}
	}
	return false
}

// tryAll makes the search try every thread at the node of f.
//
//go:norace
func (x *explorer) tryAll(f *transition) {
	if f.node >= 0 {
		nd := &x.nodes[f.node]
		nd.todo |= nd.cand &^ (nd.done | 1<<nd.chosen)
	}
}
