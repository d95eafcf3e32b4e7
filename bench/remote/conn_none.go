//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package remote

import (
	"errors"
	"fmt"
	"net"
)

var errNone = fmt.Errorf("remote: processes of a benchmark: %w", errors.ErrUnsupported)

// startConn returns an error that matches errors.ErrUnsupported.
func startConn(string) (conn net.Conn, end func() error, err error) { return nil, nil, errNone }

// serving returns a main function that fails.
func serving(func(net.Conn) error) func(arg string) error {
	return func(string) error { return errNone }
}
