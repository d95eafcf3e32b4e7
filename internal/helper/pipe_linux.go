package helper

import (
	"os"

	"golang.org/x/sys/unix"
)

// A pipe holds pipeBytes when messages are larger than usualPipeBytes, which is what Linux gives it. Measured with
// messages of 1 MiB on 2 processors: 0.6 to 1.1 ms an echo with 256 KiB, 0.6 to 1.0 with 1 MiB, 0.9 to 1.6 with 64 KiB.
const (
	usualPipeBytes = 64 << 10
	pipeBytes      = 256 << 10
)

// widen lets pipes hold more of messages of that size. The kernel may refuse, and then the pipes work as they are.
func widen(size int, pipes ...*os.File) {
	if size <= usualPipeBytes {
		return
	}
	for _, p := range pipes {
		_, _ = unix.FcntlInt(p.Fd(), unix.F_SETPIPE_SZ, pipeBytes)
	}
}
