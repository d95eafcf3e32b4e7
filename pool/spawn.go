//go:build !interleave

package pool

// spawn starts a goroutine for a handler.
func spawn(f func()) { go f() }
