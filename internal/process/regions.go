package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// writers says which process writes the region of a direction, as seen by the host. The worker sees the other one.
var writers = [2]shm.Writer{transport.Requests: shm.Here, transport.Answers: shm.There}

// newRegion makes a region in the folder dir. path is that of a Named region, and empty otherwise.
func (k Kind) newRegion(dir string, d transport.Direction, size int) (r *shm.Region, path string, err error) {
	switch k {
	case Named:
		return newNamed(dir, size, writers[d])
	case File:
		r, err = shm.File(dir, size, writers[d])
	default:
		r, err = shm.Sealed(shm.NamePrefix+d.String(), size, writers[d])
	}
	return r, "", err
}

// open opens the region of a direction in the worker. It closes f, which a Named region has not.
func (k Kind) open(f *os.File, p *place, d transport.Direction) (*shm.Region, error) {
	w := shm.Here
	if writers[d] == shm.Here {
		w = shm.There
	}
	switch k {
	case Named:
		return shm.OpenNamed(p.path, int(p.size), w)
	case File:
		return shm.OpenFile(f, int(p.size), w)
	}
	return shm.Open(f, int(p.size), w)
}

// names counts the names of Named regions of this program.
var names atomix.Uint64

// nameAttempts is the number of names that another host may have. Hosts in two containers with one folder for memory
// may have the same process number. Each has fewer regions than that: the number is chosen.
const nameAttempts = 10_000

// newNamed makes a region with a name of its own.
func newNamed(dir string, size int, w shm.Writer) (r *shm.Region, path string, err error) {
	cleaned.removeDead(dir)
	for range nameAttempts {
		path = filepath.Join(dir, fmt.Sprintf("%s%d-%d", shm.NamePrefix, os.Getpid(), names.Add(1)))
		if r, err = shm.Named(path, size, w); !errors.Is(err, os.ErrExist) {
			break
		}
	}
	return r, path, err
}

// cleaned has the folders from which this program has removed the names of hosts that have ended.
var cleaned folders

type folders struct {
	mu   sync.Mutex
	done map[string]bool
}

// removeDead removes the names that hosts which have ended have left in dir, once for each dir: a look at all files of a
// folder for each process would be slow. It tries again after an error. The error is no reason not to start a process, as
// the file may be that of another user. shm.Named reports a folder that cannot be used.
func (f *folders) removeDead(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done[dir] {
		return
	}
	if _, err := shm.RemoveDead(dir); err != nil {
		return
	}
	if f.done == nil {
		f.done = map[string]bool{}
	}
	f.done[dir] = true
}
