//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rusage

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func cpu() (time.Duration, bool) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

// getrusagePeak reads ru_maxrss, whose unit is the byte on Darwin and KiB on other systems.
func getrusagePeak() (int64, bool) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss), true
	}
	return int64(u.Maxrss) << 10, true
}
