//go:build !interleave

package pool

// lock locks p.mu.
func (p *Pool) lock() { p.mu.Lock() }
