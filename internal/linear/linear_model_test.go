//go:build interleave

package linear_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// bounded explores all interleavings with at most n preemptions, one fewer in short
// mode.
func bounded(n int) interleave.Options {
	if testing.Short() {
		n--
	}
	return interleave.Options{Preemptions: n}
}

// explored makes a program the body of an exploration that fails when a history is not
// linearizable. Many executions have the same history, which is checked once.
func explored(fresh func() subject, p program) func(m *interleave.M) {
	seen := map[string]bool{}
	var buf []byte
	return func(m *interleave.M) {
		r := run{fresh(), new(history)}
		r.do(0, p.setup, func() {})
		var gap interleave.Uint32
		// between is a step between two operations. An operation of another thread at
		// this step is between the two, and not during the second.
		between := func() { gap.Load() }
		for th, ops := range p.threads {
			m.Go("thread", func() { r.do(th, ops, between) })
		}
		m.Final(func() {
			r.finish()
			buf = r.key(buf[:0])
			if seen[string(buf)] {
				return
			}
			if !r.linearizable() {
				m.Fatalf("the history of %v is not linearizable:\n%v", p, r.history)
			}
			seen[string(buf)] = true
		})
	}
}

// everything explores all interleavings. It uses no sleep sets, because they omit
// executions that differ in the order of two operations only.
var everything = interleave.Options{Preemptions: interleave.All}

// TestModelLinearQueue checks an mpsc.Queue with producers and consumers in both
// orders, nodes that are pushed again, and a seal.
func TestModelLinearQueue(t *testing.T) {
	queue := func(text string) func(*interleave.M) { return explored(newQueueSubject, parse(text)) }
	interleave.Check(t, "linear-queue-lifo", bounded(3), queue("push | lifo pop pop release | push lifo pop release | list empty"))
	interleave.Check(t, "linear-queue-fifo", bounded(3), queue("list push | fifo pop pop release | push fifo pop release | list available"))
	interleave.Check(t, "linear-queue-again", bounded(5), queue("push push | lifo pop again pop release | fifo pop release again"))
	interleave.Check(t, "linear-queue-seal", bounded(3), queue("push | lifo pop pop release | push push lifo | list seal seal"))
	interleave.Check(t, "linear-queue-empty", interleave.Options{Preemptions: 3}, queue("push push | lifo pop release | push seal | empty"))
	interleave.Check(t, "linear-queue-passed-by", bounded(3), queue("push push | push lifo pop release | lifo pop release lifo release"))
	interleave.Check(t, "linear-queue-all", everything, queue("push | fifo pop release | push list"))
}

// TestModelLinearRing checks an owner against thieves, a full ring, and a thief that is
// a victim.
func TestModelLinearRing(t *testing.T) {
	ring := func(text string) func(*interleave.M) { return explored(newRingSubject, parse(text)) }
	interleave.Check(t, "linear-ring-thieves", bounded(3), ring("push push push | push pop newest | steal0 pop | steal0 empty0"))
	interleave.Check(t, "linear-ring-full", bounded(3), ring("push push push push | pop push list push | steal0 pop steal0"))
	interleave.Check(t, "linear-ring-chain", bounded(3), ring("push push push push | steal1 pop | steal0 pop | steal1 steal0"))
	interleave.Check(t, "linear-ring-all", everything, ring("push push | pop | steal0"))
}

// TestModelLinearRunQueue checks spills and refills against a thief, and two consumers
// of one overflow queue.
func TestModelLinearRunQueue(t *testing.T) {
	queue := func(text string) func(*interleave.M) { return explored(newRunSubject, parse(text)) }
	interleave.Check(t, "linear-runqueue-spill", bounded(3), queue("push push push | list pop refill | steal0 pop steal0"))
	interleave.Check(t, "linear-runqueue-overflow", bounded(3), queue("push | refill pop take | steal0 pop | over0 over0"))
	interleave.Check(t, "linear-runqueue-newest", bounded(3), queue("push push push push push | newest refill | steal0 push | steal0 pop"))
}

// key appends the data that distinguish h from other histories of the same program.
func (h *history) key(b []byte) []byte {
	for th := range h.events {
		for i := range h.events[th] {
			e := &h.events[th][i]
			ok := byte(0)
			if e.ok {
				ok = 1
			}
			b = append(b, byte(e.call>>8), byte(e.call), byte(e.ret>>8), byte(e.ret), ok, byte(e.n), byte(e.status), byte(e.op.on), byte(len(e.got)))
			b = append(b, e.op.name...)
			b = append(b, e.got...)
		}
		b = append(b, 0xff)
	}
	return b
}
