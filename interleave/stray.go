package interleave

import (
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// A stray operation is an operation on a model object of the exploration by a
// goroutine that is none of its threads, such as one that a thread has started with a
// go statement. It is no step, so the explorer cannot place it in its orders.
//
// The table of objects belongs to the holder of control, and a foreign goroutine must
// not read it. Each foreign goroutine therefore notes the objects that it uses while
// an execution runs. At the end of the execution the explorer looks each noted object
// up in its table. A goroutine that uses other objects only is legal, and pays for one
// stack for each object.
//
// An operation after the end of its execution is not noticed. Its object is in no table
// then, and a goroutine may use the objects of earlier executions. The origin of the
// goroutine in its stack would not do as evidence. A thread may start a goroutine that
// serves the process and uses model objects of its own, and the goroutine of a timer or one
// that is started by another goroutine has another origin. The explorer cannot wait for
// such a goroutine either, because it does not know whether it exists.
//
// The notes and the table keep their objects reachable. An address that is in both of
// them is therefore one object.

// A note records that a foreign goroutine has used a model object.
type note struct {
	p         address
	stack     string        // of the first use
	execution atomic.Uint64 // the last execution in which the object was used
}

var (
	execution atomic.Uint64 // the number of the last execution of all explorations

	// The notes are in an open hash table. It is bounded: with more objects than
	// slots in reach, the later objects are not noted.
	notes     [1 << notesLog]atomic.Pointer[note]
	lastNoted atomic.Uint64 // the last execution in which an object was used
)

const (
	notesLog   = 10 // chosen: 8 KiB of slots
	notesReach = 16 // chosen: the slots of one object
)

// stray notes that the calling goroutine uses the object at p and that it has no
// control of the exploration that runs. The loop covers an operation that begins in
// one execution and ends in the next one.
//
// Its synchronization is hidden from the race detector, because it would order the
// foreign goroutines.
//
//go:norace
func stray(p address) {
	if p == nil || !selfKnown || loadRunning() == 0 {
		return
	}
	syncOff()
	for {
		e := execution.Load()
		noteUse(p, e)
		if execution.Load() == e {
			break
		}
	}
	syncOn()
}

// noteUse notes the use of the object at p in execution e.
//
//go:norace
func noteUse(p address, e uint64) {
	var made *note
	h := hash(p) >> (64 - notesLog)
	for i := uint64(0); i < notesReach; {
		slot := &notes[(h+i)%uint64(len(notes))]
		n := slot.Load()
		switch {
		case n == nil:
			if made == nil {
				made = &note{p: p, stack: string(debug.Stack())}
				made.execution.Store(e)
			}
			if !slot.CompareAndSwap(nil, made) {
				continue // another goroutine has taken the slot: look at it again
			}
		case n.p == p:
			if n.execution.Load() != e {
				n.execution.Store(e)
			}
		default:
			i++
			continue
		}
		if lastNoted.Load() != e {
			lastNoted.Store(e)
		}
		return
	}
}

// checkStray fails the execution if a foreign goroutine has used one of its objects.
// This failure replaces any other, since it can be the cause of the other.
//
//go:norace
func (x *explorer) checkStray() {
	if lastNoted.Load() != execution.Load() {
		return
	}
	x.strayed = true
	e := execution.Load()
	var found *note
	var foundID uint32
	for i := range notes {
		n := notes[i].Load()
		if n == nil || n.execution.Load() != e {
			continue
		}
		id, ok := x.objects.lookup(n.p)
		if !ok && !x.usedOutside(n.p) {
			continue
		}
		if !ok {
			id = noObject
		}
		if found == nil || id < foundID {
			found, foundID = n, id
		}
	}
	if found == nil {
		return
	}
	method, where, stack := strayCall(found.stack)
	typ, _, _ := strings.Cut(method, ".")
	name := "a " + typ + " of the model"
	if foundID != noObject {
		name = x.objectName(typ, foundID)
	} else if s, ok := x.names[found.p]; ok {
		name = s
	}
	x.failure = nil
	x.fail(&Failure{
		Kind:     Misuse,
		hasSteps: true,
		Message:  name + " is used by a goroutine that is no thread of the program (" + method + " at " + where + "): its operations are no steps, so make it a thread with Go",
		Stack:    stack,
	})
}

// noObject is the number of an object that is not in the table.
const noObject = ^uint32(0)

// clearNotes forgets the objects of foreign goroutines.
func clearNotes() {
	for i := range notes {
		notes[i].Store(nil)
	}
}

// strayCall takes the stack of a foreign goroutine apart. It returns the method that
// was called, such as "Int32.Add", the position of the call, and the stack without the
// frames of this package.
func strayCall(text string) (method, where, stack string) {
	s := parseStack(text)
	n := 0
	for i, f := range s.frames {
		if rest, ok := strings.CutPrefix(f.function, home); ok {
			n = i + 1
			if rest, ok = strings.CutPrefix(rest, "(*"); ok {
				typ, name, _ := strings.Cut(rest, ").")
				typ, _, _ = strings.Cut(typ, "[")
				method = typ + "." + name
			}
		} else if n > 0 {
			break
		}
	}
	s.frames = s.frames[n:]
	return method, s.position(), s.String()
}

// outside is called for each operation on the object at p that is no step: in the
// body, in Final, or in a thread that unwinds.
//
//go:norace
func (x *explorer) outside(p address) {
	if x.current != nil {
		x.limitUnwind()
		return
	}
	if x.outsideCount < len(x.outsideUses) {
		x.outsideUses[x.outsideCount] = p
		x.outsideCount++
	}
}

// usedOutside reports whether the body or Final has used the object at p. Only the
// first operations of an execution are known.
//
//go:norace
func (x *explorer) usedOutside(p address) bool {
	for _, q := range x.outsideUses[:x.outsideCount] {
		if q == p {
			return true
		}
	}
	return false
}

// maxOutside is how many operations of the body and of Final an execution remembers.
// Chosen.
const maxOutside = 64
