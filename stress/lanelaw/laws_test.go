package lanelaw_test

import (
	"testing"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/lanelaw"
)

func keepsLaws(t *testing.T, operations int, k lanelaw.Kind) {
	t.Helper()
	for _, l := range lanelaw.Laws() {
		t.Run(k.Name+"/"+l.Name, func(t *testing.T) {
			lawtest.Keeps(t, operations, func(r harness.T, o harness.Options) { l.Check(r, k, lanelaw.Options(o)) })
		})
	}
}

// TestLanesOfThisModule checks that the lanes of package pool keep the laws.
func TestLanesOfThisModule(t *testing.T) {
	for _, k := range []lanelaw.Kind{lanelaw.Pool(pool.Config{}), lanelaw.Pool(pool.Config{Concurrency: 4}), lanelaw.Inline()} {
		keepsLaws(t, 20_000, k)
	}
}

// TestOtherLanes checks that lanes of channels keep the laws: the laws do not depend on
// the lanes of this module.
func TestOtherLanes(t *testing.T) {
	for _, k := range []lanelaw.Kind{channelKind(1, noLaneFault), channelKind(3, noLaneFault), sharedKind(1, noLaneFault), sharedKind(3, noLaneFault)} {
		keepsLaws(t, 5_000, k)
	}
}
