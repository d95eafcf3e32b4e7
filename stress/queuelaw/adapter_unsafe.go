package queuelaw

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// itemOf returns the item whose first field is n.
func itemOf(n *mpsc.Node) *item { return (*item)(unsafe.Pointer(n)) }
