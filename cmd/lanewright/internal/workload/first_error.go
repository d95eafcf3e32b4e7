package workload

import (
	"sync/atomic"
)

// FirstError keeps the first error that tasks report.
type FirstError struct{ p atomic.Pointer[error] }

// Set is not part of the tasks that call it: there the error would be on the
// heap in every one.
//
//go:noinline
func (f *FirstError) Set(err error) { f.p.CompareAndSwap(nil, &err) }

// Get returns the error that was kept, or nil.
func (f *FirstError) Get() error {
	if err := f.p.Load(); err != nil {
		return *err
	}
	return nil
}
