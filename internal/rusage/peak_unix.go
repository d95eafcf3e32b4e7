//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package rusage

func peak() (int64, bool) { return getrusagePeak() }

func resetPeak() bool { return false }
