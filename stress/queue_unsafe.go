package stress

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// queueItemOf returns the item whose first field is n.
func queueItemOf(n *mpsc.Node) *queueItem { return (*queueItem)(unsafe.Pointer(n)) }
