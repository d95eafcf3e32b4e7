//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lookEvery is the time between two looks at a process whose end no event may report. Chosen: a look takes a few
	// microseconds, so that a thousand processes take less than 1 % of a processor.
	lookEvery = time.Second
	// firstDelay is the time until the second look after an event. Chosen: the kernel closes the files of a process
	// and lets it be reaped shortly afterwards.
	firstDelay = 100 * time.Microsecond
)

// watch waits until a process may have ended, and holds no thread. The event is that its pidfd is readable. Without a
// pidfd it is that the life has no reader. A process that the process has started may be another reader of it, so watch
// also returns each second.
type watch struct {
	file  *os.File
	conn  syscall.RawConn // nil after the event
	every time.Duration   // 0: the event cannot be missed
	delay time.Duration
}

// watch returns what waits for the end of a process.
func (p *Process) watch() *watch {
	if p.pidfd != nil {
		return newWatch(p.pidfd, 0)
	}
	return newWatch(p.life, lookEvery)
}

// newWatch returns a watch for the event of a file.
func newWatch(f *os.File, every time.Duration) *watch {
	w := &watch{file: f, every: every, delay: firstDelay}
	w.conn, _ = f.SyscallConn()
	return w
}

// await returns at the event, or when it is time for a look. After the event, or if the poller has refused the file, it
// returns with growing delays, since a debugger may hold back the end of a process.
func (w *watch) await() {
	if w.conn == nil {
		time.Sleep(w.delay)
		w.delay = min(2*w.delay, lookEvery)
		return
	}
	if w.every > 0 {
		_ = w.file.SetReadDeadline(time.Now().Add(w.every))
	}
	if err := w.conn.Read(hasEvent); !errors.Is(err, os.ErrDeadlineExceeded) {
		w.conn = nil
	}
}

// hasEvent reports whether a descriptor has an event: of a pidfd the end of its process, of a pipe the end of the other side.
func hasEvent(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}
