//go:build interleave

package pool

// spawn starts a goroutine for a handler, or for a function of the program: in a model, a thread of it.
var spawn = func(f func()) { go f() }

// spawnRunner starts a goroutine that runs handlers in a worker process: in a model, a daemon of it.
var spawnRunner = func(f func()) { go f() }

// spawnService starts the goroutine that serves a process lane, with its first process: in a model, a daemon of it. The
// body of the model starts the first process itself, because that is no step then.
var spawnService = func(begin func() *processLink, serve func(*processLink)) { go func() { serve(begin()) }() }

// ticks returns the time in units of cpu.TicksPerMicrosecond. It stands still in a model, or is what that says.
var ticks = func() uint64 { return 1 }
