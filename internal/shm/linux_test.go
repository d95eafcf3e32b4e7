//go:build linux && !portable

package shm_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
)

const hasSealed = true

func init() {
	roles["attack"] = attack
	roles["full"] = full
	roles["limit"] = limit
	roles["named"] = holdNamed
}

// fdOf returns the descriptor of a region of this process.
func fdOf(r *shm.Region) int { return int(r.File().Fd()) }

// attempts are the ways to change a memory that seals refuse, with the errors that are right.
func attempts(fd int) map[string]error {
	_, sealErr := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	return map[string]error{
		"shrink":             unix.Ftruncate(fd, 1),
		"shrink to 0":        unix.Ftruncate(fd, 0),
		"grow":               unix.Ftruncate(fd, size+1),
		"grow by allocation": unix.Fallocate(fd, 0, 0, 10*size),
		"add a seal":         sealErr,
	}
}

// writes are the ways to write to a memory that a process must not write.
func writes(fd int) map[string]error {
	all := map[string]error{}
	_, all["write"] = unix.Pwrite(fd, []byte{1}, 0)
	all["punch a hole"] = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096)
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	all["map for writing"] = err
	if err == nil {
		_ = unix.Munmap(b)
	}
	if b, err = unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED); err == nil {
		all["make a mapping writable"] = unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)
		_ = unix.Munmap(b)
	}
	if f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0); err == nil {
		b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		all["open again and map for writing"] = err
		if err == nil {
			_ = unix.Munmap(b)
		}
		_ = f.Close()
	}
	return all
}

// attack tries all changes of two sealed regions with the descriptors 3 and 4. The worker may
// write the second one only.
func attack([]string) error {
	var errs []error
	check := func(region string, tried map[string]error) {
		for what, err := range tried {
			if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
				errs = append(errs, fmt.Errorf("%s of the %s: %v", what, region, err))
			}
		}
	}
	check("requests", attempts(3))
	check("requests", writes(3))
	check("answers", attempts(4))
	b, err := unix.Mmap(4, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	b[0] = 1
	return errors.Join(errs...)
}

// TestSealsRefuseEveryChange: no process can change the size of a sealed region, or write to
// one that the host writes. The host can still write.
func TestSealsRefuseEveryChange(t *testing.T) {
	requests, err := shm.Sealed("requests", size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	defer requests.Unmap()
	answers, err := shm.Sealed("answers", size, shm.There)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Unmap()
	for what, err := range attempts(fdOf(requests)) {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%s of the requests: %v", what, err)
		}
	}
	for what, err := range writes(fdOf(requests)) {
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
			t.Errorf("%s of the requests: %v", what, err)
		}
	}
	for what, err := range attempts(fdOf(answers)) {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%s of the answers: %v", what, err)
		}
	}
	requests.Bytes()[size-1] = 1
	cmd := proctest.Role(t, "attack")
	cmd.ExtraFiles = []*os.File{requests.File(), answers.File()}
	run(t, cmd)
	if answers.Bytes()[0] != 1 {
		t.Error("the host does not see the write of the worker")
	}
}

// memory returns a memory with some of the seals, or an ordinary file with seals of -1.
func memory(t *testing.T, bytes int64, seals int) *os.File {
	t.Helper()
	if seals == -1 {
		f, err := os.CreateTemp(t.TempDir(), "region")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(bytes); err != nil {
			t.Fatal(err)
		}
		return f
	}
	fd, err := unix.MemfdCreate("test", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "test")
	if err := f.Truncate(bytes); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOpenRefusesWhatIsNotSealed: Open maps no memory of another size or without all seals.
func TestOpenRefusesWhatIsNotSealed(t *testing.T) {
	const shrink, grow, seal, future, write = unix.F_SEAL_SHRINK, unix.F_SEAL_GROW, unix.F_SEAL_SEAL, unix.F_SEAL_FUTURE_WRITE, unix.F_SEAL_WRITE
	for _, tc := range []struct {
		name  string
		bytes int64
		seals int
		w     shm.Writer
		want  string // "": no error
	}{
		{"answers", size, shrink | grow | seal, shm.Here, ""},
		{"requests", size, shrink | grow | seal | future, shm.There, ""},
		{"requests of a constant", size, shrink | grow | seal | write, shm.There, ""},
		{"too short", size - 1, shrink | grow | seal, shm.Here, "it has 12351 bytes, want 12352"},
		{"too long", size + 1, shrink | grow | seal | future, shm.There, "it has 12353 bytes, want 12352"},
		{"empty", 0, shrink | grow | seal, shm.Here, "it has 0 bytes"},
		{"can shrink", size, grow | seal, shm.Here, "the seals SHRINK are missing"},
		{"can grow", size, shrink | seal, shm.Here, "the seals GROW are missing"},
		{"can be sealed", size, shrink | grow, shm.Here, "the seals SEAL are missing"},
		{"can be written", size, shrink | grow | seal, shm.There, "the seals FUTURE_WRITE are missing"},
		{"no seals", size, 0, shm.There, "the seals SHRINK, GROW, SEAL, FUTURE_WRITE are missing"},
		{"a file", size, -1, shm.Here, "are missing"},
	} {
		r, err := shm.Open(memory(t, tc.bytes, tc.seals), size, tc.w)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			} else if err := r.Unmap(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "shm: Open ") {
			t.Errorf("%s: %v; want an error of shm.Open with %q", tc.name, err, tc.want)
		}
	}
}

// blocks returns how many bytes of a file are allocated.
func blocks(t *testing.T, fd int) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestAllocation: a file and a named region have all of their memory at the start. A sealed
// region has none. K-058.
func TestAllocation(t *testing.T) {
	const size = 3<<20 + 5
	f, err := shm.File("/dev/shm", size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Unmap()
	if got := blocks(t, fdOf(f)); got < size {
		t.Errorf("the file has %d bytes, want %d", got, size)
	}
	path := filepath.Join("/dev/shm", shm.NamePrefix+fmt.Sprint("test-", os.Getpid()))
	n, err := shm.Named(path, size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Unmap()
	opened, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if got := blocks(t, int(opened.Fd())); got < size {
		t.Errorf("the named region has %d bytes, want %d", got, size)
	}
	s, err := shm.Sealed("test", size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Unmap()
	if got := blocks(t, fdOf(s)); got != 0 {
		t.Errorf("the sealed region has %d bytes at the start", got)
	}
}

// skipCode is the exit code of a role that this machine does not permit.
const skipCode = 77

// full makes regions in a file system of 1 MiB that only this process sees.
func full(args []string) error {
	dir := args[0]
	if err := unix.Mount("test", dir, "tmpfs", 0, "size=1m"); err != nil {
		fmt.Println("mount:", err)
		os.Exit(skipCode)
	}
	makers := map[string]func(size int) (*shm.Region, error){
		"File":  func(size int) (*shm.Region, error) { return shm.File(dir, size, shm.Here) },
		"Named": func(size int) (*shm.Region, error) { return shm.Named(dir+"/"+shm.NamePrefix+"x", size, shm.Here) },
	}
	for name, make := range makers {
		for range 3 { // a call that leaves something behind takes space from the next one
			r, err := make(4 << 20)
			if err == nil {
				for i := range r.Bytes() {
					r.Bytes()[i] = 1 // ends the process by SIGBUS
				}
			}
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "shm: "+name) {
				return fmt.Errorf("%s of 4 MiB: %v, want no space", name, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				return fmt.Errorf("%s has left %v, %v", name, left, err)
			}
			if r, err = make(900 << 10); err != nil {
				return fmt.Errorf("%s of 900 KiB after an error: %w", name, err)
			}
			if _, err := make(200 << 10); err == nil {
				return fmt.Errorf("%s: two regions of 1,100 KiB in all have space", name)
			}
			for i := range r.Bytes() {
				r.Bytes()[i] = 1
			}
			if err := r.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestFullFileSystem: a file system without space is an error of the call, and no signal when
// the memory is touched. K-058.
func TestFullFileSystem(t *testing.T) {
	cmd := proctest.Role(t, "full", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := proctest.Output(t, cmd)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == skipCode {
		t.Skip(out)
	}
	if err != nil {
		t.Errorf("the other process: %v\n%s", err, out)
	}
}

// limit makes regions with the limit of open files reached.
func limit([]string) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	l.Cur = uint64(f.Fd())
	f.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	dir := os.TempDir()
	for want, call := range map[string]func() (*shm.Region, error){
		"shm: Sealed \"x\": memfd_create: too many open files": func() (*shm.Region, error) { return shm.Sealed("x", 1, shm.Here) },
		"shm: File " + fmt.Sprintf("%q: open ", dir):           func() (*shm.Region, error) { return shm.File(dir, 1, shm.There) },
	} {
		if _, err := call(); !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("with no descriptor left: %v, want %s", err, want)
		}
	}
	return nil
}

// TestFileLimit: the limit of open files is an error that names the call.
func TestFileLimit(t *testing.T) { run(t, proctest.Role(t, "limit")) }

// holdNamed makes a named region, writes its size, and waits for the end of its input.
func holdNamed(args []string) error {
	if _, err := shm.Named(args[0], size, shm.Here); err != nil {
		return err
	}
	fmt.Println(size)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// listening starts a role and returns when it has written a line. It ends when its standard
// input ends, or when it is killed.
func listening(t *testing.T, cmd *exec.Cmd) (line string, stdin io.Closer) {
	t.Helper()
	proctest.Need(t)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("a test cannot start %s here: %v", cmd.Path, err)
	}
	if _, err := fmt.Fscanln(out, &line); err != nil {
		t.Fatalf("the other process has written no line: %v", err)
	}
	return line, in
}

// TestRemoveDead: the regions of hosts that run stay, and those of a killed host are removed. No
// other file is touched.
func TestRemoveDead(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, shm.NamePrefix+s) }
	for _, other := range []string{"other", "x" + shm.NamePrefix} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(name("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "other"), name("link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(name("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, err := shm.Named(name("mine"), size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]*exec.Cmd, 2)
	for i := range hosts {
		hosts[i] = proctest.Role(t, "named", name(fmt.Sprint("host", i)))
		listening(t, hosts[i])
	}
	removed := func(want int, when string) {
		t.Helper()
		if n, err := shm.RemoveDead(dir); n != want || err != nil {
			t.Errorf("%s: %d removed, %v; want %d", when, n, err, want)
		}
	}
	removed(0, "while all hosts run")
	if _, err := shm.Named(name("host0"), size, shm.Here); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second region of one name: %v, want os.ErrExist", err)
	}
	worker, err := shm.OpenNamed(name("host0"), size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Unmap()
	worker.Bytes()[0] = 5
	hosts[0].Process.Kill()
	hosts[0].Wait()
	removed(1, "after the death of a host")
	removed(0, "again")
	if worker.Bytes()[0] != 5 {
		t.Error("the worker has lost its memory")
	}
	hosts[1].Process.Kill()
	hosts[1].Wait()
	next, err := shm.Named(name("host1"), size, shm.Here)
	if err != nil {
		t.Errorf("the name of a dead host is not free: %v", err)
	} else if next.Bytes()[0] != 0 {
		t.Error("the new region has the bytes of the dead host")
	}
	for _, r := range []*shm.Region{mine, next} {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 5 {
		t.Errorf("the folder has %v, %v; want the five other files", left, err)
	}
	if _, err := shm.RemoveDead(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("RemoveDead of a missing folder: %v", err)
	}
}

// TestNamedBesideRemoveDead: no region of a live host is lost while other goroutines remove the
// regions of dead ones.
func TestNamedBesideRemoveDead(t *testing.T) {
	dir := t.TempDir()
	stop, done := make(chan struct{}), make(chan error)
	for range 2 {
		go func() {
			var errs []error
			for {
				select {
				case <-stop:
					done <- errors.Join(errs...)
					return
				default:
					_, err := shm.RemoveDead(dir)
					errs = append(errs, err)
				}
			}
		}()
	}
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	for i := range rounds {
		path := filepath.Join(dir, fmt.Sprint(shm.NamePrefix, i%3))
		r, err := shm.Named(path, 64, shm.Here)
		if err != nil {
			t.Error(err)
			break
		}
		r.Bytes()[0] = byte(i)
		if o, err := shm.OpenNamed(path, 64, shm.There); err != nil || o.Bytes()[0] != byte(i) {
			t.Errorf("region %d: %v", i, err)
		} else if err := o.Unmap(); err != nil {
			t.Error(err)
		}
		if i%2 == 0 {
			err = r.Close()
		} else {
			err = r.Unmap()
		}
		if err != nil {
			t.Error(err)
		}
	}
	close(stop)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestNamedRefuses: names without the prefix, and what OpenNamed must not open, are errors that
// name the path.
func TestNamedRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, shm.NamePrefix+"file")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, shm.NamePrefix+"link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(path string) (*shm.Region, error){
		filepath.Join(dir, "no-prefix"):           func(p string) (*shm.Region, error) { return shm.Named(p, 1, shm.Here) },
		filepath.Join(dir, "no", "lanewright-x"):  func(p string) (*shm.Region, error) { return shm.Named(p, 1, shm.Here) },
		filepath.Join(dir, shm.NamePrefix+"none"): func(p string) (*shm.Region, error) { return shm.OpenNamed(p, 1, shm.Here) },
		file: func(p string) (*shm.Region, error) { return shm.OpenNamed(p, 4, shm.Here) },
		link: func(p string) (*shm.Region, error) { return shm.OpenNamed(p, 3, shm.Here) },
		dir:  func(p string) (*shm.Region, error) { return shm.OpenNamed(p, 4096, shm.There) },
	} {
		if _, err := call(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v; want an error that names it", name, err)
		}
	}
	if _, err := shm.Named(link, 1, shm.Here); !errors.Is(err, os.ErrExist) {
		t.Errorf("Named of a symbolic link: %v, want os.ErrExist", err)
	}
}

// TestFileOfTheHostIsReadOnly: the descriptor of a file that the host writes gives no access for
// writing.
func TestFileOfTheHostIsReadOnly(t *testing.T) {
	r, err := shm.File(t.TempDir(), size, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Unmap()
	if err := unix.Ftruncate(fdOf(r), 0); err == nil {
		t.Error("the other process can truncate the region")
	}
	if _, err := unix.Mmap(fdOf(r), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("the other process can map the region for writing")
	}
}

// mappings returns the lines of the mappings of this process that begin at an address.
func mappings(t *testing.T, at uintptr) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	for line := range bytes.Lines(text) {
		var from, to uintptr
		if _, err := fmt.Sscanf(string(line), "%x-%x", &from, &to); err != nil {
			t.Fatal(err)
		}
		if from <= at && at < to {
			return string(line)
		}
	}
	return ""
}

// TestUnmapGivesTheRangeBack: Unmap unmaps at once, and Close when no pointer to the Region is
// left. Until then the range of a closed Region stays its own.
func TestUnmapGivesTheRangeBack(t *testing.T) {
	for _, k := range kinds(t) {
		r, err := k.host(t, 1<<20, shm.Here)
		if err != nil {
			t.Fatal(err)
		}
		at := address(r.Bytes())
		if mappings(t, at) == "" {
			t.Fatalf("%s: the region is not mapped", k.name)
		}
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		if line := mappings(t, at); line != "" {
			t.Errorf("%s: mapped after Unmap: %s", k.name, line)
		}
		if r, err = k.host(t, 1<<20, shm.Here); err != nil {
			t.Fatal(err)
		}
		at = address(r.Bytes())
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		if mappings(t, at) == "" {
			t.Errorf("%s: a closed region with a pointer to it is not mapped", k.name)
		}
		runtime.KeepAlive(r)
		r = nil
		for deadline := time.Now().Add(time.Minute); mappings(t, at) != ""; runtime.GC() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: mapped although no pointer to the region is left", k.name)
			}
		}
	}
}

// TestMappingKeepsNoFile: the host of a region has one descriptor, which it passes on or which has the lock of the
// name. The process that opens the region has none. K-118.
func TestMappingKeepsNoFile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close a file that was lost
	for round := range 2 {
		for _, k := range kinds(t) {
			for _, w := range []shm.Writer{shm.Here, shm.There} {
				before := openFiles(t)
				r, err := k.host(t, size, w)
				if err != nil {
					t.Fatal(err)
				}
				made := openFiles(t)
				arg := k.pass(new(exec.Cmd), r)
				if f := r.File(); f != nil {
					fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
					if err != nil {
						t.Fatal(err)
					}
					arg = fmt.Sprintf("%s:%d", k.name, fd)
				}
				o, err := open(arg, size, shm.There-w)
				if err != nil {
					t.Fatal(err)
				}
				opened := openFiles(t)
				if round > 0 && (made != before+1 || opened != made) { // the first one may open what the runtime keeps
					t.Errorf("%s, written %v: %d files before, %d when it is made, %d when it is opened", k.name, w, before, made, opened)
				}
				if err := errors.Join(o.Close(), r.Close()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// open files of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// TestNothingIsLeft: regions that are made and closed, or that fail, leave no descriptor open.
func TestNothingIsLeft(t *testing.T) {
	for _, k := range kinds(t) {
		before := 0
		for i := range 50 {
			if i == 1 {
				before = openFiles(t) // the first one may open what the runtime keeps
			}
			for _, w := range []shm.Writer{shm.Here, shm.There} {
				r, err := k.host(t, size, w)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if strconv.IntSize < 64 {
				continue // there may be space
			}
			if _, err := k.host(t, math.MaxInt, shm.Here); err == nil {
				t.Fatalf("%s: a region of 2^63-1 bytes", k.name)
			}
		}
		if after := openFiles(t); after > before {
			t.Errorf("%s: %d open files, want %d as before", k.name, after, before)
		}
	}
}
