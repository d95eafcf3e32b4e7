//go:build !race

package invariant

import "sync/atomic"

func count(n *uint64) { atomic.AddUint64(n, 1) }

func value(n *uint64) uint64 { return atomic.LoadUint64(n) }
