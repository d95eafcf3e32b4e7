package stress_test

import (
	"testing"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress"
)

func keepsLaneLaws(t *testing.T, operations int, k stress.LaneKind) {
	t.Helper()
	for _, l := range stress.LaneLaws() {
		t.Run(k.Name+"/"+l.Name, func(t *testing.T) {
			keeps(t, operations, func(r stress.T, o stress.Options) { l.Check(r, k, o) })
		})
	}
}

func TestOurLanes(t *testing.T) {
	for _, k := range []stress.LaneKind{stress.PoolLanes(pool.Config{}), stress.PoolLanes(pool.Config{Concurrency: 4}), stress.InlineLane()} {
		keepsLaneLaws(t, 20_000, k)
	}
}
