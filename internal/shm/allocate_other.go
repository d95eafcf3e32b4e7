//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package shm

import "os"

// allocate gives a new file its size and all of its memory.
func allocate(f *os.File, size int) error { return writeZeros(f, size) }
