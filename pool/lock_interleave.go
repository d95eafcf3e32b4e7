//go:build interleave

package pool

import "github.com/lanewright/lanewright/internal/park"

// lock locks p.mu. In a model whoever has it may be stopped at a step, and a thread
// that waits for a mutex of the standard library would stop the explorer.
func (p *Pool) lock() {
	for !p.mu.TryLock() {
		park.Yield()
	}
}
