package queuelaw_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/queuelaw"
)

// brokenQueue is a mutexQueue with one method replaced, the one that is not nil. n
// counts the calls of that method.
type brokenQueue struct {
	*mutexQueue
	push  func(q *brokenQueue, v uint64) bool
	pop   func(q *brokenQueue) (uint64, bool)
	close func(q *brokenQueue) []uint64
	n     int
}

func (q *brokenQueue) Producer(int) queuelaw.Producer { return q }
func (q *brokenQueue) Consumer(int) queuelaw.Consumer { return q }

func (q *brokenQueue) Push(v uint64) bool {
	if q.push == nil {
		return q.mutexQueue.Push(v)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	return q.push(q, v)
}

func (q *brokenQueue) Pop() (uint64, bool) {
	if q.pop == nil {
		return q.mutexQueue.Pop()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	return q.pop(q)
}

func (q *brokenQueue) Close() []uint64 {
	if q.close == nil {
		return q.mutexQueue.Close()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.close(q)
}

// brokenQueues lists faults of queues, with the law that finds each one and a part of
// its message.
var brokenQueues = []struct {
	law, fault, want string
	capacity         int
	queue            *brokenQueue
}{
	{"once", "a popped value stays queued", "returned twice", 0, &brokenQueue{pop: func(q *brokenQueue) (uint64, bool) {
		if q.n%100 == 0 && len(q.values) > 0 {
			return q.values[0], true
		}
		return q.mutexQueue.pop()
	}}},
	{"once", "a value is invented", "had not been accepted", 0, &brokenQueue{pop: func(q *brokenQueue) (uint64, bool) {
		v, ok := q.mutexQueue.pop()
		if q.n%100 == 0 {
			v ^= 1 << 40
		}
		return v, ok
	}}},
	{"lost", "two concurrent pushes write the same slot", "were lost", 0, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		n := len(q.values)
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
		q.values = append(q.values[:min(n, len(q.values))], v)
		return true
	}}},
	{"order", "a value overtakes", "after value", 0, &brokenQueue{pop: func(q *brokenQueue) (uint64, bool) {
		if q.n%10 == 0 && len(q.values) > 1 {
			q.values[0], q.values[1] = q.values[1], q.values[0]
		}
		return q.mutexQueue.pop()
	}}},
	{"list", "the last value is never popped", "no consumer finds any", 0, &brokenQueue{pop: func(q *brokenQueue) (uint64, bool) {
		if len(q.values) == 1 {
			return 0, false
		}
		return q.mutexQueue.pop()
	}}},
	{"list", "a push is refused while there is room", "a push was refused", 0, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		if q.n%100 == 0 {
			return false
		}
		q.values = append(q.values, v)
		return true
	}}},
	{"list", "a value overtakes", "was the oldest", 0, &brokenQueue{pop: func(q *brokenQueue) (uint64, bool) {
		if len(q.values) > 1 {
			q.values[0], q.values[1] = q.values[1], q.values[0]
		}
		return q.mutexQueue.pop()
	}}},
	{"capacity", "one value too many is accepted", "capacity 100 accepted 101", 100, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		if len(q.values) > 100 {
			return false
		}
		q.values = append(q.values, v)
		return true
	}}},
	{"capacity", "a bound that the kind does not state", "without a capacity refused a value after 64", 0, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		if len(q.values) >= 64 {
			return false
		}
		q.values = append(q.values, v)
		return true
	}}},
	{"refused", "a refused value is queued", "had not been accepted", 100, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		q.values = append(q.values, v)
		return len(q.values) <= 100
	}}},
	{"refused", "a full queue drops its oldest value", "were lost", 100, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		if len(q.values) >= 100 {
			q.values = q.values[1:]
			return false
		}
		q.values = append(q.values, v)
		return true
	}}},
	{"refused", "a push to a full queue waits", "the queue is stuck", 100, &brokenQueue{push: func(q *brokenQueue, v uint64) bool {
		if len(q.values) >= 100 {
			select {}
		}
		q.values = append(q.values, v)
		return true
	}}},
	{"close", "Close drops the queued values", "were lost", 0, &brokenQueue{close: func(q *brokenQueue) []uint64 {
		q.closed, q.values = true, nil
		return nil
	}}},
	{"close", "the values that Close returns stay queued", "returned twice", 0, &brokenQueue{close: func(q *brokenQueue) []uint64 {
		q.closed = true
		return append([]uint64(nil), q.values...)
	}}},
	{"close", "Close closes nothing", "a closed queue accepted", 0, &brokenQueue{close: func(q *brokenQueue) []uint64 {
		return nil
	}}},
}

// isStuck are the violations that only a deadline reveals.
var isStuck = map[string]bool{
	"the queue is stuck": true,
}

// TestBrokenQueues checks that each law finds a queue with a fault that violates it.
func TestBrokenQueues(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range brokenQueues {
		k := mutexQueues(b.capacity)
		k.New = func(queuelaw.Shape) queuelaw.Queue {
			return &brokenQueue{&mutexQueue{capacity: b.capacity}, b.queue.push, b.queue.pop, b.queue.close, 0}
		}
		for _, l := range queuelaw.Laws() {
			if l.Name == b.law {
				caught[l.Name] = true
				t.Run(fmt.Sprintf("%s/%s", l.Name, b.fault), func(t *testing.T) {
					t.Parallel()
					lawtest.WantBroken(t, l.Name, b.want, isStuck[b.want], func(r harness.T, o harness.Options) { l.Check(r, k, queuelaw.Options(o)) })
				})
			}
		}
	}
	for _, l := range queuelaw.Laws() {
		if !caught[l.Name] {
			t.Errorf("no broken queue violates the law %q", l.Name)
		}
	}
}
