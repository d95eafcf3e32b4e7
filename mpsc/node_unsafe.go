package mpsc

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// Node links one value into a queue of this module. A queueable type embeds a
// Node, which takes one word. The zero Node is in no queue and ready to use. A
// Node is in at most one [List] or [Queue] at a time, and must not be copied
// while it is in one.
type Node struct {
	next atomix.Cell[unsafe.Pointer] // written by the holder of the node
}

// State of Node:
//
//	next  the link, nil while the node is in no list and no queue. The holder of
//	      the node writes it. The holder is the caller, then the owner of the list,
//	      then the producer until its push succeeds, then the consumer that took the
//	      node off the stack
//
// A link points at the next node, or one byte further when the next node belongs to
// the same [List]. A reader thereby finds the boundary between two pushes. Both
// addresses lie inside the next node, so the garbage collector finds the next node
// reachable either way.

// sameList is the offset of a link whose next node belongs to the same list.
const sameList = 1

// The compiler rejects a Node so small that such a link would point past it.
var _ [0]struct{} = [sameList / unsafe.Sizeof(uintptr(0))]struct{}{}

// link returns the next node and whether it belongs to the same list.
func (n *Node) link() (next *Node, same bool) {
	p := n.next.Get()
	return (*Node)(unsafe.Pointer(uintptr(p) &^ sameList)), uintptr(p)&sameList != 0
}

// setLink makes next the node after n. next belongs to another push, or is nil.
func (n *Node) setLink(next *Node) { n.next.Set(unsafe.Pointer(next)) }

// setSame makes next the node after n in the same list. next is not nil.
func (n *Node) setSame(next *Node) { n.next.Set(unsafe.Add(unsafe.Pointer(next), sameList)) }

// take returns the next node and unlinks n.
func (n *Node) take() *Node {
	p := n.next.Get()
	n.next.Set(nil)
	return (*Node)(unsafe.Pointer(uintptr(p) &^ sameList))
}
