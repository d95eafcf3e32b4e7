package child

import (
	"bytes"
	"sync"
)

// line is one line of an output, or a part of a long one.
type line struct {
	text    []byte
	isErr   bool
	dropped int // above 0: instead of a line, the number of those that were dropped here
}

// lineBytes is what a line takes in the queue in addition to its text, so that empty lines are bounded as well. Chosen: a
// little more than the size of a line.
const lineBytes = 64

// queue holds the lines that wait for Command.Output, in their order. It is bounded in bytes. put never blocks.
type queue struct {
	most int // bytes

	mu      sync.Mutex
	changed sync.Cond // with mu
	lines   []line
	bytes   int
	closed  bool
}

// newQueue returns a queue that holds up to most bytes.
func newQueue(most int) *queue {
	q := &queue{most: most}
	q.changed.L = &q.mu
	return q
}

// put adds a copy of a line. If there is no space, it counts a dropped line behind the last line that was not.
func (q *queue) put(text []byte, isErr bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.changed.Signal()
	last := len(q.lines) - 1
	switch cost := lineBytes + len(text); {
	case q.bytes+cost <= q.most:
		q.bytes += cost
		q.lines = append(q.lines, line{text: bytes.Clone(text), isErr: isErr})
	case last >= 0 && q.lines[last].dropped > 0:
		q.lines[last].dropped++
	default:
		q.lines = append(q.lines, line{isErr: true, dropped: 1})
	}
}

// take removes the oldest line, and waits for it. ok is false when the queue is closed and empty.
func (q *queue) take() (l line, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lines) == 0 {
		if q.closed {
			return line{}, false
		}
		q.changed.Wait()
	}
	l = q.lines[0]
	q.lines[0] = line{}
	q.lines = q.lines[1:]
	if l.dropped == 0 {
		q.bytes -= lineBytes + len(l.text)
	}
	return l, true
}

// close says that no line follows.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Signal()
}
