package futex

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Waker is one side of a link between two processes. It parks a goroutine of this side, and
// wakes the goroutine of the other side. Each side waits on one word, its doorbell, which the
// other side writes.
//
// One goroutine at a time may call Park, and with no other doorbell than in its first call.
// Close is called after the last Park. The other methods are safe for concurrent use.
type Waker interface {
	// Park blocks until WakeOwn, or until WakePeer of the other side. It returns at once when the
	// doorbell does not have the value seen. It may return at any time, so the caller looks at
	// its condition again. until is a time of Now; 0 is no deadline. The result is true when the
	// deadline has passed.
	Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool)
	// WakeOwn ends the Park of this side. Without one, the next Park returns at once.
	WakeOwn()
	// WakePeer ends the Park of the other side. The caller has changed that doorbell, which
	// is bell.
	WakePeer(bell *atomix.Uint32)
	// Now is the function [Now].
	Now() int64
	// Close releases the descriptors, and ends the use of the doorbell of this side. The memory
	// of the doorbell may then be unmapped. It is called once.
	Close() error
}

// NewWaker returns the Waker of the host, and the files of which the other process gives
// copies to [OpenWaker] in the same order. There are none if both sides use futexes. The
// caller closes the files after it has started the process. A goroutine that parks holds no
// thread. The error names the call that has failed; it matches [errors.ErrUnsupported] on
// systems without the means.
func (d *Dispatcher) NewWaker() (w Waker, peer []*os.File, err error) {
	if HasWaitv() {
		w := &dispatched{d: d}
		w.parker.Init()
		return w, nil, nil
	}
	return newEvents()
}

// OpenWaker returns the Waker of the worker process for the files that NewWaker has returned
// in the host. They are in the order in which NewWaker returned them, and belong to the Waker
// after the call, also if it fails. A goroutine that parks holds a thread if there are none,
// and no thread otherwise. The error names the call that has failed; it matches
// [errors.ErrUnsupported] if the host has futexes and this process has not.
func OpenWaker(files []*os.File) (Waker, error) {
	if len(files) > 0 {
		return openEvents(files)
	}
	if !HasWaitv() {
		return nil, fmt.Errorf("futex: OpenWaker: the host uses futex_waitv, and this process has none: %w", errors.ErrUnsupported)
	}
	return new(direct), nil
}

// dispatched is a Waker whose doorbell is one of a Dispatcher. The first Park adds the
// doorbell, because its address is not known before.
type dispatched struct {
	machineClock
	d      *Dispatcher
	entry  *Entry // of the goroutine that parks
	parker lfsync.Parker
}

func (w *dispatched) Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool) {
	if w.entry == nil {
		e, err := w.d.Add(bell, &w.parker)
		if err != nil {
			panic(err.Error()) // NewWaker has asked the kernel
		}
		w.entry = e
	}
	if bell.Load() != seen {
		return false
	}
	if until == 0 {
		w.parker.Park()
		return false
	}
	return !w.parker.ParkFor(time.Duration(until - Now()))
}

func (w *dispatched) WakeOwn() { w.parker.Unpark() }

func (*dispatched) WakePeer(bell *atomix.Uint32) { ring(bell) }

func (w *dispatched) Close() error {
	if w.entry != nil {
		w.entry.Remove()
		w.entry = nil
	}
	return nil
}

// machineClock is the clock of a Waker.
type machineClock struct{}

func (machineClock) Now() int64 { return Now() }

// ring wakes the waiters of a doorbell. It fails only if the memory is not mapped. No waiter
// of this process is there then, and the doorbell of a closed link has none in another one.
func ring(bell *atomix.Uint32) { _, _ = Wake(bell) }

// direct is a Waker whose goroutine blocks its thread in the kernel. It waits on the doorbell
// and on a word of its own side, because this side may not write the doorbell.
type direct struct {
	machineClock
	own   atomix.Uint32 // counts the calls of WakeOwn
	taken uint32        // the value of own at the last return of Park
	set   Set
}

func (w *direct) Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool) {
	own := w.own.Load()
	if own != w.taken {
		w.taken = own
		return false
	}
	w.set.Reset()
	w.set.Add(bell, seen)
	w.set.Add(&w.own, own)
	_, o, err := w.set.Wait(until)
	if err != nil { // the kernel may be short of memory for the wait
		limit := Deadline(retryEvery)
		isLast := until != 0 && until <= limit
		if isLast {
			limit = until
		}
		o, _ = Wait(bell, seen, limit)
		return isLast && o == TimedOut
	}
	w.taken = w.own.Load()
	return o == TimedOut
}

func (w *direct) WakeOwn() {
	w.own.Add(1)
	ring(&w.own)
}

func (*direct) WakePeer(bell *atomix.Uint32) { ring(bell) }

func (*direct) Close() error { return nil }
