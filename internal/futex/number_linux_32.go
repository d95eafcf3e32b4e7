//go:build linux && !portable && (386 || arm || mips || mipsle || ppc)

package futex

import "golang.org/x/sys/unix"

// sysFutex is the number of the call futex_time64, which Linux has since 5.1. The times of
// the older call have 32 bits here.
const sysFutex = unix.SYS_FUTEX_TIME64
