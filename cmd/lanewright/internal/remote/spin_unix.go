//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package remote

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/internal/shm"
)

// Spinner is a process that answers by a word of shared memory, as soon as it sees the other one change. Neither side
// waits in the kernel, and nothing is encoded, so a call is the least that two processes need. The process spins for the
// calls of Begin only.
type Spinner struct {
	process *child.Process
	control helper.Stream
	file    *os.File
	regions []*shm.Region
	request *atomic.Uint64 // written by the host
	answer  *atomic.Uint64 // written by the process
	last    uint64
}

// spinBytes is the size of the memory of a word. The words of the two sides are in different pages.
const spinBytes = 4096

// StartSpinner starts a Spinner.
func StartSpinner() (*Spinner, error) {
	own, peer, err := helper.SocketPair()
	if err != nil {
		return nil, err
	}
	s := &Spinner{control: helper.NewStream(own, own), file: own}
	files := []*os.File{peer}
	for _, w := range []shm.Writer{shm.Here, shm.There} {
		r, err := newRegion(w)
		if err != nil {
			_ = peer.Close()
			return nil, errors.Join(err, s.release())
		}
		s.regions = append(s.regions, r)
		files = append(files, r.File())
	}
	s.request, s.answer = word(s.regions[0].Bytes()), word(s.regions[1].Bytes())
	s.process, err = helper.Start("spin", "", files...)
	_ = peer.Close()
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// newRegion makes memory for a word.
func newRegion(w shm.Writer) (*shm.Region, error) {
	r, err := shm.Sealed("lanewright-spin", spinBytes, w)
	if errors.Is(err, errors.ErrUnsupported) {
		r, err = shm.File(os.TempDir(), spinBytes, w)
	}
	return r, err
}

// openRegion opens memory for a word.
func openRegion(f *os.File, w shm.Writer) (*shm.Region, error) {
	r, err := shm.Open(f, spinBytes, w)
	if errors.Is(err, errors.ErrUnsupported) {
		r, err = shm.OpenFile(f, spinBytes, w)
	}
	return r, err
}

// Begin makes the process spin for exactly n calls, which have to follow. It returns when the process spins.
func (s *Spinner) Begin(n int) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(n))
	if err := s.control.Send(b); err != nil {
		return err
	}
	return s.control.Receive(b)
}

// Call sends a number by the word, and reports whether the answer is that number + 1.
func (s *Spinner) Call() bool {
	s.last++
	before := s.answer.Load()
	s.request.Store(s.last)
	answer, ok := spin(s.answer, before, func() bool {
		select {
		case <-s.process.Done():
			return true
		default:
			return false
		}
	})
	return ok && answer == s.last+1
}

// Close ends the process and waits for its end.
func (s *Spinner) Close() error { return errors.Join(helper.End(s.process), s.release()) }

// release closes what the host has.
func (s *Spinner) release() error {
	errs := []error{s.file.Close()}
	for _, r := range s.regions {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// spinRounds is how often a side looks at a word before it gives its processor to others for a moment: some tenths of a
// millisecond. With one processor the other side would otherwise run after a time slice only.
const spinRounds = 1 << 18

// spin returns the value of w as soon as it is not before. It returns false if it was over before that.
func spin(w *atomic.Uint64, before uint64, over func() bool) (uint64, bool) {
	for i := 1; ; i++ {
		if v := w.Load(); v != before {
			return v, true
		}
		if i%spinRounds == 0 {
			if over() {
				return 0, false
			}
			time.Sleep(time.Microsecond)
		}
	}
}

// runSpinner is the process of a Spinner.
func runSpinner(string) error {
	files, err := helper.Attach(3)
	if err != nil {
		return err
	}
	requests, err := openRegion(files[1], shm.There)
	if err != nil {
		return err
	}
	answers, err := openRegion(files[2], shm.Here)
	if err != nil {
		return err
	}
	request, answer := word(requests.Bytes()), word(answers.Bytes())
	control := helper.NewStream(files[0], files[0])
	last := request.Load()
	for b := make([]byte, 8); ; {
		if err := control.Receive(b); err != nil {
			return helper.IgnoreEOF(err)
		}
		if err := control.Send(b); err != nil {
			return err
		}
		for range binary.LittleEndian.Uint64(b) {
			last, _ = spin(request, last, func() bool { return false }) // the process ends with its host
			answer.Store(last + 1)
		}
	}
}
