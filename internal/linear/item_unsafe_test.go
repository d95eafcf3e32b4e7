package linear_test

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// item is what the programs queue. The node is the first field, as in a task.
type item struct {
	node mpsc.Node
	id   int
}

// itemOf returns the item of a node.
func itemOf(n *mpsc.Node) *item { return (*item)(unsafe.Pointer(n)) }
