package sync_test

import (
	"math"
	"reflect"
	"runtime"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	lfsync "github.com/lanewright/lanewright/sync"
)

// TestSyncModel checks that each method of Sync stores the transition of Word. Z-062,
// Z-063.
func TestSyncModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s lfsync.Sync
		var w lfsync.Word
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		busy, parked, waking := 0, 0, false // workers, and whether a busy one is waking
		lingering := false                  // one of the parked workers
		act := func(a lfsync.Action) {
			switch a {
			case lfsync.ActionSpawn:
				busy++
			case lfsync.ActionResume:
				if !lingering {
					t.Fatal("no worker lingers")
				}
				busy, parked, lingering, waking = busy+1, parked-1, false, true
			}
		}
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
				act(want)
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
			"linger": func(t *rapid.T) {
				if busy == 0 || lingering {
					t.Skip("no worker may linger")
				}
				as := waking && (busy == 1 || rapid.Bool().Draw(t, "as waking"))
				next, want := w.Linger(as)
				if got := s.Linger(as); got != want {
					t.Fatalf("Linger on %v = %v, want %v", w, got, want)
				}
				if want == lfsync.OutcomePark {
					busy, parked, lingering = busy-1, parked+1, true
				}
				waking = next.State() == lfsync.StateWaking
				w = next
			},
			"stop lingering": func(t *rapid.T) {
				next, want := w.StopLingering()
				if got := s.StopLingering(); got != want || want != lingering {
					t.Fatalf("StopLingering on %v = %v, want %v, lingering %v", w, got, want, lingering)
				}
				lingering = false
				w = next
			},
			"rest": func(t *rapid.T) {
				if !waking {
					t.Skip("no waking worker")
				}
				next, want := w.Rest()
				if got := s.Rest(); got != want {
					t.Fatalf("Rest on %v = %v, want %v", w, got, want)
				}
				waking = !want
				w = next
			},
			"wait": func(t *rapid.T) {
				idle := parked > b2i(lingering) && rapid.Bool().Draw(t, "as idle")
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
				if stored, got := s.Enter(limit); got != want || stored != next {
					t.Fatalf("Enter on %v = %v, %v, want %v, %v", w, stored, got, next, want)
				}
				busy += b2i(want)
				w = next
			},
			"leave": func(t *rapid.T) {
				idle := parked > b2i(lingering) && rapid.Bool().Draw(t, "as idle")
				if !idle && busy == 0 {
					t.Skip("no worker")
				}
				as := !idle && waking && (busy == 1 || rapid.Bool().Draw(t, "as waking"))
				next, want := w.Leave(as, idle, limit)
				got, a := s.Leave(as, idle, limit)
				if got != next || a != want {
					t.Fatalf("Leave on %v = %v, %v, want %v, %v", w, got, a, next, want)
				}
				if idle {
					parked--
				} else {
					busy--
				}
				act(a)
				waking = next.State() == lfsync.StateWaking
				w = next
			},
			"shutdown": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
					t.Skip("not now")
				}
				next, idle, first := w.Shutdown()
				if i, l, f := s.Shutdown(); i != idle || l != lingering || f != first {
					t.Fatalf("Shutdown on %v = %d, %v, %v, want %d, %v, %v", w, i, l, f, idle, lingering, first)
				}
				w, waking, lingering, busy, parked = next, false, false, busy+parked, 0
			},
			"": func(t *rapid.T) {
				if got := s.Load(); got != w {
					t.Fatalf("the word is %v, want %v", got, w)
				}
				if got := w.Lingering(); got != lingering {
					t.Fatalf("a worker lingers: %v, but the word is %v", lingering, w)
				}
				next, a := w.Notify(false, limit)
				if got, want := s.NotifyFast(limit), next == w && a == lfsync.ActionNone; got != want {
					t.Fatalf("NotifyFast on %v = %v, want %v", w, got, want)
				}
			},
		})
	})
}

// TestSyncLayout checks that a Sync has one word. The word shares its cache line with no
// other field, whatever is before and after the Sync. Z-063.
func TestSyncLayout(t *testing.T) {
	var words []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[lfsync.Sync]()) {
		if f.Type != reflect.TypeFor[lfsync.Pad]() && f.Type.Size() > 0 {
			words = append(words, f.Name)
		}
	}
	if len(words) != 1 || lfsync.SyncWord != 4 {
		t.Errorf("the fields of a Sync are %v, the word has %d bytes", words, lfsync.SyncWord)
	}
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

// TestNoCopy checks that only the pointer of NoCopy is a Locker. Therefore go vet reports
// copies of a type that holds one. V-04a.
func TestNoCopy(t *testing.T) {
	var _ stdsync.Locker = (*lfsync.NoCopy)(nil)
	if _, ok := any(lfsync.NoCopy{}).(stdsync.Locker); ok {
		t.Error("NoCopy is a Locker as a value, so go vet does not report copies")
	}
}

// miniature is a scheduler that follows the protocol of the package documentation with
// real goroutines. Its queue is a count of tasks.
type miniature struct {
	sync     lfsync.Sync
	tokens   lfsync.WakeTokens
	queue    atomic.Int64
	done     atomic.Int64
	limit    int
	fail     func() bool
	workers  stdsync.WaitGroup
	lingers  bool // workers linger and rest
	register atomic.Pointer[miniLingerer]
	taken    atomic.Int64 // lingering workers that were taken
}

// miniLingerer is a worker that may linger.
type miniLingerer struct {
	parker *lfsync.Parker
	kept   bool         // belongs to the taker until it stores result
	result atomic.Int32 // resultNone until the taker stores another
}

// The results of a taker.
const (
	resultNone = iota
	resultResumed
	resultEnded
)

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
	case lfsync.ActionResume:
		m.taker(resultResumed)
	}
}

// taker is the rest of the transition by which the caller took the lingering worker.
func (m *miniature) taker(result int32) {
	l := m.register.Swap(nil)
	if !l.kept {
		panic("the worker does not linger")
	}
	l.kept = false
	m.taken.Add(1)
	l.result.Store(result)
	l.parker.Unpark()
}

// stopLingering takes the lingering worker, if there is one.
func (m *miniature) stopLingering() {
	if m.sync.StopLingering() {
		m.taker(resultEnded)
	}
}

// wait is the Wait of a worker that found no task. If the worker lingers, wait returns when
// the worker has been taken.
func (m *miniature) wait(l *miniLingerer, waking, idle bool) lfsync.Outcome {
	if idle || !m.lingers || !m.register.CompareAndSwap(nil, l) {
		return m.sync.Wait(waking, idle)
	}
	l.kept = true
	l.result.Store(resultNone)
	if out := m.sync.Linger(waking); out != lfsync.OutcomePark {
		l.kept = false
		m.register.Store(nil)
		return out
	}
	for l.result.Load() == resultNone {
		l.parker.Park()
	}
	if l.kept {
		panic("the taker did not take what the worker keeps")
	}
	if l.result.Load() == resultResumed {
		return lfsync.OutcomeSearchWaking
	}
	return m.sync.Wait(false, true) // a closer posts no wake token for this worker
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
	l := &miniLingerer{parker: lfsync.NewParker()}
	for {
		switch m.wait(l, waking, idle) {
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
			if waking && !(m.lingers && m.queue.Load() == 0 && m.sync.Rest()) {
				m.act(m.sync.Notify(true, m.limit))
			}
			waking = false
			m.done.Add(1)
		}
	}
}

func (m *miniature) shutdown() {
	idle, lingering, _ := m.sync.Shutdown()
	for range idle {
		m.tokens.Post()
	}
	if lingering {
		m.taker(resultEnded)
	}
	m.workers.Wait()
}

// TestSyncStress checks that every task runs and that no worker outlives the shutdown. The
// word counts no worker at the end. In every second round workers linger. Producers end
// that at times. Z-088.
func TestSyncStress(t *testing.T) {
	seed := newSeed(t)
	within(t, "the protocol", func() {
		taken := int64(0)
		for round := range rounds(60) {
			rnd := newRand(seed, round)
			m := &miniature{limit: 1 + rnd.IntN(4), lingers: round%2 == 1}
			m.tokens.Init(m.limit)
			const producers, each = 3, 500
			var wg stdsync.WaitGroup
			for p := range producers {
				rnd := newRand(seed, 1000*round+p)
				wg.Go(func() {
					for range each {
						m.schedule()
						switch rnd.IntN(32) {
						case 0, 1, 2, 3:
							runtime.Gosched()
						case 4:
							m.stopLingering()
						}
					}
				})
			}
			wg.Wait()
			for m.done.Load() < producers*each { // hangs when a task is stranded
				runtime.Gosched()
			}
			m.shutdown()
			if w := m.sync.Load(); w.Spawned() != 0 || w.Idle() != 0 || w.Lingering() || w.State() != lfsync.StateShutdown {
				t.Errorf("round %d: the word is %v at the end", round, w)
				return
			}
			if m.register.Load() != nil {
				t.Errorf("round %d: a worker is registered at the end", round)
				return
			}
			taken += m.taken.Load()
		}
		t.Logf("%d lingering workers were taken", taken)
	})
}

// TestSyncSpawnFails checks that every task runs when every second spawn fails and the last
// notify succeeds. Z-061, X-31.
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

// TestSyncAllocs checks that a park and a wake allocate nothing. Z-002.
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

// TestSyncLingerAllocs checks that to linger and to be resumed allocates nothing.
func TestSyncLingerAllocs(t *testing.T) {
	var s lfsync.Sync
	parker := lfsync.NewParker()
	s.Enter(2)
	if n := testing.AllocsPerRun(100, func() {
		if s.Linger(false) != lfsync.OutcomePark {
			t.Fatal("Linger did not return park")
		}
		if s.Notify(false, 1) != lfsync.ActionResume {
			t.Fatal("Notify did not return resume")
		}
		parker.Unpark()
		parker.Park()
		if !s.Rest() {
			t.Fatal("Rest did not return true")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSyncFieldsNeverCarry checks that no field of a word whose counts are at their limits
// carries into another field. The caller may pass any limit. V-14b, V-15b.
func TestSyncFieldsNeverCarry(t *testing.T) {
	word := func(s lfsync.State, notified bool, idle, spawned int) lfsync.Word {
		return lfsync.MakeWord(s, notified, idle, spawned)
	}
	lingering := func(s lfsync.State, notified bool, idle, spawned int) lfsync.Word {
		return lfsync.MakeWord(s, notified, idle, spawned) | lfsync.LingeringBit
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
				func(s *lfsync.Sync) any { _, ok := s.Enter(limit); return ok },
				true, word(pending, false, maxWorkers-1, maxWorkers),
			},
			{
				"no worker enters", word(waking, true, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { _, ok := s.Enter(limit); return ok },
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
				"the last worker lingers", word(waking, false, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Linger(true) },
				lfsync.OutcomePark, lingering(pending, false, maxWorkers, maxWorkers),
			},
			{
				"the lingering worker is resumed", lingering(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { return s.Notify(false, limit) },
				lfsync.ActionResume, word(waking, false, maxWorkers-1, maxWorkers),
			},
			{
				"the only idle worker is resumed", lingering(waking, true, 1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Notify(true, limit) },
				lfsync.ActionResume, word(waking, false, 0, maxWorkers),
			},
			{
				"the lingering worker is taken", lingering(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { return s.StopLingering() },
				true, word(pending, false, maxWorkers, maxWorkers),
			},
			{
				"the waking worker rests", lingering(waking, false, maxWorkers-1, maxWorkers),
				func(s *lfsync.Sync) any { return s.Rest() },
				true, lingering(pending, false, maxWorkers-1, maxWorkers),
			},
			{
				"the waking worker leaves", lingering(waking, true, 1, maxWorkers),
				func(s *lfsync.Sync) any { _, act := s.Leave(true, false, limit); return act },
				lfsync.ActionResume, word(waking, false, 0, maxWorkers-1),
			},
			{
				"a parked worker leaves", word(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { _, act := s.Leave(false, true, limit); return act },
				lfsync.ActionNone, word(pending, false, maxWorkers-1, maxWorkers-1),
			},
			{
				"shutdown of all", word(signaled, true, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { idle, _, _ := s.Shutdown(); return idle },
				maxWorkers, word(lfsync.StateShutdown, true, 0, maxWorkers),
			},
			{
				"shutdown of all, one lingers", lingering(pending, false, maxWorkers, maxWorkers),
				func(s *lfsync.Sync) any { idle, _, _ := s.Shutdown(); return idle },
				maxWorkers - 1, word(lfsync.StateShutdown, true, 0, maxWorkers),
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
