//go:build !linux || portable

package futex

import (
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/internal/atomix"
)

// errNone is the error of every call on a system without futexes.
var errNone = fmt.Errorf("futex: the system calls futex and futex_waitv, which Linux has: %w", errors.ErrUnsupported)

// waitv is an element of a set.
type waitv struct{ val uint64 }

func argument(_ *atomix.Uint32, seen uint32) waitv { return waitv{val: uint64(seen)} }

func wait(*atomix.Uint32, uint32, int64) (Outcome, error) { return Changed, errNone }

func wake(*atomix.Uint32) (int, error) { return 0, errNone }

func (*Set) wait(int64) (int, Outcome, error) { return -1, Changed, errNone }

func hasWaitv() bool { return false }
