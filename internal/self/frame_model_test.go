//go:build interleave

package self_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/self"
)

// TestModelFrames checks that a thread of a model finds its own frames and no others. It
// starts without frames in each execution. The functions of the package take no steps. The
// executions are therefore those of four loads.
func TestModelFrames(t *testing.T) {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		var x atomix.Uint32
		var frames [3][2]self.Frame
		check := func(want ...*self.Frame) {
			if got := stack(); !slices.Equal(got, want) {
				m.Fatalf("got the frames %v, want %v", got, want)
			}
		}
		enter := func(own *[2]self.Frame) {
			check()
			own[0].Enter()
			own[1].Enter()
			check(&own[1], &own[0])
		}
		enter(&frames[2])
		for i := range 2 {
			m.Go("thread", func() {
				own := &frames[i]
				defer check()
				enter(own)
				defer own[0].Leave()
				x.Load()
				check(&own[1], &own[0])
				own[1].Leave()
				x.Load()
				check(&own[0])
				if i == 1 {
					runtime.Goexit()
				}
			})
		}
		m.Final(func() {
			check(&frames[2][1], &frames[2][0])
			frames[2][1].Leave()
			frames[2][0].Leave()
			check()
		})
	})
	if r.Failure != nil || !r.Complete || r.Executions != 6 || r.Steps != 4*6 {
		t.Errorf("complete: %t, %d executions with %d steps, want 6 with 24: %v", r.Complete, r.Executions, r.Steps, r.Failure)
	}
	if self.Top() != nil {
		t.Error("the goroutine of the test has a frame of the model")
	}
}
