//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The life of a process is a pipe. The host has the end to write, writes nothing, and closes it when the process has
// ended. The kernel closes it when the host ends. The process has the end to read as the descriptor lifeFD: when it
// reads the end of the file, its host has ended. No other process has the end to write, because it is closed by an exec.
//
// The process recognizes the pipe, and itself, by a mark in its environment: see [IsChild]. The life counts as such only
// if it is the same pipe, since descriptor 3 of another process may be any other file.

// The descriptors of a process that Start has started. Those of Command.Files follow.
const (
	lifeFD  = 3
	filesFD = 4
)

// exitHostGone is the exit code of a process whose host has ended.
const exitHostGone = 70

const (
	// markName is the environment variable that Start sets and Attach removes. Its value is a mark.
	markName = "LANEWRIGHT_CHILD"
	// argument is the first argument of a process that a prefix starts. Without it the prefix itself, and each
	// process that a prefix starts in addition, would be a child, since they have the mark and the pipe.
	argument = "lanewright-child"
)

// mark is what Start writes into the environment of a process.
type mark struct {
	files    int    // the number of Command.Files
	dev, ino uint64 // of the end of the life that the process has
	host     int    // the number of the host
	prefixed bool   // the process has the argument
}

// newMark returns the mark of a process whose end of the life is held.
func newMark(held *os.File, files int, prefixed bool) (m mark, err error) {
	c, err := held.SyscallConn()
	if err != nil {
		return m, err
	}
	m = mark{files: files, host: os.Getpid(), prefixed: prefixed}
	if failed := c.Control(func(fd uintptr) { m.dev, m.ino, err = identity(int(fd)) }); failed != nil {
		return m, failed
	}
	return m, err
}

// identity returns the two numbers that tell the end of a pipe from all others of the system. A descriptor of another
// kind is an error.
func identity(fd int) (dev, ino uint64, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return 0, 0, err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFIFO {
		return 0, 0, errors.New("no pipe")
	}
	return uint64(s.Dev), uint64(s.Ino), nil //nolint:unconvert // the types differ between systems
}

// String returns the value of the environment variable.
func (m mark) String() string {
	return fmt.Sprintf("%d:%d:%d:%d:%t", m.files, m.dev, m.ino, m.host, m.prefixed)
}

// parseMark returns the mark that String has written. Any other text is an error.
func parseMark(text string) (m mark, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 5 {
		return mark{}, fmt.Errorf("%s=%q is no mark of Start", markName, text)
	}
	// An error leaves a number that String writes in another way.
	files, _ := strconv.ParseUint(parts[0], 10, 16)
	m.files = int(files)
	m.dev, _ = strconv.ParseUint(parts[1], 10, 64)
	m.ino, _ = strconv.ParseUint(parts[2], 10, 64)
	host, _ := strconv.ParseUint(parts[3], 10, 31)
	m.host = int(host)
	m.prefixed = parts[4] == "true"
	if m.files > MaxFiles || m.String() != text {
		return mark{}, fmt.Errorf("%s=%q is no mark of Start", markName, text)
	}
	return m, nil
}

// isMark reports whether an entry of an environment is a mark.
func isMark(entry string) bool { return strings.HasPrefix(entry, markName+"=") }

// isLife reports whether a descriptor is the end of the life that the process with this mark has.
func (m mark) isLife(fd int) bool {
	dev, ino, err := identity(fd)
	if err != nil || dev != m.dev || ino != m.ino {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY
}

// origin is what a process knows of its start.
type origin struct {
	isChild bool
	named   bool // by the argument
	mark    mark
	err     error // a prefix has not passed on what Start has given it
}

// findOrigin looks for the mark, the argument and the pipe of Start.
func findOrigin() (o origin) {
	o.named = len(os.Args) > 1 && os.Args[1] == argument
	o.mark, o.err = parseMark(os.Getenv(markName))
	switch {
	case o.named && (o.err != nil || o.mark.prefixed):
		o.isChild = true
		if o.err == nil && !o.mark.isLife(lifeFD) {
			o.err = fmt.Errorf("descriptor %d is not the pipe of the host: the prefix has not passed it on", lifeFD)
		}
		return o
	case o.err == nil && !o.mark.prefixed && o.mark.isLife(lifeFD) && o.mark.isOf(os.Getppid(), lifeFD):
		return origin{isChild: true, mark: o.mark}
	default:
		return origin{}
	}
}

// isOf reports whether the process that has the life as fd is that of the mark, and not one that this process has
// started before Attach. parent is the number of its parent.
func (m mark) isOf(parent, fd int) bool {
	switch parent {
	case m.host:
		return true
	case 0: // the parent is in another pid namespace
		return true
	default: // a host that has ended is no parent, and its process has to end as well
		return hasEvent(uintptr(fd))
	}
}

// started is the origin of this process, found once because Attach removes what it was found by.
var started = sync.OnceValue(findOrigin)

// IsChild reports whether [Start] has started this process, before and after Attach. It is false in a process that this
// one starts, also with the same environment and the same descriptors: the parent of such a process is not the host or,
// behind a prefix, it lacks the argument. Its first call is before or in Attach, which removes what it looks for.
func IsChild() bool { return started().isChild }

// awaitHostEnd returns when the host has closed its end of the life, or when the end of the host can no longer be seen.
func awaitHostEnd(life *os.File) {
	for buf := make([]byte, 1); ; { // the host writes nothing
		_, err := life.Read(buf)
		if errors.Is(err, unix.EAGAIN) { // the poller has refused the pipe, so a thread waits
			err = unix.SetNonblock(int(life.Fd()), false)
		}
		if err != nil {
			return
		}
	}
}
