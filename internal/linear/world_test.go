package linear_test

import (
	"fmt"

	"github.com/lanewright/lanewright/runqueue"
)

const (
	capacity   = runqueue.Capacity
	half       = capacity / 2
	maxThreads = 4
)

// nodes is a sequence of numbers of nodes, two bytes each. It is a string because
// states are compared and copied often. 0 is no node; it marks the start of each push
// in the nodes of a queue.
type nodes string

func nodesOf(ids ...int) nodes {
	b := make([]byte, 0, 2*len(ids))
	for _, id := range ids {
		b = append(b, byte(id>>8), byte(id))
	}
	return nodes(b)
}

func (s nodes) size() int    { return len(s) / 2 }
func (s nodes) at(i int) int { return int(s[2*i])<<8 | int(s[2*i+1]) }

// split returns the first n nodes and the others.
func (s nodes) split(n int) (front, back nodes) { return s[:2*n], s[2*n:] }

// without returns s without node i.
func (s nodes) without(i int) nodes { return s[:2*i] + s[2*i+2:] }

func (s nodes) String() string {
	ids := make([]int, s.size())
	for i := range ids {
		ids[i] = s.at(i)
	}
	return fmt.Sprint(ids)
}

// ring is the specification of a Ring: its nodes and its hold. While the ring is held,
// the slots of nodes that were taken since then are not free, and neither is one more
// slot. lag counts these slots.
type ring struct {
	in   nodes // oldest first
	held bool
	lag  int
}

// free returns the number of nodes that the owner can push.
func (r *ring) free() int { return max(0, capacity-r.in.size()-r.lag) }

// take removes the n oldest nodes.
func (r *ring) take(n int) (taken nodes) {
	taken, r.in = r.in.split(n)
	if r.held {
		r.lag += n
	}
	return taken
}

// hold takes the hold for a thief and reports whether it was free.
func (r *ring) hold() bool {
	free := !r.held
	r.held, r.lag = true, 1
	return free
}

func (r *ring) release() { r.held, r.lag = false, 0 }

// queue is the specification of an mpsc.Queue: the nodes that were pushed and not
// grabbed, the nodes that the last consumer left of its grab, and the consumer token.
type queue struct {
	pushed nodes // oldest first, 0 before each push
	cache  nodes // in the order of the pops
	held   bool
	sealed bool
}

var pushMark = nodesOf(0)

func (q *queue) push(l nodes) { q.pushed += pushMark + l }

// nothing reports whether no node is queued. A node that a consumer has grabbed is not
// queued.
func (q *queue) nothing() bool { return q.pushed == "" && (q.held || q.cache == "") }

// grab takes all pushed nodes, in the order of the pops.
func (q *queue) grab(fifo bool) (l nodes) {
	p := q.pushed
	q.pushed = ""
	for p != "" {
		n := 1
		for n < p.size() && p.at(n) != 0 {
			n++
		}
		push, rest := p[2:2*n], p[2*n:]
		if fifo {
			l += push
		} else {
			l = push + l
		}
		p = rest
	}
	return l
}

// threadState is the state of a thread between the steps of one operation. With the
// consumer token of a queue, it is the state between operations.
type threadState struct {
	at    int   // steps that the operation has done
	rest  nodes // grabbed or claimed nodes that are in no structure yet
	out   nodes // nodes that move to a ring
	limit int   // number of free slots that were observed
	mode  mode
	fifo  bool
}

// mode is what an operation observed at an earlier step.
type mode uint8

const (
	modeRing mode = 1 << iota // a steal found the overflow queue held or empty
	modeMore                  // more nodes are available
)

// world is a state of the specification: a ring, a queue and a threadState for each
// thread.
type world struct {
	rings  [maxThreads]ring
	queues [maxThreads]queue
	states [maxThreads]threadState
}
