//go:build crash && (darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package crash

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenPage maps a file of a Page, and makes the file if there is none. The memory stays mapped.
func OpenPage(path string) (*Page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size := int(unsafe.Sizeof(Page{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return (*Page)(unsafe.Pointer(unsafe.SliceData(b))), nil
}
