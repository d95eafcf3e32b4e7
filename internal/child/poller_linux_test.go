package child_test

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/child"
)

// refused keeps files from being closed twice: each has the descriptor of another file.
var refused []*os.File

// refuse returns a second file for the descriptor of f. The poller refuses it, because it watches that of f.
func refuse(t *testing.T, f *os.File) *os.File {
	t.Helper()
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var again *os.File
	_ = c.Control(func(fd uintptr) { again = os.NewFile(fd, "refused") })
	refused = append(refused, again)
	if err := again.SetReadDeadline(time.Now()); !errors.Is(err, os.ErrNoDeadline) {
		t.Skipf("the poller takes a descriptor twice: %v", err)
	}
	return again
}

// TestHostEndIsSeenWithoutThePoller checks that a child does not take a refusal of the poller for the end of its host.
func TestHostEndIsSeenWithoutThePoller(t *testing.T) {
	for name, file := range map[string]func(t *testing.T, r *os.File) *os.File{
		"polled":  func(_ *testing.T, r *os.File) *os.File { return r },
		"refused": refuse,
	} {
		t.Run(name, func(t *testing.T) {
			r, w := pipe(t)
			seen := make(chan struct{})
			f := file(t, r)
			go func() {
				defer close(seen)
				child.AwaitHostEnd(f)
			}()
			for range 3 { // a host writes nothing, and that it has written is not its end
				if _, err := w.WriteString("x"); err != nil {
					t.Fatal(err)
				}
				for queued(t, w) > 0 {
					select {
					case <-seen:
						t.Fatal("the end of the host is seen before it has come")
					default:
						runtime.Gosched()
					}
				}
			}
			w.Close()
			await(t, seen, "the end of the host is not seen")
		})
	}
}

// queued returns the number of bytes in a pipe.
func queued(t *testing.T, f *os.File) (n int) {
	t.Helper()
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWatchOfRefusedFile checks that a watch does not spin when the poller refuses its file, or when a process cannot be
// reaped after its event: the delays between two looks grow to a bound.
func TestWatchOfRefusedFile(t *testing.T) {
	r, w := pipe(t)
	a := child.NewAwaiter(refuse(t, r), 0)
	a.Await()
	first := a.Delay()
	a.Await()
	if second := a.Delay(); first <= 0 || second != 2*first {
		t.Errorf("the delays are %v and %v", first, second)
	}
	w.Close()
	b := child.NewAwaiter(r, 0)
	b.Await()
	if d := b.Delay(); d != first {
		t.Errorf("the delay after the event is %v", d)
	}
}

// TestWatchLooksAgain checks that a watch whose event another process can hold back returns without it.
func TestWatchLooksAgain(t *testing.T) {
	r, _ := pipe(t)
	a := child.NewAwaiter(r, time.Millisecond)
	for range 3 {
		a.Await()
		if d := a.Delay(); d != 0 {
			t.Errorf("the event has come: %v", d)
		}
	}
}

// TestPollerWatchesAProcess checks that the end of a process is an event of the poller, since a look at it would come late.
// Another process can hold back the event of a pipe, so the host looks as well.
func TestPollerWatchesAProcess(t *testing.T) {
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			p := start(t, command("waits"))
			if p.HasPidfd() != (way == "pidfd") || !p.IsWatched() || p.LooksAgain() != (way == "pipe") {
				t.Errorf("the process has a pidfd: %t; its file is polled: %t; the host looks again: %t", p.HasPidfd(), p.IsWatched(), p.LooksAgain())
			}
		})
	}
}
