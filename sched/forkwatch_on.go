//go:build !interleave

package sched

import "runtime"

// watches says that computations are watched.
const watches = true

// yield lets another goroutine run.
func yield() { runtime.Gosched() }
