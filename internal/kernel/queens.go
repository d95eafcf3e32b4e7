package kernel

// The size of the board of the benchmarks, the number of solutions, and the number of
// nodes with a free column in the search. A program that forks at each of these nodes
// makes that many forks.
const (
	QueensN         = 13
	QueensSolutions = 73712
	QueensForks     = 4674889
)

// Board is a node of the search for positions of n queens: a partial solution, and the
// columns of the next row that are still to be tried. Its two children are the first
// free column and the remaining columns. A program that forks one of the two makes a
// very uneven tree.
type Board struct {
	Free        uint32 // columns of this row to try
	Open        uint32 // columns without a queen
	Left, Right uint32 // attacked diagonals, as columns of this row
}

// NewBoard returns the root of the search for n queens.
func NewBoard(n int) Board {
	all := uint32(1)<<n - 1
	return Board{Free: all, Open: all}
}

// First returns the node of the next row with a queen on the first free column.
func (b Board) First() Board {
	q := b.Free & -b.Free
	next := Board{Open: b.Open &^ q, Left: (b.Left | q) << 1, Right: (b.Right | q) >> 1}
	next.Free = next.Open &^ (next.Left | next.Right)
	return next
}

// Rest returns the node without the first free column.
func (b Board) Rest() Board {
	b.Free &= b.Free - 1
	return b
}

// Queens returns the number of solutions below a node.
func Queens(b Board) int {
	if b.Free == 0 {
		return b.Solutions()
	}
	return Queens(b.First()) + Queens(b.Rest())
}

// CountQueens returns the number of solutions below a node, and the number of nodes
// with a free column, the node itself included.
func CountQueens(b Board) (solutions, forks int) {
	if b.Free == 0 {
		return b.Solutions(), 0
	}
	s1, f1 := CountQueens(b.First())
	s2, f2 := CountQueens(b.Rest())
	return s1 + s2, 1 + f1 + f2
}

// Solutions returns 1 if a node without a free column is a solution, and 0 otherwise.
func (b Board) Solutions() int {
	if b.Open == 0 {
		return 1
	}
	return 0
}
