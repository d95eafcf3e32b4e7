//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package shm

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped maps the first size bytes of a file. The descriptor may be closed afterwards.
func mapped(f *os.File, size int, w Writer) (b []byte, err error) {
	prot := unix.PROT_READ
	if w == Here {
		prot |= unix.PROT_WRITE
	}
	err = with(f, func(fd int) error {
		p, err := unix.MmapPtr(fd, 0, nil, uintptr(size), prot, unix.MAP_SHARED)
		if err != nil {
			return os.NewSyscallError("mmap", err)
		}
		b = unsafe.Slice((*byte)(p), size)
		return nil
	})
	return b, err
}

// replace maps zeros of this process over a region. The kernel does it in one step: another
// thread that reads the region at the same time gets the old bytes or zeros.
func replace(b []byte) error {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
	return os.NewSyscallError("mmap", err)
}

// unmap gives the address range of a region back.
func unmap(b []byte) error {
	return os.NewSyscallError("munmap", unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))))
}

// with calls a function with the descriptor of a file, which stays open during the call.
func with(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := conn.Control(func(fd uintptr) { err = call(int(fd)) })
	if controlErr != nil {
		return controlErr
	}
	return err
}
