package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// A letter is what the host writes to the process, before it starts the process. Numbers are little-endian:
//
//	offset  bytes  content
//	0       3      "LWP"
//	3       1      the version of the letter
//	4       1      the Kind of the regions
//	5       1      the number of files of the waker
//	6       2      the length of the path of the requests in bytes; 0 if they have a descriptor
//	8       2      the same of the answers
//	10      8      the size of the region of requests in bytes
//	18      8      the same of the answers
//	26      ..     the path of the requests, then that of the answers
//
// The letter says its own length, so the reader does not wait for the end of the pipe. The longest letter has 2,074
// bytes. A pipe has space for it, so the host does not block although no process reads yet: only Linux has Named regions,
// and a pipe of Linux has at least one page.
type letter struct {
	kind       Kind
	wakerFiles int
	regions    [2]place // by transport.Direction
}

// place is where a region is.
type place struct {
	size uint64
	path string // of a Named region
}

const (
	letterMark    = "LWP"
	letterVersion = 1
	letterBytes   = 26 // without the paths

	maxPath = 1024 // bytes, chosen: two of them fit a page
	// maxWakerFiles is what the other files leave.
	maxWakerFiles = child.MaxFiles - 3
	// maxRegion is more than transport.Config.RegionSize returns: offsets of payloads have 32 bits, and the rest of a
	// region takes less than 64 KiB. An int holds it.
	maxRegion = min(1<<32+64<<10, math.MaxInt)
)

// append appends the letter to b.
func (l *letter) append(b []byte) []byte {
	b = append(b, letterMark...)
	b = append(b, letterVersion, byte(l.kind), byte(l.wakerFiles))
	for i := range l.regions {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(l.regions[i].path)))
	}
	for i := range l.regions {
		b = binary.LittleEndian.AppendUint64(b, l.regions[i].size)
	}
	for i := range l.regions {
		b = append(b, l.regions[i].path...)
	}
	return b
}

// readLetter reads a letter, and no byte behind it. The error names the field that is not valid.
func readLetter(r io.Reader) (*letter, error) {
	var b [letterBytes + 2*maxPath]byte
	if _, err := io.ReadFull(r, b[:letterBytes]); err != nil {
		return nil, fmt.Errorf("the first %d bytes: %w", letterBytes, err)
	}
	if got := string(b[:3]); got != letterMark {
		return nil, fmt.Errorf("the mark is %q, want %q", got, letterMark)
	}
	if b[3] != letterVersion {
		return nil, fmt.Errorf("the version is %d, want %d", b[3], letterVersion)
	}
	l := &letter{kind: Kind(b[4]), wakerFiles: int(b[5])}
	var lengths [2]int
	for d := range lengths {
		lengths[d] = int(binary.LittleEndian.Uint16(b[6+2*d:]))
		l.regions[d].size = binary.LittleEndian.Uint64(b[10+8*d:])
		if lengths[d] > maxPath {
			return nil, fmt.Errorf("the path of the %v has %d bytes, want at most %d", transport.Direction(d), lengths[d], maxPath)
		}
	}
	for d, n := range lengths {
		if _, err := io.ReadFull(r, b[:n]); err != nil {
			return nil, fmt.Errorf("the path of the %v: %w", transport.Direction(d), noEOF(err))
		}
		l.regions[d].path = string(b[:n])
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l, nil
}

// noEOF returns the error of an end inside of the letter.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// check returns an error that names the field which is not valid. The host checks its own letter, so that a process gets
// no letter that it refuses.
func (l *letter) check() error {
	if l.kind > File {
		return fmt.Errorf("the kind is %v, want sealed, named or file", l.kind)
	}
	if l.wakerFiles < 0 || l.wakerFiles > maxWakerFiles {
		return fmt.Errorf("the waker has %d files, want 0 to %d", l.wakerFiles, maxWakerFiles)
	}
	for i := range l.regions {
		d, p := transport.Direction(i), &l.regions[i]
		least, err := transport.Config{PayloadMax: 512, Aborts: 1}.RegionSize(d)
		if err != nil {
			return err
		}
		if p.size < uint64(least) || p.size > maxRegion {
			return fmt.Errorf("the size of the %v is %d bytes, want %d to %d", d, p.size, least, maxRegion)
		}
		if err := l.kind.checkPath(p.path); err != nil {
			return fmt.Errorf("the path of the %v %w", d, err)
		}
	}
	if l.kind == Named && l.regions[0].path == l.regions[1].path {
		return fmt.Errorf("both regions have the path %q", l.regions[0].path)
	}
	return nil
}

// checkPath checks the path of a region.
func (k Kind) checkPath(path string) error {
	switch {
	case k != Named:
		if path != "" {
			return fmt.Errorf("is %q, and %v regions have none", path, k)
		}
	case len(path) > maxPath:
		return fmt.Errorf("has %d bytes, want at most %d", len(path), maxPath)
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return fmt.Errorf("is %q, want a clean absolute path", path)
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("is %q, want no byte 0", path)
	case !strings.HasPrefix(filepath.Base(path), shm.NamePrefix):
		return fmt.Errorf("is %q, want a name that begins with %q", path, shm.NamePrefix)
	}
	return nil
}

// post writes the letter to a pipe, and returns the end to read.
func (l *letter) post() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(l.append(nil))
	if err = errors.Join(err, w.Close()); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}
