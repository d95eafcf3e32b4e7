//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package futex_test

import (
	"os"

	"golang.org/x/sys/unix"
)

// dup returns a copy of the descriptor of a file.
func dup(f *os.File) (*os.File, error) {
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
