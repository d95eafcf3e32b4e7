package workload

import (
	"sync/atomic"
)

// FirstError stores the first error that tasks report. It is safe for concurrent use; the
// zero value holds no error.
type FirstError struct{ p atomic.Pointer[error] }

// Set stores err unless an error is stored already. It is not inlined, because err would
// then escape to the heap in every run of its callers.
//
//go:noinline
func (f *FirstError) Set(err error) { f.p.CompareAndSwap(nil, &err) }

// Get returns the stored error, or nil.
func (f *FirstError) Get() error {
	if err := f.p.Load(); err != nil {
		return *err
	}
	return nil
}
