//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestStartFails checks that a program which cannot be started is an error that names what is wrong: the program, the
// prefix or the directory. It leaves nothing open.
func TestStartFails(t *testing.T) {
	proctest.Need(t)
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	plain := write(t, dir, "plain", 0o600)
	broken := write(t, dir, "broken", 0o700)
	write(t, dir, "bin/unfit", 0o600)
	if err := os.Mkdir(filepath.Join(dir, "bin", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start(t, command("waits")) // what the first process needs is there
	before := descriptors()
	for _, tc := range []struct {
		name  string
		c     child.Command
		names string
		is    error
	}{
		{"missing", child.Command{Argv: []string{missing}}, missing, fs.ErrNotExist},
		{"directory", child.Command{Argv: []string{dir}}, dir, syscall.EISDIR},
		{"not executable", child.Command{Argv: []string{plain}}, plain, fs.ErrPermission},
		{"no program", child.Command{Argv: []string{broken}}, broken, syscall.ENOEXEC},
		{"not in PATH", child.Command{Argv: []string{"missing"}}, `"missing"`, nil},
		{"not executable in PATH", child.Command{Argv: []string{"unfit"}}, `"unfit"`, nil},
		{"directory in PATH", child.Command{Argv: []string{"folder"}}, `"folder"`, nil},
		{"no name", child.Command{Argv: []string{""}}, `""`, nil},
		{"not in Dir", child.Command{Argv: []string{"./plain"}, Dir: "/"}, "/plain", fs.ErrNotExist},
		{"not executable in Dir", child.Command{Argv: []string{"./plain"}, Dir: dir}, plain, fs.ErrPermission},
		{"prefix", child.Command{Prefix: []string{missing}, Argv: []string{self}}, missing, fs.ErrNotExist},
		{"Dir is missing", child.Command{Argv: []string{self}, Dir: missing}, "field Dir: stat " + missing, fs.ErrNotExist},
		{"Dir is a file", child.Command{Argv: []string{self}, Dir: plain}, "field Dir: chdir " + plain, syscall.ENOTDIR},
		{"Dir is a file, with a prefix", child.Command{Prefix: []string{self}, Dir: plain}, "field Dir: chdir " + plain, syscall.ENOTDIR},
	} {
		p, err := child.Start(tc.c)
		if p != nil || err == nil || !strings.HasPrefix(err.Error(), "child: Start: ") || !strings.Contains(err.Error(), tc.names) {
			t.Errorf("%s: %v, %v; want an error that names %s", tc.name, p, err, tc.names)
		}
		if tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v is not %v", tc.name, err, tc.is)
		}
	}
	if after := descriptors(); after != before {
		t.Errorf("%d descriptors before, %d afterwards", before, after)
	}
}

// write writes a file that is no program.
func write(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("no program"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProgramIsLookedUpInDir checks that a program with a slash is that of the directory of the process, and not of the
// host. One without is looked up in PATH.
func TestProgramIsLookedUpInDir(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "bin/program", 0o700)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for _, tc := range []struct{ name, dir string }{
		{"./program", filepath.Join(dir, "bin")},
		{"bin/program", dir},
		{"../bin/program", filepath.Join(dir, "bin")},
		{path, "/"},
		{"program", "/"},
	} {
		if got, err := child.LookUp(tc.name, tc.dir); got != path || err != nil {
			t.Errorf("%s in %s is %q, %v", tc.name, tc.dir, got, err)
		}
	}
	t.Setenv("PATH", "bin")
	t.Chdir(dir)
	if got, err := child.LookUp("program", dir); err == nil || !strings.Contains(err.Error(), "program") {
		t.Errorf("a program in a PATH that depends on the directory: %q, %v", got, err)
	}
}

// TestDirOfHost checks that a relative Dir is in the directory of the host, as the program of a prefix is in Dir.
func TestDirOfHost(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	c := command("tells")
	c.Dir = "sub"
	p := start(t, c)
	if text := outputOf(t, p); !strings.Contains(text, "/sub\n") {
		t.Errorf("the output is %q", text)
	}
}

// TestStartRefusesFiles checks that too many files, one that is nil and one that is closed are errors of Start, and not
// of the process. An error names the file.
func TestStartRefusesFiles(t *testing.T) {
	open, closed := pipe(t)
	closed.Close()
	beneath, fd := closedBeneath(t)
	for _, tc := range []struct {
		name  string
		files []*os.File
		names string
		is    error
	}{
		{"nil", []*os.File{open, nil}, "field Files[1] is nil", os.ErrInvalid},
		{"too many", slices.Repeat([]*os.File{open}, child.MaxFiles+1), "field Files has " + strconv.Itoa(child.MaxFiles+1), os.ErrInvalid},
		{"closed", []*os.File{open, open, closed}, "field Files[2] is closed", os.ErrClosed},
		{"descriptor closed", []*os.File{beneath}, "field Files[0] is closed", os.ErrClosed},
	} {
		p, err := child.Start(command("waits", tc.files...))
		if p != nil || !errors.Is(err, tc.is) || !strings.HasPrefix(err.Error(), "child: Start: "+tc.names) {
			t.Errorf("%s: %v, %v; want %q", tc.name, p, err, tc.names)
		}
	}
	// The file closes this number at its end.
	if again, err := unix.FcntlInt(open.Fd(), unix.F_DUPFD_CLOEXEC, fd); again != fd || err != nil {
		t.Fatalf("descriptor %d was taken in between: %d, %v", fd, again, err)
	}
	beneath.Close()
}

// closedBeneath returns a file whose descriptor was closed in another way.
func closedBeneath(t *testing.T) (f *os.File, fd int) {
	t.Helper()
	r, _ := pipe(t)
	fd, err := unix.FcntlInt(r.Fd(), unix.F_DUPFD_CLOEXEC, 200) // a number that no other test takes
	if err != nil {
		t.Fatal(err)
	}
	f = os.NewFile(uintptr(fd), "closed beneath")
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	return f, fd
}

// descriptors returns how many descriptors this process has.
func descriptors() (n int) {
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}
