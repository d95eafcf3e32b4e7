//go:build interleave

package sched

import "github.com/lanewright/lanewright/internal/park"

// watches says that computations are not watched: models have a thread that looks.
const watches = false

// yield lets another thread run.
func yield() { park.Yield() }
