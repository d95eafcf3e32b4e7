package sync

import "errors"

// ErrPermits reports a call of [NewSemaphore] whose number of permits is not positive.
// Test for it with errors.Is.
var ErrPermits = errors.New("sync: a semaphore needs at least one permit")
