package runqueue_test

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// item is what the tests queue: a node first, as in a task.
type item struct {
	node  mpsc.Node
	seq   int
	taken int // written by who took it
}

// itemOf returns the item of a node.
func itemOf(n *mpsc.Node) *item { return (*item)(unsafe.Pointer(n)) }
