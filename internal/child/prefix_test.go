//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/proctest"
)

// behind returns a command with a prefix.
func behind(c child.Command, prefix ...string) child.Command {
	c.Prefix = prefix
	return c
}

// TestPrefix checks that a process behind a prefix has its files and its output. The exit code is that of the prefix.
func TestPrefix(t *testing.T) {
	for _, tc := range []struct {
		name   string
		prefix []string
		code   int
	}{
		{"env", []string{"env", "CHILD_TEST=1"}, 0},
		{"nice", []string{"nice", "-n", "1"}, 0},
		{"pid namespace", []string{"unshare", "--pid", "--fork"}, 0},
		{"shell that becomes it", []string{"sh", "-c", `exec "$@"`, "sh"}, 0},
		{"shell that waits for it", []string{"sh", "-c", `"$@"; exit 7`, "sh"}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			works, err := exec.LookPath("true")
			if err != nil {
				t.Skip(err)
			}
			if out, err := proctest.Output(t, exec.Command(tc.prefix[0], append(tc.prefix[1:], works)...)); err != nil && tc.code == 0 {
				t.Skipf("%s does not work here: %v %s", tc.prefix[0], err, out)
			}
			in, out := pipe(t)
			back, reply := pipe(t)
			p := start(t, behind(command("echoes", in, reply), tc.prefix...))
			_, _ = in.Close(), reply.Close()
			fmt.Fprintln(out, "hello")
			out.Close()
			if b, err := io.ReadAll(back); string(b) != "hello\n" || err != nil {
				t.Errorf("the process has written %q, %v", b, err)
			}
			if s := ended(t, p); s == nil || s.Code != tc.code {
				t.Errorf("the prefix: %v", s)
			}
		})
	}
}

// TestArguments checks that a process gets the arguments of its command, and not that by which Attach recognizes it.
func TestArguments(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name         string
		argv, prefix []string
		want         string
	}{
		{"none", nil, nil, "args 1 []"},
		{"some", []string{self, "a", "b"}, nil, "args 3 [a b]"},
		{"none, behind a prefix", nil, []string{"env"}, "args 1 []"},
		{"some, behind a prefix", []string{self, "a", "b"}, []string{"env"}, "args 3 [a b]"},
		{"the word, without a prefix", []string{self, child.Argument}, nil, "args 2 [" + child.Argument + "]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := command("tells")
			c.Argv, c.Prefix = tc.argv, tc.prefix
			p := start(t, c)
			if lines := strings.Split(outputOf(t, p), "\n"); !slices.Contains(lines, tc.want) {
				t.Errorf("no line %q in %q", tc.want, lines)
			}
		})
	}
}

// TestPrefixThatKeepsBack checks that Attach fails behind a prefix that does not pass on what Start has given. A program
// that took itself for a host would start processes without end.
func TestPrefixThatKeepsBack(t *testing.T) {
	file, _ := pipe(t)
	for _, tc := range []struct {
		name   string
		prefix []string
		want   string
	}{
		{"the mark", []string{"env", "-u", child.MarkName}, `LANEWRIGHT_CHILD="" is no mark of Start`},
		{"part of the mark", []string{"env", child.MarkName + "=1:2"}, `LANEWRIGHT_CHILD="1:2" is no mark of Start`},
		{"the pipe", []string{"sh", "-c", `exec "$@" 3<&-`, "sh"}, "descriptor 3 is not the pipe of the host"},
		{"the pipe for another", []string{"sh", "-c", `exec "$@" 3</dev/null`, "sh"}, "descriptor 3 is not the pipe of the host"},
		{"a file", []string{"sh", "-c", `exec "$@" 4<&-`, "sh"}, "descriptor 4 of 3 to 4 is not that of the host"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := exec.LookPath(tc.prefix[0]); err != nil {
				t.Skip(err)
			}
			p := start(t, behind(command("tells", file), tc.prefix...))
			text := outputOf(t, p)
			if s := p.State(); s.Code != 9 || !strings.HasPrefix(text, "Attach: true child: Attach: ") || !strings.Contains(text, tc.want) {
				t.Errorf("%v, %q; want %q", s, text, tc.want)
			}
		})
	}
}
