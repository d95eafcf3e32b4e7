package poolvar

import (
	"expvar"

	"github.com/lanewright/lanewright/pool"
)

// Publish makes the Metrics of p the variable with that name; a snapshot is taken each
// time that somebody reads it, also after the end of the pool. As there is no way to take
// a variable back, p is kept for ever. It panics when the name is taken, as [expvar.Publish] does.
func Publish(name string, p *pool.Pool) {
	if p == nil {
		panic("poolvar: Publish: nil pool")
	}
	expvar.Publish(name, expvar.Func(func() any { return p.Metrics() }))
}
