package interleave

import (
	"strings"
	"unsafe"
)

// Cell is plain memory that the threads of a program share. An access is no
// step. The explorer checks that each pair of accesses, one of which is a write,
// is ordered in the sense of the Go memory model: by atomic operations,
// semaphores, mutexes, pools or the creation of threads. Otherwise the execution fails
// as a data race, whatever values were read.
//
// Outside an exploration a Cell is a variable. It has the size and alignment of
// its content. T must not have size zero: another object may have the address of such
// a Cell, and the explorer tells objects apart by their addresses. An access to a Cell
// of size zero in an exploration is a [Misuse].
type Cell[T any] struct{ v T }

// Get reads the cell.
func (c *Cell[T]) Get() T {
	if x := enterFor(addressOf(c)); x != nil {
		if unsafe.Sizeof(c.v) == 0 {
			x.emptyCell(c)
		}
		x.cellGet(addressOf(c))
	}
	return c.v
}

// Set writes the cell.
func (c *Cell[T]) Set(v T) {
	if x := enterFor(addressOf(c)); x != nil {
		if unsafe.Sizeof(c.v) == 0 {
			x.emptyCell(c)
		}
		x.cellSet(addressOf(c))
	}
	c.v = v
}

// emptyCell fails the execution because the Cell has size zero, and ends the caller.
//
//go:norace
func (x *explorer) emptyCell(c any) {
	if x.phase == phaseUnwind {
		return
	}
	typ, _ := strings.CutPrefix(sprintf("%T", c), "*")
	f := &Failure{Kind: Misuse, Message: "a " + typ + " is used: a Cell must not have size zero, because another object may have its address"}
	if x.current != nil {
		f.Thread = x.label(x.current)
	}
	x.failNow(f)
}

// An access identifies the last read or write of a Cell by a thread.
type access struct {
	obj    uint32
	thread int
	write  bool
}

//go:norace
func (x *explorer) cellGet(p address) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(p)
		return
	}
	id := x.objectID(p)
	o := &x.objects.list[id]
	if o.writer >= 0 && t.clock[o.writer] < o.wrote {
		x.race(access{id, t.id, false}, access{id, o.writer, true})
	}
	o.clock[t.id] = t.clock[t.id]
	if x.tracing {
		x.noteCell(access{id, t.id, false})
	}
}

//go:norace
func (x *explorer) cellSet(p address) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(p)
		return
	}
	id := x.objectID(p)
	o := &x.objects.list[id]
	if o.writer >= 0 && t.clock[o.writer] < o.wrote {
		x.race(access{id, t.id, true}, access{id, o.writer, true})
	}
	for i := range x.threads {
		if t.clock[i] < o.clock[i] {
			x.race(access{id, t.id, true}, access{id, i, false})
		}
	}
	o.writer, o.wrote = t.id, t.clock[t.id]
	if x.tracing {
		x.noteCell(access{id, t.id, true})
	}
}

// race fails the execution because b does not happen before a.
//
//go:norace
func (x *explorer) race(a, b access) {
	if x.tracing {
		x.noteCell(a)
	}
	x.fail(&Failure{
		Kind:    Race,
		Thread:  x.label(x.threads[a.thread]),
		Message: "data race on " + x.objectName("Cell", a.obj) + ": " + x.describe(a) + " is not ordered after " + x.describe(b),
	})
	x.abort()
}

// describe returns the kind, the thread and, if known, the position of an access.
//
//go:norace
func (x *explorer) describe(a access) string {
	s := "the read"
	if a.write {
		s = "the write"
	}
	s += " by thread " + x.label(x.threads[a.thread])
	if where := x.last[a]; where != "" {
		s += " at " + where
	}
	return s
}
