package tick

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Clock waits. It is for one goroutine.
//
// It is a timer of the system whose file the poller of the Go runtime watches: the
// goroutine parks, and an idle processor wakes for it. Where that cannot be had,
// it is a timer of the runtime.
type Clock struct{ file *os.File }

// New returns a Clock.
func New() *Clock {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return new(Clock)
	}
	return &Clock{file: os.NewFile(uintptr(fd), "timer")}
}

// Wait returns when d has passed, or somewhat later.
func (c *Clock) Wait(d time.Duration) {
	if c.file == nil || !c.wait(d) {
		time.Sleep(d)
	}
}

func (c *Clock) wait(d time.Duration) bool {
	conn, err := c.file.SyscallConn()
	if err != nil {
		return false
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))}
	set := conn.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), 0, &at, nil) })
	if set != nil || err != nil {
		return false
	}
	var expirations [8]byte
	_, err = c.file.Read(expirations[:])
	return err == nil
}

// Close gives everything back.
func (c *Clock) Close() {
	if c.file != nil {
		c.file.Close()
	}
}
