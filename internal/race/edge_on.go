//go:build race

package race

import "sync/atomic"

// Edge is an order between goroutines that hand something over: a Take that comes after a Give sees what came before
// that. The program ensures the order by other means.
type Edge struct{ given atomic.Uint32 }

// Give comes before the step that hands over.
func (e *Edge) Give() { e.given.Add(1) }

// Take comes after the step that takes over.
func (e *Edge) Take() { e.given.Load() }
