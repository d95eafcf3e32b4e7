//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package helper

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SocketPair returns both ends of a stream.
func SocketPair() (own, peer *os.File, err error) {
	syscall.ForkLock.RLock() // a process that is started now gets neither end
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}

// Stream is one end of a blocking stream. It reads ahead, and makes one write for each message. One goroutine may send while
// another one receives.
type Stream struct {
	in    int
	out   int
	ahead []byte // the bytes that were read ahead and not returned yet
	room  []byte
}

// ReadAhead is how many bytes a Stream reads at once at most, besides those of the message that it waits for. It holds
// 32 messages with a number.
const ReadAhead = 4 << 10

// NewStream returns a stream that reads from in and writes to out, which may be the same file. Both are in blocking mode then.
func NewStream(in, out *os.File) Stream {
	return Stream{in: int(in.Fd()), out: int(out.Fd()), room: make([]byte, ReadAhead)}
}

// Send sends a message.
func (s *Stream) Send(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(s.out, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return os.NewSyscallError("write", err)
		default:
			b = b[n:] // a signal may divide a write
		}
	}
	return nil
}

// Receive fills b. It returns io.EOF at the end of the stream.
func (s *Stream) Receive(b []byte) error {
	for {
		n := copy(b, s.ahead)
		b, s.ahead = b[n:], s.ahead[n:]
		if len(b) == 0 {
			return nil
		}
		into := b // a large message is not copied
		if len(b) < len(s.room) {
			into = s.room
		}
		n, err := unix.Read(s.in, into)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0:
			return io.EOF
		case len(b) < len(s.room):
			s.ahead = s.room[:n]
		default:
			b = b[n:]
		}
		if len(b) == 0 {
			return nil
		}
	}
}
