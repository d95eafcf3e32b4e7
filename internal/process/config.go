package process

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/transport"
)

// Kind is where the memory of a link is. Package shm describes the kinds.
type Kind uint8

// The kinds. Only a trusted worker may get a region without seals, because it can truncate the region, and the host
// then faults.
const (
	Sealed Kind = iota // memory that the kernel protects by seals: Linux 5.1 or later
	Named              // a file whose path the worker gets, and no descriptor: Linux
	File               // a file without a name: every system that has fork
)

var kindNames = [...]string{"sealed", "named", "file"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// hasDescriptors reports whether the worker gets the descriptors of the regions.
func (k Kind) hasDescriptors() bool { return k != Named }

// Config says which process [Start] starts, and how the link is.
type Config struct {
	// Command is the process. Its Files are empty, because Start sets them.
	Command child.Command
	// Link has the sizes of the link, the Generation and the Digest. NewRegion is not used.
	Link transport.Config
	// Region is the kind of both regions.
	Region Kind
	// Dir is the folder of Named and File regions. "" is /dev/shm for Named regions if there is such a folder, and
	// otherwise the folder of the system for temporary files.
	Dir string
	// OnDeath, when not nil, is called when the process has ended, after IsDead returns true and before Done is closed. It
	// wakes a receiver that does not wait at the end of the host. It must not block.
	OnDeath func()
}

// regionDir returns the folder of the regions as an absolute path, because the worker has another working directory.
// It is empty for regions in no folder.
func (c *Config) regionDir() (string, error) {
	const memory = "/dev/shm"
	dir := c.Dir
	switch {
	case c.Region == Sealed:
		return "", nil
	case dir != "":
	case c.Region == Named && isDir(memory):
		dir = memory
	default:
		dir = os.TempDir()
	}
	return filepath.Abs(dir)
}

// isDir reports whether the path is that of a folder.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sizes returns the sizes of the regions, or an error that names the field which is not valid.
func (c *Config) sizes() (n [2]int, err error) {
	if c.Region > File {
		return n, fmt.Errorf("Config.Region is %v, want sealed, named or file: %w", c.Region, os.ErrInvalid)
	}
	if len(c.Command.Files) > 0 {
		return n, fmt.Errorf("Config.Command.Files has %d files, want none, because Start passes its own: %w", len(c.Command.Files), os.ErrInvalid)
	}
	for d := range n {
		if n[d], err = c.Link.RegionSize(transport.Direction(d)); err != nil {
			return n, fmt.Errorf("Config.Link: %w", err)
		}
	}
	return n, nil
}
