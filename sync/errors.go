package sync

import "errors"

// ErrPermits reports a semaphore that was asked for with no permit, or with a
// negative number of them. Test for it with errors.Is.
var ErrPermits = errors.New("sync: a semaphore needs at least one permit")
