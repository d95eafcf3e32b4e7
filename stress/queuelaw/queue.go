package queuelaw

// Kind describes a queue: it makes queues and states what they promise.
type Kind struct {
	// Name appears in messages.
	Name string

	// New returns an empty queue for the producers and consumers of the shape.
	New func(s Shape) Queue

	// MaxProducers and MaxConsumers bound the numbers of producers and consumers. 0
	// means any number.
	MaxProducers, MaxConsumers int

	// Owned states that producer i and consumer i are one goroutine, the owner. There
	// are at least as many consumers as producers; the consumers without a producer are
	// thieves. Without Owned, each producer and each consumer has a goroutine of its
	// own.
	Owned bool

	// FIFO promises that each consumer pops the values of each producer in the order of
	// their pushes.
	FIFO bool

	// Capacity is the number of values that an empty queue accepts before it refuses
	// one, as long as no other goroutine uses the queue. 0 means that the queue refuses
	// no value.
	Capacity int
}

// Shape states the numbers of Producers and Consumers whose handles a law uses.
type Shape struct {
	Producers, Consumers int
}

// Queue returns handles. One goroutine at a time uses a handle. A law asks for each
// handle once, before its goroutines start. After they have returned, the law may use
// the handle on another goroutine.
//
// A Queue may also be a [Closer].
type Queue interface {
	Producer(i int) Producer // i is from 0 to Shape.Producers-1
	Consumer(i int) Consumer // i is from 0 to Shape.Consumers-1
}

// Producer pushes values to a queue. It may also be a [BatchProducer].
type Producer interface {
	// Push adds v and returns true, or adds nothing and returns false when the queue is
	// full or closed. It does not wait for a consumer.
	Push(v uint64) bool
}

// BatchProducer is a [Producer] that pushes several values at once.
type BatchProducer interface {
	// PushAll adds values from the front of vs and returns their number. It does not
	// retain vs.
	PushAll(vs []uint64) int
}

// Consumer pops values from a queue.
type Consumer interface {
	// Pop removes a value and returns it. While other goroutines use the queue, Pop may
	// return false although values are queued. When no other goroutine uses the queue,
	// Pop returns false only if no value is queued that this handle can take. A value
	// that another handle has taken for itself, for example into a ring of its own, does
	// not count. Pop does not wait for a producer.
	Pop() (v uint64, ok bool)
}

// Closer is a [Queue] that can be closed.
type Closer interface {
	// Close makes every later Push return false. It returns the values that no consumer
	// can pop any more, if there are such values; all others can still be popped. A law
	// calls it once, on any goroutine.
	Close() []uint64
}
