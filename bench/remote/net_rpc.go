package remote

import (
	"errors"
	"net"
	"net/rpc"
)

// rpcService are the functions of a server of net/rpc.
type rpcService struct{}

// Add answers n+1.
func (rpcService) Add(n int, answer *int) error {
	*answer = n + 1
	return nil
}

// Echo answers the payload.
func (rpcService) Echo(payload []byte, answer *[]byte) error {
	*answer = payload
	return nil
}

// rpcName is the name of the service.
const rpcName = "Peer"

// rpcCall is an outstanding call.
type rpcCall struct {
	answer int
	done   chan *rpc.Call
}

// rpcClient calls with net/rpc. The package has its default codec, which is gob.
type rpcClient struct {
	client    *rpc.Client
	add, echo string // the names of the functions
	window    window[rpcCall]
	end       func() error
}

// newRPC returns a client for the service of that name. Close calls end, after it has closed the client.
func newRPC(client *rpc.Client, name string, end func() error) *rpcClient {
	c := &rpcClient{client: client, add: name + ".Add", echo: name + ".Echo", end: end}
	for i := range c.window.slots {
		c.window.slots[i].done = make(chan *rpc.Call, 1)
	}
	return c
}

// StartNetRPC starts a process that serves net/rpc with gob over a pair of unix sockets.
func StartNetRPC(int) (Client, error) {
	conn, end, err := startConn(roleNetRPC)
	if err != nil {
		return nil, err
	}
	return newRPC(rpc.NewClient(conn), rpcName, end), nil
}

// serveNetRPC is the process of StartNetRPC. It returns when the host has closed the connection.
func serveNetRPC(conn net.Conn) error {
	s := rpc.NewServer()
	if err := s.RegisterName(rpcName, rpcService{}); err != nil {
		return err
	}
	s.ServeConn(conn)
	return nil
}

func (c *rpcClient) Call(n int) (answer int, err error) {
	err = c.client.Call(c.add, n, &answer)
	return answer, err
}

func (c *rpcClient) Send(n int) error {
	call := c.window.next()
	c.client.Go(c.add, n, &call.answer, call.done)
	return nil
}

func (c *rpcClient) Receive() (int, error) {
	call := c.window.oldest()
	err := (<-call.done).Error
	return call.answer, err
}

// Echo reads the answer into room, because gob fills a slice that has the capacity.
func (c *rpcClient) Echo(payload, room []byte) ([]byte, error) {
	err := c.client.Call(c.echo, payload, &room)
	return room, err
}

func (c *rpcClient) Close() error {
	err := c.client.Close()
	if errors.Is(err, rpc.ErrShutdown) { // the process has ended before
		err = nil
	}
	return errors.Join(err, c.end())
}
