//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package child

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Process is a process that Start has started. There are none on this system.
type Process struct{}

// Start returns an error that matches [errors.ErrUnsupported].
func Start(Command) (*Process, error) {
	return nil, fmt.Errorf("child: Start: processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// The other functions are not called without a process.
func (*Process) Pid() int                    { return 0 }
func (*Process) Done() <-chan struct{}       { return nil }
func (*Process) OutputRead() <-chan struct{} { return nil }
func (*Process) OutputPanic() any            { return nil }
func (*Process) State() *State               { return nil }
func (*Process) Kill() error                 { return nil }
func (*Process) Tail() string                { return "" }

// IsChild reports that no process of this system was started by Start.
func IsChild() bool { return false }

// Attach does nothing, because no process of this system was started by Start.
func Attach() (files []*os.File, ok bool, err error) { return nil, false, nil }
