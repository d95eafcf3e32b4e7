//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package remote

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/helper"
)

// roles are the main functions of the processes of benchmarks.
var roles = map[string]func(arg string) error{
	"spin": runSpinner,
	"hog":  runHog,
	"host": runHost,

	"nothing": func(string) error { return nil },
}

// Hog is a process that computes all the time.
type Hog struct {
	process *child.Process
	file    *os.File
	beats   helper.Stream
}

// hogSteps are the steps between two looks of a Hog at its host: about a millisecond.
const hogSteps = 1 << 20

// StartHog starts a Hog. It returns when the process computes.
func StartHog() (*Hog, error) {
	own, peer, err := helper.SocketPair()
	if err != nil {
		return nil, err
	}
	p, err := helper.Start("hog", "", peer)
	_ = peer.Close()
	if err != nil {
		_ = own.Close()
		return nil, err
	}
	h := &Hog{process: p, file: own, beats: helper.NewStream(own, own)}
	if err := h.Check(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Check waits for the next moment at which the process shows that it computes. It returns an error if the process has ended.
func (h *Hog) Check() error {
	beat := []byte{1}
	err := h.beats.Send(beat)
	if err == nil {
		err = h.beats.Receive(beat)
	}
	if err != nil {
		return fmt.Errorf("the busy process has ended: %w", err)
	}
	return nil
}

// Close ends the process and waits for its end.
func (h *Hog) Close() error { return errors.Join(helper.End(h.process), h.file.Close()) }

// runHog is the process of a Hog. It looks at the stream without waiting, so that it never stops to compute.
func runHog(string) error {
	files, err := helper.Attach(1)
	if err != nil {
		return err
	}
	fd := int(files[0].Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	b := make([]byte, 1)
	for want := bench.Chain(hogSteps); bench.Chain(hogSteps) == want; {
		switch n, err := unix.Read(fd, b); {
		case n == 1:
			if _, err := unix.Write(fd, b); err != nil {
				return os.NewSyscallError("write", err)
			}
		case n == 0 && err == nil:
			return nil
		}
	}
	return errors.New("the same computation gave two results")
}
