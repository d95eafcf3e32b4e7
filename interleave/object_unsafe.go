package interleave

import (
	"reflect"
	"unsafe"
)

// An address is the identity of a model object within one execution.
type address unsafe.Pointer

// addressOf returns the address of a model object.
func addressOf[T any](p *T) address { return address(unsafe.Pointer(p)) }

// addressOfAny returns the address to which the pointer v points.
func addressOfAny(v any) address { return address(reflect.ValueOf(v).UnsafePointer()) }

// hash returns a number whose upper bits depend on all bits of the address.
//
//go:norace
func hash(p address) uint64 { return uint64(uintptr(p)) * 0x9E3779B97F4A7C15 }

// An object is the state of one model object in the current execution. Its number
// is its index in objects.list.
type object struct {
	clock clock // atomics: the clock of the last write. Cells: the period of the last read by each thread

	writer int    // Cells: the thread that wrote last, or -1
	wrote  uint32 // Cells: its period at that write

	readers uint64 // the threads whose read sets have the object

	initial int     // Semas: tokens that were posted before the first step, and not taken since
	tokens  []clock // Semas: the clock of each later Post, in order
	taken   int     // Semas: how many of tokens have been taken

	locked bool // Mutexes: it is locked

	items []poolItem // Pools: in the order in which they were put

	p address
}

// objects numbers the model objects of an execution in the order of their first
// use. Addresses are only keys: they differ between executions, and no decision
// depends on them.
//
// The table keeps the objects of the execution reachable. Otherwise the memory of
// one could be used for another during the execution, which would then continue
// its clock.
type objects struct {
	table       []tableEntry // open addressing, a power of two
	shift       uint
	execution   uint32
	list        []object
	mostThreads int // the maximum of threads over all executions
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

// find returns the number of the object. isNew reports its first use in this
// execution.
//
//go:norace
func (o *objects) find(p address) (id uint32, isNew bool) {
	for i := hash(p) >> o.shift; ; i = (i + 1) & uint64(len(o.table)-1) {
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

// lookup returns the number of the object if it has been used in this execution.
//
//go:norace
func (o *objects) lookup(p address) (id uint32, ok bool) {
	for i := hash(p) >> o.shift; ; i = (i + 1) & uint64(len(o.table)-1) {
		s := &o.table[i]
		if s.execution != o.execution {
			return 0, false
		}
		if s.p == p {
			return s.id, true
		}
	}
}

// add appends the object at p to the list.
//
//go:norace
func (o *objects) add(p address) {
	o.list = extend(o.list)
	x := &o.list[len(o.list)-1]
	x.clock.clear(o.mostThreads)
	x.writer = -1
	x.readers = 0
	x.initial = 0
	x.tokens = x.tokens[:0]
	x.taken = 0
	x.locked = false
	x.clearItems()
	x.p = p
	if 2*len(o.list) > len(o.table) {
		o.grow()
	}
}

// grow doubles the table.
//
//go:norace
func (o *objects) grow() {
	old := o.table
	o.table = make([]tableEntry, 2*len(old))
	o.shift--
	for _, s := range old {
		if s.execution != o.execution {
			continue
		}
		i := hash(s.p) >> o.shift
		for o.table[i].execution == o.execution {
			i = (i + 1) & uint64(len(o.table)-1)
		}
		o.table[i] = s
	}
}

// post records the clock c of a Post that has just added a token to a Sema.
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

// take joins the clock of the oldest token of a Sema into c.
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
