package shm

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives a new file its size and all of its memory. It allocates in pieces, because the
// kernel undoes the work of a call that a signal ends.
func allocate(f *os.File, size int) error {
	if err := hasSpace(f, size); err != nil {
		return err
	}
	for off := 0; off < size; off += chunkBytes {
		n := min(chunkBytes, size-off)
		err := with(f, func(fd int) error {
			return again(func() error { return unix.Fallocate(fd, 0, int64(off), int64(n)) })
		})
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
			return writeZeros(f, size) // the file system, or the sandbox, has no such call
		}
		if err != nil {
			return os.NewSyscallError("fallocate", err)
		}
	}
	return nil
}

// hasSpace looks at the free space first, so that a region that is much too large does not fill
// the file system for a moment. Other processes may take the space between the two calls.
func hasSpace(f *os.File, size int) error {
	var st unix.Statfs_t
	err := with(f, func(fd int) error {
		return again(func() error { return unix.Fstatfs(fd, &st) })
	})
	if err == nil && st.Blocks > 0 && uint64(size) > st.Bavail*uint64(st.Bsize) {
		return os.NewSyscallError("fallocate", unix.ENOSPC)
	}
	return nil
}
