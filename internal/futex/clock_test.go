package futex_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/proctest"
)

func init() {
	roles["clock"] = func([]string) error {
		fmt.Println(futex.Now())
		return nil
	}
}

// TestNow: the clock is positive, never goes back, and is as fast as that of package time.
func TestNow(t *testing.T) {
	first, begin := futex.Now(), time.Now()
	if first <= 0 {
		t.Errorf("the time is %d", first)
	}
	for last := first; time.Since(begin) < 5*time.Millisecond; {
		now := futex.Now()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
	if passed := futex.Now() - first; passed < int64(5*time.Millisecond) {
		t.Errorf("%d ns have passed, want at least 5 ms", passed)
	}
}

// TestNowIsOneClock: another process reads the same clock.
func TestNowIsOneClock(t *testing.T) {
	if _, _, err := new(futex.Dispatcher).NewWaker(); err != nil {
		t.Skip(err)
	}
	const slack = int64(time.Millisecond) // of the alignment, which may be disturbed
	before := futex.Now()
	out, err := proctest.Output(t, proctest.Role(t, "clock"))
	after := futex.Now()
	if err != nil {
		t.Fatal(err, out)
	}
	got, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil || got < before-slack || got > after+slack {
		t.Errorf("the other process read %s, %v; want %d to %d", out, err, before, after)
	}
}

// TestDeadline: a deadline is d from now, within the range of times, and never 0.
func TestDeadline(t *testing.T) {
	before := futex.Now()
	if at := futex.Deadline(time.Second); at < before+1e9 || at > futex.Now()+1e9 {
		t.Errorf("the deadline of a second is %d ns from now", at-before)
	}
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1} {
		if at := futex.Deadline(d); at != math.MaxInt64 {
			t.Errorf("the deadline of %d ns is %d", d, at)
		}
	}
	if at := futex.Deadline(math.MinInt64); at != 1 {
		t.Errorf("the deadline of the longest time ago is %d, want 1", at)
	}
}
