package pool

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// callOf returns the call whose first field is n. Only nodes of calls come here.
func callOf(n *mpsc.Node) *call { return (*call)(unsafe.Pointer(n)) }

// typedOf returns the call of a [Func] whose first field is c, which was made for these
// types. Calls of that Func only come here.
func typedOf[A, R any](c *call) *typedCall[A, R] { return (*typedCall[A, R])(unsafe.Pointer(c)) }

// On machines of 64 bits a call of small types is two cache lines: see call.
var (
	_ [0]struct{} = [unsafe.Offsetof(typedCall[int, int]{}.Future)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Future[int]{}.call)]struct{}{}
	_ [0]struct{} = [unsafe.Sizeof(typedCall[uint64, uint64]{}) / 129]struct{}{}
)
