package pool

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/transport"
)

// TestDocumentedDefaults compares docs/DEFAULTS.md with the code. Every number there is a
// default of an option. K-129.
func TestDocumentedDefaults(t *testing.T) {
	text, err := os.ReadFile("../docs/DEFAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Config{Inline: &Inline{}}.check(7)
	if err != nil {
		t.Fatal(err)
	}
	processes := Process{}.check(nil)
	if c.Lanes != 7 || c.Inline.Position != Last {
		t.Errorf("%d lanes for 7 processors, the inline lane at %d", c.Lanes, c.Inline.Position)
	}
	for what, want := range map[string]any{
		"calls of a worker process at once, at most":                                                                                     maxProcessCalls,
		"a worker process is ready after, at most":                                                                                       processes.StartTimeout,
		"a worker process has ended after the request, at most":                                                                          processes.StopGrace,
		"delay after the first failed start of a worker process; it doubles with each further one":                                       minDelay,
		"delay after a failed start of a worker process, at most":                                                                        maxDelay,
		"failed starts of a lane in a row, from which on the delay is the longest one and calls are refused while no lane has a process": maxFailures,
		"bytes of payloads in each direction of a worker process with `LowMemory`, at first":                                             lowInitial,
		"slots of a mailbox":                                    transport.Slots,
		"tasks of a pool, at most":                              maxTasks,
		"calls that a lane runs at once":                        c.Concurrency,
		"calls of a pool that wait to start":                    c.Backlog,
		"abortable calls in flight":                             c.AbortCapacity,
		"handlers left behind by the hard limit or a `Discard`": c.MaxAbandoned,
		"inline calls that a waiting caller runs at a time":     c.Inline.BatchSize,
		"calls in flight before the inline lane is picked":      c.Inline.DispatchThreshold,
		"bytes of a slot: its header, and a payload inside it":  fmt.Sprint(transport.HeaderBytes, " and ", transport.InlineBytes),
		"bytes of payloads in each direction, at first":         transport.DefaultPayloadInitial,
		"bytes of payloads in each direction, at most":          transport.DefaultPayloadMax,
		"bytes of one payload, at most":                         transport.DefaultPayloadMax / 8,
		"spinning before an end of a link parks":                transport.DefaultSpin,
		"a worker of a scheduler without `MaxWorkers` is marked as stalled while a processor is idle, and otherwise after 100 times as long without the begin or the end of a callback, after": sched.DefaultStallAfter,
		"parked workers end after one to two times":            sched.DefaultIdleTimeout,
		"a task that delays others is marked as stalled after": defaultStall,
	} {
		if row := fmt.Sprintf("\n| %s | %v |", what, want); !strings.Contains(string(text), row) {
			t.Errorf("docs/DEFAULTS.md has no row %q", row[1:])
		}
	}
}
