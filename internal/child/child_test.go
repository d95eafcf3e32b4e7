//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/proctest"
)

// roleVariable is the environment variable with the role of a process of these tests.
const roleVariable = "CHILD_TEST_ROLE"

// original is the environment with which this process was started.
var original = os.Environ()

// TestMain runs the tests, or the role of a process that child.Start has started, or that of a host.
func TestMain(m *testing.M) {
	role, ok := os.LookupEnv(roleVariable)
	if !ok {
		proctest.Main(m, hosts)
		return
	}
	if f := unattached[role]; f != nil {
		f()
	}
	files, isChild, err := child.Attach()
	if !isChild || err != nil {
		fmt.Println("Attach:", isChild, err)
		os.Exit(9)
	}
	if _, again, err := child.Attach(); again || err != nil {
		fmt.Println("a second Attach:", again, err)
		os.Exit(9)
	}
	if !child.IsChild() {
		fmt.Println("no child after Attach")
		os.Exit(9)
	}
	children[role](files)
}

// hosts are the roles of processes that start processes and end.
var hosts = map[string]func(args []string) error{"host": host}

// unattached are the roles of processes that do something before they call Attach, or instead.
var unattached = map[string]func(){
	"heir": func() {
		_, ok, err := child.Attach()
		fmt.Println("heir:", child.IsChild(), ok, err)
		os.Exit(0)
	},
	"bequeaths": func() { fmt.Print(runHeir(nil, false)) },
	"founds":    func() { fmt.Print(runHeir(nil, true)) },
}

// originalAs returns the original environment with another role.
func originalAs(role string) []string {
	env := slices.DeleteFunc(slices.Clone(original), func(e string) bool { return strings.HasPrefix(e, roleVariable+"=") })
	return append(env, roleVariable+"="+role)
}

// runHeir runs a process that is no child of Start, with the environment of one. It returns its output.
func runHeir(files []*os.File, session bool) string {
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	cmd := exec.Command(self)
	cmd.Env = originalAs("heir")
	cmd.ExtraFiles = files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// long is how long a process runs that its host does not end, so that a failed test leaves none behind.
const long = 2 * time.Minute

// flood is the number of lines of a process that writes more than waits for Command.Output.
const flood = 50_000

// children are the roles of processes that Start has started.
var children = map[string]func(files []*os.File){
	"waits": func([]*os.File) { <-time.After(long) },
	"spins": func(files []*os.File) {
		fmt.Fprintln(files[0], os.Getpid())
		for from := time.Now(); time.Since(from) < long; { // it never gives its processor up
		}
	},
	"exits": func(files []*os.File) {
		var code int
		_, _ = fmt.Fscan(files[0], &code)
		os.Exit(code)
	},
	"echoes": func(files []*os.File) { _, _ = io.Copy(files[1], files[0]) },
	"speaks": func([]*os.File) {
		fmt.Print("one\n\ntwo", strings.Repeat(".", 100_000), "\n")
		fmt.Fprint(os.Stderr, "three")
	},
	"floods": func([]*os.File) {
		for i := range flood {
			fmt.Println("line", i)
		}
	},
	"numbers": func([]*os.File) {
		for i := range 20 {
			fmt.Println("line", i)
		}
	},
	"bequeaths": func([]*os.File) {},
	"founds":    func([]*os.File) {},
	"keeps": func([]*os.File) {
		r, _, err := os.Pipe()
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(runHeir([]*os.File{r}, true))
	},
	"nests": func([]*os.File) {
		p, err := child.Start(child.Command{Env: originalAs("numbers")})
		if err != nil {
			fmt.Println(err)
			return
		}
		<-p.Done()
		<-p.OutputRead()
		fmt.Println("nested:", p.State(), p.Tail())
	},
	"stops": func(files []*os.File) {
		fmt.Fprintln(files[0], os.Getpid())
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		_, _ = io.Copy(files[0], files[1])
	},
	"tells": func(files []*os.File) {
		fmt.Println("args", len(os.Args), os.Args[1:])
		dir, _ := os.Getwd()
		session, _ := unix.Getsid(0)
		input, _ := io.ReadAll(os.Stdin)
		fmt.Println("dir", dir)
		fmt.Println("session", session == os.Getpid())
		fmt.Println("input", len(input))
		fmt.Println("env", strings.Join(os.Environ(), " "))
		for fd := range 256 {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			if err == nil && (flags&unix.FD_CLOEXEC == 0 || uint64(fd) <= 3+uint64(len(files))) {
				fmt.Println("fd", fd, flags&unix.FD_CLOEXEC != 0)
			}
		}
	},
}

// command returns the command of a role.
func command(role string, files ...*os.File) child.Command {
	// The race detector waits for a second at the end of a process otherwise.
	return child.Command{Env: child.Environ([]string{roleVariable + "=" + role, "GORACE=atexit_sleep_ms=0"}), Files: files}
}

// start starts a process, which the end of the test kills.
func start(t *testing.T, c child.Command) *child.Process {
	t.Helper()
	proctest.Need(t)
	p, err := child.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		ended(t, p)
	})
	return p
}

// ended waits for the end of a process.
func ended(t *testing.T, p *child.Process) *child.State {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience.Limit):
		t.Fatalf("process %d has not ended; its output: %s", p.Pid(), p.Tail())
	}
	return p.State()
}

// outputOf waits for the end of a process, and returns the end of its output.
func outputOf(t *testing.T, p *child.Process) string {
	t.Helper()
	ended(t, p)
	await(t, p.OutputRead(), "the output was not read")
	return p.Tail()
}

// await waits until a channel is closed.
func await(t *testing.T, done <-chan struct{}, failure string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience.Limit):
		t.Fatal(failure)
	}
}

// shell returns the path of a shell.
func shell(t *testing.T) string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	return sh
}

// pipe returns both ends of a pipe.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// TestExit checks that the host learns how a process has ended: by itself, or killed. A process that has ended can be
// killed again.
func TestExit(t *testing.T) {
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			for _, code := range []int{0, 3} {
				r, w := pipe(t)
				p := start(t, command("exits", r))
				if p.State() != nil {
					t.Error("a process that runs has a state")
				}
				fmt.Fprintln(w, code)
				if s := ended(t, p); s == nil || s.Code != code || s.Signal != nil || s.Success() != (code == 0) {
					t.Errorf("exit code %d: %v", code, s)
				}
				if err := p.Kill(); err != nil {
					t.Errorf("Kill after the end: %v", err)
				}
			}
			p := start(t, command("waits"))
			killed := make(chan error, 1)
			go func() {
				p.Reap() // a look at a process that runs does not wait either
				killed <- p.Kill()
			}()
			select {
			case err := <-killed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience.Limit):
				_ = syscall.Kill(p.Pid(), syscall.SIGKILL)
				t.Fatal("Kill waits for the end of the process")
			}
			if s := ended(t, p); s == nil || s.Code != -1 || s.Signal != syscall.SIGKILL || s.Success() {
				t.Errorf("after Kill: %v", s)
			}
		})
	}
}

// TestFiles checks that the files of a command reach the process, in their order.
func TestFiles(t *testing.T) {
	in, out := pipe(t)
	back, reply := pipe(t)
	p := start(t, command("echoes", in, reply))
	_, _ = in.Close(), reply.Close()
	fmt.Fprintln(out, "hello")
	out.Close()
	if b, err := io.ReadAll(back); string(b) != "hello\n" || err != nil {
		t.Errorf("the process has written %q, %v", b, err)
	}
	ended(t, p)
}

// TestProcessHasOnlyWhatItGot checks the session, the directory, the input, the environment and the descriptors of a
// process. The launcher of the host has left a descriptor open. K-118.
func TestProcessHasOnlyWhatItGot(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "secret")
	t.Setenv("LC_TEST", "C")
	leaked, _ := pipe(t)
	if _, err := unix.FcntlInt(leaked.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	file, _ := pipe(t)
	p := start(t, command("tells", file))
	lines := strings.Split(strings.TrimSpace(outputOf(t, p)), "\n")
	for _, want := range []string{"args 1 []", "dir /", "session true", "input 0", "fd 0 false", "fd 1 false", "fd 2 false", "fd 3 true", "fd 4 true"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	for _, l := range lines {
		switch {
		case strings.Contains(l, "secret"), strings.Contains(l, "LANEWRIGHT_CHILD"):
			t.Errorf("the environment has more than it was given: %s", l)
		case strings.HasPrefix(l, "env ") && !strings.Contains(l, "LC_TEST=C"):
			t.Errorf("LC_TEST is not passed on: %s", l)
		case strings.HasPrefix(l, "fd ") && strings.HasSuffix(l, " false") && !slices.Contains([]string{"fd 0 false", "fd 1 false", "fd 2 false"}, l):
			t.Errorf("a descriptor of the launcher is open: %s", l)
		}
	}
}

// TestEnviron checks which names of the environment pass, and that a later entry wins.
func TestEnviron(t *testing.T) {
	for name, value := range map[string]string{"LANG": "xx", "LC_A": "a", "TZ": "UTC", "CHILD_A": "1", "CHILD_B": "2", "CHILD_AB": "3"} {
		t.Setenv(name, value)
	}
	env := child.Environ([]string{"CHILD_A", "CHILD_C=4", "TZ=here", "CHILD_D"})
	for entry, want := range map[string]bool{
		"LANG=xx": true, "LC_A=a": true, "TZ=UTC": false, "TZ=here": true, "CHILD_A=1": true, "CHILD_B=2": false, "CHILD_AB=3": false,
		"CHILD_C=4": true, "PATH=" + os.Getenv("PATH"): false,
	} {
		if got := slices.Contains(env, entry); got != want {
			t.Errorf("%s is in the environment: %t; %q", entry, got, env)
		}
	}
	if n := len(slices.DeleteFunc(env, func(e string) bool { return !strings.HasPrefix(e, "CHILD_D") })); n != 0 {
		t.Error("a name that the host has not is in the environment")
	}
}
