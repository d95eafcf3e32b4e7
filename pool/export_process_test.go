package pool

import (
	"testing"
	"time"
)

// The defaults of worker processes, for docs/DEFAULTS.md.
const (
	MaxProcessCalls = maxProcessCalls
	MinRestartDelay = minDelay
	MaxFailures     = maxFailures
)

// MaxRestartDelay returns the pause after several attempts.
func MaxRestartDelay() time.Duration { return maxDelay }

// SetRestartDelay sets the pause after several attempts until the end of the test.
func SetRestartDelay(tb testing.TB, d time.Duration) {
	tb.Helper()
	before := maxDelay
	maxDelay = d
	tb.Cleanup(func() { maxDelay = before })
}

// TaskNames returns the names of the tasks of h.
func TaskNames(h *Handlers) (names []string) {
	for _, e := range h.entries {
		names = append(names, e.name)
	}
	return names
}

// Pinging returns how many pings wait in a lane.
func (p *Pool) Pinging(lane int) int { return int(p.lanes[lane].pinging.Load()) }

// KeptArgument returns how many bytes of its request a call keeps.
func (f *Future[R]) KeptArgument() int { return cap(f.extra.request.arg) }

// IDOf returns the id of the call of handler n that has the permit with that index.
func IDOf(index uint32, n uint64) uint64 {
	return idOf(&runner{index: index}, n*tokenNumber|tokenHandler)
}

// ExtraPermits takes permits for calls that are sent ahead until the lane, which has no calls, gives none, or has given
// more than limit. It gives them back and returns their number.
func (p *Pool) ExtraPermits(lane, limit int) int {
	l := p.lanes[lane]
	if l.seize() {
		panic("the lane has calls")
	}
	var rs []*runner
	for len(rs) <= limit {
		r := l.counts.extra(l, limit)
		if r == nil {
			break
		}
		rs = append(rs, r)
	}
	for _, r := range rs {
		r.end(put)
	}
	l.give(pickFree)
	return len(rs)
}
