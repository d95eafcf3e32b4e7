//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package rusage

import "time"

func cpu() (time.Duration, bool) { return 0, false }

func peak() (int64, bool) { return 0, false }

func resetPeak() bool { return false }
