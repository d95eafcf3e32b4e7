package transport_test

import (
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// BenchmarkAbortPoll measures the poll by which a handler checks whether its call was
// aborted. K-107.
func BenchmarkAbortPoll(b *testing.B) {
	b.ReportAllocs()
	s, _ := newAbortSet(b, transport.DefaultAborts)
	var id transport.AbortID
	for range 100 {
		id, _ = s.Acquire()
	}
	n := 0
	for b.Loop() {
		if s.Aborted(id) {
			n++
		}
	}
	s.Abort(id)
	if n != 0 || !s.Aborted(id) {
		b.Fatalf("aborted %d times before the Abort", n)
	}
}

// BenchmarkAbortSet measures an Acquire and a Release. One case has an Abort between
// them.
func BenchmarkAbortSet(b *testing.B) {
	for _, abort := range []bool{false, true} {
		name := "op=acquire+release"
		if abort {
			name = "op=acquire+abort+release"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s, _ := newAbortSet(b, transport.DefaultAborts)
			for b.Loop() {
				id, ok := s.Acquire()
				if !ok || id != 0 {
					b.Fatalf("Acquire = %d, %v", id, ok)
				}
				if abort {
					s.Abort(id)
				}
				s.Release(id)
			}
		})
	}
}
