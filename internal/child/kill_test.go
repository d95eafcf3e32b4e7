//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"bufio"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestKillHitsNoOtherProcess checks that Kill does nothing when the process has ended, although its number is that of
// another process in the meantime. With a prefix the number is that of a group.
func TestKillHitsNoOtherProcess(t *testing.T) {
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			for name, prefix := range map[string][]string{"process": nil, "group": {"env"}} {
				t.Run(name, func(t *testing.T) {
					in, out := pipe(t)
					back, reply := pipe(t)
					other := start(t, command("echoes", in, reply))
					r, w := pipe(t)
					p := start(t, behind(command("exits", r), prefix...))
					fmt.Fprintln(w, 0)
					ended(t, p)
					p.SetPid(other.Pid())
					if err := p.Kill(); err != nil {
						t.Error(err)
					}
					_, _ = in.Close(), reply.Close()
					fmt.Fprintln(out, "ping")
					if s, err := bufio.NewReader(back).ReadString('\n'); s != "ping\n" {
						t.Errorf("the other process answers %q, %v", s, err)
					}
				})
			}
		})
	}
}

// TestKillAfterAnotherWait checks that Kill hits no other process when another part of the program has taken the end of
// the process from the kernel. The number does not say so, but a pidfd does.
func TestKillAfterAnotherWait(t *testing.T) {
	for way, use := range child.Ways {
		t.Run(way, func(t *testing.T) {
			use(t)
			for name, prefix := range map[string][]string{"process": nil, "group": {"env"}} {
				t.Run(name, func(t *testing.T) {
					proctest.Need(t)
					in, out := pipe(t)
					back, reply := pipe(t)
					other := start(t, command("echoes", in, reply))
					r, w := pipe(t)
					p, err := child.StartUnwatched(behind(command("exits", r), prefix...))
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintln(w, 0)
					if pid, err := unix.Wait4(p.Pid(), nil, 0, nil); err != nil || pid != p.Pid() {
						t.Fatalf("wait of %d: %d, %v", p.Pid(), pid, err)
					}
					if p.HasPidfd() {
						pid := p.Pid()
						p.SetPid(other.Pid())
						if err := p.Kill(); err != nil {
							t.Error(err)
						}
						p.SetPid(pid)
					}
					if err := p.Kill(); err != nil {
						t.Error(err)
					}
					p.Watch()
					if s := ended(t, p); s != nil {
						t.Errorf("the state is %v, which another wait has taken", s)
					}
					_, _ = in.Close(), reply.Close()
					fmt.Fprintln(out, "ping")
					if s, err := bufio.NewReader(back).ReadString('\n'); s != "ping\n" {
						t.Errorf("the other process answers %q, %v", s, err)
					}
				})
			}
		})
	}
}
