package sync_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	lfsync "github.com/lanewright/lanewright/sync"
)

// The bad inputs of docs/VERIFICATION.md that concern what workers wait with.

// TestSyncAtItsLimits drives a Sync whose counts are pre-set to where their fields
// end: nothing carries over from one field into another, whatever limit the caller
// gives. V-14b, V-15b.
func TestSyncAtItsLimits(t *testing.T) {
	word := func(s lfsync.State, notified bool, idle, spawned int) lfsync.Word {
		return lfsync.MakeWord(s, notified, idle, spawned)
	}
	const pending, waking, signaled = lfsync.StatePending, lfsync.StateWaking, lfsync.StateSignaled
	for _, limit := range []int{maxWorkers, maxWorkers + 1, math.MaxInt32, math.MaxInt} {
		for _, tc := range []struct {
			name string
			from lfsync.Word
			call func(s *lfsync.Sync) any
			want any
			to   lfsync.Word
		}{
			{
				"the last spawn", word(pending, false, 0, maxWorkers-1),
				func(s *lfsync.Sync) any { return s.Notify(false, limit) },
				lfsync.ActionSpawn, word(signaled, true, 0, maxWorkers),
			},
			{
				"no spawn", word(pending, false, 0, maxWorkers),
				func(s *lfsync.Sync) any { return s.Notify(false, limit) },
				lfsync.ActionNone, word(pending, true, 0, maxWorkers),
			},
			{
				"no spawn for the waking worker", word(waking, false, 0, maxWorkers),
				func(s *lfsync.Sync) any { return s.Notify(true, limit) },
				lfsync.ActionNone, word(pending, true, 0, maxWorkers),
			},
			{
				"the last to enter", word(pending, false, maxWorkers-1, maxWorkers-1),
				func(s *lfsync.Sync) any { return s.Enter(limit) },
				true, word(pending, false, maxWorkers-1, maxWorkers),
			},
			{
				"none enters", word(waking, true, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Enter(limit) },
				false, word(waking, true, maxWorkers-1, maxWorkers),
			},
			{
				"the last parks", word(waking, false, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Wait(true, false) },
				lfsync.OutcomePark, word(pending, false, maxWorkers, maxWorkers),
			},
			{
				"a wake with all parked", word(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { return s.Notify(false, limit) },
				lfsync.ActionWake, word(signaled, true, maxWorkers, maxWorkers),
			},
			{
				"one of all wakes", word(signaled, true, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { return s.Wait(false, true) },
				lfsync.OutcomeSearchWaking, word(waking, false, maxWorkers-1, maxWorkers),
			},
			{
				"a failed spawn", word(signaled, true, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.SpawnFailed() },
				word(pending, true, maxWorkers-1, maxWorkers-1), word(pending, true, maxWorkers-1, maxWorkers-1),
			},
			{
				"a parked one leaves", word(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { _, act := s.Leave(false, true, limit); return act },
				lfsync.ActionNone, word(pending, false, maxWorkers-1, maxWorkers-1),
			},
			{
				"shutdown of all", word(signaled, true, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { idle, _ := s.Shutdown(); return idle },
				maxWorkers, word(lfsync.StateShutdown, true, 0, maxWorkers),
			},
		} {
			var s lfsync.Sync
			lfsync.SetWord(&s, tc.from)
			if got := tc.call(&s); got != tc.want {
				t.Errorf("%s, limit %d: got %v, want %v", tc.name, limit, got, tc.want)
			}
			if got := s.Load(); got != tc.to {
				t.Errorf("%s, limit %d: the word is %v, want %v", tc.name, limit, got, tc.to)
			}
		}
	}
}

// TestWakeTokensAtTheirLimit: as many tokens as there can be workers are kept, and one
// more is dropped. V-15b.
func TestWakeTokensAtTheirLimit(t *testing.T) {
	var k lfsync.WakeTokens
	k.Init(maxWorkers)
	for i := range maxWorkers {
		if !k.Post() {
			t.Fatalf("Post = false with %d tokens", i)
		}
	}
	if k.Post() {
		t.Error("a token too many was kept")
	}
	for i := range maxWorkers {
		if !k.TryWait() {
			t.Fatalf("TryWait = false after %d of %d tokens", i, maxWorkers)
		}
	}
	if k.TryWait() {
		t.Error("there is a token too many")
	}
}

// TestParkerDurations: a park of no or negative length does not block, and the
// longest lasts until the token comes. V-16c.
func TestParkerDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := lfsync.NewParker()
		start := time.Now()
		for _, d := range []time.Duration{0, -1, -time.Hour, math.MinInt64} {
			if p.ParkFor(d) {
				t.Errorf("ParkFor(%d) took a token that is not there", d)
			}
			p.Unpark()
			if !p.ParkFor(d) {
				t.Errorf("ParkFor(%d) did not take the token", d)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("parks without a length took %v", d)
		}
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1} {
			start = time.Now()
			go func() {
				time.Sleep(1000 * time.Hour) // virtual
				p.Unpark()
			}()
			if !p.ParkFor(d) {
				t.Errorf("ParkFor(%d) took no token", d)
			}
			if got := time.Since(start); got != 1000*time.Hour {
				t.Errorf("ParkFor(%d) took %v", d, got)
			}
		}
	})
}
