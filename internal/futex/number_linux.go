//go:build linux && !portable && !(386 || arm || mips || mipsle || ppc)

package futex

import "golang.org/x/sys/unix"

// sysFutex is the number of the call futex. Its times have 64 bits.
const sysFutex = unix.SYS_FUTEX
