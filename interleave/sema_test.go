package interleave_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// TestWaitsTimeOutOnlyWithTimeouts: a timed wait times out at any step with
// Options.Timeouts, and never without it.
func TestWaitsTimeOutOnlyWithTimeouts(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, timeouts := range []bool{true, false} {
			o.Timeouts = timeouts
			seen := map[string]int{}
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				s.Init(1)
				m.Go("post", func() { x.Store(1); s.Post() })
				m.Go("wait", func() {
					ok := s.WaitFor(time.Hour)
					before := x.Load()
					m.Final(func() { seen[fmt.Sprint(ok, before)]++ })
				})
			})
			wantComplete(t, r)
			switch {
			case timeouts && (seen["true 1"] == 0 || seen["false 0"] == 0 || seen["false 1"] == 0 || len(seen) != 3):
				t.Errorf("with timeouts got %v", seen)
			case !timeouts && (seen["true 1"] == 0 || len(seen) != 1):
				t.Errorf("without timeouts got %v", seen)
			}
		}
	})
}

// TestLoopsOfTimedWaitsEnd: a thread that has timed out lets other threads take a
// step, and an execution ends when only daemons could time out.
func TestLoopsOfTimedWaitsEnd(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Timeouts = true
		o.Preemptions = 2
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			var stop interleave.Bool
			s.Init(1)
			for range 2 {
				m.GoDaemon("ticker", func() {
					for !stop.Load() {
						s.WaitFor(time.Millisecond)
					}
				})
			}
			m.Go("stop", func() { stop.Store(true) })
		})
		wantComplete(t, r)
		// A thread that is alone times out for ever: no other step is possible.
		o.MaxSteps = 50
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("ticker", func() {
				for !s.WaitFor(time.Millisecond) {
				}
			})
		})
		wantFailure(t, r, interleave.Livelock, "50 steps")
		o.Timeouts = false
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("ticker", func() { s.WaitFor(time.Millisecond) })
		})
		wantFailure(t, r, interleave.Deadlock, "WaitFor")
	})
}

// TestTimedWaitWithoutTimeoutsIsAssumed: a search in which a thread comes to a timed wait
// assumes timeouts=off unless Options.Timeouts is set, also if each wait finds a token.
func TestTimedWaitWithoutTimeoutsIsAssumed(t *testing.T) {
	waits := func(tokens int, d time.Duration, inThread bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			for range tokens {
				s.Post()
			}
			if !inThread {
				m.Final(func() { s.WaitFor(d) })
				return
			}
			m.GoDaemon("waits", func() { s.WaitFor(d) })
			m.Go("other", func() { s.Post() })
		}
	}
	tests := []struct {
		name     string
		timeouts bool
		body     func(m *interleave.M)
		assumes  string
	}{
		{"without a token", false, waits(0, time.Hour, true), "timeouts=off"},
		{"with a token", false, waits(1, time.Hour, true), "timeouts=off"},
		{"with Timeouts", true, waits(0, time.Hour, true), ""},
		{"for no time", false, waits(0, 0, true), ""},
		{"in Final", false, waits(1, time.Hour, false), ""},
		{"without a wait", false, independent(2), ""},
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, tc := range tests {
			o.Timeouts = tc.timeouts
			for _, o.Preemptions = range []int{0, 2, interleave.All} {
				r := interleave.Explore(o, tc.body)
				wantComplete(t, r)
				if got := strings.Join(r.Assumes, " "); got != tc.assumes {
					t.Errorf("%s, preemptions=%d: the result assumes %q, want %q", tc.name, o.Preemptions, got, tc.assumes)
				}
			}
			o.Preemptions = interleave.All
		}
	})
}

// TestWaitDoneTriesTokenAndClose: WaitDone ends by a token or by the close of its
// channel, and the search tries both. The close orders the writes before it.
func TestWaitDoneTriesTokenAndClose(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, sleepSets := range []bool{false, true} {
			o.Reduce = sleepSets
			seen := map[string]int{}
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				var c interleave.Cell[int]
				done := make(chan struct{})
				s.Init(1)
				m.Go("wait", func() {
					ok := s.WaitDone(done)
					if !ok {
						c.Get() // the close orders it after the write
					}
					before := x.Load()
					m.Final(func() { seen[fmt.Sprint(ok, before)]++ })
				})
				m.Go("post", func() { s.Post() })
				m.Go("close", func() {
					x.Store(1)
					c.Set(1)
					close(done)
					x.Store(2)
				})
			})
			wantComplete(t, r)
			got := slices.Sorted(maps.Keys(seen))
			if fmt.Sprint(got) != "[false 1 false 2 true 0 true 1 true 2]" {
				t.Errorf("got %v", got)
			}
		}
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("wait", func() { s.WaitDone(nil) })
		})
		wantFailure(t, r, interleave.Deadlock, "WaitDone")
	})
}

// TestSemaDropsTokensBeyondCapacity: a full semaphore drops a token, and a wait outside
// the threads that would block panics.
func TestSemaDropsTokensBeyondCapacity(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(2)
			s.Post()
			m.Go("t", func() {
				got := []bool{s.Post(), s.Post(), s.TryWait(), s.WaitFor(0), s.TryWait(), s.WaitFor(-1), s.Post()}
				if fmt.Sprint(got) != "[true false true true false false true]" {
					m.Fatalf("got %v", got)
				}
				s.Wait()
			})
		})
		wantComplete(t, r)
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Final(func() { s.Wait() })
		})
		wantFailure(t, r, interleave.Panic, "would block for ever")
	})
	mustPanic(t, "capacity", func() { new(interleave.Sema).Init(0) })
}

// TestSemaNeedsInit: each method of a Sema panics before Init, in an exploration and outside.
func TestSemaNeedsInit(t *testing.T) {
	for name, call := range map[string]func(s *interleave.Sema){
		"Post":     func(s *interleave.Sema) { s.Post() },
		"TryWait":  func(s *interleave.Sema) { s.TryWait() },
		"Wait":     func(s *interleave.Sema) { s.Wait() },
		"WaitDone": func(s *interleave.Sema) { s.WaitDone(nil) },
		"WaitFor":  func(s *interleave.Sema) { s.WaitFor(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			want := "interleave: Sema." + name + " before Init"
			r := interleave.Explore(bound0, func(m *interleave.M) { m.Go("t", func() { call(new(interleave.Sema)) }) })
			wantFailure(t, r, interleave.Panic, want)
			r = interleave.Explore(bound0, func(*interleave.M) { call(new(interleave.Sema)) })
			wantFailure(t, r, interleave.Panic, want)
			mustPanic(t, want, func() { call(new(interleave.Sema)) })
		})
	}
}
