//go:build !interleave

package pool

// spawn starts a goroutine for a handler, or for a function of the program.
func spawn(f func()) { go f() }
