package futex_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/shm"
	lfsync "github.com/lanewright/lanewright/sync"
)

// A user is a goroutine with a doorbell. It takes numbers that a ringer counts up.
type user struct {
	bell, parked, count *atomix.Uint32
	parker              *lfsync.Parker
	entry               *futex.Entry
}

// newUser adds a doorbell to d. words are three words of memory.
func newUser(t *testing.T, d *futex.Dispatcher, words []atomix.Uint32) *user {
	t.Helper()
	u := &user{&words[0], &words[1], &words[2], lfsync.NewParker(), nil}
	var err error
	if u.entry, err = d.Add(u.bell, u.parker); err != nil {
		t.Fatal(err)
	}
	return u
}

// await parks until the count is n, or reports false after patience.Limit.
func (u *user) await(n uint32) bool {
	for end := time.Now().Add(patience.Limit); u.count.Load() < n; {
		seen := u.bell.Load()
		u.parked.Store(seen | 1)
		if u.count.Load() < n && u.bell.Load() == seen && !u.parker.ParkFor(time.Until(end)) {
			return u.count.Load() >= n
		}
		u.parked.Store(0)
	}
	return true
}

// ring adds one to the count and wakes the user if it is parked.
func (u *user) ring(wake func(word *atomix.Uint32)) {
	u.count.Add(1)
	if p := u.parked.Load(); p != 0 && u.bell.CompareAndSwap(p&^1, p&^1+2) {
		wake(u.bell)
	}
}

// wake is the Wake of the kernel.
func wake(word *atomix.Uint32) { _, _ = futex.Wake(word) }

// threadsEnd waits until d has n threads.
func threadsEnd(t *testing.T, d *futex.Dispatcher, n int) {
	t.Helper()
	for end := time.Now().Add(patience.Limit); d.Threads() != n; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d threads, want %d", d.Threads(), n)
		}
	}
}

// osThreads returns the number of threads of the process.
func osThreads(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nThreads:")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Skip(err)
	}
	return n
}

// loops returns the number of goroutines that package futex has started. Goroutines that other
// tests leave for a moment are not among them.
func loops() int {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Count(string(buf[:n]), "\ncreated by github.com/lanewright/lanewright/internal/futex.")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// loopsEnd waits until no goroutine of package futex is left.
func loopsEnd(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience.Limit); loops() > 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left", loops())
		}
	}
}

// TestDispatcherThreads: 127 doorbells have one thread, and 300 have three. No other goroutine
// runs for them, and each is woken. With the last doorbell the last thread ends.
func TestDispatcherThreads(t *testing.T) {
	needWaitv(t)
	var d futex.Dispatcher
	words := make([]atomix.Uint32, 3*300)
	loopsEnd(t) // of the tests before
	threads := osThreads(t)
	var users []*user
	for i := range 300 {
		users = append(users, newUser(t, &d, words[3*i:]))
		if got, want := d.Threads(), i/futex.MaxDoorbells+1; got != want {
			t.Fatalf("%d threads for %d doorbells, want %d", got, i+1, want)
		}
	}
	if n := loops(); n != 3 {
		t.Errorf("%d goroutines were started for 300 doorbells, want 3", n)
	}
	var done sync.WaitGroup
	for i, u := range users {
		done.Go(func() {
			if !u.await(3) {
				t.Errorf("user %d was not woken", i)
			}
		})
	}
	for range 3 {
		for _, u := range users {
			u.ring(wake)
		}
	}
	done.Wait()
	// The runtime starts threads of its own, for the collector and for the goroutines of the
	// test, as many as there are processors and a few more.
	if n := osThreads(t) - threads; n > 3+runtime.GOMAXPROCS(0)+5 {
		t.Errorf("%d threads were started for 300 doorbells", n)
	}
	rand.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	for _, u := range users {
		u.entry.Remove()
	}
	threadsEnd(t, &d, 0)
	loopsEnd(t)
	again := newUser(t, &d, make([]atomix.Uint32, 3)) // a Dispatcher starts again
	again.ring(wake)
	if !again.await(1) {
		t.Error("a doorbell after the last one was not woken")
	}
	again.entry.Remove()
	threadsEnd(t, &d, 0)
}

// TestDispatcherLosesNoWake: no wake-up of many users is lost while doorbells come and go on the
// same thread, and while another doorbell changes for ever.
func TestDispatcherLosesNoWake(t *testing.T) {
	needWaitv(t)
	const users, rings = 6, 500
	var d futex.Dispatcher
	var noise atomix.Uint32
	noisy, err := d.Add(&noise, lfsync.NewParker())
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var beside, done sync.WaitGroup
	beside.Go(func() { // a hostile process that rings for ever
		for !stop.Load() {
			noise.Add(1)
			wake(&noise)
			runtime.Gosched()
		}
	})
	beside.Go(func() { // lanes that come and go
		for !stop.Load() {
			u := newUser(t, &d, make([]atomix.Uint32, 3))
			u.entry.Remove()
		}
	})
	for range users {
		u := newUser(t, &d, make([]atomix.Uint32, 3))
		var taken atomic.Uint32
		done.Go(func() {
			for n := range uint32(rings) {
				for taken.Load() < n { // one ring for each park, so that most find the user parked
					runtime.Gosched()
				}
				u.ring(wake)
			}
		})
		done.Go(func() {
			for n := range uint32(rings) {
				if !u.await(n + 1) {
					t.Errorf("wake-up %d was lost: bell %d, parked %d", n+1, u.bell.Load(), u.parked.Load())
					taken.Store(rings)
					return
				}
				taken.Store(n + 1)
			}
			u.entry.Remove()
		})
	}
	done.Wait()
	stop.Store(true)
	beside.Wait()
	noisy.Remove()
	threadsEnd(t, &d, 0)
}

// TestRemovedDoorbellIsNotTouched: memory can be unmapped when Remove has returned, while other
// goroutines ring and while the thread has other doorbells. A touch of the memory ends the
// process by a fault.
func TestRemovedDoorbellIsNotTouched(t *testing.T) {
	needWaitv(t)
	var d futex.Dispatcher
	stays := newUser(t, &d, make([]atomix.Uint32, 3))
	for i := range 300 {
		r, err := shm.Sealed("bell", 4096, shm.Here)
		if err != nil {
			t.Fatal(err)
		}
		word := &wordsOf(r.Bytes())[0]
		p := lfsync.NewParker()
		e, err := d.Add(word, p)
		if err != nil {
			t.Fatal(err)
		}
		ringer := make(chan struct{})
		go func() {
			defer close(ringer)
			for range i % 4 {
				word.Add(2)
				wake(word)
			}
		}()
		if i%3 > 0 {
			<-ringer // at all phases of a wake-up
		}
		e.Remove()
		<-ringer
		p.ParkFor(0) // takes the notification of a ring
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		stays.ring(wake) // the thread looks at all of its doorbells
		if !stays.await(uint32(i + 1)) {
			t.Fatal("a wake-up was lost")
		}
		if p.ParkFor(0) {
			t.Fatal("the parker of a removed doorbell was unparked")
		}
	}
	stays.entry.Remove()
}

// TestAddWhileTheThreadWaits: a doorbell that is added while the thread waits for others is
// served, although no other doorbell changes.
func TestAddWhileTheThreadWaits(t *testing.T) {
	needWaitv(t)
	var d futex.Dispatcher
	for range 50 {
		u := newUser(t, &d, make([]atomix.Uint32, 3))
		go u.ring(wake)
		if !u.await(1) {
			t.Fatal("a wake-up was lost")
		}
		defer u.entry.Remove()
	}
}

// TestRemoveTwicePanics: a second Remove is misuse.
func TestRemoveTwicePanics(t *testing.T) {
	needWaitv(t)
	u := newUser(t, new(futex.Dispatcher), make([]atomix.Uint32, 3))
	u.entry.Remove()
	defer func() {
		if got := recover(); got != "futex: Entry.Remove: the entry was removed" {
			t.Errorf("the second Remove: %v", got)
		}
	}()
	u.entry.Remove()
}

// TestErrorsLoseNoWake: a kernel that has no memory for a wait delays wake-ups and loses none.
func TestErrorsLoseNoWake(t *testing.T) {
	var failures atomic.Int32
	d := futex.NewDispatcherOn(&futex.System{
		Wait: func(s *futex.Set) error {
			failures.Add(1)
			return errors.New("no memory")
		},
		Wake:  wake,
		Retry: futex.KernelRetry,
		Start: func(f func()) { go f() },
	})
	u := newUser(t, d, make([]atomix.Uint32, 3))
	for i := range uint32(50) {
		go u.ring(wake)
		if !u.await(i + 1) {
			t.Fatalf("wake-up %d was lost", i+1)
		}
	}
	u.entry.Remove()
	threadsEnd(t, d, 0)
	if failures.Load() == 0 {
		t.Error("no wait has failed")
	}
}
