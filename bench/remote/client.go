package remote

import "github.com/lanewright/lanewright/internal/helper"

// Depth is the greatest number of outstanding calls of Send.
const Depth = 32

// NumberBytes is the size of the payload of a [Client] that calls with numbers.
const NumberBytes = helper.NumberBytes

// Client is a process and the connection to it. One goroutine at a time may use it. An error of a call is final: the
// client can then only be closed.
type Client interface {
	// Call sends n and returns the answer, which is n+1.
	Call(n int) (int, error)

	// Send sends n, and may return before the answer. At most Depth numbers may be outstanding.
	Send(n int) error

	// Receive returns the answer to the oldest outstanding number.
	Receive() (int, error)

	// Echo sends a payload and returns the answer, which is equal. The answer is in room if that has the capacity for it.
	// Its memory is valid until the next call.
	Echo(payload, room []byte) ([]byte, error)

	// Close ends the process and waits for its end.
	Close() error
}

// window holds the outstanding calls of a client, each in its slot.
type window[T any] struct {
	slots          [Depth]T
	sent, received int
}

// next returns the slot of the next number to send.
func (w *window[T]) next() *T {
	w.sent++
	return &w.slots[(w.sent-1)%Depth]
}

// oldest returns the slot of the oldest outstanding number, which is outstanding no longer.
func (w *window[T]) oldest() *T {
	w.received++
	return &w.slots[(w.received-1)%Depth]
}
