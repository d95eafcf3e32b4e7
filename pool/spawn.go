//go:build !interleave

package pool

import "github.com/lanewright/lanewright/internal/cpu"

// spawn starts a goroutine for a handler, or for a function of the program.
func spawn(f func()) { go f() }

// spawnRunner starts a goroutine that runs handlers in a worker process.
func spawnRunner(f func()) { go f() }

// spawnService starts the goroutine that serves a process lane, with its first process.
func spawnService(begin func() *processLink, serve func(*processLink)) {
	go func() { serve(begin()) }()
}

// ticks returns the time in units of cpu.TicksPerMicrosecond.
func ticks() uint64 { return cpu.Ticks() }
