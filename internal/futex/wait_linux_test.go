//go:build linux && !portable

package futex_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/shm"
)

func init() { roles["collect"] = collect }

// waits are the two calls that wait for one word.
var waits = map[string]func(word *atomix.Uint32, seen uint32, until int64) (futex.Outcome, error){
	"futex": futex.Wait,
	"futex_waitv": func(word *atomix.Uint32, seen uint32, until int64) (futex.Outcome, error) {
		var s futex.Set
		s.Add(word, seen)
		i, o, err := s.Wait(until)
		if (i == 0) != (o == futex.Woken) {
			return o, fmt.Errorf("the outcome is %v, and the index %d", o, i)
		}
		return o, err
	},
}

// eachWait runs a test for each call that this kernel has.
func eachWait(t *testing.T, test func(t *testing.T, wait func(word *atomix.Uint32, seen uint32, until int64) (futex.Outcome, error))) {
	t.Helper()
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			if name == "futex_waitv" {
				needWaitv(t)
			}
			test(t, wait)
		})
	}
}

// TestNowIsTheClockOfTheSystem: Now is CLOCK_MONOTONIC, but for the error of the alignment.
func TestNowIsTheClockOfTheSystem(t *testing.T) {
	const slack = int64(time.Millisecond)
	var ts unix.Timespec
	before := futex.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	if at := ts.Nano(); at < before-slack || at > futex.Now()+slack {
		t.Errorf("the system has %d, and Now is %d", at, before)
	}
}

// TestWaitComparesFirst: a wait for a word with another value returns at once.
func TestWaitComparesFirst(t *testing.T) {
	eachWait(t, func(t *testing.T, wait func(*atomix.Uint32, uint32, int64) (futex.Outcome, error)) {
		t.Helper()
		var word atomix.Uint32
		word.Store(1<<31 + 1)
		for _, seen := range []uint32{0, 1, 1<<31 + 2, 1 << 31} {
			if o, err := wait(&word, seen, 0); o != futex.Changed || err != nil {
				t.Errorf("Wait for %d = %v, %v; want changed", seen, o, err)
			}
		}
	})
}

// TestWaitEndsAtItsDeadline: a wait does not end before its deadline, and ends after it. A
// deadline that has passed ends a wait at once.
func TestWaitEndsAtItsDeadline(t *testing.T) {
	eachWait(t, func(t *testing.T, wait func(*atomix.Uint32, uint32, int64) (futex.Outcome, error)) {
		t.Helper()
		var word atomix.Uint32
		for _, d := range []time.Duration{-1 << 62, -1, 0, 1, time.Millisecond, 12 * time.Millisecond} {
			until := futex.Deadline(d)
			o, err := wait(&word, 0, until)
			if now := futex.Now(); now < until {
				t.Errorf("a wait of %v ended %d ns early", d, until-now)
			}
			if o != futex.TimedOut || err != nil {
				t.Errorf("a wait of %v: %v, %v; want timed out", d, o, err)
			}
		}
		if o, err := wait(&word, 0, -5); o != futex.TimedOut || err != nil {
			t.Errorf("a wait until -5: %v, %v; want timed out", o, err)
		}
	})
}

// TestWakeEndsWaits: a Wake ends all waits on its word, and returns their number. It ends no
// wait on another word.
func TestWakeEndsWaits(t *testing.T) {
	eachWait(t, func(t *testing.T, wait func(*atomix.Uint32, uint32, int64) (futex.Outcome, error)) {
		t.Helper()
		var words [2]atomix.Uint32
		const waiters = 3
		var group sync.WaitGroup
		for range waiters {
			group.Go(func() {
				if o, err := wait(&words[0], 0, 0); o != futex.Woken || err != nil {
					t.Errorf("Wait = %v, %v; want woken", o, err)
				}
			})
		}
		for woken := 0; woken < waiters; runtime.Gosched() {
			n, err := futex.Wake(&words[0])
			if err != nil {
				t.Fatal(err)
			}
			if woken += n; woken > waiters {
				t.Fatalf("%d waits were woken, and there were %d", woken, waiters)
			}
			if n, err := futex.Wake(&words[1]); n != 0 || err != nil {
				t.Fatalf("Wake of another word = %d, %v", n, err)
			}
		}
		group.Wait()
	})
}

// TestWaitSurvivesSignals: a signal neither ends a wait nor moves its deadline.
func TestWaitSurvivesSignals(t *testing.T) {
	eachWait(t, func(t *testing.T, wait func(*atomix.Uint32, uint32, int64) (futex.Outcome, error)) {
		t.Helper()
		var word atomix.Uint32
		thread, done := make(chan int, 1), make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			thread <- unix.Gettid()
			until := futex.Deadline(100 * time.Millisecond)
			o, err := wait(&word, 0, until)
			if o != futex.TimedOut || err != nil || futex.Now() < until {
				t.Errorf("Wait = %v, %v, %d ns after its deadline; want timed out", o, err, futex.Now()-until)
			}
		}()
		id := <-thread
		for {
			select {
			case <-done:
				return
			default:
				if err := unix.Tgkill(os.Getpid(), id, unix.SIGURG); err != nil {
					t.Fatal(err)
				}
				runtime.Gosched()
			}
		}
	})
}

// TestWaitOnReadOnlyMemory: a process can wait on memory that it may not write, and another
// mapping of the memory wakes it. The host waits on a word of the answers in this way.
func TestWaitOnReadOnlyMemory(t *testing.T) {
	eachWait(t, func(t *testing.T, wait func(*atomix.Uint32, uint32, int64) (futex.Outcome, error)) {
		t.Helper()
		written, err := shm.Sealed("test", memoryBytes, shm.Here)
		if err != nil {
			t.Fatal(err)
		}
		defer written.Unmap()
		f, err := dup(written.File())
		if err != nil {
			t.Fatal(err)
		}
		read, err := shm.Open(f, memoryBytes, shm.There)
		if err != nil {
			t.Fatal(err)
		}
		defer read.Unmap()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if o, err := wait(&wordsOf(read.Bytes())[9], 0, 0); o != futex.Woken || err != nil {
				t.Errorf("Wait = %v, %v; want woken", o, err)
			}
		}()
		for n := 0; n == 0; runtime.Gosched() {
			if n, err = futex.Wake(&wordsOf(written.Bytes())[9]); err != nil {
				t.Fatal(err)
			}
		}
		<-done
	})
}

// TestErrorsNameTheCall: a word that is not mapped is an error that names the call.
func TestErrorsNameTheCall(t *testing.T) {
	r, err := shm.Sealed("test", memoryBytes, shm.Here)
	if err != nil {
		t.Fatal(err)
	}
	word := &wordsOf(r.Bytes())[0]
	if err := r.Unmap(); err != nil {
		t.Fatal(err)
	}
	for name, wait := range waits {
		if name == "futex_waitv" && !futex.HasWaitv() {
			continue
		}
		if _, err := wait(word, 0, 0); err == nil || !strings.Contains(err.Error(), "futex: futex") || !strings.Contains(err.Error(), "bad address") {
			t.Errorf("%s of memory that is not mapped: %v", name, err)
		}
	}
	if _, err := futex.Wake(word); err == nil || !strings.Contains(err.Error(), "futex wake: bad address") {
		t.Errorf("Wake of memory that is not mapped: %v", err)
	}
}

// TestSetWaitsForEveryWord: a set of any size compares all of its words, and a Wake of any of
// them ends the wait and is reported by its index.
func TestSetWaitsForEveryWord(t *testing.T) {
	needWaitv(t)
	for _, n := range []int{1, 2, futex.MaxWords} {
		words := make([]atomix.Uint32, n)
		var s futex.Set
		for i := range words {
			words[i].Store(uint32(i))
			if at := s.Add(&words[i], uint32(i)); at != i || s.Seen(i) != uint32(i) || s.Word(i) != &words[i] {
				t.Fatalf("word %d is at %d", i, at)
			}
		}
		if _, o, err := s.Wait(1); o != futex.TimedOut || err != nil {
			t.Fatalf("a set of %d words: %v, %v", n, o, err)
		}
		for i := range words {
			s.Expect(i, uint32(i)+1)
			if at, o, err := s.Wait(0); at != -1 || o != futex.Changed || err != nil {
				t.Fatalf("word %d of %d has another value: %d, %v, %v", i, n, at, o, err)
			}
			s.Expect(i, uint32(i))
		}
		for _, i := range []int{0, n / 2, n - 1} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if at, o, err := s.Wait(0); at != i || o != futex.Woken || err != nil {
					t.Errorf("Wake of word %d of %d: %d, %v, %v", i, n, at, o, err)
				}
			}()
			for woken := 0; woken == 0; runtime.Gosched() {
				woken, _ = futex.Wake(&words[i])
			}
			<-done
		}
		s.Reset()
		if s.Len() != 0 {
			t.Error("Reset keeps words")
		}
	}
}

// TestSetLimits: a set that is full or empty panics.
func TestSetLimits(t *testing.T) {
	panics := func(f func()) (text any) {
		defer func() { text = recover() }()
		f()
		return nil
	}
	var s futex.Set
	if got := panics(func() { s.Wait(0) }); got != "futex: Set.Wait: the set is empty" {
		t.Errorf("Wait of an empty set: %v", got)
	}
	var word atomix.Uint32
	for range futex.MaxWords {
		s.Add(&word, 0)
	}
	if got := panics(func() { s.Add(&word, 0) }); got != "futex: Set.Add: the set is full" {
		t.Errorf("word %d: %v", futex.MaxWords+1, got)
	}
}

// collect runs the garbage collector while a thread waits without a deadline.
func collect([]string) error {
	var word atomix.Uint32
	thread, done := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		_, err := futex.Wait(&word, 0, 0)
		done <- err
	}()
	stat := fmt.Sprintf("/proc/self/task/%d/stat", <-thread)
	for isSleeping := false; !isSleeping; runtime.Gosched() {
		text, err := os.ReadFile(stat)
		if err != nil {
			return err
		}
		isSleeping = strings.Contains(string(text), ") S ")
	}
	runtime.GC()
	for woken := 0; woken == 0; runtime.Gosched() {
		woken, _ = futex.Wake(&word)
	}
	return <-done
}

// TestWaitDoesNotStopTheCollector: a thread in a wait does not keep the garbage collector
// waiting. The process of a wait that does has no goroutine left that could end it, so it is
// another process.
func TestWaitDoesNotStopTheCollector(t *testing.T) {
	cmd := start(t, "collect", memory(t), nil)
	end := begin(t, cmd)
	defer time.AfterFunc(patience.Limit, func() { cmd.Process.Kill() }).Stop()
	end()
}
