package futex

import (
	"os"

	"github.com/lanewright/lanewright/internal/atomix"
)

// System is what a Dispatcher needs of the system, for models and for faults.
type System struct {
	Wait  func(s *Set) error
	Wake  func(word *atomix.Uint32)
	Retry func(control *atomix.Uint32, seen uint32)
	Start func(f func())
}

func (s *System) wait(set *Set) error                       { return s.Wait(set) }
func (s *System) wake(word *atomix.Uint32)                  { s.Wake(word) }
func (s *System) retry(control *atomix.Uint32, seen uint32) { s.Retry(control, seen) }
func (s *System) start(f func())                            { s.Start(f) }

// NewDispatcherOn returns a Dispatcher on another system than the kernel.
func NewDispatcherOn(s *System) *Dispatcher { return &Dispatcher{system: s} }

// KernelRetry is the retry of the kernel.
func KernelRetry(control *atomix.Uint32, seen uint32) { kernel{}.retry(control, seen) }

// NewEvents returns the Waker of the host that uses descriptors on every kernel.
func NewEvents() (Waker, []*os.File, error) { return newEvents() }
