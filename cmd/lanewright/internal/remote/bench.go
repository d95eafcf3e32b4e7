package remote

import (
	"context"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/pool"
)

// Bench are the tasks of the benchmarks.
type Bench struct {
	Echo    *pool.Func[[]byte, []byte]               // returns its argument
	Compute *pool.Func[Computation, uint64]          // returns Computation.Result
	Sleep   *pool.Func[time.Duration, time.Duration] // waits for its argument and returns it
}

// register adds the tasks to h.
func (b *Bench) register(h *pool.Handlers) {
	b.Echo = pool.Register(h, "bench/echo", func(_ context.Context, p []byte) ([]byte, error) { return p, nil })
	b.Compute = pool.Register(h, "bench/compute", func(_ context.Context, c Computation) (uint64, error) { return c.Result(), nil })
	b.Sleep = pool.Register(h, "bench/sleep", func(_ context.Context, d time.Duration) (time.Duration, error) {
		time.Sleep(d)
		return d, nil
	})
}

// Computation is a computation that takes a time in proportion to its steps. Host and worker do the same steps, because
// the host has measured how many take a certain time.
type Computation struct {
	Steps uint32
	ID    uint32 // distinguishes the results of equal computations
}

// Result does the computation.
func (c Computation) Result() uint64 { return uint64(bench.Chain(c.Steps))<<32 | uint64(c.ID) }
