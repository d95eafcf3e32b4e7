package child_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestNoThreadWaitsForAProcess checks that 32 processes that run take no thread of the host each.
func TestNoThreadWaitsForAProcess(t *testing.T) {
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			start(t, command("waits"))
			before := threads(t)
			var list []*child.Process
			for range 32 {
				list = append(list, start(t, command("waits")))
			}
			for _, p := range list {
				select {
				case <-p.Done():
					t.Fatalf("process %d has ended: %v %s", p.Pid(), p.State(), p.Tail())
				default:
				}
			}
			if after := threads(t); after > before+8 {
				t.Errorf("%d threads with one process, %d with 33", before, after)
			}
			for _, p := range list {
				if err := p.Kill(); err != nil {
					t.Error(err)
				}
			}
			for _, p := range list {
				if s := ended(t, p); s == nil || s.Signal != syscall.SIGKILL {
					t.Errorf("process %d has ended otherwise: %v", p.Pid(), s)
				}
			}
		})
	}
}

// threads returns the number of threads of this process.
func threads(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestStartingThreadMayEnd checks that a process outlives the thread that has asked for it. The death signal comes when
// the thread ends that has started the process.
func TestStartingThreadMayEnd(t *testing.T) {
	proctest.Need(t)
	in, out := pipe(t)
	back, reply := pipe(t)
	started := make(chan *child.Process)
	thread := 0
	var onThread func()
	onThread = func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		if thread = unix.Gettid(); thread == os.Getpid() {
			go onThread() // on another thread: the first one of a program does not end
			return
		}
		p, err := child.Start(command("echoes", in, reply))
		if err != nil {
			t.Error(err)
		}
		started <- p
	}
	go onThread()
	p := <-started
	if p == nil {
		return
	}
	for {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); err != nil {
			break
		}
		runtime.Gosched()
	}
	_, _ = in.Close(), reply.Close()
	r := bufio.NewReader(back)
	fmt.Fprintln(out, "ping")
	if s, err := r.ReadString('\n'); s != "ping\n" {
		t.Errorf("the process answers %q, %v", s, err)
	}
	out.Close()
	if s := ended(t, p); !s.Success() {
		t.Errorf("the process: %v", s)
	}
}
