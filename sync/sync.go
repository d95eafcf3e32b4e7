package sync

import "github.com/lanewright/lanewright/internal/atomix"

// Sync is the cell of a [Word], on cache lines of its own. The zero Sync counts
// no worker and is ready. Safe for concurrent use.
//
// Its methods store the transition of the same name, and hold no rules.
//
// Roles:
//
//	notifier  whoever made tasks visible: Notify
//	worker    Wait, Notify when it found tasks, Leave; is spawned or enters
//	spawner   a notifier or leaver that was told to spawn, and could not: SpawnFailed
//	closer    Shutdown
//
// State:
//
//	word  the bits of the Word: CAS by every role
//
// Linearization points: the CAS that stores the next word, or the load of the
// word that a transition leaves as it is.
//
// Happens-before edges:
//
//	E1  CAS or load of Notify  ->  CAS of Wait that takes the notification   the worker sees the tasks made visible before
//	E2  CAS of Wait that counts as idle  ->  CAS of Notify                   whoever came too late to be seen sees that there is somebody to wake
//	E3  CAS of Leave  ->  CAS or load of whoever counts the workers          what the worker did is over
//
// The load-only form of E1 needs sequential consistency, which Go's atomics
// have: either the worker that clears the notification sees the tasks, or the
// notifier sees it cleared (the Dekker pattern). With acquire and release alone
// a wake-up is lost.
//
// Progress: lock-free; a retry means that another transition was stored. Notify
// on a word that it leaves as it is writes nothing, so that any number of
// notifiers share the line: a scheduler that is busy everywhere costs a load.
//
// Source: the Sync word of kprotty/zap. Changed: a failed spawn takes the signal
// back; Enter and Leave; a leaver passes on what was meant for it.
//
// Rejected: a fetch-or in place of the load in Notify, as ports of zap have it.
// It is needed where the load may be reordered, and costs the shared line.
type Sync struct {
	_    NoCopy
	_    Pad
	word atomix.Uint32
	_    Pad
}

// Load returns the word. It may be out of date when the caller reads it.
func (s *Sync) Load() Word { return Word(s.word.Load()) } // E3

// cas replaces old by next and reports whether it did.
func (s *Sync) cas(old, next Word) bool {
	return s.word.CompareAndSwap(uint32(old), uint32(next))
}

// Notify announces work that was made visible before the call: see
// [Word.Notify]. It returns what the caller must do now.
func (s *Sync) Notify(waking bool, limit int) Action {
	//gcassert:inline
	if !waking && s.NotifyFast(limit) {
		return ActionNone
	}
	return s.notifySlow(waking, limit)
}

// NotifyFast reports whether Notify(false, limit) has nothing to do, which is so
// when everybody is busy or a wake is under way. It is one load, and inlines:
//
//	if !s.NotifyFast(limit) {
//		act := s.Notify(false, limit)
//		...
//	}
func (s *Sync) NotifyFast(limit int) bool {
	return s.Load().quiet(limit) // E1: needs sequential consistency
}

func (s *Sync) notifySlow(waking bool, limit int) Action {
	for {
		w := s.Load()
		next, act := w.Notify(waking, limit)
		if next == w || s.cas(w, next) { // E1, E2
			return act
		}
	}
}

// Wait is called by a worker that found no task: see [Word.Wait]. It does not
// block; after OutcomePark the caller parks and calls Wait(false, true).
func (s *Sync) Wait(waking, idle bool) Outcome {
	for {
		w := s.Load()
		next, out := w.Wait(waking, idle)
		if next == w || s.cas(w, next) { // E1, E2
			return out
		}
	}
}

// SpawnFailed takes back what ActionSpawn has counted: see [Word.SpawnFailed]. It
// returns the word that it stored; when that counts no worker, nobody will look
// for the tasks before the next Notify or Enter.
func (s *Sync) SpawnFailed() Word {
	for {
		w := s.Load()
		next := w.SpawnFailed()
		if s.cas(w, next) { // E3
			return next
		}
	}
}

// Enter counts the caller as a worker and reports whether it may be one: see
// [Word.Enter].
func (s *Sync) Enter(limit int) bool {
	for {
		w := s.Load()
		next, ok := w.Enter(limit)
		if next == w || s.cas(w, next) {
			return ok
		}
	}
}

// Leave counts the caller as a worker no more: see [Word.Leave]. It returns the
// word that it stored and what the caller must do now. After a shutdown, the
// caller that sees no worker counted is the last one.
func (s *Sync) Leave(waking, idle bool, limit int) (Word, Action) {
	for {
		w := s.Load()
		next, act := w.Leave(waking, idle, limit)
		if s.cas(w, next) { // E3
			return next, act
		}
	}
}

// Shutdown ends the waiting of all workers, now and later: see [Word.Shutdown].
// It returns how many tokens the caller must post, and whether it was the first
// to call Shutdown.
func (s *Sync) Shutdown() (idle int, first bool) {
	for {
		w := s.Load()
		next, idle, first := w.Shutdown()
		if next == w || s.cas(w, next) {
			return idle, first
		}
	}
}
