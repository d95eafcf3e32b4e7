//go:build linux && !portable && !nowaitv

package futex

// allowWaitv is false in a build that does as if the kernel had no futex_waitv.
const allowWaitv = true
