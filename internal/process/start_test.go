//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package process_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/process"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

func init() {
	roles["starved"] = starved
	workers["tells"] = func(w *transport.WorkerEnd) error {
		again, ok, err := process.Attach()
		fmt.Println("a second Attach:", again != nil, ok, err)
		fmt.Println("arguments:", os.Args)
		environ, err := os.ReadFile("/proc/self/environ") // of the start, if the system has it
		fmt.Printf("environment: %q, %v, %q\n", environ, err, os.Environ())
		return nil
	}
}

// usage is what a Start or a Close may leave behind.
type usage struct {
	descriptors int
	mapped      string // the mappings of regions
}

// used returns what this process uses.
func used() (u usage) {
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			u.descriptors++
		}
	}
	maps, _ := os.ReadFile("/proc/self/maps") // elsewhere the mappings are not checked
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, shm.NamePrefix) {
			u.mapped += line
		}
	}
	return u
}

// TestNothingIsLeft starts workers and gives them back. No descriptor, mapping, file or process is left.
func TestNothingIsLeft(t *testing.T) {
	start(t, config(t, "parks", process.File)) // the first one makes descriptors that stay
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for _, k := range kinds {
		c := config(t, "echoes", k)
		before := used()
		for range rounds {
			w, err := process.Start(c)
			must(t, err)
			if names := namesIn(t, c.Dir); k == process.Named && len(names) != 2 || k != process.Named && len(names) != 0 {
				t.Errorf("%v: the folder has %q while the worker runs", k, names)
			}
			call(t, w, transport.CallID(1, 1), 5000)
			w.Host().Close()
			ended(t, w)
			must(t, w.Close())
			if err := syscall.Kill(w.Pid(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%v: process %d: %v", k, w.Pid(), err)
			}
		}
		if after := used(); after != before {
			t.Errorf("%v: used before %+v, afterwards %+v", k, before, after)
		}
		if list, err := os.ReadDir(c.Dir); len(list) > 0 || err != nil {
			t.Errorf("%v: %v, %v is left", k, list, err)
		}
	}
}

// TestStartsBesideEachOther starts workers of all kinds from several goroutines. Each has a link of its own, and nothing
// is left.
func TestStartsBesideEachOther(t *testing.T) {
	start(t, config(t, "parks", process.File))
	configs := make([]process.Config, len(kinds))
	for i, k := range kinds {
		configs[i] = config(t, "echoes", k)
	}
	before := used()
	var all sync.WaitGroup
	for i := range 3 * len(kinds) {
		all.Go(func() {
			c := configs[i%len(kinds)]
			c.Link.Digest[0] = byte(i)
			w, err := process.Start(c)
			if err != nil {
				t.Error(err)
				return
			}
			h := w.Host()
			slot, _ := h.Claim()
			err = h.Publish(slot, &transport.Header{ID: transport.CallID(i, 1), Tag: transport.TagBytes}, nil)
			if e := h.WaitUntil(transport.Published, h.Now()+int64(patience.Limit)); e != transport.Published || err != nil {
				t.Errorf("%v, %v: %s", e, err, w.Tail())
			}
			if d, ok, err := h.Greeting(); d != c.Link.Digest || !ok || err != nil {
				t.Errorf("the worker has another link: %x, %t, %v", d, ok, err)
			}
			err = w.Kill()
			<-w.Done()
			<-w.OutputRead()
			if err = errors.Join(err, w.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if after := used(); after != before {
		t.Errorf("used before %+v, afterwards %+v", before, after)
	}
}

// TestFailedStart lets each step of Start fail. The error names the cause, and nothing is left.
func TestFailedStart(t *testing.T) {
	start(t, config(t, "parks", process.File))
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, tc := range []struct {
		name   string
		change func(c *process.Config)
		want   string
		is     error
	}{
		{"kind", func(c *process.Config) { c.Region = 7 }, "Config.Region is Kind(7)", os.ErrInvalid},
		{"files", func(c *process.Config) { c.Command.Files = []*os.File{os.Stdin} }, "Config.Command.Files has 1 files", os.ErrInvalid},
		{"sizes", func(c *process.Config) { c.Link.PayloadMax = 1 }, "Config.Link: transport: Config.PayloadMax is 1", nil},
		{"program", func(c *process.Config) { c.Command.Argv = []string{missing} }, missing, os.ErrNotExist},
		{"folder of the program", func(c *process.Config) { c.Command.Dir = missing }, "child: Start", os.ErrNotExist},
		{"folder", func(c *process.Config) { c.Dir = missing }, missing, os.ErrNotExist},
		{"a file as folder", func(c *process.Config) { c.Dir = file }, file, nil},
	} {
		for _, k := range kinds {
			c := config(t, "echoes", k)
			dir := c.Dir
			if tc.change(&c); k == process.Sealed && c.Dir != dir {
				continue // such regions are in no folder
			}
			before := used()
			w, err := process.Start(c)
			if w != nil || err == nil || !strings.HasPrefix(err.Error(), "process: Start: ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s, %v: %v, %v; want an error with %q", tc.name, k, w, err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%s, %v: %v is not %v", tc.name, k, err, tc.is)
			}
			if after := used(); after != before {
				t.Errorf("%s, %v: used before %+v, afterwards %+v", tc.name, k, before, after)
			}
			if list, err := os.ReadDir(dir); len(list) > 0 || err != nil {
				t.Errorf("%s, %v: %v, %v is left", tc.name, k, list, err)
			}
		}
	}
}

// TestStartWithFewDescriptors has a host that may open fewer descriptors than Start needs.
func TestStartWithFewDescriptors(t *testing.T) {
	for _, k := range kinds {
		out, err := proctest.Output(t, proctest.Role(t, "starved", fmt.Sprint(uint8(k)), t.TempDir()))
		if err != nil {
			t.Errorf("%v: %v\n%s", k, err, out)
		}
	}
}

// starved starts workers of the kind args[0] with regions in the folder args[1], while 0, 1, 2 descriptors and so on are
// free. It ends when that many are enough.
func starved(args []string) error {
	c := process.Config{Link: small, Dir: args[1]}
	c.Command.Env = environment("parks")
	if _, err := fmt.Sscan(args[0], &c.Region); err != nil {
		return err
	}
	end := func(w *process.Worker) error {
		err := w.Kill()
		<-w.Done()
		<-w.OutputRead()
		return errors.Join(err, w.Close())
	}
	w, err := process.Start(c) // the first one makes descriptors that stay
	if err == nil {
		err = end(w)
	}
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	before := used()
	for n := 0; ; n++ {
		few := limit
		set(&few.Cur, limitFor(n))
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
			return err
		}
		w, err := process.Start(c)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		if err == nil {
			err := end(w)
			if n < 6 || err != nil {
				return fmt.Errorf("%d descriptors are enough; %v", n, err)
			}
			return nil
		}
		if after := used(); w != nil || after != before {
			return fmt.Errorf("with %d descriptors: %v, %v; used before %+v, afterwards %+v", n, w, err, before, after)
		}
		if list, e := os.ReadDir(c.Dir); len(list) > 0 || e != nil {
			return fmt.Errorf("with %d descriptors: %v; %v, %v is left", n, err, list, e)
		}
		if pid, e := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(e, syscall.ECHILD) {
			return fmt.Errorf("with %d descriptors: %v; process %d, %v is left", n, err, pid, e)
		}
	}
}

// limitFor returns the limit of descriptors with which n are free.
func limitFor(n int) int {
	for fd := range 1024 {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil {
			continue
		}
		if n == 0 {
			return fd
		}
		n--
	}
	return 1024
}

// set sets a limit, whose type depends on the system.
func set[T int64 | uint64](limit *T, n int) { *limit = T(n) }

// TestAttachElsewhere checks that a process which Start has not started is no worker, and that a second Attach does
// nothing. The arguments and the environment of a worker contain no part of the letter.
func TestAttachElsewhere(t *testing.T) {
	if w, ok, err := process.Attach(); w != nil || ok || err != nil {
		t.Errorf("Attach = %v, %t, %v", w, ok, err)
	}
	c := config(t, "tells", kindOfHost)
	c.Link.Generation = 0x7B7B7B7B
	w := start(t, c)
	if s := ended(t, w); !s.Success() || !strings.Contains(w.Tail(), "a second Attach: false false <nil>\n") {
		t.Errorf("%v: %s", s, w.Tail())
	}
	for _, secret := range []string{shm.NamePrefix, c.Dir, fmt.Sprint(c.Link.Generation)} {
		if strings.Contains(w.Tail(), secret) {
			t.Errorf("the worker shows %q: %s", secret, w.Tail())
		}
	}
}

// TestFolders checks the folder of the regions: "" is that of the system, and a relative one is that of the host,
// although the worker has another working directory.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	for _, k := range kinds {
		for _, d := range []string{"", "."} {
			c := config(t, "echoes", k)
			c.Dir = d
			w := start(t, c)
			call(t, w, transport.CallID(1, 1), 5000)
			if k != process.Named {
				continue
			}
			want := dir
			if info, err := os.Stat("/dev/shm"); d == "" && err == nil && info.IsDir() {
				want = "/dev/shm"
			}
			ours, err := filepath.Glob(filepath.Join(want, fmt.Sprintf("%s%d-*", shm.NamePrefix, os.Getpid())))
			if must(t, err); len(ours) < 2 {
				t.Errorf("Dir %q: %s has %q", d, want, ours)
			}
		}
	}
}

// TestKindString checks that each kind has a name.
func TestKindString(t *testing.T) {
	if got := fmt.Sprint(process.Sealed, process.Named, process.File, process.Kind(3)); got != "sealed named file Kind(3)" {
		t.Errorf("the kinds are %s", got)
	}
}
