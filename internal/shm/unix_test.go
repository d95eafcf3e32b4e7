//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package shm_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// descriptor returns a copy of the descriptor of a file, as an argument for open.
func descriptor(t *testing.T, f *os.File) string {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(fd)
}
