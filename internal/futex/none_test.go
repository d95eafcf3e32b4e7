//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package futex_test

import (
	"errors"
	"os"
)

// dup is not called: this system has no memory that processes share.
func dup(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }
