package sync_test

import (
	"math"
	"runtime"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	lfsync "github.com/lanewright/lanewright/sync"
)

// TestSyncModel: each method of Sync stores the transition of Word. Z-062, Z-063.
func TestSyncModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s lfsync.Sync
		var w lfsync.Word
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		busy, parked, waking := 0, 0, false // workers, and whether a busy one is waking
		t.Repeat(map[string]func(*rapid.T){
			"notify": func(t *rapid.T) {
				as := waking && rapid.Bool().Draw(t, "as waking")
				next, want := w.Notify(as, limit)
				if got := s.Notify(as, limit); got != want {
					t.Fatalf("Notify on %v = %v, want %v", w, got, want)
				}
				if as {
					waking = false
				}
				if want == lfsync.ActionSpawn {
					busy++
				}
				w = next
			},
			"spawn failed": func(t *rapid.T) {
				if busy-b2i(waking) == 0 {
					t.Skip("no worker")
				}
				busy--
				w = w.SpawnFailed()
				if got := s.SpawnFailed(); got != w {
					t.Fatalf("SpawnFailed = %v, want %v", got, w)
				}
			},
			"wait": func(t *rapid.T) {
				idle := parked > 0 && rapid.Bool().Draw(t, "as idle")
				if !idle && busy == 0 {
					t.Skip("no worker")
				}
				as := !idle && waking && (busy == 1 || rapid.Bool().Draw(t, "as waking"))
				next, want := w.Wait(as, idle)
				if got := s.Wait(as, idle); got != want {
					t.Fatalf("Wait on %v = %v, want %v", w, got, want)
				}
				switch {
				case want == lfsync.OutcomePark && !idle:
					busy, parked = busy-1, parked+1
				case want != lfsync.OutcomePark && idle && w.State() != lfsync.StateShutdown:
					busy, parked = busy+1, parked-1
				}
				waking = next.State() == lfsync.StateWaking
				w = next
			},
			"enter": func(t *rapid.T) {
				next, want := w.Enter(limit)
				if got := s.Enter(limit); got != want {
					t.Fatalf("Enter on %v = %v, want %v", w, got, want)
				}
				busy += b2i(want)
				w = next
			},
			"leave": func(t *rapid.T) {
				idle := parked > 0 && rapid.Bool().Draw(t, "as idle")
				if !idle && busy == 0 {
					t.Skip("no worker")
				}
				as := !idle && waking && (busy == 1 || rapid.Bool().Draw(t, "as waking"))
				next, want := w.Leave(as, idle, limit)
				got, act := s.Leave(as, idle, limit)
				if got != next || act != want {
					t.Fatalf("Leave on %v = %v, %v, want %v, %v", w, got, act, next, want)
				}
				if idle {
					parked--
				} else {
					busy--
				}
				busy += b2i(act == lfsync.ActionSpawn)
				waking = next.State() == lfsync.StateWaking
				w = next
			},
			"shutdown": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
					t.Skip("not now")
				}
				next, idle, first := w.Shutdown()
				if i, f := s.Shutdown(); i != idle || f != first {
					t.Fatalf("Shutdown on %v = %d, %v, want %d, %v", w, i, f, idle, first)
				}
				w, waking, busy, parked = next, false, busy+parked, 0
			},
			"": func(t *rapid.T) {
				if got := s.Load(); got != w {
					t.Fatalf("the word is %v, want %v", got, w)
				}
				next, act := w.Notify(false, limit)
				if got, want := s.NotifyFast(limit), next == w && act == lfsync.ActionNone; got != want {
					t.Fatalf("NotifyFast on %v = %v, want %v", w, got, want)
				}
			},
		})
	})
}

// TestSyncLayout: the word shares its cache line with no other field, whatever is before
// and after the Sync.
func TestSyncLayout(t *testing.T) {
	if lfsync.SyncOffset < lfsync.CacheLine {
		t.Errorf("%d bytes are before the word, want %d", lfsync.SyncOffset, lfsync.CacheLine)
	}
	if after := lfsync.SyncSize - lfsync.SyncOffset - lfsync.SyncWord; after < lfsync.CacheLine {
		t.Errorf("%d bytes are after the word, want %d", after, lfsync.CacheLine)
	}
	if lfsync.SemaphoreOffset < lfsync.CacheLine || lfsync.SemaphoreNext-lfsync.SemaphoreOffset < lfsync.CacheLine {
		t.Errorf("the count of a semaphore is at %d, the next field at %d", lfsync.SemaphoreOffset, lfsync.SemaphoreNext)
	}
	if lfsync.CacheLine&(lfsync.CacheLine-1) != 0 || len(lfsync.Pad{}) != lfsync.CacheLine {
		t.Errorf("CacheLine = %d, Pad has %d bytes", lfsync.CacheLine, len(lfsync.Pad{}))
	}
}

// TestNoCopy: only the pointer of NoCopy is a Locker, so go vet reports copies of a type
// that holds one. V-04a.
func TestNoCopy(t *testing.T) {
	var _ stdsync.Locker = (*lfsync.NoCopy)(nil)
	if _, ok := any(lfsync.NoCopy{}).(stdsync.Locker); ok {
		t.Error("NoCopy is a Locker as a value, so go vet does not report copies")
	}
}

// miniature is a scheduler that follows the protocol of the package documentation with
// real goroutines. Its queue is a count of tasks.
type miniature struct {
	sync    lfsync.Sync
	tokens  lfsync.WakeTokens
	queue   atomic.Int64
	done    atomic.Int64
	limit   int
	fail    func() bool
	workers stdsync.WaitGroup
}

func (m *miniature) act(a lfsync.Action) {
	switch a {
	case lfsync.ActionWake:
		m.tokens.Post()
	case lfsync.ActionSpawn:
		if m.fail != nil && m.fail() {
			m.sync.SpawnFailed()
			return
		}
		m.workers.Go(m.run)
	}
}

func (m *miniature) schedule() {
	m.queue.Add(1)
	m.act(m.sync.Notify(false, m.limit))
}

func (m *miniature) take() bool {
	for {
		n := m.queue.Load()
		if n == 0 {
			return false
		}
		if m.queue.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

func (m *miniature) run() {
	waking, idle := false, false
	for {
		switch m.sync.Wait(waking, idle) {
		case lfsync.OutcomePark:
			waking, idle = false, true
			m.tokens.Wait()
			continue
		case lfsync.OutcomeShutdown:
			_, act := m.sync.Leave(waking, idle, m.limit)
			m.act(act)
			return
		case lfsync.OutcomeSearchWaking:
			waking, idle = true, false
		case lfsync.OutcomeSearch:
			waking, idle = false, false
		}
		for m.take() {
			if waking {
				m.act(m.sync.Notify(true, m.limit))
				waking = false
			}
			m.done.Add(1)
		}
	}
}

func (m *miniature) shutdown() {
	idle, _ := m.sync.Shutdown()
	for range idle {
		m.tokens.Post()
	}
	m.workers.Wait()
}

// TestSyncStress: every task runs, no worker outlives the shutdown, and the word counts
// no worker at the end. Z-088.
func TestSyncStress(t *testing.T) {
	seed := newSeed(t)
	within(t, "the protocol", func() {
		for round := range rounds(60) {
			rnd := newRand(seed, round)
			m := &miniature{limit: 1 + rnd.IntN(4)}
			m.tokens.Init(m.limit)
			const producers, each = 3, 500
			var wg stdsync.WaitGroup
			for p := range producers {
				rnd := newRand(seed, 1000*round+p)
				wg.Go(func() {
					for range each {
						m.schedule()
						if rnd.IntN(8) == 0 {
							runtime.Gosched()
						}
					}
				})
			}
			wg.Wait()
			for m.done.Load() < producers*each { // hangs when a task is stranded
				runtime.Gosched()
			}
			m.shutdown()
			if w := m.sync.Load(); w.Spawned() != 0 || w.Idle() != 0 || w.State() != lfsync.StateShutdown {
				t.Errorf("round %d: the word is %v at the end", round, w)
				return
			}
		}
	})
}

// TestSyncSpawnFails: every task runs when every second spawn fails and the last notify
// succeeds. Z-061, X-31.
func TestSyncSpawnFails(t *testing.T) {
	within(t, "the protocol", func() {
		for range rounds(200) {
			var calls atomic.Int64
			m := &miniature{limit: 3}
			m.fail = func() bool { return calls.Add(1)%2 == 1 }
			m.tokens.Init(m.limit)
			const tasks = 50
			for range tasks {
				m.schedule()
			}
			for m.done.Load() < tasks {
				m.act(m.sync.Notify(false, m.limit)) // the caller that learned that there is no worker tries again
				runtime.Gosched()
			}
			m.shutdown()
		}
	})
}

// TestSyncAllocs: a park and a wake allocate nothing. Z-002.
func TestSyncAllocs(t *testing.T) {
	var s lfsync.Sync
	var tokens lfsync.WakeTokens
	tokens.Init(2)
	s.Enter(2)
	if n := testing.AllocsPerRun(100, func() {
		if s.Wait(false, false) != lfsync.OutcomePark {
			t.Fatal("Wait did not return park")
		}
		if s.Notify(false, 1) != lfsync.ActionWake {
			t.Fatal("Notify did not return wake")
		}
		tokens.Post()
		tokens.Wait()
		if s.Wait(false, true) != lfsync.OutcomeSearchWaking {
			t.Fatal("Wait did not return search waking")
		}
		s.Notify(true, 1)
		s.Wait(false, false)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSyncFieldsNeverCarry: no field of a word whose counts are at their limits carries
// into another field, whatever limit the caller passes. V-14b, V-15b.
func TestSyncFieldsNeverCarry(t *testing.T) {
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
				"the last worker enters", word(pending, false, maxWorkers-1, maxWorkers-1),
				func(s *lfsync.Sync) any { return s.Enter(limit) },
				true, word(pending, false, maxWorkers-1, maxWorkers),
			},
			{
				"no worker enters", word(waking, true, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Enter(limit) },
				false, word(waking, true, maxWorkers-1, maxWorkers),
			},
			{
				"the last worker parks", word(waking, false, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Wait(true, false) },
				lfsync.OutcomePark, word(pending, false, maxWorkers, maxWorkers),
			},
			{
				"a wake while all are parked", word(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { return s.Notify(false, limit) },
				lfsync.ActionWake, word(signaled, true, maxWorkers, maxWorkers),
			},
			{
				"one of the parked workers wakes", word(signaled, true, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { return s.Wait(false, true) },
				lfsync.OutcomeSearchWaking, word(waking, false, maxWorkers-1, maxWorkers),
			},
			{
				"a failed spawn", word(signaled, true, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.SpawnFailed() },
				word(pending, true, maxWorkers-1, maxWorkers-1), word(pending, true, maxWorkers-1, maxWorkers-1),
			},
			{
				"a parked worker leaves", word(pending, false, maxWorkers, maxWorkers),
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
