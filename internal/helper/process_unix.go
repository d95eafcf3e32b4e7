//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package helper

import (
	"fmt"
	"os"
	"slices"

	"github.com/lanewright/lanewright/internal/child"
)

// Start starts this program again in a role. The process ends with this one.
func Start(role, arg string, files ...*os.File) (*child.Process, error) {
	env := append(child.Environ(nil), Variable+"="+role+":"+arg)
	return child.Start(child.Command{Env: env, Files: files})
}

// End kills a process and waits for its end.
func End(p *child.Process) error {
	err := p.Kill()
	<-p.Done()
	return err
}

// Attach returns the files of a process that Start has started. Their number is one of counts.
func Attach(counts ...int) ([]*os.File, error) {
	files, ok, err := child.Attach()
	switch {
	case err != nil:
		return nil, err
	case !ok || !slices.Contains(counts, len(files)):
		return nil, fmt.Errorf("the process was not started by a benchmark, and has %d files", len(files))
	}
	return files, nil
}
