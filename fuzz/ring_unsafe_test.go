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

// field returns a pointer to a field of *p that is not exported. It panics when
// there is none of that name and type.
func field[T, P any](p *P, name string) *T {
	v := reflect.ValueOf(p).Elem().FieldByName(name)
	if v.Type() != reflect.TypeFor[T]() {
		panic("fuzz: " + name + " is a " + v.Type().String())
	}
	return (*T)(unsafe.Pointer(v.UnsafeAddr()))
}

// startRing lets the indexes of an empty ring start at i: the wrap at 2^32 is too
// far away to get there by pushing.
func startRing(r *runqueue.Ring, i uint32) {
	field[atomix.Uint64](r, "head").Store(uint64(i)<<32 | uint64(i))
	field[atomix.Uint32](r, "tail").Store(i)
}

// hold takes the hold of a ring that is not empty, as a thief does and then
// stalls; unhold gives it back.
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
