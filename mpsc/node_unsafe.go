package mpsc

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// Node links one task into the queues of this module. Embed it in what is to be
// queued; it takes one word. The zero Node is in no queue and ready to use. A
// Node is in at most one [List] or [Queue] at a time, and must not be copied
// while it is in one.
//
// State:
//
//	next  the link, written by whoever holds the node: its caller, the owner of
//	      the list that it is in, the producer until its push succeeds, then the
//	      consumer that took it off the stack. nil outside of any list or queue
//
// A link points at the next node; one byte further when that node stands in the
// same [List] as this one, which is how a reader finds where one push ends and
// the next begins. Both addresses lie inside the next node, so that it is
// reachable for the garbage collector either way.
type Node struct {
	next atomix.Cell[unsafe.Pointer]
}

// sameList is the distance of a link to a node of the same list.
const sameList = 1

// A link to a node of the same list points into that node.
var _ [0]struct{} = [sameList / unsafe.Sizeof(uintptr(0))]struct{}{}

// link returns the next node, and whether it stands in the same list.
func (n *Node) link() (next *Node, same bool) {
	p := n.next.Get()
	return (*Node)(unsafe.Pointer(uintptr(p) &^ sameList)), uintptr(p)&sameList != 0
}

// setLink makes next the node after n; it was pushed before n was.
func (n *Node) setLink(next *Node) { n.next.Set(unsafe.Pointer(next)) }

// setSame makes next, which is not nil, the node after n in the same list.
func (n *Node) setSame(next *Node) { n.next.Set(unsafe.Add(unsafe.Pointer(next), sameList)) }

// take returns the next node and unlinks n.
func (n *Node) take() *Node {
	p := n.next.Get()
	n.next.Set(nil)
	return (*Node)(unsafe.Pointer(uintptr(p) &^ sameList))
}
