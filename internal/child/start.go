//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/crash"
)

// Start starts a process in a session of its own, so that a signal of the terminal to the host does not reach it. Its
// standard input is empty. After an error there is no process, and nothing is left open. An error names the field of the
// Command or the program that is wrong.
func Start(c Command) (*Process, error) {
	p, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("child: Start: %w", err)
	}
	go p.wait()
	return p, nil
}

// start starts a process, and does not wait for its end.
func (c *Command) start() (*Process, error) {
	if err := checkFiles(c.Files); err != nil {
		return nil, err
	}
	path, argv, dir, err := c.program()
	if err != nil {
		return nil, err
	}
	p, err := c.startProgram(path, argv, dir)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", argv[0], err)
	}
	return p, nil
}

// startProgram starts the process of a program.
func (c *Command) startProgram(path string, argv []string, dir string) (*Process, error) {
	var open files
	defer open.close()
	null, err := open.add(os.Open(os.DevNull))
	if err != nil {
		return nil, err
	}
	held, life, err := open.pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := open.pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := open.pipe()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(isPolled(outR), isPolled(errR)); err != nil {
		return nil, fmt.Errorf("the pipes of the output: %w", err)
	}
	m, err := newMark(held, len(c.Files), len(c.Prefix) > 0)
	if err != nil {
		return nil, fmt.Errorf("the pipe of the host: %w", err)
	}
	env := slices.DeleteFunc(slices.Clone(c.Env), isMark) // of a host that is a child itself: the first one counts
	attr := &os.ProcAttr{
		Dir:   dir,
		Env:   append(env, markName+"="+m.String()),
		Files: append([]*os.File{null, outW, errW, held}, c.Files...),
		Sys:   attributes(),
	}
	p := &Process{life: life, group: m.prefixed, done: make(chan struct{})}
	onStarter(func() { p.pid, err = startProcess(path, argv, attr) })
	if err != nil {
		return nil, err
	}
	p.pidfd = openPidfd(p.pid)
	open.keep(life, outR, errR)
	p.out = newOutput(c.Output, outR, errR)
	return p, nil
}

// startProcess returns the number of a new process. The Process of package os is not used further: it would wait in a
// thread, and knows no groups.
func startProcess(path string, argv []string, attr *os.ProcAttr) (pid int, err error) {
	if err := crash.Fail(crash.Fork); err != nil {
		return 0, os.NewSyscallError("fork/exec", err)
	}
	p, err := os.StartProcess(path, argv, attr)
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	return pid, p.Release()
}

// onStarter calls f on the goroutine that starts all processes. That goroutine never ends, and neither does the thread
// to which it is locked: the kernel sends the death signal of Linux when the thread that has started the process ends,
// which may be long before the end of the host.
func onStarter(f func()) {
	done := make(chan struct{})
	starter() <- func() {
		defer close(done)
		f()
	}
	<-done
}

var starter = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range calls {
			f()
		}
	}()
	return calls
})

// checkFiles returns an error that names the first file that a process cannot get.
func checkFiles(list []*os.File) error {
	if len(list) > MaxFiles {
		return fmt.Errorf("field Files has %d files, want at most %d: %w", len(list), MaxFiles, os.ErrInvalid)
	}
	for i, f := range list {
		switch {
		case f == nil:
			return fmt.Errorf("field Files[%d] is nil: %w", i, os.ErrInvalid)
		case isClosed(f):
			return fmt.Errorf("field Files[%d] is closed: %w", i, os.ErrClosed)
		}
	}
	return nil
}

// isClosed reports whether a file or its descriptor was closed.
func isClosed(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}
	failed := c.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_GETFD, 0) })
	return failed != nil || err != nil
}

// isPolled returns an error unless the poller of the Go runtime watches f. A read of another file holds a thread, and
// [output.ended] cannot interrupt it.
func isPolled(f *os.File) error { return f.SetReadDeadline(time.Time{}) }

// files are files that are closed when their user does not keep them.
type files []*os.File

// add adds f, unless err says that there is none.
func (s *files) add(f *os.File, err error) (*os.File, error) {
	if err == nil {
		*s = append(*s, f)
	}
	return f, err
}

// pipe adds both ends of a pipe.
func (s *files) pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		*s = append(*s, r, w)
	}
	return r, w, err
}

// keep takes files out.
func (s *files) keep(kept ...*os.File) {
	*s = slices.DeleteFunc(*s, func(f *os.File) bool { return slices.Contains(kept, f) })
}

// close closes the files.
func (s *files) close() {
	for _, f := range *s {
		_ = f.Close()
	}
}
