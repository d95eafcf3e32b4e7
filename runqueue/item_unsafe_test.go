package runqueue_test

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// item is the value that the tests queue. Its node comes first, as in a task.
type item struct {
	node  mpsc.Node
	seq   int
	taken int // written by the goroutine that took the node
}

// itemOf returns the item of a node.
func itemOf(n *mpsc.Node) *item { return (*item)(unsafe.Pointer(n)) }
