//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package helper

import (
	"errors"
	"fmt"
)

// own is empty: this system has no worker processes, so no benchmark needs another process.
var own map[string]func(arg string) error

var errNone = fmt.Errorf("helper: processes of a benchmark: %w", errors.ErrUnsupported)

// StartSocket returns an error that matches [errors.ErrUnsupported].
func StartSocket(int) (*Answerer, error) { return nil, errNone }

// StartPipe returns an error that matches [errors.ErrUnsupported].
func StartPipe(int) (*Answerer, error) { return nil, errNone }

// Answerer does not exist on this system.
type Answerer struct{}

// Send returns an error.
func (*Answerer) Send([]byte) error { return errNone }

// Receive returns an error.
func (*Answerer) Receive([]byte) error { return errNone }

// SendNumber returns an error.
func (*Answerer) SendNumber(int) error { return errNone }

// ReceiveNumber returns an error.
func (*Answerer) ReceiveNumber() (int, error) { return 0, errNone }

// Close returns an error.
func (*Answerer) Close() error { return errNone }
