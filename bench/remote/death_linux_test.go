package remote_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestDeath checks that a call of a process that has been killed returns an error, for numbers and for payloads.
func TestDeath(t *testing.T) {
	for _, k := range kinds {
		for _, size := range []int{remote.NumberBytes, 64 << 10} {
			t.Run(k.name, func(t *testing.T) {
				c := open(t, k.start, size)
				call := func() error { _, err := c.Call(1); return err }
				if size != remote.NumberBytes {
					payload := make([]byte, size)
					call = func() error { _, err := c.Echo(payload, nil); return err }
				}
				if err := call(); err != nil {
					t.Fatal(err)
				}
				pids := children(t, os.Getpid())
				if len(pids) != 1 {
					t.Fatalf("the client has the processes %v, want one", pids)
				}
				if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				for call() == nil { // the process may answer until the signal arrives
				}
			})
		}
	}
}

// TestCloseEndsProcess checks that no process is left after Close.
func TestCloseEndsProcess(t *testing.T) {
	proctest.Need(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			c, err := k.start(remote.NumberBytes)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if pids := children(t, os.Getpid()); len(pids) != 0 {
				t.Errorf("the processes %v are left", pids)
			}
		})
	}
}

// TestHostDies checks that the process of a client ends when its host is killed.
func TestHostDies(t *testing.T) {
	proctest.Need(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			cmd := proctest.Role(t, "host", k.name)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
				t.Fatalf("the host prints %q, %v", line, err)
			}
			pids := children(t, cmd.Process.Pid)
			if len(pids) != 1 {
				t.Fatalf("the host has the processes %v, want one", pids)
			}
			fd, err := unix.PidfdOpen(pids[0], 0)
			if err != nil {
				t.Skip(err)
			}
			defer unix.Close(fd)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(ended, 20_000)
			for errors.Is(err, unix.EINTR) {
				n, err = unix.Poll(ended, 20_000)
			}
			if n != 1 {
				t.Errorf("the process lives 20 s after its host, %v", err)
				_ = unix.Kill(pids[0], unix.SIGKILL)
			}
		})
	}
}

// children returns the processes that a process has started, without those that have ended.
func children(t *testing.T, parent int) []int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended since
		}
		pid, _, _ := strings.Cut(string(text), " ")
		_, rest, _ := strings.Cut(string(text), ") ") // behind the name
		fields := strings.Fields(rest)
		if n, err := strconv.Atoi(pid); err == nil && len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, n)
		}
	}
	return pids
}
