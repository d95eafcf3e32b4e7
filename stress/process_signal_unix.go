//go:build unix

package stress

import (
	"os"
	"syscall"
)

// suspend stops a process until resume.
func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// resume lets a process continue.
func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
