package tick

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Clock waits. It is for one goroutine. The zero Clock uses the timers of the Go runtime.
//
// A Clock is a timerfd in the poller of the Go runtime: the goroutine parks, and an idle
// processor wakes when the timer fires. Where the system has no timerfd, it is a timer of
// the runtime.
type Clock struct {
	file *os.File

	// The arguments and results of the calls in Wait, which would be allocated there
	// otherwise.
	conn        syscall.RawConn
	at          unix.ItimerSpec
	set         func(fd uintptr) // sets the timer to at
	err         error            // of set
	expirations [8]byte
}

// New returns a Clock.
func New() *Clock {
	c := new(Clock)
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return c
	}
	file := os.NewFile(uintptr(fd), "timer")
	if c.conn, err = file.SyscallConn(); err != nil {
		_ = file.Close()
		return c
	}
	c.file = file
	c.set = func(fd uintptr) { c.err = unix.TimerfdSettime(int(fd), 0, &c.at, nil) }
	return c
}

// Wait returns after d, or slightly later.
func (c *Clock) Wait(d time.Duration) {
	if c.file == nil || !c.wait(d) {
		time.Sleep(d)
	}
}

func (c *Clock) wait(d time.Duration) bool {
	c.at.Value = unix.NsecToTimespec(max(int64(d), 1))
	if c.conn.Control(c.set) != nil || c.err != nil {
		return false
	}
	_, err := c.file.Read(c.expirations[:])
	return err == nil
}

// Close closes the timer of the system. A later Wait uses the timers of the Go runtime.
func (c *Clock) Close() {
	if c.file != nil {
		_ = c.file.Close()
	}
}
