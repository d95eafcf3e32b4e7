package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemState is what the program has of the system.
type systemState struct {
	files    []string // what the descriptors are
	threads  int
	children []string // the numbers of the processes
	regions  int      // mapped regions of links
	names    []string // of the regions in /dev/shm
}

func systemCounts() (s systemState) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, path := range fds {
		if to, err := os.Readlink(path); err == nil { // the descriptor of the list itself is closed
			s.files = append(s.files, to)
		}
	}
	tasks, _ := filepath.Glob("/proc/self/task/*")
	s.threads = len(tasks)
	for _, path := range tasks {
		b, _ := os.ReadFile(path + "/children") // a thread may have ended, and some kernels have no such file
		s.children = append(s.children, strings.Fields(string(b))...)
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	s.regions = strings.Count(string(maps), "lanewright-")
	s.names, _ = filepath.Glob(fmt.Sprintf("/dev/shm/lanewright-%d-*", os.Getpid()))
	return s
}

// maxNewThreads is how many threads the program may have more than before. The Go runtime keeps
// each thread that it has ever started, one for each system call that blocks at the same time. A
// thread for each worker process would be a hundred in a round.
const maxNewThreads = 24

// compare returns what s has more than before, or "".
func (s systemState) compare(before systemState) string {
	var more []string
	add := func(what string, now, then int, list any) {
		if now > then {
			more = append(more, fmt.Sprintf("%d %s, and %d before: %v", now, what, then, list))
		}
	}
	slices.Sort(s.files)
	add("descriptors", len(s.files), len(before.files), s.files)
	add("threads", s.threads, before.threads+maxNewThreads, "")
	add("processes", len(s.children), len(before.children), s.children)
	add("regions", s.regions, before.regions, "")
	add("named regions", len(s.names), len(before.names), s.names)
	return strings.Join(more, "; ")
}
