//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// attempts is how often a new file is made when RemoveDead of another process takes it for one
// that was left behind, before the lock or the second descriptor exists. Each attempt fails only
// if the other process looks at the file within microseconds.
const attempts = 100

// file opens its file twice, for two processes with different access, and removes the name.
func file(dir string, size int, w Writer) (*Region, error) {
	for range attempts {
		own, peer, err := temporary(dir, w)
		if errors.Is(err, os.ErrNotExist) && own != nil {
			_ = own.Close()
			continue
		}
		if err == nil {
			err = allocate(own, size)
		}
		var b []byte
		if err == nil {
			b, err = mapped(own, size, w)
		}
		if w == Here && own != nil { // the other process gets the descriptor with less access
			_ = own.Close()
		}
		if err != nil {
			closeBoth(own, peer)
			return nil, failed("File", dir, err)
		}
		return &Region{bytes: b, file: peer}, nil
	}
	return nil, failed("File", dir, fmt.Errorf("another process has removed each of %d files", attempts))
}

// temporary makes a file without a name. The second descriptor has read access if this process
// writes, and is the first one otherwise. own is not nil if the file was made.
func temporary(dir string, w Writer) (own, peer *os.File, err error) {
	own, err = os.CreateTemp(dir, NamePrefix+"*")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if e := os.Remove(own.Name()); err == nil && e != nil && !errors.Is(e, os.ErrNotExist) {
			err = e
		}
	}()
	if w == There {
		return own, own, nil
	}
	peer, err = os.Open(own.Name())
	if err != nil {
		return own, nil, err
	}
	if same, e := sameFile(own, peer); !same || e != nil {
		_ = peer.Close()
		return own, nil, errors.Join(os.ErrNotExist, e)
	}
	return own, peer, nil
}

func sameFile(a, b *os.File) (bool, error) {
	x, err := a.Stat()
	if err != nil {
		return false, err
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y), err
}

func closeBoth(a, b *os.File) {
	if a != nil {
		_ = a.Close()
	}
	if b != nil {
		_ = b.Close()
	}
}

// openFile maps a file that another process has made.
func openFile(f *os.File, size int, w Writer) (*Region, error) {
	if err := checkFile(f, size); err != nil {
		return nil, failed("OpenFile", f.Name(), err)
	}
	b, err := mapped(f, size, w)
	if err != nil {
		return nil, failed("OpenFile", f.Name(), err)
	}
	return &Region{bytes: b}, nil
}

// checkFile checks that a descriptor is that of a file of this size. A region beyond the end of
// its file would fault.
func checkFile(f *os.File, size int) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is no file but %v", info.Mode().Type())
	case info.Size() != int64(size):
		return fmt.Errorf("it has %d bytes, want %d", info.Size(), size)
	}
	return nil
}

// writeZeros allocates a file by writing all of it.
func writeZeros(f *os.File, size int) error {
	if err := f.Truncate(int64(size)); err != nil { // a size beyond all limits fails here
		return err
	}
	for off := 0; off < size; off += chunkBytes {
		if _, err := f.WriteAt(zeros()[:min(chunkBytes, size-off)], int64(off)); err != nil {
			return err
		}
	}
	return nil
}

// again calls f until no signal has ended it.
func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
