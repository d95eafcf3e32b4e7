package poolvar

import (
	"expvar"

	"github.com/lanewright/lanewright/pool"
)

// Publish publishes the Metrics of p as the expvar variable with that name. Each read
// of the variable takes a snapshot, also after the end of the pool. Publish panics when
// p is nil, or when the name is in use. A variable cannot be removed, so p is never
// freed. Safe for concurrent use.
func Publish(name string, p *pool.Pool) {
	if p == nil {
		panic("poolvar: Publish: nil pool")
	}
	expvar.Publish(name, expvar.Func(func() any { return p.Metrics() }))
}
