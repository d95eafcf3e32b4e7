//go:build !unix

package stress

import (
	"errors"
	"os"
)

// suspend stops no process where there are no worker processes.
func suspend(*os.Process) error { return errors.ErrUnsupported }

// resume lets a process continue.
func resume(*os.Process) error { return errors.ErrUnsupported }
