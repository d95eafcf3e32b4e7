package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// Worker is a worker process that [Start] has started, and the end of the host of its link. Its methods are safe for
// concurrent use, but for Close. [transport.End] states who may use the end.
type Worker struct {
	host  *transport.HostEnd
	child *child.Process
	close func() error

	dead atomix.Bool
	done chan struct{}
}

// The death of a worker process.
//
// Roles:
//
//	observer  the goroutine of observe, one for each process
//	receiver  the goroutine that waits at the end of the host: the holder of its turn
//
// Happens-before edges:
//
//	E1  observer: store of dead, then WakeOwn. receiver: the wait that WakeOwn ends, then the load of dead. The
//	    receiver sees dead. A receiver that has loaded false before its wait finds the wake-up in the wait, because
//	    transport.End.WakeOwn keeps one that comes first
//	E2  observer: store of dead, then the close of done. A goroutine that sees done closed sees dead
//	E3  observer: WakeOwn, then the close of done. After done the observer does not touch the memory of the link, which
//	    Close gives back
//
// The process may have died between the change of the doorbell of the host and its wake-up. Without the WakeOwn of the
// observer the receiver would stay parked then, as later ringers rely on the first one.

// dispatcher parks the receivers of all workers of the program.
var dispatcher futex.Dispatcher

// Start makes a link and starts a process at its other end. It returns before the process has called [Attach]. After an
// error nothing is left: no process, descriptor, file or mapping. The error names the field of c that is not valid, or
// the call that has failed. It matches [errors.ErrUnsupported] on a system without processes or without the kind of
// region that c names. Safe for concurrent use.
//
// The first Start with Named regions in a folder removes the names that other hosts have left there.
func Start(c Config) (*Worker, error) {
	if !hasProcesses {
		return nil, fmt.Errorf("process: Start: processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	w, err := start(&c)
	if err != nil {
		return nil, fmt.Errorf("process: Start: %w", err)
	}
	return w, nil
}

func start(c *Config) (_ *Worker, err error) {
	sizes, err := c.sizes()
	if err != nil {
		return nil, err
	}
	dir, err := c.regionDir()
	if err != nil {
		return nil, err
	}
	var undo []func() error // in the order of the steps
	defer func() {
		for i := len(undo) - 1; i >= 0 && err != nil; i-- {
			_ = undo[i]() // the error of the step says more
		}
	}()

	l := letter{kind: c.Region}
	var rs [2]*shm.Region
	for i, size := range sizes {
		r, path, err := c.Region.newRegion(dir, transport.Direction(i), size)
		if err != nil {
			return nil, err
		}
		undo = append(undo, r.Unmap) // at once, because no goroutine uses it yet
		rs[i], l.regions[i] = r, place{uint64(size), path}
	}
	waker, peer, err := dispatcher.NewWaker()
	if err != nil {
		return nil, err
	}
	undo = append(undo, waker.Close)
	defer closeAll(peer) // the process has its own
	l.wakerFiles = len(peer)
	host, err := transport.NewHost(c.Link, rs[0], rs[1], waker)
	if err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("Config.Dir: %w", err)
	}
	mail, err := l.post()
	if err != nil {
		return nil, err
	}
	defer closeAll([]*os.File{mail})
	p, err := child.Start(c.command(mail, &rs, peer))
	if err != nil {
		return nil, err
	}
	crash.At(crash.Forked)
	for _, r := range rs {
		_ = r.Detach() // no process can get the descriptor from here on, also after an error of its close
	}
	w := &Worker{host: host, child: p, done: make(chan struct{})}
	w.close = sync.OnceValue(func() error { return errors.Join(waker.Close(), host.Unmap()) })
	wake := host.WakeOwn
	if c.OnDeath != nil {
		wake = func() {
			host.WakeOwn()
			c.OnDeath()
		}
	}
	go w.observe(p.Done(), wake)
	return w, nil
}

// command returns the command with the files of the process.
func (c *Config) command(mail *os.File, rs *[2]*shm.Region, peer []*os.File) child.Command {
	cmd := c.Command
	cmd.Files = []*os.File{mail}
	if c.Region.hasDescriptors() {
		cmd.Files = append(cmd.Files, rs[transport.Requests].File(), rs[transport.Answers].File())
	}
	cmd.Files = append(cmd.Files, peer...)
	return cmd
}

// observe waits for the end of the process, and then announces it.
func (w *Worker) observe(ended <-chan struct{}, wakeOwn func()) {
	<-ended
	w.dead.Store(true) // E1, E2
	wakeOwn()          // E1, E3
	close(w.done)      // E2, E3
}

// Host returns the end of the host.
func (w *Worker) Host() *transport.HostEnd { return w.host }

// Done returns a channel that is closed when the process has ended. IsDead returns true then.
func (w *Worker) Done() <-chan struct{} { return w.done }

// IsDead reports whether the process has ended. It returns true before [transport.End.WakeOwn] ends a wait of the host
// for this reason. That ends one wait and no more, so the receiver calls IsDead before each wait without a deadline.
func (w *Worker) IsDead() bool { return w.dead.Load() } // E1, E2

// State returns how the process has ended. It is nil before Done, and if another part of the program has waited for the
// process.
func (w *Worker) State() *child.State { return w.child.State() }

// Pid returns the number of the process.
func (w *Worker) Pid() int { return w.child.Pid() }

// Kill ends the process at once, and returns before it has ended. It has no effect on a process that has ended.
func (w *Worker) Kill() error {
	if err := w.child.Kill(); err != nil {
		return fmt.Errorf("process: Worker.Kill: %w", err)
	}
	return nil
}

// OutputRead returns a channel that is closed after Done, when the output of the process was read. It says nothing of
// the calls of Command.Output.
func (w *Worker) OutputRead() <-chan struct{} { return w.child.OutputRead() }

// Tail returns the last part of the output of the process that was read.
func (w *Worker) Tail() string { return w.child.Tail() }

// Close gives the descriptors and the memory of the link back, and removes the names of Named regions. The caller is the
// receiver of the host, or a goroutine that knows that the receiver has returned from its last wait, because the memory
// of the doorbell may not go while a receiver is parked on it. Other goroutines may still use the end, see
// [transport.End.Unmap]. The address range is unmapped when no pointer to the Worker and to its end is left.
//
// Close does nothing more in a second call, and returns the same error. It panics before Done, because the process may
// still write to the memory.
func (w *Worker) Close() error {
	select {
	case <-w.done: // E3
	default:
		panic("process: Worker.Close: the process has not ended: wait for Done")
	}
	if err := w.close(); err != nil {
		return fmt.Errorf("process: Worker.Close: %w", err)
	}
	return nil
}

// closeAll closes files whose errors mean nothing.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
