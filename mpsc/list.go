package mpsc

import lfsync "github.com/lanewright/lanewright/sync"

// List is a chain of nodes in first-in, first-out order. The zero List is empty and
// ready to use. A List must not be copied and is not safe for concurrent use.
type List struct {
	_    lfsync.NoCopy
	head *Node
	tail *Node
	n    int
}

// Push adds n at the end. n may carry a link from an earlier list; Push drops it.
func (l *List) Push(n *Node) {
	n.setLink(nil) // a node that is pushed again may carry an old link
	if l.tail == nil {
		l.head = n
	} else {
		l.tail.setSame(n)
	}
	l.tail = n
	l.n++
}

// Append moves the nodes of other to the end of l and leaves other empty. It takes
// constant time. It panics when both are the same list.
func (l *List) Append(other *List) {
	if l == other {
		panic("mpsc: List.Append: a list cannot be appended to itself")
	}
	if other.head == nil {
		return
	}
	if l.tail == nil {
		l.head = other.head
	} else {
		l.tail.setSame(other.head)
	}
	l.tail = other.tail
	l.n += other.n
	other.clear()
}

// Pop removes and returns the first node, or returns nil when the list is empty.
func (l *List) Pop() *Node {
	n := l.head
	if n == nil {
		return nil
	}
	l.head = n.take()
	if l.head == nil {
		l.tail = nil
	}
	l.n--
	return n
}

// Front returns the first node without removing it, or nil when the list is empty.
func (l *List) Front() *Node { return l.head }

// Len returns the number of nodes in the list.
func (l *List) Len() int { return l.n }

// Empty reports whether the list holds no node.
func (l *List) Empty() bool { return l.head == nil }

func (l *List) clear() { l.head, l.tail, l.n = nil, nil, 0 }
