//go:build interleave

package atomix_test

import (
	"reflect"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
)

// TestModelCell: a build for models uses the model types, and the explorer sees their
// operations. A write before its publication is ordered, and a write after it is a race.
func TestModelCell(t *testing.T) {
	if got, want := reflect.TypeFor[atomix.Uint32](), reflect.TypeFor[interleave.Uint32](); got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
	publish := func(early bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			var c atomix.Cell[int]
			var ready atomix.Pointer[atomix.Cell[int]]
			m.Go("writer", func() {
				if early {
					ready.Store(&c)
				}
				c.Set(7)
				if !early {
					ready.Store(&c)
				}
			})
			m.Go("reader", func() {
				if c := ready.Load(); c != nil && c.Get() != 7 {
					m.Fatalf("read %d", c.Get())
				}
			})
		}
	}
	o := interleave.Options{Preemptions: interleave.All}
	if r := interleave.Check(t, "cell-publish", o, publish(false)); r.Executions != 2 {
		t.Errorf("%d executions, want 2", r.Executions)
	}
	if r := interleave.Explore(o, publish(true)); r.Failure == nil || r.Failure.Kind != interleave.Race {
		t.Errorf("a write after its publication gave %+v, want a race", r)
	}
}
