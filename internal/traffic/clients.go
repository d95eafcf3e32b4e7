package traffic

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
)

// Clients are clients of a server that answers or refuses their calls.
type Clients struct {
	Number int
	Retry  time.Duration // the pause of a client after a refusal
}

// The server of the benchmark, and its clients.
const (
	WebClients = 40
	WebWorkers = 2
	WebBacklog = 4 // calls that may wait
)

// Run has the clients make calls until len(ns) of them are answered. It stores the latencies
// of these answers in ns, in nanoseconds, and returns the number of refusals before the last
// one. A latency begins at the attempt that is answered. A client makes its next call at
// once after an answer. Run returns when all clients have ended, with the first error.
//
// call makes a call for a client and reports whether it was answered. Calls for different
// clients are concurrent.
func (c Clients) Run(ctx context.Context, ns []int64, call func(client int) (answered bool, err error)) (refused int, err error) {
	var answers, refusals atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	goesOn := func() bool { return ctx.Err() == nil && answers.Load() < int64(len(ns)) }
	var all sync.WaitGroup
	for client := range c.Number {
		all.Go(func() {
			for goesOn() {
				began := bench.Now()
				answered, err := call(client)
				took := bench.Now() - began
				switch {
				case err != nil:
					cancel(err)
				case answered:
					if i := answers.Add(1) - 1; i < int64(len(ns)) {
						ns[i] = took
					}
				case goesOn():
					refusals.Add(1)
					time.Sleep(c.Retry)
				}
			}
		})
	}
	all.Wait()
	return int(refusals.Load()), context.Cause(ctx)
}
