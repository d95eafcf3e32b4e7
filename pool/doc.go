// Package pool will run calls on lanes. It is not built yet.
//
// A lane is a place where a call can run: the caller itself, a goroutine, or a
// separate process over shared memory. A balancer will pick the lane; a call
// that was accepted will end exactly once, with its own result or with an error
// that says whether it had started. The package will own the life cycle of
// workers: pausing, draining, replacing, shutting down.
package pool
