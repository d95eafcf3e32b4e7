package queuelaw_test

import (
	"sync"

	"github.com/lanewright/lanewright/stress/queuelaw"
)

// mutexQueue is a slice behind a mutex. All producers and consumers share one handle.
type mutexQueue struct {
	mu       sync.Mutex
	values   []uint64
	capacity int // 0: none
	closed   bool
}

func mutexQueues(capacity int) queuelaw.Kind {
	return queuelaw.Kind{
		Name:     "mutex queue",
		New:      func(queuelaw.Shape) queuelaw.Queue { return &mutexQueue{capacity: capacity} },
		FIFO:     true,
		Capacity: capacity,
	}
}

func (q *mutexQueue) Producer(int) queuelaw.Producer { return q }
func (q *mutexQueue) Consumer(int) queuelaw.Consumer { return q }

func (q *mutexQueue) Push(v uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.capacity > 0 && len(q.values) >= q.capacity {
		return false
	}
	q.values = append(q.values, v)
	return true
}

func (q *mutexQueue) Pop() (v uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pop()
}

func (q *mutexQueue) pop() (v uint64, ok bool) {
	if len(q.values) == 0 {
		return 0, false
	}
	v, q.values = q.values[0], q.values[1:]
	return v, true
}

func (q *mutexQueue) Close() []uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	rest := q.values
	q.values = nil
	return rest
}
