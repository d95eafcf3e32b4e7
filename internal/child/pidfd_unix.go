//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package child

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openPidfd returns nil: these systems have no descriptors of processes.
func openPidfd(int) *os.File { return nil }

// signalPidfd is not called without a descriptor.
func signalPidfd(*os.File, unix.Signal) error { return errors.ErrUnsupported }

// attributes are those of a process in a session of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// self returns the path of the program of this process.
func self() (string, error) { return os.Executable() }

// bytesQueued is the request for the number of bytes that a pipe holds: FIONREAD, which x/sys does not have here.
const bytesQueued = 0x4004667f
