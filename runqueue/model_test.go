//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
)

// everything explores all interleavings.
var everything = interleave.Options{Preemptions: interleave.All, Reduce: true}

// bounded explores all interleavings of up to n preemptions. In short mode it is one
// less.
func bounded(n int) interleave.Options {
	if testing.Short() {
		n--
	}
	return interleave.Options{Preemptions: n}
}

// mustFind fails t unless an exploration of a program with a planted bug fails.
func mustFind(t *testing.T, bug string, body func(m *interleave.M)) {
	t.Helper()
	r := interleave.Explore(interleave.Options{Preemptions: 3}, body)
	if r.Failure == nil {
		t.Errorf("%s: not found in %d executions, complete=%v", bug, r.Executions, r.Complete)
		return
	}
	t.Logf("%s: found after %d executions: %.120s", bug, r.Executions, r.Failure.Message)
}

// takes holds the nodes that each thread of a model took. Each thread has one slice.
type takes [][]*mpsc.Node

// add records that thread took n. It returns false when n is nil.
func (ts takes) add(thread int, n *mpsc.Node) bool {
	if n != nil {
		ts[thread] = append(ts[thread], n)
	}
	return n != nil
}

// all calls pop until it returns nil, and records the nodes.
func (ts takes) all(thread int, pop func() *mpsc.Node) {
	for ts.add(thread, pop()) {
	}
}

// check fails the execution unless each of the nodes was taken exactly once and no
// other node was taken.
func (ts takes) check(m *interleave.M, nodes []mpsc.Node) {
	total := 0
	for _, list := range ts {
		total += len(list)
	}
	for i := range nodes {
		if n := ts.count(&nodes[i]); n != 1 {
			m.Fatalf("node %d was taken %d times", i, n)
		}
	}
	if total != len(nodes) {
		m.Fatalf("%d nodes were taken, %d pushed", total, len(nodes))
	}
}

// count returns the number of times that n was taken.
func (ts takes) count(n *mpsc.Node) (times int) {
	for _, list := range ts {
		for _, x := range list {
			if x == n {
				times++
			}
		}
	}
	return times
}

// inOrder fails the execution unless thread took its nodes in the order of the slice
// nodes.
func (ts takes) inOrder(m *interleave.M, thread int, nodes []mpsc.Node) {
	last := -1
	for _, n := range ts[thread] {
		for i := range nodes {
			if n == &nodes[i] {
				if i < last {
					m.Fatalf("thread %d took node %d after node %d", thread, i, last)
				}
				last = i
			}
		}
	}
}
