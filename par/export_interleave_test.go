//go:build interleave

package par

// End is the end of a loop that its spans share.
type End struct{ end *end }

// NewEnd returns the end of a loop that excludes no index.
func NewEnd() End { return End{newEnd()} }

// Lower lowers the end to i.
func (e End) Lower(i int) { e.end.lower(i) }

// Excludes reports whether the indices from i on need not be done.
func (e End) Excludes(i int) bool { return e.end.excludes(i) }
