package interleave

import (
	"reflect"
	"unsafe"
)

// An address is the identity of a model object within one execution.
type address unsafe.Pointer

// at returns the address of a model object.
func addressOf[T any](p *T) address { return address(unsafe.Pointer(p)) }

// addressOfAny returns the address of what v points to.
func addressOfAny(v any) address { return address(reflect.ValueOf(v).UnsafePointer()) }

// An object is what the explorer knows about one model object in the execution
// that runs: its number by first touch is its index in objects.
type object struct {
	clock clock // atomics: what the last release saw. Cells: the last read of each thread

	writer int    // Cells: who wrote last, -1 for nobody
	wrote  uint32 // in which of its periods

	initial int     // Semas: tokens that were there at the first touch and not taken since
	tokens  []clock // Semas: what each later token brings, oldest first at taken
	taken   int

	p address
}

// objects gives numbers to the model objects that an execution touches, in the
// order in which it does. Addresses only serve to look them up: they differ
// from one execution to the next and decide nothing.
//
// The table holds on to the objects of the execution, so that no address comes
// to mean another object while it runs.
type objects struct {
	table       []tableEntry // open addressing, a power of two
	shift       uint
	execution   uint32
	list        []object
	mostThreads int // the most threads that any execution has had
}

type tableEntry struct {
	p         address
	execution uint32 // of the execution that made the entry
	id        uint32
}

const firstTable = 8 // log2 of the slots at the start

// reset forgets all objects.
//
//go:norace
func (o *objects) reset() {
	o.list = o.list[:0]
	o.execution++
	if o.table == nil || o.execution == 0 {
		o.table = make([]tableEntry, 1<<firstTable)
		o.shift = 64 - firstTable
		o.execution = 1
	}
}

// find returns the number of the object, and whether this is its first touch.
//
//go:norace
func (o *objects) find(p address) (id uint32, isNew bool) {
	for i := uint64(uintptr(p)) * 0x9E3779B97F4A7C15 >> o.shift; ; i = (i + 1) & uint64(len(o.table)-1) {
		s := &o.table[i]
		if s.execution != o.execution {
			id = uint32(len(o.list))
			*s = tableEntry{p, o.execution, id}
			o.add(p)
			return id, true
		}
		if s.p == p {
			return s.id, false
		}
	}
}

//go:norace
func (o *objects) add(p address) {
	o.list = extend(o.list)
	x := &o.list[len(o.list)-1]
	x.clock.clear(o.mostThreads)
	x.writer = -1
	x.initial = 0
	x.tokens = x.tokens[:0]
	x.taken = 0
	x.p = p
	if 2*len(o.list) > len(o.table) {
		o.grow()
	}
}

//go:norace
func (o *objects) grow() {
	old := o.table
	o.table = make([]tableEntry, 2*len(old))
	o.shift--
	for _, s := range old {
		if s.execution != o.execution {
			continue
		}
		i := uint64(uintptr(s.p)) * 0x9E3779B97F4A7C15 >> o.shift
		for o.table[i].execution == o.execution {
			i = (i + 1) & uint64(len(o.table)-1)
		}
		o.table[i] = s
	}
}

// post records what a token brings that was just put into a Sema.
//
//go:norace
func (x *object) post(c *clock, n int) {
	if x.taken > 0 && x.taken == len(x.tokens) {
		x.tokens, x.taken = x.tokens[:0], 0
	}
	x.tokens = extend(x.tokens)
	k := len(x.tokens) - 1
	x.tokens[k].clear(maxThreads)
	x.tokens[k].assign(c, n)
}

// take passes what the oldest token of a Sema brings to c.
//
//go:norace
func (x *object) take(c *clock, n int) {
	if x.initial > 0 {
		x.initial--
		return
	}
	c.join(&x.tokens[x.taken], n)
	x.taken++
}
