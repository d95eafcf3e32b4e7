//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package lanelaw_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/lanelaw"
)

// gateVariable is the environment variable with the path of the socket of the gate. Only worker
// processes have it.
const gateVariable = "LANEWRIGHT_LANELAW_GATE"

// TestMain runs the tasks of the laws in a worker process.
func TestMain(m *testing.M) {
	if path, ok := os.LookupEnv(gateVariable); ok {
		pool.WorkerMain(newProcessLanes(&remoteGate{path: path, conns: map[uint64]net.Conn{}}).handlers)
	}
	os.Exit(m.Run())
}

// reachBytes is the size of a message to the gate: the number of the call and the point. The
// answer is one byte.
const reachBytes = 9

// remoteGate is the gate of a worker process. It forwards each call of Reach to the gate of the
// host. Each handler has a connection of its own, from its entry to its return.
type remoteGate struct {
	path string

	mu    sync.Mutex
	conns map[uint64]net.Conn // by call; with mu
}

// Reach implements [lanelaw.Gate]. A process without its host has no gate, and ends.
func (g *remoteGate) Reach(call uint64, at lanelaw.HandlerPoint) bool {
	conn, err := g.conn(call, at)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lanelaw: the gate:", err)
		os.Exit(1)
	}
	message := append(binary.LittleEndian.AppendUint64(nil, call), byte(at))
	answer := make([]byte, 1)
	if _, err = conn.Write(message); err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lanelaw: the gate:", err)
		os.Exit(1)
	}
	if at == lanelaw.HandlerReturning {
		_ = conn.Close() // the other side has answered
	}
	return answer[0] == 1
}

// conn returns the connection of the handler of a call.
func (g *remoteGate) conn(call uint64, at lanelaw.HandlerPoint) (conn net.Conn, err error) {
	if at == lanelaw.HandlerEntered {
		if conn, err = net.Dial("unix", g.path); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if conn != nil {
		g.conns[call] = conn
		return conn, nil
	}
	conn = g.conns[call]
	if at == lanelaw.HandlerReturning {
		delete(g.conns, call)
	}
	return conn, nil
}

// hostGate is the gate of the host. A law writes the record of a call, and a handler of another
// process then reaches the gate. The race detector sees no order in that, because the call goes
// through the other process. The maker of a call and the gate both add to made, which is an order
// that the detector sees.
type hostGate struct {
	lanelaw.Gate

	made *atomic.Uint64
}

func (g hostGate) Reach(call uint64, at lanelaw.HandlerPoint) bool {
	g.made.Add(0)
	return g.Gate.Reach(call, at)
}

// serveGate calls gate for the handlers of worker processes until the listener is closed.
func serveGate(l net.Listener, gate lanelaw.Gate) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go serveHandler(conn, gate)
	}
}

// serveHandler calls gate for one handler. A handler whose process dies has returned for the laws.
func serveHandler(conn net.Conn, gate lanelaw.Gate) {
	defer func() { _ = conn.Close() }()
	message := make([]byte, reachBytes)
	for entered := false; ; {
		if _, err := io.ReadFull(conn, message); err != nil {
			if entered {
				gate.Reach(binary.LittleEndian.Uint64(message), lanelaw.HandlerReturning)
			}
			return
		}
		at := lanelaw.HandlerPoint(message[8])
		answer := []byte{0}
		if gate.Reach(binary.LittleEndian.Uint64(message), at) {
			answer[0] = 1
		}
		entered = at != lanelaw.HandlerReturning
		if _, err := conn.Write(answer); err != nil && !entered {
			return
		}
	}
}

// processLanes is a pool of worker processes with the tasks of the laws.
type processLanes struct {
	p        *pool.Pool
	handlers *pool.Handlers
	tasks    map[string]*pool.Func[any, any]
	gate     net.Listener
	made     atomic.Uint64 // calls: see hostGate
}

// newProcessLanes returns the tasks of the laws, for a host or for a worker process.
func newProcessLanes(gate lanelaw.Gate) *processLanes {
	l := &processLanes{handlers: new(pool.Handlers), tasks: map[string]*pool.Func[any, any]{}}
	for name, task := range lanelaw.Tasks(gate) {
		l.tasks[name] = pool.Register(l.handlers, name, func(ctx context.Context, payload any) (any, error) {
			return task.Run(lanelaw.Call{
				Context: ctx,
				Aborted: pool.AbortSignalOf(ctx).Aborted,
				Call:    func(task string, payload any) (any, error) { return l.tasks[task].Call(ctx, payload) },
			}, payload)
		}, pool.TaskOptions{Abortable: task.Abortable})
	}
	return l
}

// maxProcessPayload is the largest argument of the process lanes.
const maxProcessPayload = 1 << 20

// processKind returns the kind of lanes that are worker processes with that many permits.
func processKind(t *testing.T, concurrency int) lanelaw.Kind {
	t.Helper()
	proctest.Need(t)
	return lanelaw.Kind{
		Name:         fmt.Sprintf("worker processes of %d", concurrency),
		New:          func(c pool.Config, gate lanelaw.Gate) lanelaw.Lanes { return openProcessLanes(t, concurrency, c, gate) },
		Concurrency:  concurrency,
		Ordered:      concurrency == 1,
		Shared:       true,
		Bounded:      true,
		NoCallerRuns: true,
		AbortSlots:   true,
		Exits:        true,
		Leases:       true,
		Nested:       pool.ErrNestedWorker,
		MaxPayload:   maxProcessPayload,
	}
}

// openProcessLanes makes a pool, with sealed memory where the system has it.
func openProcessLanes(t *testing.T, concurrency int, law pool.Config, gate lanelaw.Gate) lanelaw.Lanes {
	t.Helper()
	l := newProcessLanes(gate)
	path := filepath.Join(t.TempDir(), "gate")
	var err error
	if l.gate, err = net.Listen("unix", path); err != nil {
		t.Skipf("no socket for the gate: %v", err)
	}
	go serveGate(l.gate, hostGate{gate, &l.made})
	law.Concurrency = concurrency
	law.OnEnd = func(pool.Ended) {} // the panics are those of the laws, and the log would have each of them
	law.Process = &pool.Process{
		Env:     []string{gateVariable + "=" + path},
		Payload: pool.Payload{Initial: 64 << 10, Max: 8 << 20, PerValue: maxProcessPayload},
	}
	l.p, err = pool.New(l.handlers, law)
	if errors.Is(err, errors.ErrUnsupported) { // no system without worker processes builds this file
		law.Process.Region = pool.File
		l.p, err = pool.New(l.handlers, law)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.p.Close() }) // after a violation
	return l
}

func (l *processLanes) Call(ctx context.Context, task string, payload any) (any, error) {
	l.made.Add(1)
	if f := l.tasks[task]; f != nil {
		return f.Call(ctx, payload)
	}
	return l.p.RunTask(ctx, task, payload)
}

func (l *processLanes) Go(ctx context.Context, task string, payload any) lanelaw.Future {
	l.made.Add(1)
	return l.tasks[task].Go(ctx, payload)
}

func (l *processLanes) Acquire(ctx context.Context, lane int) (lanelaw.Lease, error) {
	if lane < 0 {
		return l.lease(l.p.Acquire(ctx))
	}
	return l.lease(l.p.AcquireLane(ctx, lane))
}

func (l *processLanes) AcquireID(ctx context.Context, id pool.LaneID) (lanelaw.Lease, error) {
	return l.lease(l.p.AcquireID(ctx, id))
}

func (l *processLanes) lease(got *pool.Lease, err error) (lanelaw.Lease, error) {
	if err != nil {
		return nil, err
	}
	return processLease{got, l}, nil
}

// processLease is a lease of a worker process.
type processLease struct {
	*pool.Lease
	l *processLanes
}

func (l processLease) Go(ctx context.Context, task string, payload any) lanelaw.Future {
	l.l.made.Add(1)
	return pool.GoOn(ctx, l.Lease, l.l.tasks[task], payload)
}

func (l *processLanes) Ping(ctx context.Context) error     { return l.p.Ping(ctx, 0) }
func (l *processLanes) Pause()                             { l.p.Pause() }
func (l *processLanes) Resume()                            { l.p.Resume() }
func (l *processLanes) Shutdown(ctx context.Context) error { return l.p.Shutdown(ctx) }
func (l *processLanes) Close()                             { _ = l.p.Close() } // always nil

func (l *processLanes) Join(ctx context.Context) error {
	_, err := l.p.Terminate(ctx)
	_ = l.gate.Close() // all processes have ended
	return err
}

func (l *processLanes) Counts() lanelaw.Counts {
	m := l.p.Metrics()
	return lanelaw.Counts{Accepted: m.Accepted, Ended: m.Ended, Backlog: m.Backlog, InFlight: m.InFlight}
}

// TestProcessLanes checks that worker processes keep the laws. Every law applies. Two of them check
// what a pool of processes promises: a handler makes no call, so "nested" checks that it is refused,
// and no caller runs a call, so "policies" leaves out the policy CallerRuns. With the race detector the
// laws take minutes, so short tests leave them out.
func TestProcessLanes(t *testing.T) {
	if raceEnabled && testing.Short() {
		t.Skip("the race detector makes the processes slow; the tests of pool run processes with it")
	}
	for _, concurrency := range []int{1, 4} {
		keepsLaws(t, 2_000, processKind(t, concurrency))
	}
}
