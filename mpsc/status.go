package mpsc

import "fmt"

// Order says in which order a consumer pops what was pushed.
type Order uint8

// The orders of a [Consumer]. The nodes of one [List] come out in the order of
// the list either way.
const (
	// LIFO takes the latest push first. What a consumer has grabbed is popped
	// before anything that was pushed later, so that nothing starves.
	LIFO Order = iota

	// FIFO takes the oldest push first, across all producers. Each grab is
	// reversed: a Pop that grabs takes time linear in what is queued.
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

// Status is how an attempt to take from a queue went.
type Status uint8

// The results of [Queue.TryAcquire].
const (
	Acquired  Status = iota // the caller holds the consumer token
	Empty                   // all that was pushed before the call was taken
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
