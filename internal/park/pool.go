//go:build !interleave

package park

import "sync"

// Pool is the pool of package sync, which keeps items for later use. Packages with
// models use only this type, because a sync.Pool returns other items whenever the
// garbage collector has run or the caller has changed its processor. A model cannot
// repeat an execution then.
type Pool = sync.Pool
