package fuzz_test

import (
	"reflect"
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// itemOf returns the item of a node.
func itemOf(n *mpsc.Node) *item { return (*item)(unsafe.Pointer(n)) }

// field returns a pointer to an unexported field of *p. It panics when no field has
// that name and type.
func field[T, P any](p *P, name string) *T {
	v := reflect.ValueOf(p).Elem().FieldByName(name)
	if v.Type() != reflect.TypeFor[T]() {
		panic("fuzz: " + name + " is a " + v.Type().String())
	}
	return (*T)(unsafe.Pointer(v.UnsafeAddr()))
}

// startRing sets the indices of an empty ring to i. The wrap at 2^32 is too far away to
// reach by pushes.
func startRing(r *runqueue.Ring, i uint32) {
	field[atomix.Uint64](r, "head").Store(uint64(i)<<32 | uint64(i))
	field[atomix.Uint32](r, "tail").Store(i)
}

// hold takes the hold of a ring that is not empty, as a thief does that then stalls.
// unhold releases it.
func hold(r *runqueue.Ring) {
	head := field[atomix.Uint64](r, "head")
	h := uint32(head.Load())
	head.Store(uint64(h-1)<<32 | uint64(h))
}

func unhold(r *runqueue.Ring) {
	head := field[atomix.Uint64](r, "head")
	h := uint32(head.Load())
	head.Store(uint64(h)<<32 | uint64(h))
}

// ringOf and overflowOf return the two parts of a run queue.
func ringOf(q *runqueue.Queue) *runqueue.Ring  { return field[runqueue.Ring](q, "ring") }
func overflowOf(q *runqueue.Queue) *mpsc.Queue { return field[mpsc.Queue](q, "overflow") }
