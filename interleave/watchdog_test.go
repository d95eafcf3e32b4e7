package interleave_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// A closeOnWrite is a writer whose first Write closes the channel.
type closeOnWrite chan struct{}

func (c closeOnWrite) Write(p []byte) (int, error) {
	close(c)
	return len(p), nil
}

// TestWatchdogReportsBlockedThread: the watchdog reports a thread that blocks on a
// channel.
func TestWatchdogReportsBlockedThread(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		report := make(closeOnWrite)
		defer interleave.SetHangTimeout(time.Millisecond, report)()
		wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() { <-report })
		}))
	})
}
