package fuzz_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns size bytes, a multiple of 64, that end where memory ends that no code may access. A read or a write
// behind them is a fault.
func guarded(tb testing.TB, size int) []byte {
	tb.Helper()
	page := os.Getpagesize()
	whole := (size + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, whole+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			tb.Error(err)
		}
	})
	if err := unix.Mprotect(b[whole:], unix.PROT_NONE); err != nil && !errors.Is(err, unix.ENOSYS) {
		tb.Fatal(err)
	}
	return b[whole-size : whole]
}
