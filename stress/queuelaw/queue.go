package queuelaw

// Kind describes queues to be checked, and makes them.
type Kind struct {
	// Name stands in messages.
	Name string

	// New returns an empty queue for so many producers and consumers.
	New func(s Shape) Queue

	// MaxProducers and MaxConsumers are how many there may be. 0 means any number.
	MaxProducers, MaxConsumers int

	// Owned says that producer i and consumer i are one goroutine, the owner; there
	// are at least as many consumers as producers, and those beyond are thieves.
	// Otherwise each producer and each consumer has a goroutine of its own.
	Owned bool

	// FIFO promises that each consumer gets the values of each producer in the
	// order of their pushes.
	FIFO bool

	// Capacity is how many values a queue takes before it refuses one, when it
	// was empty and nobody else uses it. 0 means that it never refuses any.
	Capacity int
}

// Shape is what a queue is made for: Producers and Consumers are how many
// handles of each sort will be used.
type Shape struct {
	Producers, Consumers int
}

// Queue gives out handles, which are used by one goroutine at a time each. A
// law asks for each handle once, before the goroutines start, and may go on
// with it on another goroutine when those have ended.
//
// A Queue may also be a [Closer].
type Queue interface {
	Producer(i int) Producer // i counts from 0
	Consumer(i int) Consumer // so does this i
}

// Producer adds values to a queue. It may also be a [BatchProducer].
type Producer interface {
	// Push adds v, or reports false and adds nothing when the queue is full or
	// closed. It does not wait for a consumer.
	Push(v uint64) bool
}

// BatchProducer is a [Producer] that adds several values at once.
type BatchProducer interface {
	// PushAll adds values from the front of vs and returns how many. It keeps
	// nothing of vs.
	PushAll(vs []uint64) int
}

// Consumer takes values out of a queue.
type Consumer interface {
	// Pop takes a value. It may report false also when values are queued while
	// others use the queue, but not when nobody does and no other handle has taken
	// them aside. It does not wait for a producer.
	Pop() (v uint64, ok bool)
}

// Closer is a [Queue] that can be closed.
type Closer interface {
	// Close makes every later Push fail and returns values that nobody will pop,
	// if any. What it does not return can still be popped. Any goroutine may call
	// it, once.
	Close() []uint64
}
