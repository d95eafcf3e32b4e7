//go:build linux && !portable && nowaitv

package futex

// allowWaitv is false in this build, whose tests use the eventfd on every kernel.
const allowWaitv = false
