//go:build linux && !portable

package shm

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/crash"
)

// fixedSize are the seals of every sealed region.
const fixedSize = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// sealed maps the memory before it seals it, because no process can map it for writing later.
func sealed(name string, size int, w Writer) (*Region, error) {
	f, err := memory(name)
	if err != nil {
		return nil, failed("Sealed", name, err)
	}
	b, err := sealAndMap(f, size, w)
	if err != nil {
		_ = f.Close()
		return nil, failed("Sealed", name, err)
	}
	return &Region{bytes: b, file: f}, nil
}

// memory makes a file of memory that can be sealed, and not executed.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // Linux has MFD_NOEXEC_SEAL since 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if errors.Is(err, unix.ENOSYS) {
		return nil, fmt.Errorf("this system has no memfd_create, which Linux has since 3.17: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd:"+name), nil
}

func sealAndMap(f *os.File, size int, w Writer) ([]byte, error) {
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	b, err := mapped(f, size, w)
	if err != nil {
		return nil, err
	}
	crash.At(crash.MemoryMade)
	if err = seal(f, w); err == nil {
		crash.At(crash.MemorySealed)
		err = checkSealed(f, size, w == Here)
	}
	if err != nil {
		_ = unmap(b)
		return nil, err
	}
	return b, nil
}

// seal adds the seals. The kernel refuses all of them if it does not know one.
func seal(f *os.File, w Writer) error {
	seals := fixedSize
	if w == Here {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	err := with(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		return err
	})
	if w == Here && errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("this system has no seal FUTURE_WRITE, which Linux has since 5.1: %w", errors.ErrUnsupported)
	}
	return os.NewSyscallError("fcntl F_ADD_SEALS", err)
}

// checkSealed checks the size and the seals that the kernel reports. hostWrites adds the seal
// against future writes, or that against all writes.
func checkSealed(f *os.File, size int, hostWrites bool) error {
	if err := checkFile(f, size); err != nil {
		return err
	}
	var seals int
	err := with(f, func(fd int) (err error) {
		seals, err = unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		return err
	})
	if errors.Is(err, unix.EINVAL) {
		seals, err = 0, nil // a file system without seals
	}
	if err != nil {
		return os.NewSyscallError("fcntl F_GET_SEALS", err)
	}
	if missing := missingSeals(seals, hostWrites); len(missing) > 0 {
		return fmt.Errorf("it is not sealed: the seals %s are missing", strings.Join(missing, ", "))
	}
	return nil
}

func missingSeals(seals int, hostWrites bool) (missing []string) {
	for _, s := range []struct {
		bits int
		name string
	}{
		{unix.F_SEAL_SHRINK, "SHRINK"},
		{unix.F_SEAL_GROW, "GROW"},
		{unix.F_SEAL_SEAL, "SEAL"},
	} {
		if seals&s.bits == 0 {
			missing = append(missing, s.name)
		}
	}
	if hostWrites && seals&(unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_WRITE) == 0 {
		missing = append(missing, "FUTURE_WRITE")
	}
	return missing
}

func openSealed(f *os.File, size int, w Writer) (*Region, error) {
	if err := checkSealed(f, size, w == There); err != nil {
		return nil, failed("Open", f.Name(), err)
	}
	b, err := mapped(f, size, w)
	if err != nil {
		return nil, failed("Open", f.Name(), err)
	}
	return &Region{bytes: b}, nil
}
