//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package process_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/process"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

func init() {
	workers["answers"] = func(w *transport.WorkerEnd) error {
		for w.WaitUntil(transport.Published, 0) == transport.Published {
			var failed error
			n, err := w.Drain(func(m *transport.Message, err error) {
				failed = errors.Join(failed, err, answer(w, m))
			})
			if err = errors.Join(failed, err); err != nil {
				return err
			}
			if n > 0 {
				os.Exit(3)
			}
		}
		return nil
	}
	workers["lives"] = func(*transport.WorkerEnd) error {
		conn, err := net.Dial("unix", os.Getenv(alive))
		if err != nil {
			return err
		}
		return errors.Join(workers["parks"](nil), conn.Close())
	}
	roles["host"] = host
}

// TestOrderOfADeath checks that a Worker is dead before the observer wakes the receiver, and that Done comes last.
func TestOrderOfADeath(t *testing.T) {
	ended, woken := make(chan struct{}), make(chan struct{})
	w := process.Observed(ended, func(w *process.Worker) {
		if !w.IsDead() {
			t.Error("the receiver is woken before the Worker is dead")
		}
		select {
		case <-w.Done():
			t.Error("Done is closed before the receiver is woken")
		default:
		}
		close(woken)
	})
	select {
	case <-w.Done():
		t.Error("Done is closed before the process has ended")
	case <-woken:
		t.Error("the receiver is woken before the process has ended")
	default:
	}
	if w.IsDead() {
		t.Error("the Worker is dead before the process has ended")
	}
	close(ended)
	<-w.Done()
	<-woken
	if !w.IsDead() {
		t.Error("the Worker is not dead after Done")
	}
}

// receive receives until the worker is dead, and returns the number of messages. A receiver waits without a deadline.
func receive(t *testing.T, w *process.Worker) (n int) {
	t.Helper()
	h := w.Host()
	for !w.IsDead() {
		if e := h.WaitUntil(transport.Published, 0); e&transport.Woken != 0 && !w.IsDead() {
			t.Errorf("WaitUntil = %v, and the worker is not dead", e)
		}
		got, err := h.Drain(func(*transport.Message, error) {})
		if err != nil {
			t.Error(err)
		}
		n += got
	}
	return n
}

// received fails the test if the receiver does not return.
func received(t *testing.T, done <-chan int, w *process.Worker) int {
	t.Helper()
	select {
	case n := <-done:
		return n
	case <-time.After(patience.Limit):
		t.Fatalf("the receiver is parked, and process %d has ended", w.Pid())
	}
	return 0
}

// TestDeathWakesTheHost kills workers while the host waits without a deadline.
func TestDeathWakesTheHost(t *testing.T) {
	for _, k := range kinds {
		for range 5 {
			w := start(t, config(t, "parks", k))
			done := make(chan int)
			go func() { done <- receive(t, w) }()
			must(t, w.Kill())
			received(t, done, w)
			if s := ended(t, w); s.Signal != syscall.SIGKILL {
				t.Errorf("the worker has ended by %v", s)
			}
		}
	}
}

// doorbellRole is the role of diesAtTheDoorbell, which makes its own end.
const doorbellRole = "dies at the doorbell"

// fatalWaker kills its process between the change of the doorbell of the host and the wake-up.
type fatalWaker struct{ futex.Waker }

func (fatalWaker) WakePeer(*atomix.Uint32) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// diesAtTheDoorbell is a worker that sends messages with a fatalWaker, until the host is parked.
func diesAtTheDoorbell() error {
	files, _, err := child.Attach()
	if err != nil {
		return err
	}
	l, err := process.ReadLetter(files[0])
	if err != nil {
		return err
	}
	requests, err := shm.OpenFile(files[1], int(l.Sizes[0]), shm.There)
	if err != nil {
		return err
	}
	answers, err := shm.OpenFile(files[2], int(l.Sizes[1]), shm.Here)
	if err != nil {
		return err
	}
	waker, err := futex.OpenWaker(files[3:])
	if err != nil {
		return err
	}
	w, err := transport.NewWorker(requests, answers, fatalWaker{waker})
	if err != nil {
		return err
	}
	for {
		w.WaitUntil(transport.Acknowledged, 0)
		slot, ok := w.Claim()
		if !ok {
			return errors.New("no slot is free")
		}
		if err := w.Publish(slot, &transport.Header{ID: transport.CallID(1, 1), Tag: transport.TagBytes}, nil); err != nil {
			return err
		}
	}
}

// TestDeathBesideTheDoorbellWakesTheHost has a worker that dies when it has changed the doorbell of the parked host and
// has not woken it yet.
func TestDeathBesideTheDoorbellWakesTheHost(t *testing.T) {
	for range 5 {
		w := start(t, config(t, doorbellRole, process.File))
		done := make(chan int)
		go func() { done <- receive(t, w) }()
		if n := received(t, done, w); n == 0 {
			t.Errorf("no message of the worker has arrived: %s", w.Tail())
		}
		if s := ended(t, w); s.Signal != syscall.SIGKILL {
			t.Errorf("the worker has ended by %v: %s", s, w.Tail())
		}
	}
}

// TestAnswersOutliveTheWorker has a worker that exits after an answer. The host receives the answer afterwards.
func TestAnswersOutliveTheWorker(t *testing.T) {
	for _, k := range kinds {
		w := start(t, config(t, "answers", k))
		h := w.Host()
		slot, _ := h.Claim()
		id, arg := transport.CallID(5, 1), strings.Repeat("x", 5000)
		must(t, h.Publish(slot, &transport.Header{ID: id, Tag: transport.TagBytes}, []byte(arg)))
		if s := ended(t, w); s.Code != 3 {
			t.Fatalf("%v: %s", s, w.Tail())
		}
		n, err := h.Drain(func(m *transport.Message, err error) {
			if b, lost := m.Append(nil); err != nil || lost != nil || m.ID != id || string(b) != arg {
				t.Errorf("an answer to %#x of %d bytes, %v, %v", m.ID, len(b), err, lost)
			}
		})
		if n != 1 || err != nil || !h.Started(id) {
			t.Errorf("Drain = %d, %v; Started = %t", n, err, h.Started(id))
		}
	}
}

// TestHostOutlivesTheWorker sends calls to a worker that is dead, and gives the link back while goroutines still use the
// end. Nothing faults. No call has started before Close, and each may have afterwards.
func TestHostOutlivesTheWorker(t *testing.T) {
	for _, k := range kinds {
		w := start(t, config(t, "parks", k))
		h := w.Host()
		must(t, w.Kill())
		ended(t, w)
		for i, n := range []int{0, 24, 512, 5000} {
			slot, ok := h.Claim()
			if !ok {
				t.Fatal("no slot is free")
			}
			must(t, h.Publish(slot, &transport.Header{ID: transport.CallID(i, 1), Tag: transport.TagBytes}, make([]byte, n)))
			if h.Started(transport.CallID(i, 1)) {
				t.Error("a dead worker has started a call")
			}
		}
		began, closed := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(closed)
			send(t, h, began)
		}()
		<-began
		must(t, w.Close())
		<-closed
		if slot, ok := h.Claim(); ok {
			t.Errorf("slot %d was claimed after Close", slot)
		}
		if !h.Started(transport.CallID(1, 1)) {
			t.Error("after Close a call has not started for certain")
		}
	}
}

// send uses the end of a host until it is closed. It closes began after the first round.
func send(t *testing.T, h *transport.HostEnd, began chan<- struct{}) {
	t.Helper()
	for i := 0; ; i++ {
		slot, ok := h.Claim()
		if ok && i%2 == 0 {
			h.Cancel(slot)
		} else if ok {
			err := h.Publish(slot, &transport.Header{ID: transport.CallID(9, 1), Tag: transport.TagBytes}, make([]byte, i%1000))
			if err != nil && !errors.Is(err, transport.ErrClosed) {
				t.Errorf("Publish = %v", err)
			}
		}
		h.FreeAcked()
		if i == 0 {
			close(began)
		}
		if h.Started(transport.CallID(0, 1)) { // a dead worker starts no call, so the memory was given back
			return
		}
	}
}

// TestCloseBeforeTheEndPanics checks that the memory of a process that runs is not given back.
func TestCloseBeforeTheEndPanics(t *testing.T) {
	w := start(t, config(t, "echoes", process.File))
	func() {
		defer func() {
			if r, _ := recover().(string); !strings.Contains(r, "process: Worker.Close: the process has not ended") {
				t.Errorf("Close has panicked with %q", r)
			}
		}()
		must(t, w.Close())
		t.Error("Close has returned")
	}()
	call(t, w, transport.CallID(1, 1), 100)
}

// TestCloseTwice checks that a second Close does nothing, and neither does Kill after the end.
func TestCloseTwice(t *testing.T) {
	w := start(t, config(t, "parks", process.File))
	must(t, w.Kill())
	ended(t, w)
	for range 2 {
		must(t, w.Close())
		must(t, w.Kill())
	}
}

// alive is the environment variable with the address at which a worker says that it lives.
const alive = "PROCESS_TEST_ALIVE"

// host starts a worker with Named regions in the folder args[0] if the system has them, waits for it, and then hangs.
// Its own process is killed.
func host(args []string) error {
	w, err := process.Start(process.Config{
		Command: child.Command{Env: child.Environ([]string{roleVariable + "=lives", alive + "=" + args[1]})},
		Link:    small, Region: kindOfHost, Dir: args[0],
	})
	if err != nil {
		return err
	}
	<-w.Done()
	return errors.New("the worker has ended before its host: " + w.Tail())
}

// listen listens at an address for processes of this machine, which must be short.
func listen(t *testing.T) *net.UnixListener {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// namesIn returns the names of regions in a folder.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, shm.NamePrefix+"*"))
	must(t, err)
	return list
}

// TestWorkerEndsWithItsHost kills a host. Its worker ends. The names of its regions stay until the first Start of another
// host in the same folder removes them.
func TestWorkerEndsWithItsHost(t *testing.T) {
	proctest.Need(t)
	dir := t.TempDir()
	c := config(t, "echoes", kindOfHost)
	c.Dir = dir
	listener := listen(t)
	h := proctest.Role(t, "host", dir, listener.Addr().String())
	must(t, h.Start())
	must(t, listener.SetDeadline(time.Now().Add(patience.Limit)))
	conn, err := listener.Accept() // by the worker
	must(t, err)
	defer conn.Close()
	must(t, h.Process.Kill())
	var exit *exec.ExitError
	if err := h.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the host: %v", err)
	}
	must(t, conn.SetReadDeadline(time.Now().Add(patience.Limit)))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the worker lives: %d, %v", n, err)
	}
	left := namesIn(t, dir)
	if kindOfHost == process.Named && len(left) != 2 {
		t.Errorf("the host has left %q", left)
	}
	start(t, c)
	for _, name := range left {
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left of a host that was killed: %v", name, err)
		}
	}
}
