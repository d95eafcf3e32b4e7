//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package futex

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// filesOfEvent is the number of files of one side: the two ends of a pipe.
const filesOfEvent = 2

// oneEvent is written to a pipe. A pipe that is full has an event already.
var oneEvent [1]byte

// newEvent makes a pipe. The descriptors do not block before os.NewFile gets them, so that
// File.Fd does not make them block.
func newEvent() ([]*os.File, error) {
	var p [2]int
	syscall.ForkLock.RLock() // darwin has no pipe that is closed on exec from its beginning
	err := unix.Pipe(p[:])
	if err == nil {
		unix.CloseOnExec(p[0])
		unix.CloseOnExec(p[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("futex: NewWaker: %w", os.NewSyscallError("pipe", err))
	}
	for _, fd := range p {
		if err := unix.SetNonblock(fd, true); err != nil {
			_, _ = unix.Close(p[0]), unix.Close(p[1])
			return nil, fmt.Errorf("futex: NewWaker: %w", os.NewSyscallError("fcntl", err))
		}
	}
	return []*os.File{os.NewFile(uintptr(p[0]), "pipe, read end"), os.NewFile(uintptr(p[1]), "pipe, write end")}, nil
}
