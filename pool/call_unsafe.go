package pool

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// callOf returns the call whose first field is n. Only nodes of calls come here.
func callOf(n *mpsc.Node) *call { return (*call)(unsafe.Pointer(n)) }

// seatOf returns the seat whose first field is n. Only nodes of seats come here.
func seatOf(n *mpsc.Node) *seat { return (*seat)(unsafe.Pointer(n)) }
