package child

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasPidfd asks the kernel once for a descriptor of a process, and whether it takes signals. There is none before Linux
// 5.3 and in some sandboxes. Tests set it.
var hasPidfd = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	err = unix.PidfdSendSignal(fd, 0, nil, 0)
	_ = unix.Close(fd)
	return err == nil
})

// openPidfd returns a descriptor of a process for the poller of the Go runtime, or nil. Without it the process is watched
// in another way, also if the limit of descriptors is reached.
func openPidfd(pid int) *os.File {
	if !hasPidfd() {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	_ = unix.SetNonblock(fd, true) // otherwise the poller does not take it
	return os.NewFile(uintptr(fd), "pidfd")
}

// signalPidfd sends a signal to the process of a descriptor.
func signalPidfd(f *os.File, sig unix.Signal) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	failed := c.Control(func(fd uintptr) { err = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	if failed != nil {
		return failed
	}
	return err
}

// attributes are those of a process in a session of its own. The kernel kills it when the thread of the caller ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// self returns a path of the program of this process, also if the file was replaced or removed.
func self() (string, error) { return "/proc/self/exe", nil }

// bytesQueued is the request for the number of bytes that a pipe holds.
const bytesQueued = unix.TIOCINQ
