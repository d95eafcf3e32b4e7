package child_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/patience"
)

// TestDeathBySignal checks that the signal that has ended a process is its state.
func TestDeathBySignal(t *testing.T) {
	sh := shell(t)
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGKILL} {
				p := start(t, child.Command{Argv: []string{sh, "-c", fmt.Sprintf("kill -%d $$", sig)}, Dir: t.TempDir()})
				s := ended(t, p)
				if s == nil || s.Code != -1 || s.Signal != sig || s.Success() || !strings.HasPrefix(s.String(), "signal: "+sig.String()) {
					t.Errorf("signal %d: %v", sig, s)
				}
			}
		})
	}
}

// TestStateOfStatus checks which state the kernel reports by a status, and that a process that was stopped or continued
// has not ended.
func TestStateOfStatus(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status uint32
		want   *child.State
		text   string
	}{
		{"exit code 0", 0, &child.State{}, "exit status 0"},
		{"exit code 3", 0x0300, &child.State{Code: 3}, "exit status 3"},
		{"exit code 255", 0xff00, &child.State{Code: 255}, "exit status 255"},
		{"killed", 9, &child.State{Code: -1, Signal: syscall.SIGKILL}, "signal: killed"},
		{"core dumped", 0x86, &child.State{Code: -1, Signal: syscall.SIGABRT, CoreDumped: true}, "signal: aborted (core dumped)"},
		{"stopped", 0x137f, nil, ""},
		{"trapped", 0x057f, nil, ""},
		{"continued", 0xffff, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := child.StateOf(tc.status)
			switch {
			case got == nil || tc.want == nil:
				if got != tc.want {
					t.Errorf("got %v, want %v", got, tc.want)
				}
			case *got != *tc.want || got.String() != tc.text:
				t.Errorf("got %+v, %q; want %+v, %q", *got, got, *tc.want, tc.text)
			}
		})
	}
}

// TestCoreDump checks that the state reports a memory image, where the system writes one.
func TestCoreDump(t *testing.T) {
	dir := t.TempDir()
	p := start(t, child.Command{Argv: []string{shell(t), "-c", "ulimit -c unlimited && kill -ABRT $$"}, Dir: dir})
	s := ended(t, p)
	if images, err := os.ReadDir(dir); err != nil || len(images) == 0 {
		t.Skip("the system writes no memory image to the directory of the process")
	}
	if s == nil || !s.CoreDumped || s.Signal != syscall.SIGABRT {
		t.Errorf("the state is %v", s)
	}
}

// TestStoppedProcessHasNotEnded checks that a process that is stopped and continued has not ended, and that one that is
// stopped can be killed.
func TestStoppedProcessHasNotEnded(t *testing.T) {
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			for _, kills := range []bool{false, true} {
				back, reply := pipe(t)
				in, out := pipe(t)
				p := start(t, command("stops", reply, in))
				_, _ = in.Close(), reply.Close()
				r := bufio.NewReader(back)
				stopped(t, r)
				if p.Reap() {
					t.Fatalf("a stopped process has ended: %v", p.State())
				}
				if kills {
					if err := p.Kill(); err != nil {
						t.Error(err)
					}
					if s := ended(t, p); s == nil || s.Signal != syscall.SIGKILL {
						t.Errorf("the state is %v", s)
					}
					continue
				}
				if err := syscall.Kill(p.Pid(), syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(out, "ping")
				if s, err := r.ReadString('\n'); s != "ping\n" {
					t.Errorf("the process answers %q, %v", s, err)
				}
				if p.Reap() {
					t.Fatalf("a process that was continued has ended: %v", p.State())
				}
				out.Close()
				if s := ended(t, p); s == nil || !s.Success() {
					t.Errorf("the state is %v", s)
				}
			}
		})
	}
}

// stopped reads the number of a process, and returns it when the process has stopped.
func stopped(t *testing.T, r *bufio.Reader) (pid int) {
	t.Helper()
	if _, err := fmt.Fscanln(r, &pid); err != nil {
		t.Fatal(err)
	}
	for from := time.Now(); ; runtime.Gosched() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, state, ok := strings.Cut(string(text), ") "); ok && strings.HasPrefix(state, "T") {
			return pid
		}
		if err != nil || time.Since(from) > patience.Limit {
			t.Fatalf("process %d has not stopped: %s, %v", pid, text, err)
		}
	}
}
