package remote

import (
	"errors"

	"github.com/lanewright/lanewright/internal/helper"
)

// rawClient sends messages of a fixed size over a blocking stream.
type rawClient struct{ *helper.Answerer }

// StartSocket starts a process that answers over a pair of unix sockets. Both sides block in the kernel and make one
// write for each message. All messages have the size of the payload, so they have no header.
func StartSocket(size int) (Client, error) { return newRaw(helper.StartSocket(size)) }

// StartPipe is StartSocket with a pipe in each direction.
func StartPipe(size int) (Client, error) { return newRaw(helper.StartPipe(size)) }

func newRaw(a *helper.Answerer, err error) (Client, error) {
	if err != nil {
		return nil, err
	}
	return rawClient{a}, nil
}

func (c rawClient) Call(n int) (int, error) {
	if err := c.Send(n); err != nil {
		return 0, err
	}
	return c.Receive()
}

func (c rawClient) Send(n int) error { return c.SendNumber(n) }

func (c rawClient) Receive() (int, error) { return c.ReceiveNumber() }

func (c rawClient) Echo(payload, room []byte) ([]byte, error) {
	if cap(room) < len(payload) {
		room = make([]byte, len(payload))
	}
	room = room[:len(payload)]
	return room, errors.Join(c.Answerer.Send(payload), c.Answerer.Receive(room))
}
