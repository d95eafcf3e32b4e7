//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package futex

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/atomix"
)

// events is a Waker over descriptors that both processes have. A goroutine that parks waits
// for the descriptor of its side in the poller of the Go runtime. The doorbell is only
// compared. An event that comes before a Park stays in the descriptor, so none is lost.
type events struct {
	machineClock
	own   *os.File // read by Park
	files []*os.File

	wakeOwn, wakePeer signal

	hasDeadline bool // own has a deadline from an earlier Park
	buf         [64]byte
}

// signal writes one event to a descriptor.
type signal struct {
	conn  syscall.RawConn
	write func(fd uintptr)
}

// newSignal returns the signal of a file.
func newSignal(f *os.File) (signal, error) {
	conn, err := f.SyscallConn()
	return signal{conn, send}, err
}

// send writes one event. A descriptor that has no space has an event already. A signal of the
// system may end the write before it has written.
func send(fd uintptr) {
	for {
		if _, err := unix.Write(int(fd), oneEvent[:]); err != unix.EINTR {
			return
		}
	}
}

// send does nothing after the close of the file.
func (s *signal) send() { _ = s.conn.Control(s.write) }

// newEvents returns the Waker of the host and copies of the descriptors for the other process.
func newEvents() (Waker, []*os.File, error) {
	var all []*os.File
	for range 2 { // of this side, then of the other side
		pair, err := newEvent()
		if err != nil {
			_ = closeAll(all)
			return nil, nil, err
		}
		all = append(all, pair...)
	}
	// The other process has the roles exchanged.
	half := len(all) / 2
	peer, err := copies(append(all[half:len(all):len(all)], all[:half]...))
	if err != nil {
		_ = closeAll(all)
		return nil, nil, err
	}
	w, err := openEvents(all)
	if err != nil {
		_ = closeAll(peer)
		return nil, nil, err
	}
	return w, peer, nil
}

// openEvents returns the Waker of a side over the files of that side and those of the other.
// An event of this side may have one file or two, the end to read and the end to write.
func openEvents(files []*os.File) (Waker, error) {
	if len(files) != 2*filesOfEvent {
		_ = closeAll(files)
		return nil, fmt.Errorf("futex: OpenWaker: %d files, want none or %d: the two processes use different mechanisms: %w",
			len(files), 2*filesOfEvent, errors.ErrUnsupported)
	}
	own, peer := files[:filesOfEvent], files[filesOfEvent:]
	w := &events{own: own[0], files: files}
	err := own[0].SetReadDeadline(time.Time{})
	if err != nil {
		err = fmt.Errorf("futex: OpenWaker: the poller does not wait for %s: %w", own[0].Name(), err)
	}
	if err == nil {
		w.wakeOwn, err = newSignal(own[filesOfEvent-1])
	}
	if err == nil {
		w.wakePeer, err = newSignal(peer[filesOfEvent-1])
	}
	if err != nil {
		_ = closeAll(files)
		return nil, err
	}
	return w, nil
}

func closeAll(files []*os.File) (err error) {
	for _, f := range files {
		if e := f.Close(); err == nil {
			err = e
		}
	}
	return err
}

// copies returns a copy of each descriptor. They have their own life.
func copies(files []*os.File) ([]*os.File, error) {
	out := make([]*os.File, 0, len(files))
	for _, f := range files {
		fd, err := copyOf(f)
		if err != nil {
			_ = closeAll(out)
			return nil, fmt.Errorf("futex: NewWaker: copy the descriptor of %s: %w", f.Name(), os.NewSyscallError("fcntl", err))
		}
		out = append(out, os.NewFile(uintptr(fd), f.Name()))
	}
	return out, nil
}

// copyOf returns a copy of a descriptor that is closed on exec.
func copyOf(f *os.File) (fd int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := conn.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(controlErr, err)
}

func (w *events) Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool) {
	if bell.Load() != seen {
		return false
	}
	if until != 0 || w.hasDeadline {
		var t time.Time
		if until != 0 {
			t = time.Now().Add(time.Duration(until - Now()))
		}
		_ = w.own.SetReadDeadline(t) // the file has a poller, and Read reports that it is closed
		w.hasDeadline = until != 0
	}
	_, err := w.own.Read(w.buf[:])
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func (w *events) WakeOwn() { w.wakeOwn.send() }

func (w *events) WakePeer(*atomix.Uint32) { w.wakePeer.send() }

func (w *events) Close() error {
	if err := closeAll(w.files); err != nil {
		return fmt.Errorf("futex: Waker.Close: %w", err)
	}
	return nil
}
