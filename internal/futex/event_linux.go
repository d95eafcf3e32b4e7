//go:build linux && !portable

package futex

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// filesOfEvent is the number of files of one side: an eventfd is read and written.
const filesOfEvent = 1

// oneEvent is added to the counter of an eventfd.
var oneEvent = func() (b [8]byte) {
	binary.NativeEndian.PutUint64(b[:], 1)
	return b
}()

// newEvent makes an eventfd. Its descriptor does not block, so os.NewFile gives it to the
// poller, and File.Fd does not make it block.
func newEvent() ([]*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("futex: NewWaker: %w", os.NewSyscallError("eventfd", err))
	}
	return []*os.File{os.NewFile(uintptr(fd), "eventfd")}, nil
}
