//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package helper

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/lanewright/lanewright/internal/child"
)

// answerer is the role of the process of an Answerer. Its argument is the size of the messages.
const answerer = "answer"

// own are the roles of this package.
var own = map[string]func(arg string) error{answerer: runAnswerer}

// Answerer is a process that answers messages of one size over a blocking stream, with one write for each. A message of
// [NumberBytes] is a number, to which the process adds 1. It sends any other message back. One goroutine may send while
// another one receives.
type Answerer struct {
	Stream
	process        *child.Process
	files          []*os.File
	sent, received [NumberBytes]byte
}

// StartSocket starts an Answerer with a socket pair, for messages of that size.
func StartSocket(size int) (*Answerer, error) {
	own, peer, err := SocketPair()
	if err != nil {
		return nil, err
	}
	return startAnswerer(size, []*os.File{own}, []*os.File{peer})
}

// StartPipe starts an Answerer with a pipe in each direction, for messages of that size.
func StartPipe(size int) (*Answerer, error) {
	requests, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, closeAll([]*os.File{requests, out}))
	}
	widen(size, out, answers)
	return startAnswerer(size, []*os.File{in, out}, []*os.File{requests, answers})
}

// startAnswerer starts the process. Both sides read from the first of their files, and write to the last.
func startAnswerer(size int, own, peer []*os.File) (*Answerer, error) {
	p, err := Start(answerer, strconv.Itoa(size), peer...)
	_ = closeAll(peer)
	if err != nil {
		return nil, errors.Join(err, closeAll(own))
	}
	return &Answerer{Stream: streamOf(own), process: p, files: own}, nil
}

// streamOf returns the stream over the files of one side.
func streamOf(files []*os.File) Stream { return NewStream(files[0], files[len(files)-1]) }

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// SendNumber sends a message with a number.
func (a *Answerer) SendNumber(n int) error {
	binary.LittleEndian.PutUint64(a.sent[:], uint64(n))
	return a.Send(a.sent[:])
}

// ReceiveNumber returns the number of the next answer.
func (a *Answerer) ReceiveNumber() (int, error) {
	err := a.Receive(a.received[:])
	return int(binary.LittleEndian.Uint64(a.received[:])), err
}

// Process returns the process.
func (a *Answerer) Process() *child.Process { return a.process }

// Close ends the process and waits for its end.
func (a *Answerer) Close() error { return errors.Join(End(a.process), closeAll(a.files)) }

// runAnswerer is the process of an Answerer.
func runAnswerer(arg string) error {
	size, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	files, err := Attach(1, 2)
	if err != nil {
		return err
	}
	s := streamOf(files)
	for b := make([]byte, size); ; {
		if err := s.Receive(b); err != nil {
			return IgnoreEOF(err)
		}
		if size == NumberBytes {
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+1)
		}
		if err := s.Send(b); err != nil {
			return err
		}
	}
}

// IgnoreEOF returns err unless it is io.EOF, with which the host ends a process.
func IgnoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
