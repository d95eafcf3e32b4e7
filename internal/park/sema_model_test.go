//go:build interleave

package park_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// TestModelSema runs two Posts, a Wait and a TryWait in every order. No token is lost and
// none is taken twice. A Post happens before the end of the Wait that takes its token.
func TestModelSema(t *testing.T) {
	interleave.Check(t, "park-sema", interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		var s park.Sema
		var c atomix.Cell[int]
		s.Init(2)
		took := make([]int, 2)
		m.Go("post", func() {
			c.Set(1)
			for range 2 {
				if !s.Post() {
					m.Fatalf("Post dropped a token")
				}
			}
		})
		m.Go("wait", func() {
			s.Wait()
			took[0]++
			if c.Get() != 1 {
				m.Fatalf("Wait returned without the write before the Post")
			}
		})
		m.Go("try", func() {
			if s.TryWait() {
				took[1]++
			}
		})
		m.Final(func() {
			if rest := s.TryWait(); s.TryWait() || took[0] != 1 || took[1] == 1 == rest {
				m.Fatalf("tokens taken: %v, a token remains: %t", took, rest)
			}
		})
	})
}

// TestModelTimeout checks that a WaitFor that may time out at any step returns true exactly
// when it has taken the token.
func TestModelTimeout(t *testing.T) {
	seen := map[bool]int{}
	r := interleave.Check(t, "park-timeout", interleave.Options{Preemptions: interleave.All, Timeouts: true}, func(m *interleave.M) {
		var s park.Sema
		s.Init(1)
		var ok bool
		m.Go("wait", func() { ok = s.WaitFor(time.Hour) })
		m.Go("post", func() { s.Post() })
		m.Final(func() {
			seen[ok]++
			if s.TryWait() == ok {
				m.Fatalf("WaitFor = %t, and a token remains: %t", ok, ok)
			}
		})
	})
	if r.Complete && (seen[true] == 0 || seen[false] == 0) {
		t.Errorf("results of WaitFor: %v, want both", seen)
	}
}

// TestModelYield checks that threads that wait in a loop with Yield let other threads run.
func TestModelYield(t *testing.T) {
	interleave.Check(t, "park-yield", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		var ready atomix.Bool
		for range 2 {
			m.Go("wait", func() {
				for !ready.Load() {
					park.Yield()
				}
			})
		}
		m.Go("ready", func() { ready.Store(true) })
	})
}

// TestModelSelf checks that the threads of a model have different identities. An identity
// does not change.
func TestModelSelf(t *testing.T) {
	interleave.Check(t, "park-self", interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		var x atomix.Int32
		var ids [3]uintptr
		for i := range ids {
			m.Go("thread", func() {
				ids[i] = park.Self()
				x.Add(1)
				if park.Self() != ids[i] {
					m.Fatalf("the identity of a thread has changed")
				}
			})
		}
		m.Final(func() {
			if ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] || ids[0] == 0 {
				m.Fatalf("got the identities %#x", ids)
			}
		})
	})
}

// TestModelPositions checks that a report has the position of the call of Yield. It has no
// position in this package.
func TestModelPositions(t *testing.T) {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		m.Go("yielder", func() {
			park.Yield()
			m.Fatalf("the end")
		})
		m.Go("other", park.Yield)
	})
	if r.Failure == nil || !strings.Contains(r.Failure.Trace, "sema_model_test.go:") || strings.Contains(r.Failure.Trace, "model.go") {
		t.Errorf("got the failure %v", r.Failure)
	}
}
