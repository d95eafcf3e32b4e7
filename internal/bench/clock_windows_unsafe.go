//go:build windows

package bench

import (
	"math/bits"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// On Windows the clock of time.Now has steps of at least half a millisecond. The
// performance counter has steps of 100 ns.
var (
	kernel32     = windows.NewLazySystemDLL("kernel32.dll")
	queryCounter = kernel32.NewProc("QueryPerformanceCounter")
	frequency    = counterFrequency()
	firstCount   = counter()
)

func counterFrequency() uint64 {
	var f int64
	if ok, _, _ := kernel32.NewProc("QueryPerformanceFrequency").Call(uintptr(unsafe.Pointer(&f))); ok == 0 || f <= 0 {
		return 0
	}
	return uint64(f)
}

func counter() uint64 {
	var c int64
	_, _, _ = queryCounter.Call(uintptr(unsafe.Pointer(&c))) // cannot fail since Windows XP
	return uint64(c)
}

func now() int64 {
	if frequency == 0 {
		return int64(time.Since(epoch))
	}
	hi, lo := bits.Mul64(counter()-firstCount, uint64(time.Second))
	ns, _ := bits.Div64(hi, lo, frequency)
	return int64(ns)
}
