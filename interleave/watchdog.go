package interleave

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A watchdog reports an execution that does not end. The explorer waits for the
// running thread. Without the report, a thread that blocks on a channel or a mutex
// would hang the test silently.
type watchdog struct {
	execution atomic.Int64
	quit      chan struct{}
}

var (
	hangTimeout           = 20 * time.Second
	hangOutput  io.Writer = os.Stderr
)

// startWatchdog starts the goroutine of a watchdog.
func startWatchdog() *watchdog {
	w := &watchdog{quit: make(chan struct{})}
	hangTimeout, hangOutput := hangTimeout, hangOutput
	go func() {
		tick := time.NewTicker(hangTimeout)
		defer tick.Stop()
		last := int64(-1)
		for {
			select {
			case <-w.quit:
				return
			case <-tick.C:
			}
			n := w.execution.Load()
			if n == last {
				_, _ = fmt.Fprintf(hangOutput, "interleave: execution %d has been running for more than %v: a thread blocks without a model operation (on a channel, a mutex, time) or loops without one\n", n+1, hangTimeout)
				return
			}
			last = n
		}
	}()
	return w
}

// progress records the start of execution n.
func (w *watchdog) progress(n int) { w.execution.Store(int64(n)) }

func (w *watchdog) stop() { close(w.quit) }
