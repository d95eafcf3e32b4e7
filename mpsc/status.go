package mpsc

import "fmt"

// Order is the order in which a consumer pops the pushes of a queue.
type Order uint8

// The orders of a [Consumer]. The nodes of one [List] are popped in the order of
// the list either way.
const (
	// LIFO takes the latest push first. A consumer pops the rest of its grab before
	// any later push, so no node starves.
	LIFO Order = iota

	// FIFO takes the oldest push first, across all producers. Each grab is
	// reversed, so a Pop that grabs takes time linear in the number of queued nodes.
	FIFO
)

// String returns "LIFO" or "FIFO".
func (o Order) String() string {
	switch o {
	case LIFO:
		return "LIFO"
	case FIFO:
		return "FIFO"
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}

// Status is the result of an attempt to take from a queue.
type Status uint8

// The results of [Queue.TryAcquire].
const (
	Acquired  Status = iota // the caller holds the consumer token
	Empty                   // all nodes pushed before the call have been taken
	Contended               // another consumer held the token at some moment during the call
)

// String returns the name of the status, such as "contended".
func (s Status) String() string {
	switch s {
	case Acquired:
		return "acquired"
	case Empty:
		return "empty"
	case Contended:
		return "contended"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}
