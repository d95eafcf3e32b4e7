//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package process_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/process"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/transport"
)

// roleVariable is the environment variable with the role of a worker of these tests.
const roleVariable = "PROCESS_TEST_ROLE"

// TestMain runs the tests, or the role of a worker that process.Start has started, or that of another process.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == doorbellRole {
		fmt.Fprintln(os.Stderr, diesAtTheDoorbell())
		os.Exit(9)
	}
	w, ok, err := process.Attach()
	if !ok && err == nil {
		proctest.Main(m, roles)
		return
	}
	if err == nil {
		err = workers[os.Getenv(roleVariable)](w)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

// roles are the main functions of the processes that are no workers: see proctest.Main.
var roles = map[string]func(args []string) error{}

// workers are the roles of workers.
var workers = map[string]func(w *transport.WorkerEnd) error{"echoes": echo, "parks": func(*transport.WorkerEnd) error {
	<-time.After(long)
	return errors.New("no test has ended the process")
}}

// long is how long a worker runs that its host does not end, so that a failed test leaves none behind.
const long = 2 * time.Minute

// echo answers each call with its payload until the host closes its end. Its greeting repeats the digest, with the
// generation in the second byte.
func echo(w *transport.WorkerEnd) error {
	d := w.Digest()
	d[1] = byte(w.Generation())
	w.Greet(d)
	for {
		switch got := w.WaitUntil(transport.Published, w.Now()+int64(patience.Limit)); got {
		case transport.Published:
		case transport.Closed:
			w.Close()
			return w.Unmap()
		default:
			return fmt.Errorf("WaitUntil = %v", got)
		}
		var failed error
		_, err := w.Drain(func(m *transport.Message, err error) {
			failed = errors.Join(failed, err, answer(w, m))
		})
		if err = errors.Join(failed, err); err != nil {
			return err
		}
	}
}

// answer answers one message with its payload.
func answer(w *transport.WorkerEnd, m *transport.Message) error {
	if err := w.Start(m.ID); err != nil {
		return err
	}
	slot, ok := w.Claim()
	if !ok {
		return errors.New("no slot is free for an answer")
	}
	b, err := m.Append(nil)
	return errors.Join(err, w.Post(slot, &transport.Header{ID: m.ID, Tag: transport.TagBytes}, b))
}

// small are sizes for which every tier of payload is short.
var small = transport.Config{PayloadInitial: 16 << 10, PayloadMax: 64 << 10, Spin: -1}

// config returns the configuration of a worker. Its regions are in a folder of the test.
func config(t *testing.T, role string, k process.Kind) process.Config {
	t.Helper()
	return process.Config{Command: child.Command{Env: environment(role)}, Link: small, Region: k, Dir: t.TempDir()}
}

// environment returns the environment of a worker.
func environment(role string) []string { return child.Environ([]string{roleVariable + "=" + role}) }

// start starts a worker. The end of the test kills it and gives its link back.
func start(t *testing.T, c process.Config) *process.Worker {
	t.Helper()
	proctest.Need(t)
	w, err := process.Start(c)
	must(t, err)
	t.Cleanup(func() {
		must(t, w.Kill())
		ended(t, w)
		must(t, w.Close())
	})
	return w
}

// ended waits for the end of a worker.
func ended(t *testing.T, w *process.Worker) *child.State {
	t.Helper()
	select {
	case <-w.Done():
	case <-time.After(patience.Limit):
		t.Fatalf("process %d has not ended; its output: %s", w.Pid(), w.Tail())
	}
	<-w.OutputRead()
	return w.State()
}

// must ends the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call makes one call with that id, and checks that the answer is its argument of n bytes.
func call(t *testing.T, w *process.Worker, id uint64, n int) {
	t.Helper()
	h := w.Host()
	arg := make([]byte, n)
	for i := range arg {
		arg[i] = byte(i) + byte(id) + byte(id>>32)
	}
	slot, ok := h.Claim()
	if !ok {
		t.Fatal("no slot is free")
	}
	must(t, h.Publish(slot, &transport.Header{ID: id, Tag: transport.TagBytes}, arg))
	for got := 0; got == 0; {
		if e := h.WaitUntil(transport.Published, h.Now()+int64(patience.Limit)); e != transport.Published {
			t.Fatalf("WaitUntil = %v; the process has said: %s", e, w.Tail())
		}
		var err error
		got, err = h.Drain(func(m *transport.Message, err error) {
			must(t, err)
			if b, err := m.Append(nil); err != nil || m.ID != id || string(b) != string(arg) {
				t.Errorf("call %#x: an answer to %#x of %d bytes, %v; want %d bytes", id, m.ID, len(b), err, n)
			}
		})
		must(t, err)
	}
	if !h.Started(id) {
		t.Errorf("call %#x has not started, says the worker", id)
	}
}
