package futex

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// MaxDoorbells is the number of doorbells that one thread of a [Dispatcher] waits on. The
// last word of its [Set] is the control word.
const MaxDoorbells = MaxWords - 1

// Dispatcher unparks goroutines when another process has changed their doorbells. Each
// goroutine has a doorbell, which is a word that the other process changes before it calls
// [Wake] on it. The goroutine parks on a [lfsync.Parker], which needs no thread. One thread
// waits on up to [MaxDoorbells] doorbells. The next doorbell starts another thread, and the
// removal of the last doorbell of a thread ends the thread.
//
// The zero Dispatcher is ready for use and has no thread. It is safe for concurrent use and
// must not be copied.
type Dispatcher struct {
	_       lfsync.NoCopy
	mu      park.Mutex
	system  system // nil: the kernel
	threads []*thread
}

// Entry is one doorbell of a [Dispatcher].
type Entry struct {
	thread *thread
	bell   *atomix.Uint32
	parker *lfsync.Parker
	last   uint32    // the last value of bell that the dispatcher has seen
	gone   bool      // Remove was called
	done   park.Sema // posted when the thread no longer has the entry
}

// system is what a Dispatcher needs of the system. A model has one of its own.
type system interface {
	// wait is s.Wait(0). It may return at any time.
	wait(s *Set) error
	// wake ends all waits on word.
	wake(word *atomix.Uint32)
	// retry is called instead of wait after an error of wait. It blocks for a short time, or until the
	// value of control is not seen.
	retry(control *atomix.Uint32, seen uint32)
	// start calls f on a goroutine of its own.
	start(f func())
}

// Protocol of Dispatcher: the thread compares each doorbell with the value that it has seen
// last, and gives this value to the kernel, which compares again.
//
// Roles:
//
//	changer   Add and Remove: any goroutine, with the lock mu
//	thread    run: one goroutine, which blocks its thread in the kernel
//	ringer    any goroutine of any process: changes a doorbell and then calls Wake on it
//	waiter    the goroutine that parks on the parker of an entry
//
// State:
//
//	entries  the doorbells of a thread: by changers, with mu
//	removed  the entries whose Remove waits: appended to by changers and emptied by the
//	         thread, with mu
//	control  counts the changes of entries: by changers, with mu. The thread waits on it
//	armed    a copy of entries: of the thread only
//	last     of an entry: by the changer before the entry is in entries, then of the
//	         thread only
//	done     posted once, by the thread
//
// Invariants:
//
//	I1  the thread touches a doorbell only while its entry is in armed
//	I2  when done is posted, the entry is not in armed, and it is in no set of a wait
//	I3  last is a value that the doorbell has had, and the unpark for each earlier value
//	    has been made, or no change was made since Add
//	I4  a thread with entries is in threads and runs. It leaves threads, with mu, when it
//	    has no entry
//
// Linearization points: of a ring, the load of the doorbell by the thread that finds
// another value than last. Of Add and Remove, the change of control.
//
// Happens-before edges:
//
//	E1  change of the doorbell by the ringer, then its Wake. thread: load of the doorbell,
//	    then the wait with the loaded value. Either the load or the comparison in the
//	    kernel sees the change, or the Wake ends the wait
//	E2  the same for control: a changer changes control, then wakes. The thread loads
//	    control before it copies entries, and waits with the loaded value
//	E3  load of the doorbell  ->  Unpark   the waiter sees the writes of the ringer
//	E4  the last touch of a doorbell  ->  the post of done   after Remove the memory may be unmapped
//
// Progress: a ringer never blocks. Add blocks for mu. Remove blocks until the thread has
// taken the change, which is one wake-up.
//
// Limits: a doorbell that changes 2^32 times, or back to its last value, between two looks of
// the thread has not changed for it. A process that changes its doorbells for ever keeps the
// thread busy. Each pass looks at all doorbells, so the other ones are served in each pass.
//
// Rejected: a callback instead of a parker, because it would run on the thread, and could
// block it, panic, or call Remove and so wait for itself. Also rejected: to arm a doorbell
// only while its waiter is parked, because each park would then be a system call by two
// threads. A ringer changes the doorbell only when it sees the waiter parked, so a doorbell
// that is always armed wakes the thread no more often.
type thread struct {
	d       *Dispatcher
	control atomix.Uint32
	entries []*Entry
	removed []*Entry

	armed []*Entry
	set   Set // the control word, then the doorbells of armed
}

// Add begins to unpark p after each change of bell, and returns at once. Several changes may
// have one Unpark, and an Unpark may have no change. The memory of bell must not be unmapped
// before [Entry.Remove] has returned. It returns an error that matches [errors.ErrUnsupported]
// when [HasWaitv] returns false.
func (d *Dispatcher) Add(bell *atomix.Uint32, p *lfsync.Parker) (*Entry, error) {
	if d.system == nil && !HasWaitv() {
		return nil, fmt.Errorf("futex: Dispatcher.Add: no futex_waitv, which Linux has since 5.16: %w", errors.ErrUnsupported)
	}
	e := &Entry{bell: bell, parker: p, last: bell.Load()} // I3
	e.done.Init(1)
	d.mu.Lock()
	t := d.room()
	isNew := t == nil
	if isNew {
		t = &thread{d: d}
		d.threads = append(d.threads, t) // I4
	}
	e.thread = t
	t.entries = append(t.entries, e)
	t.control.Add(1) // E2
	d.mu.Unlock()
	if isNew {
		d.sys().start(t.run)
	} else {
		d.sys().wake(&t.control) // E2
	}
	return e, nil
}

// room returns a thread that can take one more doorbell, or nil. The caller holds mu.
func (d *Dispatcher) room() *thread {
	for _, t := range d.threads {
		if len(t.entries) < MaxDoorbells {
			return t
		}
	}
	return nil
}

// Threads returns the number of threads. It is for tests and figures.
func (d *Dispatcher) Threads() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.threads)
}

func (d *Dispatcher) sys() system {
	if d.system == nil {
		return kernel{}
	}
	return d.system
}

// Remove ends the entry. When it returns, the Dispatcher does not touch the doorbell again,
// so that its memory may be unmapped, and makes no Unpark for it. It blocks for about one
// wake-up. It panics when it is called twice.
func (e *Entry) Remove() {
	t := e.thread
	t.d.mu.Lock()
	if e.gone {
		t.d.mu.Unlock()
		panic("futex: Entry.Remove: the entry was removed")
	}
	e.gone = true
	i := slices.Index(t.entries, e)
	t.entries = slices.Delete(t.entries, i, i+1)
	t.removed = append(t.removed, e)
	t.control.Add(1) // E2
	t.d.mu.Unlock()
	t.d.sys().wake(&t.control) // E2
	e.done.Wait()              // E4
}

// run is the loop of the thread. It ends when no entry is left.
func (t *thread) run() {
	for {
		if (t.set.Len() == 0 || t.control.Load() != t.set.Seen(0)) && !t.reload() {
			return
		}
		t.look()
		t.sleep()
	}
}

// reload copies the entries and then posts done of the removed ones. It returns false, and
// the thread ends, when no entry is left.
func (t *thread) reload() bool {
	t.d.mu.Lock()
	t.set.Reset()
	t.set.Add(&t.control, t.control.Load()) // E2
	clear(t.armed)
	t.armed = append(t.armed[:0], t.entries...) // I1, I2
	removed := t.removed
	t.removed = nil
	isLast := len(t.entries) == 0
	if isLast {
		t.d.threads = slices.DeleteFunc(t.d.threads, func(o *thread) bool { return o == t }) // I4
	}
	t.d.mu.Unlock()
	for _, e := range t.armed {
		t.set.Add(e.bell, e.last)
	}
	for _, e := range removed {
		e.done.Post() // I2, E4
	}
	return !isLast
}

// look unparks the waiters whose doorbells have changed. It then lets them run: otherwise a
// waiter that this processor is to run next would wait until another one takes the processor
// of a thread that blocks. (p99 of a wake-up: 121 µs with the yield, 1,123 without.)
func (t *thread) look() {
	rang := false
	for i, e := range t.armed {
		v := e.bell.Load() // E1, E3, E4, I1
		if v == e.last {
			continue
		}
		e.last = v           // I3
		t.set.Expect(i+1, v) // E1
		e.parker.Unpark()    // E3
		rang = true
	}
	if rang {
		park.Pause()
	}
}

// sleep blocks until a doorbell or control may have changed. An error must not stop the
// thread, because its waiters would stay parked. The kernel may be short of memory for the
// wait, for example. The thread then looks at its doorbells from time to time.
func (t *thread) sleep() {
	if t.d.sys().wait(&t.set) != nil { // E1, E2
		t.d.sys().retry(&t.control, t.set.Seen(0))
	}
}
