//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/proctest"
)

// host starts a process that spins, one that waits, and one behind a prefix that waits for it. It is killed afterwards.
func host(args []string) error {
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "alive")
	for _, c := range []child.Command{command("spins", f), command("waits", f), behind(command("waits", f), "sh", "-c", `"$@"; true`, "sh")} {
		if _, err := child.Start(c); err != nil {
			return err
		}
	}
	select {}
}

// TestProcessEndsWithItsHost kills a host. Its processes end, also one that never gives its processor up, and one behind
// a prefix, which no death signal reaches.
func TestProcessEndsWithItsHost(t *testing.T) {
	proctest.Need(t)
	shell(t)
	for range 5 {
		alive, theirs := pipe(t)
		h := proctest.Role(t, "host", "3")
		h.ExtraFiles = []*os.File{theirs}
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		r := bufio.NewReader(alive)
		var spins int
		if _, err := fmt.Fscanln(r, &spins); err != nil {
			t.Fatal(err)
		}
		if err := h.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := h.Wait(); !errors.As(err, &exit) {
			t.Fatalf("the host: %v", err)
		}
		// The processes have the other end of the pipe.
		_ = alive.SetReadDeadline(time.Now().Add(patience.Limit))
		if b, err := io.ReadAll(r); len(b) != 0 || err != nil {
			_ = syscall.Kill(spins, syscall.SIGKILL)
			t.Fatalf("a process has outlived its host: %q, %v", b, err)
		}
	}
}

// TestHeirIsNoChild checks that a process with the environment of a child is none, when a child starts it before Attach
// or afterwards, and in a session of its own or not. The prefix of a child is none either.
func TestHeirIsNoChild(t *testing.T) {
	if child.IsChild() {
		t.Error("the process of the tests is a child")
	}
	if _, ok, err := child.Attach(); ok || err != nil {
		t.Errorf("Attach in the process of the tests: %t, %v", ok, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		c    child.Command
	}{
		{"before Attach", command("bequeaths")},
		{"before Attach, in a session", command("founds")},
		{"after Attach, in a session, with a pipe", command("keeps")},
		{"before Attach, behind a prefix", behind(command("bequeaths"), "env")},
		{"before Attach, behind a prefix, in a session", behind(command("founds"), "env")},
		{"the prefix", behind(command("heir"), self)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := start(t, tc.c)
			if text := outputOf(t, p); text != "heir: false false <nil>\n" {
				t.Errorf("the output is %q", text)
			}
		})
	}
}

// TestChildOfAChild checks that a child can be a host, also if the environment of its own child has its mark.
func TestChildOfAChild(t *testing.T) {
	p := start(t, command("nests"))
	if text := outputOf(t, p); !strings.HasPrefix(text, "nested: exit status 0 line 0\n") {
		t.Errorf("the output is %q", text)
	}
}

// TestMarkIsRead checks that a process reads the mark that Start has written, and no other text.
func TestMarkIsRead(t *testing.T) {
	held, life := pipe(t)
	m, err := child.NewMark(held, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := child.ParseMark(m.String()); got != m || err != nil {
		t.Errorf("%q is read as %v, %v", m, got, err)
	}
	if got, err := child.ParseMark("64:18446744073709551615:0:2147483647:false"); err != nil || got.String() != "64:18446744073709551615:0:2147483647:false" {
		t.Errorf("the greatest mark: %v, %v", got, err)
	}
	for _, text := range []string{
		"", "2", "2:1:1:true", "2:1:1:1:true:", "65:1:1:1:true", "-1:1:1:1:true", "+1:1:1:1:true", "01:1:1:1:true", " 1:1:1:1:true",
		"1_0:1:1:1:true", "4294967297:1:1:1:true", "1:18446744073709551616:1:1:true", "1:1:18446744073709551616:1:true", "1:-1:1:1:true",
		"1:1:0x1:1:true", "1:1::1:true", "1:1:1:2147483648:true", "1:1:1:-1:true", "1:1:1::true", "1:1:1:1:yes", "1:1:1:1:",
	} {
		if got, err := child.ParseMark(text); err == nil || !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	if _, err := child.NewMark(plainFile(t), 0, false); err == nil {
		t.Error("a plain file has a mark")
	}
	closed, _ := pipe(t)
	closed.Close()
	if _, err := child.NewMark(closed, 0, false); err == nil {
		t.Error("a closed file has a mark")
	}
	other, _ := pipe(t)
	for _, tc := range []struct {
		name string
		f    *os.File
		want bool
	}{
		{"the end to read", held, true},
		{"the end to write", life, false},
		{"another pipe", other, false},
		{"a plain file", plainFile(t), false},
	} {
		if got := m.IsLife(int(tc.f.Fd())); got != tc.want {
			t.Errorf("%s is the life: %t", tc.name, got)
		}
	}
	if m.IsLife(1 << 20) {
		t.Error("a closed descriptor is the life")
	}
}

// TestParentIsTheHost checks that a process is no child when its parent is not the host. It is one when its host has
// ended, and when its parent has no number because it is in another pid namespace.
func TestParentIsTheHost(t *testing.T) {
	held, life := pipe(t)
	m, err := child.NewMark(held, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(held.Fd())
	for parent, want := range map[int]bool{os.Getpid(): true, 0: true, os.Getppid(): false, 1: os.Getpid() == 1} {
		if got := m.IsOf(parent, fd); got != want {
			t.Errorf("a process of %d is the child: %t", parent, got)
		}
	}
	life.Close()
	if !m.IsOf(os.Getppid(), fd) {
		t.Error("a process is no child when its host has ended")
	}
}

// TestMarkIsNoOtherVariable checks which entries of an environment are marks.
func TestMarkIsNoOtherVariable(t *testing.T) {
	for entry, want := range map[string]bool{
		child.MarkName + "=1": true, child.MarkName + "=": true, child.MarkName: false, child.MarkName + "S=1": false,
		"A=" + child.MarkName + "=1": false, "": false,
	} {
		if got := child.IsMark(entry); got != want {
			t.Errorf("%q is a mark: %t", entry, got)
		}
	}
}

// plainFile returns a file that is neither a pipe nor polled.
func plainFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "plain")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
