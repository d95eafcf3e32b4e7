package futex

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
)

// retryEvery is the time between two looks of a thread for which the kernel has no wait. It
// is chosen: the wake-ups are late by a millisecond, and the thread uses 1 % of a processor.
const retryEvery = time.Millisecond

// kernel is the system of a Dispatcher outside models.
type kernel struct{}

func (kernel) wait(s *Set) error {
	_, _, err := s.Wait(0)
	return err
}

func (kernel) wake(word *atomix.Uint32) {
	if _, err := Wake(word); err != nil {
		panic("futex: Wake of a word of this process: " + err.Error()) // the word is valid, and the call exists
	}
}

func (kernel) retry(control *atomix.Uint32, seen uint32) {
	if _, err := Wait(control, seen, Deadline(retryEvery)); err != nil {
		time.Sleep(retryEvery)
	}
}

func (kernel) start(f func()) { go f() }
