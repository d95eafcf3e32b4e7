//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package process_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/process"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// least and most are the links with the smallest and with the largest regions.
var (
	least = transport.Config{PayloadMax: 512, Aborts: 1}
	most  = transport.Config{PayloadMax: min(1<<32-64, (math.MaxInt-28<<10)&^63), Aborts: transport.MaxAborts}
)

// sizesOf returns the sizes of the regions of a link.
func sizesOf(tb testing.TB, c transport.Config) (n [2]uint64) {
	tb.Helper()
	for d := range n {
		size, err := c.RegionSize(transport.Direction(d))
		if err != nil {
			tb.Fatal(err)
		}
		n[d] = uint64(size)
	}
	return n
}

// named returns the letter of Named regions.
func named(tb testing.TB, requests, answers string) process.Letter {
	tb.Helper()
	return process.Letter{Kind: process.Named, Sizes: sizesOf(tb, small), Paths: [2]string{requests, answers}}
}

// goodLetters are letters that a process accepts. The last one is the longest.
func goodLetters(tb testing.TB) []process.Letter {
	tb.Helper()
	dir := strings.Repeat("/d", process.MaxPath/2-6)
	return []process.Letter{
		{Kind: process.Sealed, Sizes: sizesOf(tb, small)},
		{Kind: process.File, WakerFiles: child.MaxFiles - 3, Sizes: sizesOf(tb, least)},
		{Kind: process.File, WakerFiles: 4, Sizes: sizesOf(tb, most)},
		named(tb, "/dev/shm/lanewright-1-1", "/lanewright-1-2"),
		named(tb, dir+"/"+shm.NamePrefix, "/e"+dir[2:]+"/"+shm.NamePrefix),
	}
}

// TestLetter checks that a letter is read as it was written, that no byte behind it is read, and that the longest one
// fits the shortest pipe of Linux, which is a page.
func TestLetter(t *testing.T) {
	longest := 0
	for _, l := range goodLetters(t) {
		b := l.Bytes()
		r := bytes.NewReader(append(b, "next"...))
		got, err := process.ReadLetter(r)
		if err != nil || *got != l {
			t.Errorf("%+v was read as %+v, %v", l, got, err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "next" {
			t.Errorf("%+v: %q is left behind the letter", l, rest)
		}
		longest = max(longest, len(b))
	}
	if longest != 26+2*process.MaxPath || longest > 4096 {
		t.Errorf("the longest letter has %d bytes", longest)
	}
}

// TestLetterLayout checks the bytes of a letter. A change of them takes another version.
func TestLetterLayout(t *testing.T) {
	l := process.Letter{Kind: process.Named, WakerFiles: 4, Sizes: [2]uint64{0x1122334455667788, 0x99}, Paths: [2]string{"ab", "cde"}}
	want := []byte("LWP\x01\x01\x04\x02\x00\x03\x00\x88\x77\x66\x55\x44\x33\x22\x11\x99\x00\x00\x00\x00\x00\x00\x00abcde")
	if got := l.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLetterIsChecked reads letters with one field wrong. Each is refused by an error that names the field.
func TestLetterIsChecked(t *testing.T) {
	good, names := goodLetters(t)[0], goodLetters(t)[3]
	size := func(d int, n uint64) process.Letter {
		l := good
		l.Sizes[d] = n
		return l
	}
	low, high := sizesOf(t, least), sizesOf(t, most)
	with := func(l process.Letter, at int, with ...byte) []byte {
		return slices.Concat(l.Bytes()[:at], with, l.Bytes()[at+len(with):])
	}
	bytesOf := func(l process.Letter) []byte { return l.Bytes() }
	for _, tc := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "the first 26 bytes: EOF"},
		{"cut", good.Bytes()[:25], "the first 26 bytes: unexpected EOF"},
		{"mark", with(good, 0, 'l'), `the mark is "lWP"`},
		{"mark of a link", with(good, 2, 0), `the mark is "LW\x00"`},
		{"version before", with(good, 3, 0), "the version is 0, want 1"},
		{"version after", with(good, 3, 2), "the version is 2, want 1"},
		{"kind", with(good, 4, 3), "the kind is Kind(3)"},
		{"files of the waker", with(good, 5, child.MaxFiles-2), "the waker has 62 files, want 0 to 61"},
		{"length of requests", with(names, 6, 1, 4), "the path of the requests has 1025 bytes, want at most 1024"},
		{"length of answers", with(names, 8, 255, 255), "the path of the answers has 65535 bytes, want at most 1024"},
		{"requests too small", bytesOf(size(0, low[0]-1)), "the size of the requests is"},
		{"requests empty", bytesOf(size(0, 0)), "the size of the requests is 0 bytes"},
		{"requests too large", bytesOf(size(0, high[0]+1<<20)), "the size of the requests is"},
		{"requests negative", bytesOf(size(0, math.MaxUint64)), "the size of the requests is"},
		{"answers too small", bytesOf(size(1, low[1]-1)), "the size of the answers is"},
		{"answers too large", bytesOf(size(1, 1<<63)), "the size of the answers is"},
		{"path cut", names.Bytes()[:30], "the path of the requests: unexpected EOF"},
		{"second path cut", names.Bytes()[:26+len(names.Paths[0])], "the path of the answers: unexpected EOF"},
		{"path of sealed", with(named(t, "/lanewright-1", ""), 4, 0), `the path of the requests is "/lanewright-1", and sealed regions have none`},
		{"path of a file", with(named(t, "", "/lanewright-1"), 4, 2), `the path of the answers is "/lanewright-1", and file regions have none`},
		{"no path", bytesOf(named(t, "/lanewright-1", "")), `the path of the answers is "", want a clean absolute path`},
		{"relative", bytesOf(named(t, "lanewright-1", "/lanewright-2")), "the path of the requests is"},
		{"not clean", bytesOf(named(t, "/lanewright-1", "/../lanewright-2")), "the path of the answers is"},
		{"name of another", bytesOf(named(t, "/lanewright-1", "/lanewright-1/passwd")), `want a name that begins with "lanewright-"`},
		{"byte 0", bytesOf(named(t, "/lanewright-\x00", "/lanewright-2")), "want no byte 0"},
		{"one path", bytesOf(named(t, "/lanewright-1", "/lanewright-1")), `both regions have the path "/lanewright-1"`},
	} {
		if l, err := process.ReadLetter(bytes.NewReader(tc.b)); l != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %+v, %v; want an error with %q", tc.name, l, err, tc.want)
		}
	}
}

// FuzzLetter reads any bytes. The reader never panics, reads no byte behind the letter, and accepts only letters within
// the bounds, which are written to the same bytes again.
func FuzzLetter(f *testing.F) {
	for _, l := range goodLetters(f) {
		f.Add(l.Bytes())
	}
	low, high := sizesOf(f, least), sizesOf(f, most)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		l, err := process.ReadLetter(r)
		if err != nil {
			if l != nil {
				t.Fatalf("a letter with the error %v", err)
			}
			return
		}
		if back := l.Bytes(); !bytes.Equal(back, b[:len(b)-r.Len()]) {
			t.Fatalf("% x became % x", b, back)
		}
		for d, n := range l.Sizes {
			if n < low[d] || n > high[d]+64<<10 || l.Kind > process.File || l.WakerFiles > child.MaxFiles {
				t.Fatalf("%+v was accepted", l)
			}
			if path := l.Paths[d]; (path != "") != (l.Kind == process.Named) || path != "" && !strings.Contains(path, "/"+shm.NamePrefix) {
				t.Fatalf("%+v was accepted", l)
			}
		}
	})
}

// post returns the end to read of a pipe with the bytes in it.
func post(t *testing.T, b []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	_, err = w.Write(b)
	must(t, errors.Join(err, w.Close()))
	t.Cleanup(func() { r.Close() })
	return r
}

// TestAttachRefuses starts processes with a letter or files that the host does not pass. The process says on its standard
// error what it cannot use.
func TestAttachRefuses(t *testing.T) {
	proctest.Need(t)
	good := goodLetters(t)[1] // of File regions, which every system has
	good.WakerFiles, good.Sizes = 0, sizesOf(t, small)
	region := func(size uint64, w shm.Writer) *os.File {
		r, err := shm.File(t.TempDir(), int(size), w)
		must(t, err)
		t.Cleanup(func() { r.Unmap() })
		return r.File()
	}
	requests, answers := region(good.Sizes[0], shm.Here), region(good.Sizes[1], shm.There)
	version := good.Bytes()
	version[3]++
	unmatched := good.Bytes()
	binary.LittleEndian.PutUint64(unmatched[10:], good.Sizes[0]+64)
	sealed := good.Bytes()
	sealed[4] = byte(process.Sealed)
	wakers := good.Bytes()
	wakers[5] = 1
	for _, tc := range []struct {
		name  string
		files []*os.File
		want  string
	}{
		{"no files", nil, "no descriptors"},
		{"no letter", []*os.File{post(t, nil), requests, answers}, "the letter: the first 26 bytes: EOF"},
		{"a version", []*os.File{post(t, version), requests, answers}, "the letter: the version is 2, want 1"},
		{"a file is missing", []*os.File{post(t, good.Bytes()), requests}, "1 descriptors behind the letter, want 2 for file regions and 0 files of the waker"},
		{"a file too many", []*os.File{post(t, good.Bytes()), requests, answers, requests}, "3 descriptors behind the letter, want 2"},
		{"a file of the waker is missing", []*os.File{post(t, wakers), requests, answers}, "2 descriptors behind the letter, want 3"},
		{"another size", []*os.File{post(t, unmatched), requests, answers}, "the region of requests: shm: OpenFile"},
		{"no seals", []*os.File{post(t, sealed), requests, answers}, "the region of requests: shm: Open"},
		{"exchanged", []*os.File{post(t, good.Bytes()), answers, requests}, "the region of"},
		{"another waker", []*os.File{post(t, wakers), requests, answers, requests}, "the waker: futex: OpenWaker"},
	} {
		p, err := child.Start(child.Command{Env: environment("echoes"), Files: tc.files})
		must(t, err)
		<-p.Done()
		<-p.OutputRead()
		if p.State().Code != 9 || !strings.HasPrefix(p.Tail(), "process: Attach: ") || !strings.Contains(p.Tail(), tc.want) {
			t.Errorf("%s: %v, %q; want %q", tc.name, p.State(), p.Tail(), tc.want)
		}
	}
}
