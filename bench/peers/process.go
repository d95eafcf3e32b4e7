package peers

import (
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/internal/bench"
)

// refSocket is the name of the reference of calls into another process, which is the peer of that name.
const refSocket = "socket"

// processPeers returns the peers that call another process.
func processPeers() []*Peer {
	return []*Peer{
		{Name: refSocket, About: "a pair of unix sockets, blocking, one write for each message", start: remote.StartSocket},
		{Name: "pipe", About: "the same with a pipe in each direction", start: remote.StartPipe},
		{Name: "net-rpc", About: "net/rpc with gob over a pair of unix sockets", start: remote.StartNetRPC},
		{Name: "grpc", About: "google.golang.org/grpc over a pair of unix sockets, unary calls, raw bytes in place of protobuf", start: remote.StartGRPC},
		{Name: "grpc-stream", About: "the same with all messages in one stream", start: remote.StartGRPCStream},
		{Name: "go-plugin", About: "hashicorp/go-plugin with net/rpc", start: remote.StartPlugin},
		{Name: "go-plugin-grpc", About: "hashicorp/go-plugin with gRPC, as in grpc", start: remote.StartPluginGRPC},
	}
}

// processWorkloads returns the workloads of calls into another process.
func (z Sizes) processWorkloads() []*Workload {
	return []*Workload{
		{
			Name: "process/call", unit: bench.NsPerOp, bytes: remote.NumberBytes, calls: z.remoteCalls,
			Note: note("%d calls", z.remote, 200_000),
		},
		{
			Name: "process/pipeline-32", unit: bench.OpsPerSecond, bytes: remote.NumberBytes, calls: z.remotePipeline,
			Note: note("%d calls", z.remote, 200_000),
		},
		echo("process/echo-1KiB", 1<<10, z.echoes1KiB, 50_000),
		echo("process/echo-64KiB", 64<<10, z.echoes64KiB, 5000),
		echo("process/echo-1MiB", 1<<20, z.echoes1MiB, 500),
	}
}

// echo returns the workload of n echoes. The benchmark of lanewright has that many.
func echo(name string, size, n, lanewright int) *Workload {
	return &Workload{
		Name: name, unit: bench.NsPerOp, bytes: size, Note: note("%d calls", n, lanewright),
		calls: func(c remote.Client) func(*bench.Meter) error { return echoes(c, size, n) },
	}
}

// callsProcess starts the process of a peer, and that of the reference for the peers that are not the reference.
func (w *Workload) callsProcess(p *Peer) (*bench.Instance, error) {
	c, err := p.start(w.bytes)
	if err != nil {
		return nil, err
	}
	inst := &bench.Instance{Run: w.calls(c), Close: c.Close}
	if p.Name == refSocket {
		return inst, nil
	}
	socket, err := remote.StartSocket(w.bytes)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	inst.References = []bench.Reference{{Name: refSocket, Run: w.calls(socket)}}
	inst.Close = func() error { return errors.Join(c.Close(), socket.Close()) }
	return inst, nil
}

// remoteCalls makes calls one after another.
func (z Sizes) remoteCalls(c remote.Client) func(*bench.Meter) error {
	return trips(z.remote, callsPerReading(), func(n int) error {
		got, err := c.Call(n)
		return wrong(n, got == n+1, err)
	})
}

// remotePipeline makes calls from one goroutine with 32 of them outstanding.
func (z Sizes) remotePipeline(c remote.Client) func(*bench.Meter) error {
	return pipelined(z.remote, c.Send, func(n int) error {
		got, err := c.Receive()
		return wrong(n, got == n+1, err)
	})
}

// echoes makes n echoes one after another. It fills each payload, and compares every byte of the answer.
func echoes(c remote.Client, size, n int) func(*bench.Meter) error {
	payload, room := make([]byte, size), make([]byte, size)
	return trips(n, 1, func(n int) error {
		bench.Fill(payload, n)
		got, err := c.Echo(payload, room)
		return wrong(n, err == nil && bench.Filled(got, size, n), err)
	})
}

// wrong returns the error of call n, which has failed with err or has a wrong answer, unless it is right.
func wrong(n int, right bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("call %d: %w", n, err)
	case !right:
		return fmt.Errorf("call %d: %w", n, errWrong)
	}
	return nil
}
