package remote_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestMain runs the tests, or the process of a client.
func TestMain(m *testing.M) {
	remote.Main()
	proctest.Main(m, map[string]func(args []string) error{"host": host})
}

// host is a process that starts the client of that name, prints a line, and waits for the end of its input.
func host(args []string) error {
	for _, k := range kinds {
		if k.name != args[0] {
			continue
		}
		if _, err := k.start(remote.NumberBytes); err != nil {
			return err
		}
		fmt.Println("started")
		_, err := bufio.NewReader(os.Stdin).ReadString(0)
		return err
	}
	return errors.New("no client has this name")
}

// kinds are all kinds of clients.
var kinds = []struct {
	name  string
	start func(size int) (remote.Client, error)
}{
	{"socket", remote.StartSocket},
	{"pipe", remote.StartPipe},
	{"net-rpc", remote.StartNetRPC},
	{"grpc", remote.StartGRPC},
	{"grpc-stream", remote.StartGRPCStream},
	{"go-plugin", remote.StartPlugin},
	{"go-plugin-grpc", remote.StartPluginGRPC},
}

// open starts a client, which the end of the test closes.
func open(t *testing.T, start func(size int) (remote.Client, error), size int) remote.Client {
	t.Helper()
	proctest.Need(t)
	c, err := start(size)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// TestCall checks the answers to numbers one after another.
func TestCall(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			c := open(t, k.start, remote.NumberBytes)
			for _, n := range []int{0, -1, 1, 1 << 40, -1 << 40} {
				if got, err := c.Call(n); got != n+1 || err != nil {
					t.Fatalf("Call(%d) = %d, %v", n, got, err)
				}
			}
		})
	}
}

// TestPipeline checks that the answers come in the order of the numbers, with as many outstanding as possible.
func TestPipeline(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			c := open(t, k.start, remote.NumberBytes)
			for i := range 5 * remote.Depth {
				if n := i - remote.Depth; n >= 0 {
					if got, err := c.Receive(); got != n+1 || err != nil {
						t.Fatalf("the answer to %d is %d, %v", n, got, err)
					}
				}
				if i < 4*remote.Depth {
					if err := c.Send(i); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestEcho checks every byte of the answers, with and without room for them.
func TestEcho(t *testing.T) {
	for _, k := range kinds {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			t.Run(k.name, func(t *testing.T) {
				c := open(t, k.start, size)
				payload, room := make([]byte, size), make([]byte, size)
				for n, room := range [][]byte{room, nil, room, room[:0]} {
					bench.Fill(payload, n)
					got, err := c.Echo(payload, room)
					if err != nil || !bench.Filled(got, size, n) {
						t.Fatalf("echo %d of %d bytes: a wrong answer of %d bytes, %v", n, size, len(got), err)
					}
				}
			})
		}
	}
}
