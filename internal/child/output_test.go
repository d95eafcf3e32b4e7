//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/patience"
)

// outputLine is a call of Command.Output.
type outputLine struct {
	text  string
	isErr bool
}

// TestOutput checks that each line of both outputs arrives, also an empty one, one without an end, and one that is too
// long, which comes in parts.
func TestOutput(t *testing.T) {
	lines := make(chan outputLine, 10)
	c := command("speaks")
	c.Output = func(text []byte, isErr bool) { lines <- outputLine{string(text), isErr} }
	p := start(t, c)
	tail := outputOf(t, p)
	var out, failed []string
	for range 5 {
		if l := receive(t, lines); l.isErr {
			failed = append(failed, l.text)
		} else {
			out = append(out, l.text)
		}
	}
	long := "two" + strings.Repeat(".", 100_000)
	if want := []string{"one", "", long[:64<<10], long[64<<10:]}; !slices.Equal(out, want) {
		t.Errorf("%d lines of output: %.100q", len(out), out)
	}
	if !slices.Equal(failed, []string{"three"}) {
		t.Errorf("standard error: %q", failed)
	}
	if len(tail) != 4<<10 || !strings.Contains(tail, "...") {
		t.Errorf("Tail has %d bytes", len(tail))
	}
}

// receive returns the next line.
func receive(t *testing.T, lines <-chan outputLine) outputLine {
	t.Helper()
	select {
	case l := <-lines:
		return l
	case <-time.After(patience.Limit):
		t.Fatal("a line is missing")
		return outputLine{}
	}
}

// TestFloodIsDropped checks that a process which writes more than Command.Output takes does not hang. The lines that are
// dropped are counted, and no other line is lost, however a call ends.
func TestFloodIsDropped(t *testing.T) {
	for name, end := range map[string]func(){
		"returns":            func() {},
		"panics":             func() { panic("a test") },
		"ends its goroutine": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			open, over := make(chan struct{}), make(chan struct{})
			lines, dropped := 0, 0
			c := command("floods")
			c.Output = func(line []byte, isErr bool) {
				<-open
				var n int
				switch _, err := fmt.Sscanf(string(line), "child: %d lines of the output were dropped", &n); {
				case err == nil && isErr:
					dropped += n
				default:
					if _, err := fmt.Sscanf(string(line), "line %d", &n); err != nil || n != lines+dropped {
						t.Errorf("%q after %d lines, %d dropped: %v", line, lines, dropped, err)
					}
					lines++
				}
				if lines+dropped == flood {
					close(over)
				}
				end()
			}
			p := start(t, c)
			if s := ended(t, p); !s.Success() {
				t.Errorf("the process: %v", s)
			}
			await(t, p.OutputRead(), "the output was not read")
			close(open)
			await(t, over, "lines are missing")
			if lines < 2 || dropped == 0 {
				t.Errorf("%d lines, %d dropped", lines, dropped)
			}
			if got := p.OutputPanic(); name == "panics" && got != "a test" || name != "panics" && got != nil {
				t.Errorf("OutputPanic is %v", got)
			}
		})
	}
}

// TestOutputMayEndItsGoroutine checks that each line arrives once although each call of Command.Output panics, or ends
// its goroutine.
func TestOutputMayEndItsGoroutine(t *testing.T) {
	for name, end := range map[string]func(n int){
		"panics":             func(n int) { panic(n) },
		"ends its goroutine": func(int) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan outputLine, 20)
			n := 0
			c := command("numbers")
			c.Output = func(text []byte, isErr bool) {
				lines <- outputLine{string(text), isErr}
				n++
				end(n)
			}
			p := start(t, c)
			for i := range 20 {
				if got, want := receive(t, lines), (outputLine{"line " + strconv.Itoa(i), false}); got != want {
					t.Errorf("line %d is %v", i, got)
				}
			}
			ended(t, p)
			if got := p.OutputPanic(); name == "panics" && got != 1 || name != "panics" && got != nil {
				t.Errorf("OutputPanic is %v", got)
			}
		})
	}
}

// TestEndBesideOutputOfAnother checks that the end of a process, and of its output, is seen while another process has
// the output still. The last line of the process has no end.
func TestEndBesideOutputOfAnother(t *testing.T) {
	sh := shell(t)
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			p := start(t, child.Command{Argv: []string{sh, "-c", "sleep 3600 & printf %s $!"}})
			text := outputOf(t, p)
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("the output is %q", text)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Errorf("the other process has ended: %v", err)
			}
		})
	}
}

// TestEndBesideFloodOfAnother checks that the output of a process is read while another process writes without end.
func TestEndBesideFloodOfAnother(t *testing.T) {
	pids := make(chan outputLine, 1)
	p := start(t, child.Command{
		Argv:   []string{shell(t), "-c", "while :; do echo flood; done & echo $! >&2"},
		Output: func(text []byte, isErr bool) { sendError(pids, text, isErr) },
	})
	pid, err := strconv.Atoi(receive(t, pids).text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	outputOf(t, p)
}

// sendError sends a line of the standard error.
func sendError(to chan<- outputLine, text []byte, isErr bool) {
	if isErr {
		select {
		case to <- outputLine{string(text), isErr}:
		default:
		}
	}
}

// TestUnreadOutputIsNotOver: an output with bytes is not over although no process has its other end. The last process may
// have written them after the one that was started.
func TestUnreadOutputIsNotOver(t *testing.T) {
	r, w := pipe(t)
	if child.HungUp(r) {
		t.Error("over while a process has the other end")
	}
	fmt.Fprint(w, "last")
	_ = w.Close()
	if child.HungUp(r) {
		t.Error("over with unread bytes")
	}
	if _, err := io.ReadFull(r, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && !child.HungUp(r) {
		t.Error("not over after the last byte")
	}
}

// TestOutputOfAnotherIsRead checks that the output is read after the end of the process, because another process that
// has it would hang.
func TestOutputOfAnotherIsRead(t *testing.T) {
	in, out := pipe(t)
	lines := make(chan outputLine, 3)
	p := start(t, child.Command{
		Argv:   []string{shell(t), "-c", "(read x <&4; echo later; printf last) & echo now"},
		Files:  []*os.File{in},
		Output: func(text []byte, isErr bool) { lines <- outputLine{string(text), isErr} },
	})
	outputOf(t, p)
	fmt.Fprintln(out, "x")
	for _, want := range []string{"now", "later", "last"} {
		if l := receive(t, lines); l.text != want {
			t.Errorf("the line is %q, want %q", l.text, want)
		}
	}
}

// TestOutputReadIsComplete checks that all bytes that are in a pipe at the end of the process are in the tail when
// OutputRead is closed. Another process has the pipe.
func TestOutputReadIsComplete(t *testing.T) {
	out, outW := pipe(t)
	failed, _ := pipe(t)
	if _, err := outW.WriteString(strings.Repeat("....\n", 10_000) + "last"); err != nil {
		t.Fatal(err)
	}
	_, _ = out.SetReadDeadline(time.Unix(1, 0)), failed.SetReadDeadline(time.Unix(1, 0)) // the process has ended
	o := child.NewOutput(nil, out, failed)
	await(t, o.Read(), "the output was not read")
	if got := o.Last(); !strings.HasSuffix(got, "....\nlast") || len(got) != 4<<10 {
		t.Errorf("the tail has %d bytes, and ends in %q", len(got), got[max(0, len(got)-20):])
	}
	if n := o.TailBytes(); n > 32<<10 {
		t.Errorf("the tail takes %d bytes of memory", n)
	}
}

// TestUnpolledOutputIsRefused checks that a file that the poller of Go does not watch is refused, because the end of the
// process could not interrupt its read.
func TestUnpolledOutputIsRefused(t *testing.T) {
	r, _ := pipe(t)
	if err := child.IsPolled(r); err != nil {
		t.Errorf("a pipe: %v", err)
	}
	if err := child.IsPolled(plainFile(t)); err == nil {
		t.Error("a plain file is polled")
	}
}
