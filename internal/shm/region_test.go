package shm_test

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
)

// A Region is a Region of package transport.
var _ interface {
	Bytes() []byte
	Close() error
} = (*shm.Region)(nil)

// TestProcessesShareMemory: another process sees the bytes of the host, and the host sees the
// bytes of the other process, in regions of every kind. K-007.
func TestProcessesShareMemory(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			requests, answers := host(t, k, size, shm.Here), (*shm.Region)(nil)
			cmd := proctest.Role(t, "worker")
			cmd.Args = append(cmd.Args, k.pass(cmd, requests))
			answers = host(t, k, size, shm.There)
			cmd.Args = append(cmd.Args, k.pass(cmd, answers))
			for i := range requests.Bytes() {
				requests.Bytes()[i] = pattern(i)
			}
			run(t, cmd)
			for i, b := range answers.Bytes() {
				if b != ^pattern(i) {
					t.Fatalf("byte %d of the answers is %d, want %d", i, b, ^pattern(i))
				}
			}
		})
	}
}

// TestNewRegion: a region has its size, is zero, begins at a page, and is mapped for its writer.
func TestNewRegion(t *testing.T) {
	for _, k := range kinds(t) {
		for _, n := range []int{1, 64, os.Getpagesize(), size, 1<<20 + 1} {
			for _, w := range []shm.Writer{shm.Here, shm.There} {
				b := host(t, k, n, w).Bytes()
				if len(b) != n || cap(b) != n {
					t.Errorf("%s, %v: %d bytes with a capacity of %d, want %d", k.name, w, len(b), cap(b), n)
				}
				if at := address(b); at%uintptr(os.Getpagesize()) != 0 {
					t.Errorf("%s, %v: the region begins at %#x", k.name, w, at)
				}
				if i := bytes.IndexFunc(b, func(r rune) bool { return r != 0 }); i >= 0 {
					t.Errorf("%s, %v: byte %d is not 0", k.name, w, i)
				}
				if w == shm.Here {
					b[n-1] = 1
				}
			}
		}
	}
}

// TestCloseReplacesByZeros: after Close the bytes are zeros at the same address. They can be
// read and written without a fault, and another mapping of the region sees no write.
func TestCloseReplacesByZeros(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			r, err := k.host(t, size, shm.Here)
			if err != nil {
				t.Fatal(err)
			}
			b := r.Bytes()
			for i := range b {
				b[i] = pattern(i)
			}
			var other *shm.Region
			if f := r.File(); f != nil { // a region that is opened in the same process
				other, err = open(k.name+":"+descriptor(t, f), size, shm.There)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if &b[0] != &r.Bytes()[0] || !bytes.Equal(b, make([]byte, size)) {
				t.Error("the bytes after Close are not zeros at the same address")
			}
			b[0], b[size-1] = 9, 9
			if other != nil && (other.Bytes()[0] != pattern(0) || other.Bytes()[size-1] != pattern(size-1)) {
				t.Error("a write after Close has reached another mapping of the region")
			}
			if err := r.Close(); err != nil {
				t.Errorf("a second Close: %v", err)
			}
			if err := r.Unmap(); err != nil {
				t.Errorf("Unmap after Close: %v", err)
			}
			runtime.KeepAlive(r)
		})
	}
}

// TestCloseBesideReaders: goroutines that read a region while it is closed see old bytes or
// zeros, and do not fault.
func TestCloseBesideReaders(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for _, k := range kinds(t) {
		for range rounds {
			r, err := k.host(t, size, shm.Here)
			if err != nil {
				t.Fatal(err)
			}
			words := wordsOf(r.Bytes())
			for i := range words {
				words[i].Store(0xAAAAAAAA)
			}
			var reading, done sync.WaitGroup
			var stop atomic.Bool
			for range 2 {
				reading.Add(1)
				done.Go(func() {
					reading.Done()
					for !stop.Load() {
						for i := range words {
							if v := words[i].Load(); v != 0xAAAAAAAA && v != 0 {
								t.Errorf("word %d is %#x", i, v)
								return
							}
						}
					}
				})
			}
			reading.Wait()
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			stop.Store(true)
			done.Wait()
			runtime.KeepAlive(r)
		}
	}
}

// TestDetach: Detach closes the descriptor and keeps the memory.
func TestDetach(t *testing.T) {
	for _, k := range kinds(t) {
		r := host(t, k, size, shm.Here)
		f := r.File()
		for range 2 {
			if err := r.Detach(); err != nil {
				t.Fatal(err)
			}
		}
		if r.File() != nil {
			t.Errorf("%s: a descriptor is left", k.name)
		}
		if f != nil && !errors.Is(f.Close(), os.ErrClosed) {
			t.Errorf("%s: the descriptor is open", k.name)
		}
		r.Bytes()[size-1] = 1
	}
}

// TestErrorsNameCallAndObject: bad arguments are errors that name the call and the object, and
// leave nothing behind.
func TestErrorsNameCallAndObject(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) *os.File {
		f, err := os.CreateTemp(dir, "other")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		return f
	}
	folder := func() *os.File {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	shut := file("")
	shut.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, tc := range []struct {
		name string
		call func() (*shm.Region, error)
		want []string
	}{
		{"size 0", func() (*shm.Region, error) { return shm.File(dir, 0, shm.Here) }, []string{"shm: File", dir, "0 bytes"}},
		{"size -1", func() (*shm.Region, error) { return shm.Sealed("x", -1, shm.Here) }, []string{"shm: Sealed", "x", "-1 bytes"}},
		{"writer", func() (*shm.Region, error) { return shm.File(dir, 1, 2) }, []string{"shm: File", dir, "Writer(2)"}},
		{"folder missing", func() (*shm.Region, error) { return shm.File(dir+"/none", 1, shm.Here) }, []string{"shm: File", dir + "/none", "no such file"}},
		{"folder is a file", func() (*shm.Region, error) { return shm.File(os.Args[0], 1, shm.Here) }, []string{"shm: File", os.Args[0]}},
		{"nil", func() (*shm.Region, error) { return shm.OpenFile(nil, 1, shm.Here) }, []string{"shm: OpenFile", "invalid"}},
		{"closed", func() (*shm.Region, error) { return shm.OpenFile(shut, 1, shm.Here) }, []string{"shm: OpenFile", shut.Name(), "closed"}},
		{"too short", func() (*shm.Region, error) { return shm.OpenFile(file("abc"), 4, shm.Here) }, []string{"shm: OpenFile", "3 bytes, want 4"}},
		{"too long", func() (*shm.Region, error) { return shm.OpenFile(file("abc"), 2, shm.There) }, []string{"shm: OpenFile", "3 bytes, want 2"}},
		{"a folder", func() (*shm.Region, error) { return shm.OpenFile(folder(), 4096, shm.There) }, []string{"shm: OpenFile", dir, "no file"}},
		{"a pipe", func() (*shm.Region, error) { return shm.OpenFile(reader, 4096, shm.There) }, []string{"shm: OpenFile", "no file"}},
		{"size 0 opened", func() (*shm.Region, error) { return shm.OpenFile(file(""), 0, shm.There) }, []string{"shm: OpenFile", "0 bytes"}},
	} {
		r, err := tc.call()
		if r != nil || err == nil {
			t.Errorf("%s: %v, %v; want an error", tc.name, r, err)
			continue
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error %q does not name %q", tc.name, err, w)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 { // of the calls of file
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// TestOpenClosesFile: the file that is opened is closed in all cases. K-118.
func TestOpenClosesFile(t *testing.T) {
	for name, n := range map[string]int64{"right size": size, "wrong size": 1} {
		f, err := os.CreateTemp(t.TempDir(), "region")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(n); err != nil {
			t.Fatal(err)
		}
		if r, err := shm.OpenFile(f, size, shm.Here); err == nil {
			if err := r.Unmap(); err != nil {
				t.Error(err)
			}
		}
		if !errors.Is(f.Close(), os.ErrClosed) {
			t.Errorf("%s: the file is open", name)
		}
	}
}

// TestWriterString: each writer has a name.
func TestWriterString(t *testing.T) {
	if got := shm.Here.String() + " " + shm.There.String() + " " + shm.Writer(7).String(); got != "here there Writer(7)" {
		t.Errorf("names of the writers: %s", got)
	}
}
