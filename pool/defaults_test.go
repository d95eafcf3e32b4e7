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
	if c.Lanes != 7 || c.Inline.Position != Last {
		t.Errorf("%d lanes for 7 processors, the inline lane at %d", c.Lanes, c.Inline.Position)
	}
	for what, want := range map[string]any{
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
		"a worker of a scheduler without `MaxWorkers` is marked as stalled, only while a processor is idle, after": sched.DefaultStallAfter,
		"parked workers end after one to two times":                                                                sched.DefaultIdleTimeout,
		"a task that delays others is marked as stalled after":                                                     defaultStall,
	} {
		if row := fmt.Sprintf("\n| %s | %v |", what, want); !strings.Contains(string(text), row) {
			t.Errorf("docs/DEFAULTS.md has no row %q", row[1:])
		}
	}
}
