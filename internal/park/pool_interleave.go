//go:build interleave

package park

import "github.com/lanewright/lanewright/interleave"

// Pool keeps items for later use. In an exploration, each operation is a step, and Get
// returns the item that was put last.
type Pool = interleave.Pool
