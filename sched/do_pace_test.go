package sched

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/cpu"
)

// TestCallPace: a caller yields before a call if its calls without a pause have taken a millisecond, or
// eight after a long yield. The clock is read in each 31st call while 31 calls take less than a
// millisecond, and in every call otherwise. Times are in microseconds.
func TestCallPace(t *testing.T) {
	each := func(us ...uint64) func(int) uint64 { return func(i int) uint64 { return us[i%len(us)] } }
	for _, tc := range []struct {
		name   string
		took   func(i int) uint64 // how long call i takes
		gap    func(i int) uint64 // and the time after it
		yield  func(i int) uint64 // how long the yield before call i takes
		calls  int
		yields []int // the calls before which the caller yields
		read   int   // calls that read the clock
	}{
		{"long calls", each(10_000), each(1), each(1), 5, []int{1, 2, 3, 4}, 5},
		{"calls of half a millisecond", each(500), each(1), each(1), 7, []int{2, 4, 6}, 7},
		{"calls of half a millisecond with pauses", each(500), each(200), each(1), 100, nil, 100},
		{"a pause after each fourth call", each(400), each(1, 1, 1, 200), each(1), 12, []int{3, 7, 11}, 12},
		{"long yields", each(2000), each(1), each(10_000), 12, []int{1, 5, 9}, 12},
		{"one long yield", each(2000), each(1), func(i int) uint64 {
			if i == 1 {
				return 1000
			}
			return 999
		}, 8, []int{1, 5, 6, 7}, 8},
		{"short calls", each(1), each(0), each(1), 31 * 200, []int{1022, 2045, 3068, 4091, 5114, 6137}, 2*31 + 198},
		{"short calls with pauses", each(1), each(150), each(1), 310, nil, 310},
		{"one call of two is long", each(1, 600), each(1), each(1), 8, []int{4}, 8},
		{"long calls after short ones", func(i int) uint64 {
			if i < 62 {
				return 1
			}
			return 700
		}, each(0), each(0), 97, []int{92, 94, 96}, 62 + 1 + 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const milli = 1000
			var c callPace
			now, read := uint64(1<<40), 0 // the counter of ticks has any value at first
			var yields []int
			for i := range tc.calls {
				if c.count() {
					read++
					if c.beginAt(now, milli) {
						yields = append(yields, i)
						began := now
						now += tc.yield(i)
						c.resume(began, now, milli)
					}
				}
				now += tc.took(i)
				if !c.short {
					c.ended = now
				}
				now += tc.gap(i)
			}
			if !slices.Equal(yields, tc.yields) {
				t.Errorf("the caller yields before the calls %v, want %v", yields, tc.yields)
			}
			if read != tc.read {
				t.Errorf("%d calls have read the clock, want %d", read, tc.read)
			}
		})
	}
}

// TestLongCallsHaveNewSlices: a caller that yields before a call has a new slice.
func TestLongCallsHaveNewSlices(t *testing.T) {
	s, err := New(Config{MaxWorkers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = s.Close() }()
	for range 3 {
		began := cpu.Ticks()
		if err := s.Do(&Task{Fn: func(*Worker, *Task) {
			for began := time.Now(); time.Since(began) < 2*time.Millisecond; { // computes
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if run := s.places.all[0].Load().pace.run; int64(run-began) < 0 {
			t.Errorf("the slice of a call has begun %d ticks before the call", began-run)
		}
	}
}

// TestCallerLeavesItsPlaceByTime: a call leaves its place to queued tasks if a worker has found no place a
// millisecond before, and only the first call does.
func TestCallerLeavesItsPlaceByTime(t *testing.T) {
	s, err := New(Config{MaxWorkers: 1, Spawner: noSpawner{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = s.Close() }()
	p := s.takePlace()
	p.pace.calls = 1 // not the call that looks in any case
	if p.callerYields(s) {
		t.Error("a call leaves its place, and no worker has found none")
	}
	s.refusedSince.Store(cpu.Ticks() - uint64(2*s.milli))
	if p.callerYields(s) {
		t.Error("a call leaves its place, and no task is queued")
	}
	if err := s.Schedule(&Task{Fn: func(*Worker, *Task) {}}); err != nil && !errors.Is(err, ErrQueued) {
		t.Fatal(err)
	}
	s.refusedSince.Store(cpu.Ticks() - uint64(2*s.milli))
	for call, want := range []bool{true, false} {
		if got := p.callerYields(s); got != want {
			t.Errorf("call %d leaves its place: %t, want %t", call, got, want)
		}
	}
	s.refusedSince.Store(cpu.Ticks() + uint64(2*s.milli))
	if p.callerYields(s) {
		t.Error("a call leaves its place before a millisecond is over")
	}
	s.returnDetached(p)
}
