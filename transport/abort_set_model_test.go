//go:build interleave

package transport_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

func newAbortModel(m *interleave.M, capacity int) *transport.AbortSet {
	s, err := transport.NewAbortSet(capacity, make([]atomix.Uint32, (capacity+31)/32))
	if err != nil {
		m.Fatalf("%v", err)
	}
	return s
}

// acquireAll takes n ids, and releases those for which keep returns false.
func acquireAll(s *transport.AbortSet, n int, keep func(id int) bool) {
	for range n {
		s.Acquire()
	}
	for id := range n {
		if !keep(id) {
			s.Release(transport.AbortID(id))
		}
	}
}

// TestModelAbortSet lets goroutines take ids, set their flags and release them. An id
// has one holder. Its flag is clear when the holder gets it. With as many ids as
// goroutines each goroutine gets one, also when the ids are in two words. K-104, K-105,
// K-110.
func TestModelAbortSet(t *testing.T) {
	model := func(goroutines, capacity int, keep func(id int) bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			s := newAbortModel(m, capacity)
			acquireAll(s, capacity, keep)
			holders := make([]atomix.Cell[int], capacity) // owned by the holder of the id, from Acquire to Release
			for range goroutines {
				m.Go("caller", func() {
					id, ok := s.Acquire()
					if !ok {
						m.Fatalf("no id is free")
					}
					if s.Aborted(id) {
						m.Fatalf("id %d is aborted at first", id)
					}
					holders[id].Set(holders[id].Get() + 1)
					s.Abort(id)
					if !s.Aborted(id) {
						m.Fatalf("id %d is not aborted", id)
					}
					s.Release(id)
				})
			}
		}
	}
	none := func(int) bool { return false }
	interleave.Check(t, "abort-set", memoryModel(3), model(3, 3, none))
	interleave.Check(t, "abort-set-words", memoryModel(3), model(3, 34, func(id int) bool { return id != 31 && id != 0 && id != 33 }))
}

// abortCall is a call that can be aborted. The goroutine that gives up and the
// goroutine that sees the response agree on the Release of its id through word. The
// comment of AbortSet states the rule.
type abortCall struct {
	s    *transport.AbortSet
	id   transport.AbortID
	word atomix.Uint32
}

const (
	callAborting = 1 << iota
	callAborted
	callAnswered
)

// abort is the step of the goroutine that gives up.
func (c *abortCall) abort() {
	if !c.word.CompareAndSwap(0, callAborting) {
		return // the response was first
	}
	c.s.Abort(c.id)
	if c.word.Or(callAborted)&callAnswered != 0 {
		c.s.Release(c.id)
	}
}

// answer is the step of the goroutine that has seen the response. The worker no longer
// polls the flag.
func (c *abortCall) answer() {
	if c.word.Or(callAnswered)&(callAborting|callAborted) != callAborting {
		c.s.Release(c.id)
	}
}

// abortModel is a model in which a caller gives up while the response arrives. The next
// call takes the only id as soon as it is free.
func abortModel(abort, answer func(*abortCall)) func(m *interleave.M) {
	return func(m *interleave.M) {
		s := newAbortModel(m, 1)
		c := &abortCall{s: s}
		c.id, _ = s.Acquire()
		m.Go("caller", func() { abort(c) })
		m.Go("worker", func() {
			was := s.Aborted(c.id)
			if now := s.Aborted(c.id); was && !now {
				m.Fatalf("the flag was cleared while the worker polled it")
			}
			answer(c) // the response is seen
		})
		m.Go("next", func() {
			id, ok := s.Acquire()
			if !ok {
				return // K-105
			}
			for range 2 {
				if s.Aborted(id) {
					m.Fatalf("the next call is aborted")
				}
			}
			s.Release(id)
		})
		m.Final(func() {
			id, ok := s.Acquire()
			if !ok || s.Aborted(id) {
				m.Fatalf("the id is not as after NewAbortSet: %v, aborted = %v", ok, s.Aborted(0))
			}
		})
	}
}

// TestModelAbortReuse checks that a reused id has a clear flag for its new call. The
// goroutine that gave up on the old call does not set that flag. Without the word of
// the call it does. K-110.
func TestModelAbortReuse(t *testing.T) {
	o := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "abort-reuse", o, abortModel((*abortCall).abort, (*abortCall).answer))
	for _, tc := range []struct {
		bug           string
		abort, answer func(*abortCall)
	}{
		{
			"the word holds only which of the two was first",
			func(c *abortCall) {
				if c.word.CompareAndSwap(0, callAborting) {
					c.s.Abort(c.id)
				}
			},
			func(c *abortCall) {
				c.word.Or(callAnswered)
				c.s.Release(c.id)
			},
		},
		{
			"the id is given back when the caller gives up",
			func(c *abortCall) {
				if c.word.CompareAndSwap(0, callAborting) {
					c.s.Abort(c.id)
					c.s.Release(c.id)
				}
			},
			func(c *abortCall) {
				if c.word.CompareAndSwap(0, callAnswered) {
					c.s.Release(c.id)
				}
			},
		},
	} {
		t.Run("planted: "+tc.bug, func(t *testing.T) {
			r := interleave.Explore(o, abortModel(tc.abort, tc.answer))
			if r.Failure == nil {
				t.Fatalf("not found in %d executions, complete=%v", r.Executions, r.Complete)
			}
			t.Logf("found in execution %d: %s", r.Failure.Execution, r.Failure.Message)
		})
	}
}
