package shm

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
)

// NamePrefix begins the name of each file that the package makes in a folder. [RemoveDead]
// touches no other file.
const NamePrefix = "lanewright-"

// Writer says which process writes a region, as seen by the calling process.
type Writer uint8

// The writers.
const (
	Here  Writer = iota // this process writes, and the other one reads
	There               // the other process writes, and this one reads
)

// String returns the name of the writer.
func (w Writer) String() string {
	switch w {
	case Here:
		return "here"
	case There:
		return "there"
	}
	return fmt.Sprintf("Writer(%d)", uint8(w))
}

// Region is memory that two processes share. It is mapped with read and write access by its
// writer, and with read access by the other process. All bytes are 0 at first.
//
// Bytes may be called at any time. One goroutine at a time may call the other methods. A Region
// that is not closed stays mapped until the program ends, even if no pointer to it is left.
type Region struct {
	bytes  []byte
	file   *os.File // the descriptor for the other process; nil if there is none
	lock   *os.File // a named region: locked until the host ends
	path   string   // a named region: removed by the host
	closed bool
}

// Bytes returns the whole region. It begins at a page, and has exactly the size with which the
// region was made. The same slice is returned after Close, when it reads zeros.
func (r *Region) Bytes() []byte { return r.bytes }

// File returns the descriptor to pass to the other process, which opens the region with it. It
// is closed on exec, gives the other process no more than its access, and belongs to the
// Region. File returns nil for a named region and in the process that has opened a region, and
// after Detach.
func (r *Region) File() *os.File { return r.file }

// Detach closes the descriptor, which no other process can get afterwards. The memory stays.
func (r *Region) Detach() error {
	f := r.file
	if f == nil {
		return nil
	}
	r.file = nil
	return failed("Region.Detach", f.Name(), f.Close())
}

// Close gives the memory back. It replaces the region by zeros at the same address in one
// step, and closes the descriptor. A goroutine that still reads the region gets the old bytes
// or zeros, and does not fault. Bytes that it writes do not reach the other process. The
// address range is unmapped when no pointer to r is left, so a user of the bytes keeps one. The
// host also removes the name of a named region. A second Close does nothing.
func (r *Region) Close() error {
	if r.closed {
		return nil
	}
	err := replace(r.bytes)
	if err == nil {
		runtime.AddCleanup(r, func(b []byte) { _ = unmap(b) }, r.bytes)
	}
	return errors.Join(failed("Region.Close", r.name(), err), r.release())
}

// Unmap is Close for a caller that knows that no goroutine uses the region: it unmaps the
// address range at once. A later access to the bytes ends the program. It does nothing after
// Close.
func (r *Region) Unmap() error {
	if r.closed {
		return nil
	}
	name, b := r.name(), r.bytes
	r.bytes = nil
	return errors.Join(failed("Region.Unmap", name, unmap(b)), r.release())
}

// release closes the descriptors and removes the name. The name is removed while the lock is
// held, so that RemoveDead finds no region without a lock.
func (r *Region) release() (err error) {
	r.closed = true
	if r.path != "" {
		if e := os.Remove(r.path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = fmt.Errorf("shm: Region.Close: %w", e)
		}
	}
	if r.lock != nil {
		err = errors.Join(err, failed("Region.Close", r.path, r.lock.Close()))
	}
	return errors.Join(err, r.Detach())
}

// name names the region in errors.
func (r *Region) name() string {
	switch {
	case r.path != "":
		return r.path
	case r.file != nil:
		return r.file.Name()
	}
	return fmt.Sprintf("of %d bytes", len(r.bytes))
}

// failed returns err with the call and the object, or nil. The errors of package os name the
// call of the system.
func failed(call, object string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("shm: %s %q: %w", call, object, err)
}

// checkSize checks the size of a new region.
func checkSize(call, object string, size int) error {
	if size < 1 {
		return failed(call, object, fmt.Errorf("a size of %d bytes, want at least 1", size))
	}
	return nil
}

// checkWriter checks an argument.
func checkWriter(call, object string, w Writer) error {
	if w > There {
		return failed(call, object, fmt.Errorf("%v, want Here or There", w))
	}
	return nil
}

// Sealed makes a sealed region of ordinary memory, which other processes see under that name
// in /proc. Its size can never change, which the kernel guarantees by the seals SHRINK, GROW
// and SEAL. With Here the seal FUTURE_WRITE is added: no process can map the region for writing
// again, or write to it by another call. The size and the seals are read back from the
// kernel. Pages take memory when they are first touched. The region ends with the last process
// that has it.
//
// The error names the call of the system that has failed. It matches [errors.ErrUnsupported] on
// systems other than Linux, and on Linux before 5.1, which has no seal FUTURE_WRITE.
func Sealed(name string, size int, w Writer) (*Region, error) {
	return made("Sealed", name, size, w, sealed)
}

// Named makes a region that has a path, such as /dev/shm/lanewright-17. The last element of the
// path begins with [NamePrefix]. The whole region is allocated: a full file system is an
// error. A file of that path that a host has left behind is replaced, and a file whose host
// runs is an error that matches [os.ErrExist]. The file is readable by the user of this process
// only. Close removes it. [RemoveDead] removes it if this process ends without Close.
//
// The error names the call of the system that has failed. It matches [errors.ErrUnsupported] on
// systems other than Linux.
func Named(path string, size int, w Writer) (*Region, error) {
	return made("Named", path, size, w, named)
}

// File makes a region of a file without a name in the folder dir; "" is the folder of the
// system for temporary files. The whole region is allocated: a full file system is an error.
// With Here, the other process gets a descriptor with read access only. The file ends with the
// last process that has it.
//
// The error names the call of the system that has failed. It matches [errors.ErrUnsupported] on
// systems other than Linux, darwin and the BSDs.
func File(dir string, size int, w Writer) (*Region, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	return made("File", dir, size, w, file)
}

func made(call, object string, size int, w Writer, f func(object string, size int, w Writer) (*Region, error)) (*Region, error) {
	if err := checkSize(call, object, size); err != nil {
		return nil, err
	}
	if err := checkWriter(call, object, w); err != nil {
		return nil, err
	}
	return f(object, size, w)
}

// Open maps the sealed region of another process. w says which process writes it: with Here
// this process. It returns an error, and maps nothing, if the descriptor is not that of a
// region of exactly this size, if a seal of [Sealed] is missing, or if the other process could
// still get write access to a region that it does not write. Open closes f in all cases.
//
// The error matches [errors.ErrUnsupported] on systems other than Linux.
func Open(f *os.File, size int, w Writer) (*Region, error) {
	return opened("Open", f, size, w, openSealed)
}

// OpenFile maps the region that another process has made with [File]. It returns an error, and
// maps nothing, if the descriptor is not that of a file of exactly this size. OpenFile closes f
// in all cases.
//
// The error matches [errors.ErrUnsupported] on systems other than Linux, darwin and the BSDs.
func OpenFile(f *os.File, size int, w Writer) (*Region, error) {
	return opened("OpenFile", f, size, w, openFile)
}

func opened(call string, f *os.File, size int, w Writer, open func(f *os.File, size int, w Writer) (*Region, error)) (*Region, error) {
	if f == nil {
		return nil, fmt.Errorf("shm: %s: %w", call, os.ErrInvalid)
	}
	defer func() { _ = f.Close() }()
	if err := checkSize(call, f.Name(), size); err != nil {
		return nil, err
	}
	if err := checkWriter(call, f.Name(), w); err != nil {
		return nil, err
	}
	return open(f, size, w)
}

// OpenNamed maps the region that another process has made with [Named]. It returns an error, and
// maps nothing, if the path is not that of a file of exactly this size, or is a symbolic link.
//
// The error matches [errors.ErrUnsupported] on systems other than Linux.
func OpenNamed(path string, size int, w Writer) (*Region, error) {
	return made("OpenNamed", path, size, w, openNamed)
}

// RemoveDead removes the named regions in the folder dir whose hosts have ended without closing
// them, and returns their number. A host locks its regions, and the kernel releases a lock
// when the process ends, however it ends. So the result does not depend on process numbers,
// which other processes and containers have as well. RemoveDead leaves every file alone whose
// name does not begin with [NamePrefix], that is no regular file, or that another user owns.
// Workers that have such a region keep the memory. Safe for concurrent use, also by several
// processes.
//
// The error names the files that could not be examined or removed. It matches
// [errors.ErrUnsupported] on systems other than Linux.
func RemoveDead(dir string) (removed int, err error) { return removeDead(dir) }

// zeros is written to files of systems that cannot allocate.
var zeros = sync.OnceValue(func() []byte { return make([]byte, chunkBytes) })

// chunkBytes is how much one call allocates. A signal undoes the work of one call, and a
// profiled program gets one every 10 ms, in which 4 to 25 MiB are allocated.
const chunkBytes = 1 << 20
