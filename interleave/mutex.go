package interleave

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Mutex is a [sync.Mutex] that the explorer schedules. Each call is one step. A
// Lock can take its step only while the Mutex is unlocked. When all threads that
// have not ended wait for a lock or a token, the execution is a deadlock.
//
// An Unlock happens before the end of each later Lock and of each later TryLock
// that returns true. A TryLock that returns false implies no order.
//
// The zero value is an unlocked Mutex. Outside an exploration a Mutex is a
// [sync.Mutex]. It must not be copied after its first use.
type Mutex struct{ mu sync.Mutex }

// Lock locks the Mutex. It blocks while the Mutex is locked.
//
//go:norace
func (m *Mutex) Lock() {
	x := enterFor(addressOf(m))
	if x == nil {
		m.mu.Lock()
		return
	}
	t := m.step(x, opLock)
	// The real lock is free, since the step was enabled. A foreign goroutine may
	// hold it all the same, and TryLock does not wait for that goroutine. A
	// successful TryLock has the edges of Lock.
	switch ok := m.mu.TryLock(); {
	case ok && t != nil:
		m.locked(x, t)
	case ok:
	case t != nil:
		x.failMutex("Lock()", "thread "+x.label(t)+" locks "+x.objectName("Mutex", t.op.obj)+", which a goroutine outside the exploration has locked")
	case x.current != nil:
		runtime.Goexit() // the caller is a deferred function of a thread that unwinds
	default:
		panic("interleave: Mutex: a Lock outside the threads would block for ever")
	}
	if x.tracing {
		x.noteOp("Mutex", "Lock()")
	}
}

// TryLock locks the Mutex if it is unlocked, and reports whether it did. It never
// blocks. In an exploration it fails only while the Mutex is locked.
//
//go:norace
func (m *Mutex) TryLock() bool {
	x := enterFor(addressOf(m))
	if x == nil {
		return m.mu.TryLock()
	}
	t := m.step(x, opTryLock)
	ok := m.mu.TryLock()
	if ok && t != nil {
		m.locked(x, t)
	}
	if x.tracing {
		x.noteOp("Mutex", sprintf("TryLock() = %t", ok))
	}
	return ok
}

// Unlock unlocks the Mutex. Any thread may call it. The Mutex must be locked: in
// an exploration the execution fails otherwise, and outside it the process ends.
//
//go:norace
func (m *Mutex) Unlock() {
	x := enterFor(addressOf(m))
	if x == nil {
		m.mu.Unlock()
		return
	}
	t := m.step(x, opUnlock)
	if m.free() {
		switch {
		case x.phase == phaseUnwind:
			// The Lock before it may have ended in a Goexit.
		case t != nil:
			x.failMutex("Unlock()", "thread "+x.label(t)+" unlocks "+x.objectName("Mutex", t.op.obj)+", which is not locked")
		default:
			x.failMutex("Unlock()", "a Mutex that is not locked is unlocked outside the threads")
		}
		return
	}
	if t != nil {
		// The clock keeps the earlier Unlocks: this thread need not be ordered
		// after them when another thread has locked the Mutex.
		o := &x.objects.list[t.op.obj]
		o.locked = false
		o.clock.join(&t.clock, len(x.threads))
		t.clock[t.id]++
		x.change(t, t.op.obj)
	}
	m.mu.Unlock()
	if x.tracing {
		x.noteOp("Mutex", "Unlock()")
	}
}

// step announces an operation. It returns the calling thread, or nil when the
// operation is no step of the program.
//
//go:norace
func (m *Mutex) step(x *explorer, kind opKind) *thread {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(addressOf(m))
		return nil
	}
	id, isNew := x.objects.find(addressOf(m))
	if isNew {
		x.objects.list[id].locked = !m.free()
	}
	t.step(kind, id)
	if x.opts.Reduce {
		x.lastEvent().available = !x.objects.list[id].locked
	}
	if kind != opUnlock {
		x.read(t, id)
	}
	return t
}

// locked records that t has locked the Mutex.
//
//go:norace
func (m *Mutex) locked(x *explorer, t *thread) {
	o := &x.objects.list[t.op.obj]
	o.locked = true
	t.clock.join(&o.clock, len(x.threads))
	x.change(t, t.op.obj)
	x.logResult(1)
}

// free reports whether the real lock is free. Only a thread that has an operation
// on the Mutex calls it. The race detector would otherwise see an access to the
// Mutex by a thread that the program has not ordered after its allocation. For
// the same reason the explorer reads object.locked and not the real lock.
//
//go:norace
func (m *Mutex) free() bool {
	syncOff()
	ok := m.mu.TryLock()
	if ok {
		m.mu.Unlock()
	}
	syncOn()
	return ok
}

// failMutex fails the execution and ends the caller, which calls a method of a Mutex. A
// recover of the program does not stop it, because the same error of a [sync.Mutex] ends
// the process.
//
//go:norace
func (x *explorer) failMutex(call, message string) {
	if x.tracing {
		x.noteOp("Mutex", call)
		if at := x.caller(); at != "" {
			message += " at " + at
		}
	}
	f := &Failure{Kind: Panic, Message: message, Stack: string(debug.Stack())}
	if x.current != nil {
		f.Thread = x.label(x.current)
	}
	x.failNow(f)
}
