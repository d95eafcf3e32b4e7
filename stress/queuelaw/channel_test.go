package queuelaw_test

import "github.com/lanewright/lanewright/stress/queuelaw"

// chanQueue is a buffered channel: bounded, first in, first out.
type chanQueue chan uint64

func chanQueues(capacity int) queuelaw.Kind {
	return queuelaw.Kind{
		Name:     "channel queue",
		New:      func(queuelaw.Shape) queuelaw.Queue { return make(chanQueue, capacity) },
		FIFO:     true,
		Capacity: capacity,
	}
}

func (q chanQueue) Producer(int) queuelaw.Producer { return q }
func (q chanQueue) Consumer(int) queuelaw.Consumer { return q }

func (q chanQueue) Push(v uint64) bool {
	select {
	case q <- v:
		return true
	default:
		return false
	}
}

func (q chanQueue) Pop() (v uint64, ok bool) {
	select {
	case v = <-q:
		return v, true
	default:
		return 0, false
	}
}
