package interleave_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestUnorderedCellAccessesAreRaces: two accesses to a Cell, one of which is a write,
// race unless an atomic write that is read or a token that is taken orders them.
func TestUnorderedCellAccessesAreRaces(t *testing.T) {
	type state struct {
		c    interleave.Cell[int]
		x, y interleave.Int32
		s    interleave.Sema
		m    interleave.Mutex
	}
	// A TryLock that fails orders nothing, but the thread then knows that another thread
	// has locked the Mutex.
	ifLocked := func(s *state, f func()) {
		if !s.m.TryLock() {
			f()
		}
	}
	tests := []raceCase[state]{
		{"two reads", func(s *state) { s.c.Get() }, func(s *state) { s.c.Get() }, false},
		{"read and write", func(s *state) { s.c.Get() }, func(s *state) { s.c.Set(1) }, true},
		{"two writes", func(s *state) { s.c.Set(1) }, func(s *state) { s.c.Set(1) }, true},
		{"publish", func(s *state) { s.c.Set(1); s.x.Store(1) }, func(s *state) {
			if s.x.Load() == 1 {
				s.c.Get()
			}
		}, false},
		{"publish too early", func(s *state) { s.x.Store(1); s.c.Set(1) }, func(s *state) {
			if s.x.Load() == 1 {
				s.c.Get()
			}
		}, true},
		{"wrong word", func(s *state) { s.c.Set(1); s.y.Store(1); s.x.Store(1) }, func(s *state) {
			s.y.Load()
			if s.x.Load() == 0 {
				s.c.Get()
			}
		}, true},
		{"lock", func(s *state) {
			if s.x.CompareAndSwap(0, 1) {
				s.c.Set(1)
				s.x.Store(0)
			}
		}, func(s *state) {
			if s.x.CompareAndSwap(0, 1) {
				s.c.Set(2)
				s.x.Store(0)
			}
		}, false},
		{"a load publishes nothing", func(s *state) { s.c.Set(1); s.x.Load() }, func(s *state) {
			s.x.Store(1)
			s.c.Get()
		}, true},
		{"a failed swap publishes nothing", func(s *state) { s.c.Set(1); s.x.CompareAndSwap(5, 6) }, func(s *state) {
			if s.x.Add(1) == 1 {
				s.c.Get()
			}
		}, true},
		{"a store hides the one before", func(s *state) { s.c.Set(1); s.x.Store(1) }, func(s *state) {
			s.x.Store(2)
			if s.x.Load() == 2 {
				s.c.Get()
			}
		}, true},
		{"an update keeps the edge of the one before", func(s *state) { s.c.Set(1); s.x.Add(1) }, func(s *state) {
			if s.x.Add(2) == 3 {
				s.c.Get()
			}
		}, false},
		{"token", func(s *state) { s.c.Set(1); s.s.Post() }, func(s *state) { s.s.Wait(); s.c.Get() }, false},
		{"token too early", func(s *state) { s.s.Post(); s.c.Set(1) }, func(s *state) { s.s.Wait(); s.c.Get() }, true},
		{"no token", func(s *state) { s.c.Set(1); s.s.Post() }, func(s *state) { s.s.TryWait(); s.c.Get() }, true},
		{"own token", func(s *state) { s.c.Set(1); s.s.Post() }, func(s *state) {
			s.s.Post()
			s.s.Wait() // takes the oldest
			s.c.Get()
		}, true},
		{"a failed lock orders nothing", func(s *state) { s.c.Set(1); s.m.Lock() }, func(s *state) {
			ifLocked(s, func() { s.c.Get() })
		}, true},
		{"after a load", func(s *state) { s.c.Set(1); s.x.Load(); s.m.Lock() }, func(s *state) {
			ifLocked(s, func() { s.x.Load(); s.c.Get() })
		}, true},
		{"after a failed swap", func(s *state) { s.c.Set(1); s.x.CompareAndSwap(5, 6); s.m.Lock() }, func(s *state) {
			ifLocked(s, func() { s.x.Load(); s.c.Get() })
		}, true},
		{"after a hidden store", func(s *state) { s.c.Set(1); s.x.Store(1); s.m.Lock() }, func(s *state) {
			ifLocked(s, func() { s.x.Store(2); s.x.Load(); s.c.Get() })
		}, true},
		{"after a store", func(s *state) { s.c.Set(1); s.x.Store(1); s.m.Lock() }, func(s *state) {
			ifLocked(s, func() { s.x.Load(); s.c.Get() })
		}, false},
		{"oldest of two tokens", func(s *state) { s.c.Set(1); s.s.Post(); s.m.Lock() }, func(s *state) {
			ifLocked(s, func() { s.s.Post(); s.s.Wait(); s.c.Get() })
		}, false},
	}
	checkRaces(t, tests, []interleave.Options{all, sleep}, func(s *state) { s.s.Init(2) })
}

// TestRaceReportNamesBothAccesses: the report of a race names both accesses with
// their lines.
func TestRaceReportNamesBothAccesses(t *testing.T) {
	r := interleave.Explore(all, func(m *interleave.M) {
		var c interleave.Cell[int]
		m.Name(&c, "box")
		m.Go("writer", func() { c.Set(1) })
		m.Go("reader", func() { c.Get() })
	})
	wantFailure(t, r, interleave.Race, "data race on box: the read by thread reader at cell_test.go:")
	wantFailure(t, r, interleave.Race, " is not ordered after the write by thread writer at cell_test.go:")
}

// TestNewThreadSeesEarlierWritesOnly: the creation of a thread orders the earlier
// writes of its creator before the actions of the thread, and no later write. In half of
// the programs the thread reads only after the write: a TryLock that fails shows it that
// the creator has locked the Mutex, and orders nothing.
func TestNewThreadSeesEarlierWritesOnly(t *testing.T) {
	for _, early := range []bool{true, false} {
		for _, afterWrite := range []bool{true, false} {
			eachBackend(t, func(t *testing.T, o interleave.Options) {
				t.Helper()
				r := interleave.Explore(o, func(m *interleave.M) {
					var c interleave.Cell[int]
					var mu interleave.Mutex
					c.Set(1)
					m.Go("creator", func() {
						if early {
							c.Set(2)
						}
						interleave.Go("created", func() {
							if afterWrite && mu.TryLock() {
								mu.Unlock()
								return
							}
							c.Get()
						})
						if !early {
							c.Set(2)
						}
						if afterWrite {
							mu.Lock()
						}
					})
				})
				switch {
				case early:
					wantComplete(t, r)
				case afterWrite:
					wantFailure(t, r, interleave.Race, "the read by thread created")
				default:
					wantFailure(t, r, interleave.Race, "created")
				}
			})
		}
	}
}

// TestRaceWithWaitDone: the end of a WaitDone by its channel is not ordered after the accesses of a thread that has not
// closed the channel. The race is found in an order in which the access comes later.
func TestRaceWithWaitDone(t *testing.T) {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		var c interleave.Cell[int]
		var s interleave.Sema
		var x interleave.Int32
		s.Init(1)
		done := make(chan struct{})
		m.Go("writes", func() {
			x.Add(1)
			c.Set(1)
		})
		m.Go("closes", func() {
			x.Add(1)
			close(done)
		})
		m.Go("waits", func() {
			s.WaitDone(done)
			c.Get()
		})
	})
	if r.Failure == nil || r.Failure.Kind != interleave.Race {
		t.Errorf("got %+v", r)
	}
}
