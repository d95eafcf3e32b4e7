//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package futex

import (
	"errors"
	"fmt"
	"os"
)

func newEvents() (Waker, []*os.File, error) {
	return nil, nil, fmt.Errorf("futex: NewWaker: this system has no futex, eventfd or pipe that processes share: %w", errors.ErrUnsupported)
}

func openEvents(files []*os.File) (Waker, error) {
	for _, f := range files {
		_ = f.Close()
	}
	return nil, fmt.Errorf("futex: OpenWaker: this system has no eventfd or pipe that processes share: %w", errors.ErrUnsupported)
}
