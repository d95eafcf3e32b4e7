//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/crash"
)

// Process is a process that [Start] has started. Its methods are safe for concurrent use.
type Process struct {
	pid   int
	pidfd *os.File // nil where there is none
	group bool     // Kill ends the process group
	life  *os.File // the process ends when this file is closed
	out   *output
	done  chan struct{}

	// The kernel gives the number of the process to another one when this one is reaped. So mu is held from the look at
	// ended until the signal is sent.
	mu    sync.Mutex
	ended bool // the process is reaped
	state *State
}

// wait waits for the end of the process.
func (p *Process) wait() {
	for w := p.watch(); !p.reap(); {
		w.await()
	}
	crash.At(crash.Reaping)
	if p.pidfd != nil {
		_ = p.pidfd.Close()
	}
	_ = p.life.Close()
	p.out.ended()
	close(p.done)
}

// reap takes the state of the process from the kernel, and reports whether the process has ended.
func (p *Process) reap() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look()
}

// look is reap for a holder of mu.
func (p *Process) look() bool {
	if p.ended {
		return true
	}
	var status unix.WaitStatus
	pid, err := unix.Wait4(p.pid, &status, unix.WNOHANG, nil)
	switch {
	case errors.Is(err, unix.ECHILD): // another part of the program has waited for the process
		p.ended = true
	case err == nil && pid == p.pid:
		p.state = stateOf(status)
		p.ended = p.state != nil
	}
	return p.ended
}

// stateOf returns the end that a status reports. It is nil for the status of a process that was stopped or continued.
func stateOf(s unix.WaitStatus) *State {
	switch {
	case s.Exited():
		return &State{Code: s.ExitStatus()}
	case s.Signaled():
		return &State{Code: -1, Signal: s.Signal(), CoreDumped: s.CoreDump()}
	default:
		return nil
	}
}

// Pid returns the number of the process. With a prefix it is that of the prefix.
func (p *Process) Pid() int { return p.pid }

// Done returns a channel that is closed when the process has ended. Another process that has its output does not delay
// this.
func (p *Process) Done() <-chan struct{} { return p.done }

// OutputRead returns a channel that is closed when all that the process has written is read, which is in Tail then.
// Calls of Command.Output may follow. Another process that has the output, such as one that the process has started,
// does not delay this. Its output is read until it ends.
func (p *Process) OutputRead() <-chan struct{} { return p.out.read }

// OutputPanic returns the value of the first panic of Command.Output, or nil.
func (p *Process) OutputPanic() any { return p.out.firstPanic() }

// State returns how the process has ended. It is nil before Done, and if another part of the program has waited for
// the process.
func (p *Process) State() *State {
	select {
	case <-p.done:
		return p.state
	default:
		return nil
	}
}

// Kill ends the process at once, and returns before it has ended. With a prefix it ends the process group of the prefix.
// It has no effect on a process that has ended. An error says that the host may not kill the process.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	err := p.kill()
	// Some systems refuse a signal to a process that has ended and is not reaped.
	if err == nil || errors.Is(err, unix.ESRCH) || p.look() {
		return nil
	}
	return fmt.Errorf("child: Process.Kill of %d: %w", p.pid, err)
}

// kill sends the signal. Its caller holds mu, and the process is not reaped unless by another part of the program. The
// pidfd then names no process, while the number may name another.
func (p *Process) kill() error {
	if p.pidfd != nil && !p.group {
		return signalPidfd(p.pidfd, unix.SIGKILL)
	}
	target := p.pid
	if p.group {
		target = -p.pid
	}
	if p.pidfd != nil {
		if err := signalPidfd(p.pidfd, 0); errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return unix.Kill(target, unix.SIGKILL)
}

// Tail returns the last 4 KiB of the output of the process.
func (p *Process) Tail() string { return p.out.last() }
