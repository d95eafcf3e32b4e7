//go:build linux && !portable

package futex

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// The numbers of linux/futex.h. Package unix has none of them.
const (
	futexWake       = 1
	futexWaitBitset = 9 // a wait whose time is absolute, of CLOCK_MONOTONIC
	futexPrivate    = 128

	matchAny = math.MaxUint32 // FUTEX_BITSET_MATCH_ANY
	wakeAll  = math.MaxInt32

	waitv32      = 2   // FUTEX2_SIZE_U32
	waitvPrivate = 128 // FUTEX2_PRIVATE
)

// operation returns the number of an operation on a word that processes share. The flag
// futexPrivate would look for waiters of this process only.
func operation(op uintptr) uintptr { return op &^ futexPrivate }

// waitv is struct futex_waitv of the kernel.
type waitv struct {
	val      uint64
	addr     uint64
	flags    uint32
	reserved uint32
}

// argument returns the argument of futex_waitv for a word that processes share.
func argument(word *atomix.Uint32, seen uint32) waitv {
	return waitv{val: uint64(seen), addr: uint64(uintptr(unsafe.Pointer(word))), flags: waitv32 &^ waitvPrivate}
}

// timespec is struct __kernel_timespec, which has 64 bits on every processor.
type timespec struct{ sec, nsec int64 }

// at returns a time of Now as the argument of a call: nil is no deadline.
func at(until int64) *timespec {
	switch {
	case until == 0:
		return nil
	case until < 0:
		return new(timespec) // long ago
	}
	return &timespec{until / 1e9, until % 1e9}
}

// wait begins again after a signal. The runtime sends signals to its threads, so a wait that
// ends with each of them would end often.
func wait(word *atomix.Uint32, seen uint32, until int64) (Outcome, error) {
	ts := at(until)
	for {
		_, _, e := syscall.Syscall6(sysFutex, uintptr(unsafe.Pointer(word)), operation(futexWaitBitset),
			uintptr(seen), uintptr(unsafe.Pointer(ts)), 0, matchAny)
		if e == syscall.EINTR {
			continue
		}
		return outcome("futex wait", e)
	}
}

func wake(word *atomix.Uint32) (int, error) {
	n, _, e := syscall.Syscall6(sysFutex, uintptr(unsafe.Pointer(word)), operation(futexWake), wakeAll, 0, 0, 0)
	if e != 0 {
		return 0, failed("futex wake", e)
	}
	return int(n), nil
}

func (s *Set) wait(until int64) (int, Outcome, error) {
	if !HasWaitv() {
		return -1, Changed, fmt.Errorf("futex: futex_waitv, which Linux has since 5.16: %w", errors.ErrUnsupported)
	}
	ts := at(until)
	for {
		i, _, e := syscall.Syscall6(unix.SYS_FUTEX_WAITV, uintptr(unsafe.Pointer(&s.args[0])), uintptr(len(s.args)),
			0, uintptr(unsafe.Pointer(ts)), unix.CLOCK_MONOTONIC, 0)
		runtime.KeepAlive(s) // the words, whose addresses are numbers in the array
		switch {
		case e == syscall.EINTR:
			continue
		case e == 0:
			return int(i), Woken, nil
		}
		o, err := outcome("futex_waitv", e)
		return -1, o, err
	}
}

// outcome returns the outcome of a wait that has ended with e.
func outcome(call string, e syscall.Errno) (Outcome, error) {
	switch e {
	case 0:
		return Woken, nil
	case syscall.EAGAIN:
		return Changed, nil
	case syscall.ETIMEDOUT:
		return TimedOut, nil
	}
	return Changed, failed(call, e)
}

func failed(call string, e syscall.Errno) error {
	return fmt.Errorf("futex: %w", os.NewSyscallError(call, e))
}

// probe is the answer of the kernel.
var probe struct {
	once  park.Once
	waitv bool
}

// hasWaitv calls futex_waitv with an empty array, which a kernel that has the call refuses
// with EINVAL. One that has not refuses it with ENOSYS, and a sandbox with EPERM.
func hasWaitv() bool {
	if !allowWaitv {
		return false
	}
	probe.once.Do(func() {
		_, _, e := syscall.Syscall6(unix.SYS_FUTEX_WAITV, 0, 0, 0, 0, unix.CLOCK_MONOTONIC, 0)
		probe.waitv = e == syscall.EINVAL
	})
	return probe.waitv
}
