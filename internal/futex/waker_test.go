package futex_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/patience"
)

// rounds is the number of questions of TestProcessesWakeEachOther. A soak has millions:
//
//	go test -run TestProcessesWakeEachOther ./internal/futex -futex.rounds=5000000 -timeout 0
var rounds = flag.Int("futex.rounds", 2000, "questions of another process in TestProcessesWakeEachOther")

// makers make the Waker of a host and the files for the other process.
func makers() map[string]func() (futex.Waker, []*os.File, error) {
	all := map[string]func() (futex.Waker, []*os.File, error){"descriptors": futex.NewEvents}
	if futex.HasWaitv() {
		all["futexes"] = new(futex.Dispatcher).NewWaker
	}
	return all
}

// eachWaker runs a test for each kind of Waker that the system has.
func eachWaker(t *testing.T, test func(t *testing.T, w futex.Waker, peer []*os.File)) {
	t.Helper()
	for name, maker := range makers() {
		t.Run(name, func(t *testing.T) {
			w, peer, err := maker()
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			test(t, w, peer)
		})
	}
}

// TestProcessesWakeEachOther: of two processes that ask and answer, each is woken by each
// change of the other one. A side that is woken by a limit of time would be late, and here no
// park has one. K-006, K-041.
func TestProcessesWakeEachOther(t *testing.T) {
	eachWaker(t, func(t *testing.T, w futex.Waker, peer []*os.File) {
		t.Helper()
		r := memory(t)
		n := uint32(*rounds)
		end := begin(t, start(t, "echo", r, peer, fmt.Sprint(n), fmt.Sprint(len(peer))))
		for _, f := range peer {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s := sideOf(wordsOf(r.Bytes()), w, true)
		var longest time.Duration
		for i := range n {
			asked := time.Now()
			s.put(i + 1)
			if !s.await(i+1, futex.Deadline(patience.Limit)) {
				t.Fatalf("question %d has no answer after %v: bell %d, parked %d; of the worker bell %d, parked %d", i,
					patience.Limit, s.ownBell.Load(), s.ownParked.Load(), s.peerBell.Load(), s.peerParked.Load())
			}
			if i > 0 { // the first one waits for the start of the process
				longest = max(longest, time.Since(asked))
			}
		}
		end()
		t.Logf("the longest of %d rounds took %v", n, longest)
		if rings := s.ownBell.Load() / 2; rings == 0 {
			t.Error("the host was never parked")
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// bothSides returns the two sides of a link in one process.
func bothSides(t *testing.T, w futex.Waker, peer []*os.File) map[string]futex.Waker {
	t.Helper()
	other, err := futex.OpenWaker(peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	})
	return map[string]futex.Waker{"host": w, "worker": other}
}

// TestParkComparesFirst: a Park on a doorbell with another value returns at once.
func TestParkComparesFirst(t *testing.T) {
	eachWaker(t, func(t *testing.T, w futex.Waker, peer []*os.File) {
		t.Helper()
		for name, w := range bothSides(t, w, peer) {
			var bell atomix.Uint32
			bell.Store(8)
			if w.Park(&bell, 4, futex.Deadline(patience.Limit)) {
				t.Errorf("%s: the Park has not compared the doorbell", name)
			}
		}
	})
}

// TestParkEndsAtItsDeadline: a Park ends at its deadline and not before, and reports it. The
// deadline does not end the next Park.
func TestParkEndsAtItsDeadline(t *testing.T) {
	eachWaker(t, func(t *testing.T, w futex.Waker, peer []*os.File) {
		t.Helper()
		for _, f := range peer {
			f.Fd() // a command that gets the file calls it, which must not stop the deadlines
		}
		for name, w := range bothSides(t, w, peer) {
			var bell atomix.Uint32
			for _, d := range []time.Duration{-time.Hour, 0, time.Microsecond, 3 * time.Millisecond} {
				until := futex.Deadline(d)
				for !w.Park(&bell, 0, until) {
					if futex.Now() > until+int64(patience.Limit) {
						t.Fatalf("%s: a Park of %v does not report its deadline", name, d)
					}
				}
				if now := futex.Now(); now < until {
					t.Errorf("%s: a Park of %v ended %d ns early", name, d, until-now)
				}
			}
			done := make(chan bool)
			go func() { done <- w.Park(&bell, 0, 0) }()
			select {
			case <-done:
				t.Errorf("%s: a Park without a deadline ends", name)
			case <-time.After(10 * time.Millisecond): // longer than the deadlines before
				w.WakeOwn()
				if <-done {
					t.Errorf("%s: a Park without a deadline has timed out", name)
				}
			}
		}
	})
}

// TestWakeOwnIsKept: WakeOwn ends the Park of its side, and a WakeOwn without a Park ends the
// next one.
func TestWakeOwnIsKept(t *testing.T) {
	eachWaker(t, func(t *testing.T, w futex.Waker, peer []*os.File) {
		t.Helper()
		for name, w := range bothSides(t, w, peer) {
			var bell atomix.Uint32
			for i := range 200 {
				if i%2 == 0 {
					w.WakeOwn()
				} else {
					go w.WakeOwn() // before the Park or in it
				}
				if w.Park(&bell, 0, futex.Deadline(patience.Limit)) {
					t.Fatalf("%s: WakeOwn %d was lost", name, i)
				}
			}
		}
	})
}

// TestWakePeerEndsPark: after a change of the doorbell WakePeer ends the Park of the other side.
func TestWakePeerEndsPark(t *testing.T) {
	eachWaker(t, func(t *testing.T, w futex.Waker, peer []*os.File) {
		t.Helper()
		sides := bothSides(t, w, peer)
		for name, w := range sides {
			other := sides["host"]
			if name == "host" {
				other = sides["worker"]
			}
			var bell atomix.Uint32
			for i := range uint32(200) {
				go func() {
					bell.Store(i + 1)
					other.WakePeer(&bell)
				}()
				for bell.Load() == i {
					if w.Park(&bell, i, futex.Deadline(patience.Limit)) {
						t.Fatalf("%s: WakePeer %d was lost", name, i)
					}
				}
			}
		}
	})
}

// TestOpenWakerRefusesOtherFiles: files of another mechanism are an error that says so, and are
// closed.
func TestOpenWakerRefusesOtherFiles(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Skip(err)
	}
	if _, err := futex.OpenWaker([]*os.File{f}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "futex: OpenWaker: ") {
		t.Errorf("OpenWaker of one file: %v", err)
	}
	if !errors.Is(f.Close(), os.ErrClosed) {
		t.Error("the file is open")
	}
	if futex.HasWaitv() {
		return
	}
	if _, err := futex.OpenWaker(nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "futex_waitv") {
		t.Errorf("OpenWaker without files and futexes: %v", err)
	}
}

// TestUnsupportedNamesWhatIsMissing: a call that this system or this build lacks is an error
// that matches errors.ErrUnsupported and names what is missing.
func TestUnsupportedNamesWhatIsMissing(t *testing.T) {
	if futex.HasWaitv() {
		t.Skip("nothing is missing")
	}
	var word atomix.Uint32
	var s futex.Set
	s.Add(&word, 0)
	calls := map[string]func() error{
		"Dispatcher.Add": func() error { _, err := new(futex.Dispatcher).Add(&word, nil); return err },
		"futex_waitv":    func() error { _, _, err := s.Wait(0); return err },
	}
	if _, _, err := new(futex.Dispatcher).NewWaker(); err != nil {
		calls["NewWaker"] = func() error { return err }
	}
	if runtime.GOOS != "linux" {
		calls["futex "] = func() error { _, err := futex.Wait(&word, 0, 0); return err }
		calls["system calls futex"] = func() error { _, err := futex.Wake(&word); return err }
	}
	for want, call := range calls {
		if err := call(); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want errors.ErrUnsupported with %q", err, want)
		}
	}
}

// TestOutcomeString: each outcome has a name.
func TestOutcomeString(t *testing.T) {
	if got := fmt.Sprint(futex.Changed, futex.Woken, futex.TimedOut, futex.Outcome(9)); got != "changed woken timed out unknown outcome" {
		t.Errorf("names of the outcomes: %s", got)
	}
}
