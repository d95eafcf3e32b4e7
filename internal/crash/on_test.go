//go:build crash && (darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package crash_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/proctest"
)

func TestMain(m *testing.M) {
	proctest.Main(m, map[string]func(args []string) error{
		"passes": func([]string) error { // a line for each step that it survives
			b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
			for range 5 {
				crash.At(crash.Claimed)
				fmt.Println("claimed")
				crash.At(crash.Rung)
				fmt.Println("rung")
				crash.Half(crash.HeaderHalf, b, 8)
				fmt.Println("half", crash.Fail(crash.Fork))
			}
			return nil
		},
		"halves": func(args []string) error {
			b, err := mapped(args[0])
			if err != nil {
				return err
			}
			copy(b, "abcdefgh")
			crash.Half(crash.HeaderHalf, b, 6)
			return errors.New("it lives")
		},
	})
}

// mapped maps the first 8 bytes of a file.
func mapped(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// run runs a role with a value of the variable, and returns its output and the signal that has ended it.
func run(t *testing.T, value, role string, args ...string) (string, syscall.Signal) {
	t.Helper()
	cmd := proctest.Role(t, role, args...)
	cmd.Env = append(cmd.Env, crash.Variable+"="+value)
	out, err := proctest.Output(t, cmd)
	var end *exec.ExitError
	if !errors.As(err, &end) {
		return out, 0
	}
	if s := end.Sys().(syscall.WaitStatus); s.Signaled() {
		return out, s.Signal()
	}
	t.Logf("%s", out)
	return out, -1
}

// TestDeathAtTheStep: a process dies by SIGKILL at the n-th pass of the step, and at no other.
func TestDeathAtTheStep(t *testing.T) {
	for _, tc := range []struct {
		value         string
		claimed, rung int
		signal        syscall.Signal
	}{
		{"claimed:1", 0, 0, syscall.SIGKILL},
		{"claimed:3", 2, 2, syscall.SIGKILL},
		{"rung:2", 2, 1, syscall.SIGKILL},
		{"half of the header:1", 1, 1, syscall.SIGKILL},
		{"rung:6", 5, 5, 0},
		{"exec:1", 5, 5, 0},
		{"", 5, 5, 0},
		{"fork:2", 5, 5, 0},
	} {
		out, signal := run(t, tc.value, "passes")
		if c, r := strings.Count(out, "claimed\n"), strings.Count(out, "rung\n"); c != tc.claimed || r != tc.rung || signal != tc.signal {
			t.Errorf("%q: %d and %d passes, %v; want %d and %d, %v", tc.value, c, r, signal, tc.claimed, tc.rung, tc.signal)
		}
		failures := 0
		if tc.value == "fork:2" {
			failures = 1
		}
		if n := strings.Count(out, syscall.EAGAIN.Error()); n != failures {
			t.Errorf("%q: %d failures, want %d", tc.value, n, failures)
		}
	}
}

// TestBadVariable: a value without a meaning ends the process, because a test with it would prove nothing.
func TestBadVariable(t *testing.T) {
	for _, value := range []string{"claimed", "claimed:", "claimed:0", "claimed:x", "clamed:1", ":1", "@/nonexistent/page"} {
		if out, signal := run(t, value, "passes"); signal != -1 || !strings.Contains(out, crash.Variable) {
			t.Errorf("%q: %v, %q", value, signal, out)
		}
	}
}

// TestPage: processes that share a page count their passes together, one of them dies, and the page says so.
func TestPage(t *testing.T) {
	path := t.TempDir() + "/page"
	p, err := crash.OpenPage(path)
	if err != nil {
		t.Fatal(err)
	}
	lives := func(want syscall.Signal) {
		t.Helper()
		if _, signal := run(t, "@"+path, "passes"); signal != want {
			t.Errorf("the process has ended by %v, want %v", signal, want)
		}
	}
	lives(0)
	p.Arm(crash.Rung, 8)
	lives(0)
	if p.Deaths() != 0 || p.Passes(crash.Rung) != 10 || p.Passes(crash.Claimed) != 10 {
		t.Errorf("%d deaths, %d passes", p.Deaths(), p.Passes(crash.Rung))
	}
	lives(syscall.SIGKILL)
	lives(0)
	if p.Deaths() != 1 || p.Passes(crash.Rung) != 18 {
		t.Errorf("%d deaths, %d passes", p.Deaths(), p.Passes(crash.Rung))
	}
	p.Arm(crash.Claimed, 1)
	p.Disarm()
	lives(0)
	if p.Deaths() != 1 {
		t.Errorf("%d deaths, want 1", p.Deaths())
	}
	other, err := crash.OpenPage(path)
	if err != nil {
		t.Fatal(err)
	}
	p.Count(crash.Counts - 1)
	if other.Count(crash.Counts - 1); p.Counted(crash.Counts-1) != 2 || other.Counted(0) != 0 {
		t.Errorf("the counters are %d and %d", p.Counted(crash.Counts-1), other.Counted(0))
	}
}

// TestHalf: a death in the middle of a write leaves the first half of it.
func TestHalf(t *testing.T) {
	path := t.TempDir() + "/memory"
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, signal := run(t, "half of the header:1", "halves", path); signal != syscall.SIGKILL {
		t.Errorf("the process has ended by %v", signal)
	}
	if got, err := os.ReadFile(path); string(got) != "abc\x00\x00\x00gh" {
		t.Errorf("the memory has %q, %v", got, err)
	}
}

// TestOwn: a test arms a step of its own process.
func TestOwn(t *testing.T) {
	crash.Own().Arm(crash.Fork, 2)
	for i, want := range []error{nil, syscall.EAGAIN, nil} {
		if err := crash.Fail(crash.Fork); !errors.Is(err, want) {
			t.Errorf("attempt %d: %v, want %v", i, err, want)
		}
	}
	if os.Getenv(crash.Variable) == "" && crash.Own().Deaths() != 1 {
		t.Errorf("%d failures", crash.Own().Deaths())
	}
}
