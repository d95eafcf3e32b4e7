//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxLine   = 64 << 10 // a longer line comes in parts. Chosen: the capacity of a pipe of Linux
	maxQueued = 1 << 20  // bytes that wait for Command.Output. Chosen: 15 lines of the maximum length
	readBytes = 8 << 10  // of each read. Chosen: a process that writes nothing takes twice this memory of the host
	tailBytes = 4 << 10  // of Process.Tail
)

// output reads the two outputs of a process until both have ended. It does not stop before, because a process that has
// the output hangs when it is not read.
type output struct {
	streams [2]*os.File
	to      func(text []byte, isErr bool) // Command.Output
	queue   *queue                        // the lines for it

	unread atomic.Int32 // outputs that may hold bytes of the process
	read   chan struct{}
	open   atomic.Int32 // outputs that have not ended

	mu       sync.Mutex
	tail     []byte
	panicked any
}

// newOutput begins to read the two outputs, and to call to with their lines.
func newOutput(to func(text []byte, isErr bool), out, err *os.File) *output {
	o := &output{streams: [2]*os.File{out, err}, to: to, read: make(chan struct{})}
	o.unread.Store(2)
	o.open.Store(2)
	if to != nil {
		o.queue = newQueue(maxQueued)
		go o.deliver()
	}
	for i, f := range o.streams {
		go o.readAll(f, i == 1)
	}
	return o
}

// readAll reads one output until its end. The end of the process interrupts it by a deadline: it then counts the bytes
// that are in the pipe, which include all that the process has written, and reads them.
func (o *output) readAll(f *os.File, isErr bool) {
	lines := splitter{most: maxLine, to: func(text []byte, ends bool) { o.take(text, ends, isErr) }}
	allRead := sync.OnceFunc(func() {
		lines.flush() // the end of the process is that of its last line
		if o.unread.Add(-1) == 0 {
			close(o.read)
		}
	})
	ended, rest := false, 0
	for buf := make([]byte, readBytes); ; {
		n, err := f.Read(buf)
		lines.write(buf[:n])
		rest -= n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			ended, rest = true, queued(f)
			err = f.SetReadDeadline(time.Time{})
		}
		if err != nil {
			break
		}
		if ended && rest <= 0 {
			if hungUp(f) {
				break // no other process has the output, and the file is closed before OutputRead
			}
			allRead()
		}
	}
	_ = f.Close()
	lines.flush()
	allRead()
	if o.open.Add(-1) == 0 && o.queue != nil {
		o.queue.close()
	}
}

// queued returns the number of bytes that a pipe holds.
func queued(f *os.File) (n int) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), bytesQueued) })
	}
	return n
}

// hungUp reports whether a pipe is empty and no process has its other end, in one look. Another process that has the output
// may write to it and end after queued has counted no bytes.
func hungUp(f *os.File) (is bool) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) {
			look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // POLLHUP comes unasked
			n, _ := unix.Poll(look, 0)
			is = n == 1 && look[0].Revents&unix.POLLHUP != 0 && look[0].Revents&unix.POLLIN == 0
		})
	}
	return is
}

// ended says that the process has ended, so that no byte of it follows.
func (o *output) ended() {
	for _, f := range o.streams {
		_ = f.SetReadDeadline(time.Now()) // fails when the output has ended
	}
}

// take keeps a line for Tail and for Command.Output. It does not block.
func (o *output) take(text []byte, ends, isErr bool) {
	o.mu.Lock()
	o.tail = append(o.tail, text[max(0, len(text)-tailBytes):]...)
	if ends {
		o.tail = append(o.tail, '\n')
	}
	if n := len(o.tail) - tailBytes; n > tailBytes { // not each time, since it moves the rest
		o.tail = append(o.tail[:0], o.tail[n:]...)
	}
	o.mu.Unlock()
	if o.queue != nil {
		o.queue.put(text, isErr)
	}
}

// deliver calls Command.Output with each line, and with a line about those that were dropped. When a call panics or ends
// the goroutine, another goroutine takes the next line.
func (o *output) deliver() {
	over := false
	defer func() {
		if over {
			return
		}
		if r := recover(); r != nil {
			o.mu.Lock()
			if o.panicked == nil {
				o.panicked = r
			}
			o.mu.Unlock()
		}
		go o.deliver()
	}()
	for {
		l, ok := o.queue.take()
		if !ok {
			over = true
			return
		}
		if l.dropped > 0 {
			l.text = fmt.Appendf(nil, "child: %d lines of the output were dropped", l.dropped)
		}
		o.to(l.text, l.isErr)
	}
}

// last returns the end of the output.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.tail[max(0, len(o.tail)-tailBytes):])
}

// firstPanic returns the value of the first panic of Command.Output.
func (o *output) firstPanic() any {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.panicked
}
