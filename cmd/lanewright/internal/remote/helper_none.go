//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package remote

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// roles is empty: this system has no worker processes, so no benchmark needs another process.
var roles map[string]func(arg string) error

var errNoHelpers = fmt.Errorf("remote: processes of a benchmark: %w", errors.ErrUnsupported)

// StartSpinner returns an error that matches [errors.ErrUnsupported].
func StartSpinner() (*Spinner, error) { return nil, errNoHelpers }

// Spinner does not exist on this system.
type Spinner struct{}

// Begin returns an error.
func (*Spinner) Begin(int) error { return errNoHelpers }

// Call reports a wrong answer.
func (*Spinner) Call() bool { return false }

// Close returns an error.
func (*Spinner) Close() error { return errNoHelpers }

// StartHog returns an error that matches [errors.ErrUnsupported].
func StartHog() (*Hog, error) { return nil, errNoHelpers }

// Hog does not exist on this system.
type Hog struct{}

// Check returns an error.
func (*Hog) Check() error { return errNoHelpers }

// Close returns an error.
func (*Hog) Close() error { return errNoHelpers }

// MeasureHost returns an error that matches [errors.ErrUnsupported].
func MeasureHost(context.Context, int, time.Duration) (HostUse, error) {
	return HostUse{}, errNoHelpers
}
