//go:build interleave

package futex_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/futex"
	lfsync "github.com/lanewright/lanewright/sync"
)

// A modelKernel does what the kernel does for a Dispatcher. It compares the words of a wait one
// after another and queues the thread on each, in one step for each word, as the kernel does
// under the lock of a hash bucket. A wake that comes between two words is kept.
type modelKernel struct {
	m       *interleave.M
	mu      interleave.Mutex
	waiters []modelWaiter
	removed map[*atomix.Uint32]bool // words whose memory is unmapped
	fails   int                     // how many waits may fail
}

type modelWaiter struct {
	word *atomix.Uint32
	woke *interleave.Sema
}

func (k *modelKernel) dispatcher() *futex.Dispatcher {
	return futex.NewDispatcherOn(&futex.System{
		Wait: k.wait,
		Wake: k.wake,
		Retry: func(control *atomix.Uint32, seen uint32) {
			if control.Load() == seen {
				interleave.Pause() // the time passes
			}
		},
		Start: func(f func()) { interleave.Go("thread", f) },
	})
}

func (k *modelKernel) wait(s *futex.Set) error {
	if k.fails > 0 && interleave.Choose(2) == 1 {
		k.fails--
		return errors.New("no memory")
	}
	woke := new(interleave.Sema)
	woke.Init(1)
	isChanged := false
	for i := 0; i < s.Len() && !isChanged; i++ {
		k.mu.Lock()
		if k.removed[s.Word(i)] {
			k.m.Fatalf("the kernel reads a word of unmapped memory")
		}
		if isChanged = s.Word(i).Load() != s.Seen(i); !isChanged {
			k.waiters = append(k.waiters, modelWaiter{s.Word(i), woke})
		}
		k.mu.Unlock()
	}
	if !isChanged {
		woke.Wait()
	}
	k.mu.Lock()
	k.waiters = slices.DeleteFunc(k.waiters, func(w modelWaiter) bool { return w.woke == woke })
	k.mu.Unlock()
	return nil
}

func (k *modelKernel) wake(word *atomix.Uint32) {
	k.mu.Lock()
	for _, w := range k.waiters {
		if w.word == word {
			w.woke.Post()
		}
	}
	k.waiters = slices.DeleteFunc(k.waiters, func(w modelWaiter) bool { return w.word == word })
	k.mu.Unlock()
}

// unmap marks a word as unmapped. A thread that loads it afterwards finds another value than
// before.
func (k *modelKernel) unmap(word *atomix.Uint32) {
	k.mu.Lock()
	k.removed[word] = true
	k.mu.Unlock()
	word.Store(1 << 31)
}

// A modelUser is a goroutine with a doorbell and a change that it waits for. Its protocol is
// that of the doorbells of package transport.
type modelUser struct {
	k                     *modelKernel
	bell, parked, changed atomix.Uint32
	parker                lfsync.Parker
	entry                 *futex.Entry
}

func (k *modelKernel) user() *modelUser {
	u := &modelUser{k: k}
	u.parker.Init()
	return u
}

// add adds the doorbell.
func (u *modelUser) add(d *futex.Dispatcher) {
	e, err := d.Add(&u.bell, &u.parker)
	if err != nil {
		u.k.m.Fatalf("Add: %v", err)
	}
	u.entry = e
}

// await parks until the change is made.
func (u *modelUser) await() {
	for u.changed.Load() == 0 {
		seen := u.bell.Load()
		u.parked.Store(seen | 1)
		if u.changed.Load() == 0 && u.bell.Load() == seen {
			u.parker.Park()
		}
		u.parked.Store(0)
	}
}

// ring makes the change, and wakes the user if it is parked.
func (u *modelUser) ring() {
	u.changed.Store(1)
	if p := u.parked.Load(); p != 0 && u.bell.CompareAndSwap(p&^1, p&^1+2) {
		u.k.wake(&u.bell)
	}
}

// remove removes the doorbell and unmaps its memory. Nothing unparks the user afterwards.
func (u *modelUser) remove() {
	u.entry.Remove()
	for u.parker.ParkFor(0) { // the notification of a ring before
	}
	u.k.unmap(&u.bell)
}

// isQuiet fails the model if the user was unparked after the memory was unmapped.
func (u *modelUser) isQuiet() {
	if u.parker.ParkFor(0) {
		u.k.m.Fatalf("a user was unparked after the removal of its doorbell")
	}
}

// bounded explores all interleavings of up to n preemptions. With -short it is one less, and
// one at least.
func bounded(n int) interleave.Options {
	if testing.Short() {
		n = max(n-1, 1)
	}
	return interleave.Options{Preemptions: n}
}

// drawn is 5,000 executions with any number of preemptions.
var drawn = interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: 5000}

// newModelKernel returns a kernel for one execution.
func newModelKernel(m *interleave.M) *modelKernel {
	return &modelKernel{m: m, removed: map[*atomix.Uint32]bool{}}
}

// ends fails the model if a thread of the dispatcher is left.
func (k *modelKernel) ends(d *futex.Dispatcher, users ...*modelUser) {
	k.m.Final(func() {
		if n := d.Threads(); n != 0 {
			k.m.Fatalf("%d threads are left", n)
		}
		for _, u := range users {
			u.isQuiet()
		}
	})
}

// serves has a user whose doorbell rings once.
func (k *modelKernel) serves() {
	d, u := k.dispatcher(), k.user()
	k.m.Go("user", func() {
		u.add(d)
		u.await()
		u.remove()
	})
	k.m.Go("ringer", u.ring)
	k.ends(d, u)
}

// TestModelDispatcher: a user adds its doorbell, waits for a change, and removes the doorbell.
// The change comes at any step. A lost wake-up is a deadlock.
func TestModelDispatcher(t *testing.T) {
	interleave.Check(t, "dispatcher", bounded(3), func(m *interleave.M) {
		newModelKernel(m).serves()
	})
}

// TestModelDispatcherAdd: the thread waits for one doorbell while a second one is added, rung and
// removed. The first one is rung and removed as well. Two preemptions have 1.7 million
// executions, which pass.
func TestModelDispatcherAdd(t *testing.T) {
	program := func(m *interleave.M) {
		k := newModelKernel(m)
		d := k.dispatcher()
		users := []*modelUser{k.user(), k.user()}
		for _, u := range users {
			m.Go("user", func() {
				u.add(d)
				u.await()
				u.remove()
			})
		}
		m.Go("ringer", func() {
			for _, u := range users {
				u.ring()
			}
		})
		k.ends(d, users...)
	}
	interleave.Check(t, "dispatcher-add", bounded(1), program)
	interleave.Check(t, "dispatcher-add-drawn", drawn, program)
}

// TestModelDispatcherRemove: a doorbell that is not rung is removed while the thread waits or
// looks at it, and its memory is unmapped. The thread then serves the other doorbell.
func TestModelDispatcherRemove(t *testing.T) {
	interleave.Check(t, "dispatcher-remove", bounded(2), func(m *interleave.M) {
		k := newModelKernel(m)
		d := k.dispatcher()
		gone, stays := k.user(), k.user()
		ready := new(interleave.Sema)
		ready.Init(1)
		m.Go("gone", func() {
			gone.add(d)
			ready.Post()
			gone.remove()
		})
		m.Go("stays", func() {
			ready.Wait()
			stays.add(d)
			stays.await()
			stays.remove()
		})
		m.Go("ringer", stays.ring)
		k.ends(d, gone, stays)
	})
}

// TestModelDispatcherEnds: the last doorbell is removed while another one is added. The thread
// either stays or ends, and a new thread begins.
func TestModelDispatcherEnds(t *testing.T) {
	interleave.Check(t, "dispatcher-ends", bounded(3), func(m *interleave.M) {
		k := newModelKernel(m)
		d := k.dispatcher()
		users := []*modelUser{k.user(), k.user()}
		for _, u := range users {
			m.Go("user", func() {
				u.add(d)
				u.remove()
			})
		}
		k.ends(d, users...)
	})
}

// TestModelDispatcherErrors: the kernel refuses a wait at any step. No wake-up is lost.
func TestModelDispatcherErrors(t *testing.T) {
	interleave.Check(t, "dispatcher-errors", bounded(3), func(m *interleave.M) {
		k := newModelKernel(m)
		k.fails = 2
		k.serves()
	})
}

// TestModelDispatcherAddAlone: a doorbell is added and rung while the thread waits for another
// one, which does not change and stays until then.
func TestModelDispatcherAddAlone(t *testing.T) {
	interleave.Check(t, "dispatcher-add-alone", bounded(2), func(m *interleave.M) {
		k := newModelKernel(m)
		d := k.dispatcher()
		stays, comes := k.user(), k.user()
		var ready, done interleave.Sema
		ready.Init(1)
		done.Init(1)
		m.Go("stays", func() {
			stays.add(d)
			ready.Post()
			done.Wait()
			stays.remove()
		})
		m.Go("comes", func() {
			ready.Wait()
			comes.add(d)
			comes.await()
			done.Post()
			comes.remove()
		})
		m.Go("ringer", comes.ring)
		k.ends(d, stays, comes)
	})
}
