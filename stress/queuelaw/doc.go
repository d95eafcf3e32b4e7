// Package queuelaw checks any concurrent queue against laws. Each accepted value is
// popped once, no value is lost, and the order is kept. A full or closed queue refuses
// values.
//
// A law is a promise that holds under every interleaving and that a test can check from
// outside. A law generates a shape from a seed. The shape is the number of producers
// and consumers and the length of their bursts. A burst is a run of pushes, or of pops,
// that one goroutine makes one after another. Goroutines of that shape use the queue.
// The law then compares the popped values with the pushed values. [Laws] returns the
// laws:
//
//	law       needs          promise
//	once      -              a value that Pop or Close returns was accepted, and is returned once
//	lost      -              every accepted value is returned
//	order     Kind.FIFO      each consumer pops the values of each producer in the order of their pushes
//	list      -              with one goroutine, the queue is a list: it accepts a push when it has room, and a pop returns a queued value
//	capacity  -              an empty queue accepts Kind.Capacity values and refuses the next; without a capacity it accepts all
//	refused   Kind.Capacity  a refused value is not queued, and the queued values stay
//	close     Closer         a closed queue refuses values, and every accepted value is popped or returned by Close
//
// # Check a queue
//
// Write an adapter that pushes and pops uint64 values, and describe the queue with a
// [Kind]:
//
//	type queue struct{ q *other.Queue[uint64] }
//
//	func (q queue) Producer(int) queuelaw.Producer { return q }
//	func (q queue) Consumer(int) queuelaw.Consumer { return q }
//	func (q queue) Push(v uint64) bool             { return q.q.TryPush(v) }
//	func (q queue) Pop() (uint64, bool)            { return q.q.TryPop() }
//
//	func TestLaws(t *testing.T) {
//		queuelaw.Check(t, queuelaw.Kind{
//			Name:     "other.Queue",
//			New:      func(queuelaw.Shape) queuelaw.Queue { return queue{other.New[uint64](64)} },
//			FIFO:     true,
//			Capacity: 64,
//		}, queuelaw.Options{})
//	}
//
// The fields of the Kind state what the queue promises: a limit of one producer, an
// order, a capacity. The interfaces [BatchProducer] and [Closer] state further abilities
// of the queue. A law that needs a missing promise or ability logs that it was skipped. No
// law needs a BatchProducer: without it the laws push single values and log nothing.
//
// [MPSC], [Ring] and [RunQueue] are adapters for the queues of this module.
//
// # When a law is violated
//
// The message names the law, the observation, the shape, and the seed. The seed in
// [Options] generates the same shape again, but not the same interleaving: a rare
// violation may need many runs with the seed, for example with "go test -count".
//
// A law that waits gives up at Options.Deadline and names what is stuck. The stuck
// goroutines stay.
//
// Producers write plain memory before each push, and the consumer reads it after the
// pop. Run the laws under the race detector as well: it reports a missing
// happens-before edge with both sides.
//
// # Limits
//
// Real threads execute few of all interleavings, so a queue that passes may still be
// wrong. Package interleave explores all interleavings of small programs and complements
// the laws. The laws measure no speed and state nothing about fairness.
//
// Terms are defined in docs/GLOSSARY.md.
package queuelaw
