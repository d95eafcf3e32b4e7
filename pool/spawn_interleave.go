//go:build interleave

package pool

// spawn starts a goroutine for a handler, or for a function of the program: in a model, a thread of it.
var spawn = func(f func()) { go f() }
