//go:build linux && !portable

package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The lock of a named region. A host has the shared lock of its file until the host ends. A
// remover, which is RemoveDead or a Named that finds its name in use, needs the exclusive lock,
// and removes the file only while it has that lock and the file has the name.
//
// A new file has no lock for a moment. A remover may take it for one that was left behind, so
// the host waits for the lock and then checks that its file still has the name. A host that ends
// its region removes the name before it gives the lock up. So no name is removed that another
// file has got: to take the name from the file, a process needs the lock that the remover has.
//
// A remover that does not get the exclusive lock asks for the shared one. It gets it if a host
// has the file. It does not get it while another remover has the file, and then waits.

func named(path string, size int, w Writer) (*Region, error) {
	if !strings.HasPrefix(filepath.Base(path), NamePrefix) {
		return nil, failed("Named", path, fmt.Errorf("the name does not begin with %q", NamePrefix))
	}
	f, err := lockedFile(path)
	if err != nil {
		return nil, failed("Named", path, err)
	}
	var b []byte
	err = allocate(f, size)
	if err == nil {
		b, err = mapped(f, size, w)
	}
	if err != nil {
		_ = os.Remove(path)
		_ = f.Close()
		return nil, failed("Named", path, err)
	}
	return &Region{bytes: b, lock: f, path: path}, nil
}

// lockedFile makes a file that has the name and is locked.
func lockedFile(path string) (*os.File, error) {
	for range attempts {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			if state, e := removeIfDead(path); state == inUse || e != nil {
				return nil, errors.Join(err, e)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		isNamed, err := false, lock(f, unix.LOCK_SH)
		if err == nil {
			isNamed, err = hasName(f, path)
		}
		if isNamed {
			return f, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("another process has removed each of %d files", attempts)
}

// lock locks a file until it is closed.
func lock(f *os.File, how int) error {
	return os.NewSyscallError("flock", with(f, func(fd int) error {
		return again(func() error { return unix.Flock(fd, how) })
	}))
}

// tryLock is lock without waiting. It returns false if another process has the lock.
func tryLock(f *os.File, how int) (bool, error) {
	err := lock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// hasName reports whether the path is that of the file.
func hasName(f *os.File, path string) (bool, error) {
	a, err := f.Stat()
	if err != nil {
		return false, err
	}
	b, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(a, b), err
}

// nameState is the state of a name after removeIfDead.
type nameState uint8

const (
	inUse   nameState = iota // a host has the file, or it is no file of this user
	free                     // another process has removed the file
	removed                  // this call has removed the file
)

// removeIfDead removes the file of a name if its host has ended.
func removeIfDead(path string) (nameState, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return free, nil
	}
	if err != nil || !isOurs(info) {
		return inUse, err
	}
	// The file may be another one by now. O_NONBLOCK is for a pipe with a name, whose open
	// would wait for another process.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return free, nil
	}
	if err != nil {
		return inUse, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil || !isOurs(info) {
		return inUse, err
	}
	for {
		isLocked, err := tryLock(f, unix.LOCK_EX)
		if isLocked || err != nil {
			return removeLocked(f, path, err)
		}
		if isHeld, err := tryLock(f, unix.LOCK_SH); isHeld || err != nil {
			return inUse, err
		}
		if err := lock(f, unix.LOCK_SH); err != nil { // until the other remover has ended
			return inUse, err
		}
		if isNamed, err := hasName(f, path); !isNamed {
			return free, err
		}
	}
}

// removeLocked removes a file that this process has locked. err is the error of the lock.
func removeLocked(f *os.File, path string, err error) (nameState, error) {
	if err != nil {
		return inUse, err
	}
	isNamed, err := hasName(f, path)
	if !isNamed {
		return free, err
	}
	return removed, os.Remove(path)
}

// isOurs reports whether a file is a regular file of the user of this process.
func isOurs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(stat.Uid) == os.Geteuid()
}

func removeDead(dir string) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("shm: RemoveDead: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), NamePrefix) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		state, err := removeIfDead(path)
		if err != nil {
			errs = append(errs, failed("RemoveDead", path, err))
		} else if state == removed {
			n++
		}
	}
	return n, errors.Join(errs...)
}

func openNamed(path string, size int, w Writer) (*Region, error) {
	flags := os.O_RDONLY
	if w == Here {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, failed("OpenNamed", path, err)
	}
	defer func() { _ = f.Close() }()
	if err := checkFile(f, size); err != nil {
		return nil, failed("OpenNamed", path, err)
	}
	b, err := mapped(f, size, w)
	if err != nil {
		return nil, failed("OpenNamed", path, err)
	}
	return &Region{bytes: b}, nil
}
