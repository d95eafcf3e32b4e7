package child_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/proctest"
)

func init() { hosts["powerless"] = powerless }

// TestKillReachesTheProcessBehindAPrefix checks that Kill ends the process for which a prefix waits. That process is
// stopped, so it does not see the end of the pipe.
func TestKillReachesTheProcessBehindAPrefix(t *testing.T) {
	shell(t)
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			back, reply := pipe(t)
			in, _ := pipe(t)
			p := start(t, behind(command("stops", reply, in), "sh", "-c", `"$@"; true`, "sh"))
			reply.Close()
			r := bufio.NewReader(back)
			pid := stopped(t, r)
			if pid == p.Pid() {
				t.Fatalf("the prefix is the process itself")
			}
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
			if s := ended(t, p); s == nil || s.Signal != syscall.SIGKILL {
				t.Errorf("the prefix: %v", s)
			}
			_ = back.SetReadDeadline(time.Now().Add(patience.Limit))
			if b, err := io.ReadAll(r); len(b) != 0 || err != nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Errorf("the process behind the prefix runs: %q, %v", b, err)
			}
		})
	}
}

// TestKillThatIsNotAllowed checks that Kill fails while a process of another user runs, and has no effect when it has
// ended and is not reaped.
func TestKillThatIsNotAllowed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser can become another user")
	}
	out, err := proctest.Output(t, proctest.Role(t, "powerless"))
	if out != "done\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

// hasEnded reports whether a process has ended, and leaves its end for the parent to take.
func hasEnded(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo == int32(unix.SIGCHLD)
}

// powerless starts processes of the superuser, and becomes another user, which may not kill them. It returns how Kill
// reports this before and after their end.
func powerless([]string) error {
	for _, prefix := range [][]string{nil, {"env"}} {
		in, out, err := os.Pipe()
		if err != nil {
			return err
		}
		back, reply, err := os.Pipe()
		if err != nil {
			return err
		}
		p, err := child.StartUnwatched(behind(command("echoes", in, reply), prefix...))
		if err != nil {
			return err
		}
		_, _ = in.Close(), reply.Close()
		if err := syscall.Setresuid(65534, 65534, 0); err != nil {
			return err
		}
		if err := p.Kill(); !errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("Kill of a process that runs: %w", err)
		}
		out.Close()
		_, _ = io.ReadAll(back) // the process closes it when it ends
		for !hasEnded(p.Pid()) {
			runtime.Gosched()
		}
		if err := p.Kill(); err != nil {
			return fmt.Errorf("Kill of a process that is not reaped: %w", err)
		}
		p.Watch()
		if s := p.State(); s == nil || !s.Success() {
			return fmt.Errorf("the process: %v", s)
		}
		if err := syscall.Setresuid(0, 0, 0); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}
