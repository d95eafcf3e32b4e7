//go:build linux && !portable

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/process"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// kinds are the kinds of regions that this system has.
var kinds = []process.Kind{process.Sealed, process.Named, process.File}

// kindOfHost is the kind of the regions of a host that is killed: one that leaves names, if the system has it.
const kindOfHost = process.Named

// TestNames checks that a Named region gets a name of its own: one that another host has is not used, nor is one that
// stays the same for each worker.
func TestNames(t *testing.T) {
	c := config(t, "echoes", process.Named)
	start(t, c)
	next := 0
	for _, name := range namesIn(t, c.Dir) {
		var pid, n int
		if _, err := fmt.Sscanf(filepath.Base(name), shm.NamePrefix+"%d-%d", &pid, &n); err != nil || pid != os.Getpid() {
			t.Errorf("the name %q: %v", name, err)
		}
		next = max(next, n+1)
	}
	for n := next; n < next+5; n += 2 { // of a host in another container, whose process has the same number
		r, err := shm.Named(filepath.Join(c.Dir, fmt.Sprintf("%s%d-%d", shm.NamePrefix, os.Getpid(), n)), 1, shm.Here)
		must(t, err)
		t.Cleanup(func() { must(t, r.Close()) })
	}
	w := start(t, c)
	call(t, w, transport.CallID(1, 1), 5000)
	if n := len(namesIn(t, c.Dir)); n != 2+3+2 {
		t.Errorf("the folder has %d names", n)
	}
}

// TestLongFolder checks that a folder whose paths fit no letter is an error that names the field, and that nothing is
// left.
func TestLongFolder(t *testing.T) {
	start(t, config(t, "parks", process.Named))
	c := config(t, "echoes", process.Named)
	c.Dir += strings.Repeat("/folder", process.MaxPath/len("/folder"))
	must(t, os.MkdirAll(c.Dir, 0o700))
	before := used()
	if w, err := process.Start(c); w != nil || err == nil || !strings.HasPrefix(err.Error(), "process: Start: Config.Dir: the path of the requests has 1") {
		t.Errorf("%v, %v", w, err)
	}
	if after := used(); after != before || len(namesIn(t, c.Dir)) > 0 {
		t.Errorf("used before %+v, afterwards %+v; names %q", before, after, namesIn(t, c.Dir))
	}
}

// TestNamesAreRemovedOnce checks that a host looks for the names of others at its first Start in a folder only, and does
// so in each folder. A folder that could not be read is looked at again.
func TestNamesAreRemovedOnce(t *testing.T) {
	old := func(dir string) string {
		path := filepath.Join(dir, shm.NamePrefix+"old")
		must(t, os.WriteFile(path, nil, 0o600)) // no host has locked it
		return path
	}
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	for range 2 {
		c := config(t, "parks", process.Named)
		c.Dir = filepath.Join(c.Dir, "later")
		if w, err := process.Start(c); err == nil {
			t.Errorf("a worker without a folder: %v", w)
		}
		must(t, os.Mkdir(c.Dir, 0o700))
		first := old(c.Dir)
		start(t, c)
		if exists(first) {
			t.Error("the first Start has left the name of a dead host")
		}
		second := old(c.Dir)
		start(t, c)
		if !exists(second) {
			t.Error("the second Start has looked at the folder")
		}
	}
}

// linksOf returns where the descriptors of a process lead.
func linksOf(t *testing.T, pid int) (links []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, fd := range list {
		if link, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil { // that of ReadDir is closed
			links = append(links, link)
		}
	}
	return links
}

// TestNoDescriptorOfMemory checks that neither the host nor the worker keeps a descriptor of the memory while the worker
// runs. Only the host has the locks of Named regions. The host has no file of the waker of the worker. K-118.
func TestNoDescriptorOfMemory(t *testing.T) {
	for _, k := range kinds {
		events := func() int {
			return len(slices.DeleteFunc(linksOf(t, os.Getpid()), func(l string) bool { return !strings.Contains(l, "eventfd") }))
		}
		before := events()
		w := start(t, config(t, "echoes", k))
		call(t, w, transport.CallID(1, 1), 5000) // the worker has attached
		if n := events() - before; n > 2 {
			t.Errorf("%v: the host has %d eventfds, want one for each side", k, n)
		}
		for _, pid := range []int{w.Pid(), os.Getpid()} {
			links := slices.DeleteFunc(linksOf(t, pid), func(l string) bool { return !strings.Contains(l, shm.NamePrefix) })
			want := 0
			if k == process.Named && pid == os.Getpid() {
				want = 2
			}
			if len(links) != want {
				t.Errorf("%v: process %d (the host is %d) has %q", k, pid, os.Getpid(), links)
			}
		}
		must(t, w.Kill())
		ended(t, w)
		must(t, w.Close())
	}
}

// TestMemoryIsUnmapped starts workers whose regions take much of the address space. It is free again some time after
// Close.
func TestMemoryIsUnmapped(t *testing.T) {
	const rounds, payload = 8, 64 << 20
	space := func() (pages int) {
		b, err := os.ReadFile("/proc/self/statm")
		must(t, err)
		_, err = fmt.Sscan(string(b), &pages)
		must(t, err)
		return pages
	}
	start(t, config(t, "parks", process.Sealed))
	limit := space() + rounds*payload/os.Getpagesize() // the workers take twice as much
	for range rounds {
		c := config(t, "parks", process.Sealed)
		c.Link.PayloadMax = payload
		w, err := process.Start(c)
		must(t, err)
		must(t, w.Kill())
		ended(t, w)
		must(t, w.Close())
	}
	for deadline := time.Now().Add(patience.Limit); space() > limit; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("the address space has %d pages, want at most %d", space(), limit)
		}
	}
}
