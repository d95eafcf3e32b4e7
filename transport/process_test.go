//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package transport_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// roles are the main functions of the processes that tests start: see proctest.Main.
var roles = map[string]func(args []string) error{"worker": worker}

func TestMain(m *testing.M) { proctest.Main(m, roles) }

// sharedRegions makes the memory of a link. The worker process gets copies of the descriptors.
func sharedRegions(t *testing.T, c transport.Config) (requests, answers *shm.Region) {
	t.Helper()
	var rs [2]*shm.Region
	for d, w := range []shm.Writer{shm.Here, shm.There} {
		size, err := c.RegionSize(transport.Direction(d))
		must(t, err)
		rs[d], err = shm.File(t.TempDir(), size, w)
		must(t, err)
	}
	return rs[0], rs[1]
}

// TestLinkOfTwoProcesses has a worker in another process. Each process can write its own region only. Calls of each
// tier arrive, waits of both sides end, the two clocks are one, and each side learns of the end of the other one.
// K-010.
func TestLinkOfTwoProcesses(t *testing.T) {
	proctest.Need(t)
	c := small
	c.Generation, c.Digest = 3, transport.Digest{7}
	requests, answers := sharedRegions(t, c)
	waker, files, err := new(futex.Dispatcher).NewWaker()
	must(t, err)
	h, err := transport.NewHost(c, requests, answers, waker)
	must(t, err)
	cmd := proctest.Role(t, "worker", strconv.Itoa(len(requests.Bytes())), strconv.Itoa(len(answers.Bytes())), strconv.Itoa(len(files)))
	cmd.ExtraFiles = append([]*os.File{requests.File(), answers.File()}, files...)
	ended := make(chan error, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		h.WakeOwn()
		ended <- err
	}()
	for i, n := range []int{0, 8, 24, 100, 512, 1000, 5000} {
		for generation := range uint32(20) {
			round(t, h, transport.CallID(i, generation+1), make([]byte, n))
		}
	}
	if d, ok, err := h.Greeting(); !ok || err != nil || d != (transport.Digest{9}) {
		t.Errorf("Greeting = %x, %t, %v", d, ok, err)
	}
	h.Close()
	if got := h.WaitUntil(transport.Published, h.Now()+int64(patience.Limit)); got&transport.Closed == 0 {
		t.Errorf("WaitUntil = %v", got)
	}
	must(t, <-ended)
	if !h.PeerClosed() {
		t.Error("the worker has ended, and has not closed its end")
	}
	must(t, waker.Close())
	must(t, h.Unmap())
	for _, f := range files {
		_ = f.Close() // the process has its own
	}
}

// round makes one call with that id and argument. The answer is the argument, and the time of the worker.
func round(t *testing.T, h *transport.HostEnd, id uint64, arg []byte) {
	t.Helper()
	for i := range arg {
		arg[i] = byte(i) + byte(id) + byte(id>>32)
	}
	slot, ok := h.Claim()
	if !ok {
		t.Fatal("no slot is free")
	}
	before := h.Now()
	must(t, h.Publish(slot, &transport.Header{ID: id, Tag: transport.TagBytes}, arg))
	for {
		if got := h.WaitUntil(transport.Published, h.Now()+int64(patience.Limit)); got != transport.Published {
			t.Fatalf("WaitUntil = %v", got)
		}
		n, err := h.Drain(func(m *transport.Message, err error) {
			must(t, err)
			if got := payloadOf(m, nil); m.ID != id || string(got) != string(arg) {
				t.Errorf("call %#x, %d bytes; want %d", m.ID, len(got), len(arg))
			}
			if slack := int64(time.Millisecond); m.Deadline < before-slack || m.Deadline > h.Now()+slack {
				t.Errorf("the time of the worker is %d, and that of the host was %d and is %d", m.Deadline, before, h.Now())
			}
		})
		must(t, err)
		if n > 0 {
			break
		}
	}
	if !h.Started(id) {
		t.Error("the call has not started, says the worker")
	}
}

// worker answers calls until the host closes its end.
func worker(args []string) error {
	var n [3]int // the sizes of the regions, and the number of descriptors of the Waker
	for i, arg := range args {
		if _, err := fmt.Sscan(arg, &n[i]); err != nil {
			return err
		}
	}
	var rs [2]*shm.Region
	for d, w := range []shm.Writer{shm.There, shm.Here} {
		var err error
		if rs[d], err = shm.OpenFile(os.NewFile(uintptr(3+d), "region"), n[d], w); err != nil {
			return err
		}
	}
	var files []*os.File
	for i := range n[2] {
		files = append(files, os.NewFile(uintptr(5+i), "bell"))
	}
	waker, err := futex.OpenWaker(files)
	if err != nil {
		return err
	}
	w, err := transport.NewWorker(rs[0], rs[1], waker)
	if err != nil {
		return err
	}
	if w.Generation() != 3 || w.Digest() != (transport.Digest{7}) {
		return fmt.Errorf("generation %d, digest %x", w.Generation(), w.Digest())
	}
	w.Greet(transport.Digest{9})
	for {
		if got := w.WaitUntil(transport.Published, w.Now()+int64(patience.Limit)); got == transport.Closed {
			w.Close()
			return errors.Join(waker.Close(), w.Unmap())
		} else if got != transport.Published {
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
	return w.Post(slot, &transport.Header{ID: m.ID, Tag: transport.TagBytes, Deadline: w.Now()}, payloadOf(m, nil))
}

// TestUnmapBesideUse replaces the memory of an end by zeros while goroutines send and receive, and the other side answers
// in a mapping of its own. No access faults, and nothing panics or looks like a violation.
func TestUnmapBesideUse(t *testing.T) {
	senders := 2
	if raceEnabled { // the race detector sees no order through memory that is not Go's
		senders = 1
	}
	for range rounds(200) {
		requests, answers := sharedRegions(t, small)
		one, other := transport.NewWakers()
		h, err := transport.NewHost(small, requests, answers, one)
		must(t, err)
		var theirs [2]*shm.Region
		for d, r := range []*shm.Region{requests, answers} {
			theirs[d] = mappedAgain(t, r, []shm.Writer{shm.There, shm.Here}[d])
		}
		w, err := transport.NewWorker(theirs[0], theirs[1], other)
		must(t, err)
		var ended sync.WaitGroup
		var over atomic.Bool
		for range senders {
			ended.Go(func() { sendUntil(t, h, &over) })
		}
		began := make(chan struct{})
		ended.Go(func() { receiveUntilClosed(t, h, 100, func() { close(began) }) })
		ended.Go(func() {
			for w.WaitUntil(transport.Published, 0) != transport.Closed {
				_, err := w.Drain(func(m *transport.Message, err error) {
					if err == nil && w.Free() != 0 { // a host that has left acknowledges no answers
						err = answer(w, m)
					}
					if err != nil && !errors.Is(err, transport.ErrArenaFull) { // so the arena may become full
						t.Errorf("the worker side: %v", err)
					}
				})
				if err != nil {
					t.Errorf("the worker side: %v", err)
				}
			}
		})
		<-began
		must(t, h.Unmap())
		over.Store(true)
		ended.Wait()
		must(t, w.Unmap())
	}
}

// mappedAgain returns another mapping of the region.
func mappedAgain(t *testing.T, r *shm.Region, w shm.Writer) *shm.Region {
	t.Helper()
	fd, err := unix.FcntlInt(r.File().Fd(), unix.F_DUPFD_CLOEXEC, 0)
	must(t, err)
	again, err := shm.OpenFile(os.NewFile(uintptr(fd), "region"), len(r.Bytes()), w)
	must(t, err)
	return again
}

// sendUntil sends calls until over is set.
func sendUntil(t *testing.T, h *transport.HostEnd, over *atomic.Bool) {
	t.Helper()
	for i := 0; !over.Load(); i++ {
		slot, ok := h.Claim()
		if !ok {
			runtime.Gosched()
			continue
		}
		room, err := h.Reserve(slot, 2000)
		if err != nil {
			h.Cancel(slot)
		} else {
			err = h.Publish(slot, &transport.Header{ID: transport.CallID(1, 1), Tag: transport.TagBytes}, room[:1000+i%1000])
		}
		if err != nil && !errors.Is(err, transport.ErrClosed) && !errors.Is(err, transport.ErrArenaFull) {
			t.Errorf("a sender: %v", err)
		}
		h.FreeAcked()
	}
}

// receiveUntilClosed receives answers until the end is closed. It calls got when it has n of them.
func receiveUntilClosed(t *testing.T, h *transport.HostEnd, n int, got func()) {
	t.Helper()
	for h.WaitUntil(transport.Published, 0) != transport.Closed {
		_, err := h.Drain(func(m *transport.Message, err error) {
			if b, lost := m.Append(nil); lost == nil && (err != nil || len(b) < 1000) {
				t.Errorf("an answer of %d bytes, %v", len(b), err)
			}
			if n--; n == 0 {
				got()
			}
		})
		if err != nil && !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Drain = %v", err)
		}
	}
	if h.Violated() {
		t.Error("a violation")
	}
}
