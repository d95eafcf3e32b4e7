package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The names of the service and of its functions.
const (
	grpcName   = "lanewright.Peer"
	grpcAdd    = "/" + grpcName + "/Add"
	grpcEcho   = "/" + grpcName + "/Echo"
	grpcAdds   = "/" + grpcName + "/Adds"
	grpcEchoes = "/" + grpcName + "/Echoes"
)

// grpcWindow is the flow-control window: several of the largest payloads, so that no side waits for the other one to
// grant more.
const grpcWindow = 4 << 20

// grpcBuffer is the size of the buffers between a connection and the socket. It is larger than the 32 KiB of gRPC, which
// divide a payload into more system calls. Measured with 64 KiB on 2 processors: 0.14 to 0.19 ms an echo, against 0.18 to
// 0.28; 1 MiB is no better. A server without NumStreamWorkers is faster: 50 µs a call against 90 with 2 of them.
const grpcBuffer = 128 << 10

// grpcStream is a stream in both directions.
var grpcStream = grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// grpcService describes the functions. It is written by hand, because the messages have a codec of their own.
var grpcService = grpc.ServiceDesc{
	ServiceName: grpcName,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "Add", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			m := new(number)
			err := decode(m)
			m.n++
			return m, err
		}},
		{MethodName: "Echo", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			m := new(payload)
			return m, decode(m)
		}},
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Adds", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			for m := new(number); ; {
				if err := s.RecvMsg(m); err != nil {
					return endOfStream(err)
				}
				m.n++
				if err := s.SendMsg(m); err != nil {
					return err
				}
			}
		}},
		{StreamName: "Echoes", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			for {
				m := new(payload)
				if err := s.RecvMsg(m); err != nil {
					return endOfStream(err)
				}
				if err := s.SendMsg(m); err != nil {
					return err
				}
			}
		}},
	},
}

// endOfStream returns err, unless it says that the client has closed its side.
func endOfStream(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// newServer returns a server with the options for local payloads.
func newServer(more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more,
		grpc.InitialWindowSize(grpcWindow), grpc.InitialConnWindowSize(grpcWindow),
		grpc.ReadBufferSize(grpcBuffer), grpc.WriteBufferSize(grpcBuffer))...)
}

// dialOptions are the options of a client for local payloads.
func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithInitialWindowSize(grpcWindow), grpc.WithInitialConnWindowSize(grpcWindow),
		grpc.WithReadBufferSize(grpcBuffer), grpc.WithWriteBufferSize(grpcBuffer),
	}
}

// dial returns a client over one connection.
func dial(conn net.Conn) (*grpc.ClientConn, error) {
	var dialed atomic.Bool
	return grpc.NewClient("passthrough:///peer", append(dialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if dialed.Swap(true) {
				return nil, errors.New("remote: the connection to the process has ended")
			}
			return conn, nil
		}))...)
}

// serveGRPC is the process of a client. It ends with its host.
func serveGRPC(conn net.Conn) error {
	s := newServer()
	s.RegisterService(&grpcService, nil)
	l := &listener{conn: make(chan net.Conn, 1), addr: conn.LocalAddr(), closed: make(chan struct{})}
	l.conn <- conn
	return s.Serve(l)
}

// listener accepts one connection.
type listener struct {
	conn   chan net.Conn
	addr   net.Addr
	once   sync.Once
	closed chan struct{}
}

// Accept returns the connection, and waits for Close afterwards.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is called by gRPC.
func (l *listener) Addr() net.Addr { return l.addr }

// grpcCall is an outstanding call.
type grpcCall struct {
	number, answer number
	done           chan error
}

// grpcClient makes unary calls.
type grpcClient struct {
	conn   *grpc.ClientConn
	window window[grpcCall]
	end    func() error
}

// callOptions are those of each call. The server of go-plugin has functions with other messages, so the codec is that of
// a call and not of the connection.
var callOptions = []grpc.CallOption{grpc.CallContentSubtype(codecName)}

// newGRPC returns a client. Close calls end.
func newGRPC(conn *grpc.ClientConn, end func() error) *grpcClient {
	c := &grpcClient{conn: conn, end: end}
	for i := range c.window.slots {
		c.window.slots[i].done = make(chan error, 1)
	}
	return c
}

// StartGRPC starts a process that serves gRPC over a pair of unix sockets. Each call is unary. An outstanding call has a
// goroutine.
func StartGRPC(int) (Client, error) {
	conn, end, err := startGRPC()
	if err != nil {
		return nil, err
	}
	return newGRPC(conn, end), nil
}

// startGRPC starts the process. end closes the connection and ends the process.
func startGRPC() (conn *grpc.ClientConn, end func() error, err error) {
	file, endProcess, err := startConn(roleGRPC)
	if err != nil {
		return nil, nil, err
	}
	conn, err = dial(file)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close(), endProcess())
	}
	return conn, func() error { return errors.Join(conn.Close(), endProcess()) }, nil
}

// invoke makes one call.
func (c *grpcClient) invoke(n, answer *number) error {
	return c.conn.Invoke(context.Background(), grpcAdd, n, answer, callOptions...)
}

func (c *grpcClient) Call(n int) (int, error) {
	var answer number
	err := c.invoke(&number{n}, &answer)
	return answer.n, err
}

func (c *grpcClient) Send(n int) error {
	call := c.window.next()
	call.number.n = n
	go func() { call.done <- c.invoke(&call.number, &call.answer) }()
	return nil
}

func (c *grpcClient) Receive() (int, error) {
	call := c.window.oldest()
	err := <-call.done
	return call.answer.n, err
}

func (c *grpcClient) Echo(p, room []byte) ([]byte, error) {
	answer := payload{bytes: room}
	err := c.conn.Invoke(context.Background(), grpcEcho, &payload{bytes: p}, &answer, callOptions...)
	return answer.bytes, err
}

func (c *grpcClient) Close() error { return c.end() }

// streamClient sends all messages in one stream, without a new call for each.
type streamClient struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	end    func() error
}

// StartGRPCStream starts a process like that of StartGRPC. All messages are in one stream.
func StartGRPCStream(size int) (Client, error) {
	conn, end, err := startGRPC()
	if err != nil {
		return nil, err
	}
	name := grpcEchoes
	if size == NumberBytes {
		name = grpcAdds
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := conn.NewStream(ctx, &grpcStream, name, callOptions...)
	if err != nil {
		cancel()
		return nil, errors.Join(err, end())
	}
	return &streamClient{stream, cancel, end}, nil
}

func (c *streamClient) Call(n int) (int, error) {
	if err := c.Send(n); err != nil {
		return 0, err
	}
	return c.Receive()
}

func (c *streamClient) Send(n int) error { return c.stream.SendMsg(&number{n}) }

func (c *streamClient) Receive() (int, error) {
	var answer number
	err := c.stream.RecvMsg(&answer)
	return answer.n, err
}

func (c *streamClient) Echo(p, room []byte) ([]byte, error) {
	answer := payload{bytes: room}
	err := errors.Join(c.stream.SendMsg(&payload{bytes: p}), c.stream.RecvMsg(&answer))
	return answer.bytes, err
}

func (c *streamClient) Close() error {
	c.cancel()
	return c.end()
}
