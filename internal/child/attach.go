//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/crash"
)

// attached is set by the first call of Attach.
var attached atomic.Bool

// Attach is the first step of a process that [Start] has started. It returns the files of [Command].Files, and closes all
// other descriptors that the process has not opened itself, but for 0 to 2. From now on the process ends at once when its
// host does. A process that it starts does not get the files.
//
// ok is [IsChild]: in any other process Attach does nothing. ok is also false for a second call. An error says that the
// process does not have what Start has given it: a prefix has not passed it on.
func Attach() (files []*os.File, ok bool, err error) {
	if !IsChild() || attached.Swap(true) {
		return nil, false, nil
	}
	files, err = attach(started())
	if err != nil {
		err = fmt.Errorf("child: Attach: %w", err)
	}
	return files, true, err
}

// attach makes this process the one that Start has started.
func attach(o origin) (files []*os.File, err error) {
	crash.At(crash.Executed)
	if o.named {
		os.Args = slices.Delete(slices.Clone(os.Args), 1, 2)
	}
	if err := os.Unsetenv(markName); err != nil { // a process that this one starts is no child of the host
		return nil, err
	}
	if o.err != nil {
		return nil, o.err
	}
	end := filesFD + o.mark.files
	for fd := lifeFD; fd < end; fd++ {
		if !isInherited(fd) { // the number may be that of a file of the Go runtime
			return nil, fmt.Errorf("descriptor %d of %d to %d is not that of the host: the prefix has not passed it on", fd, lifeFD, end-1)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, err
		}
	}
	if err := closeInherited(); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(lifeFD, true); err != nil { // otherwise its read holds a thread
		return nil, err
	}
	life := os.NewFile(lifeFD, "life")
	go func() {
		awaitHostEnd(life)
		os.Exit(exitHostGone)
	}()
	for fd := filesFD; fd < end; fd++ {
		files = append(files, os.NewFile(uintptr(fd), "file "+strconv.Itoa(fd-filesFD)))
	}
	return files, nil
}

// closeInherited closes the descriptors above 2 that an exec would keep. The Go runtime opens none of that kind, so they
// are those that the launcher of the host has left open.
func closeInherited() error {
	list, err := descriptors()
	if err != nil {
		return err
	}
	for _, fd := range list {
		if fd > 2 && isInherited(fd) {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// isInherited reports whether a descriptor is open, and an exec keeps it.
func isInherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}
