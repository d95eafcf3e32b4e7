package sync

import "github.com/lanewright/lanewright/internal/atomix"

// Sync is the cell of a [Word], on cache lines of its own. The zero Sync counts no
// worker and is ready. Safe for concurrent use; it must not be copied.
//
// Load and NotifyFast only load the Word. Each other method stores the transition of the
// same name and returns its result. The rules are those of [Word]. The package
// documentation states the protocol of notifiers, workers and closers. No method blocks.
type Sync struct {
	_    NoCopy
	_    Pad
	word atomix.Uint32
	_    Pad
}

// Algorithm of Sync: load the word, compute the transition, store the result by a CAS.
//
// Roles:
//
//	notifier  a goroutine that has made tasks visible: Notify
//	worker    Wait or Linger, Notify or Rest when it has found tasks, Leave. It is spawned
//	          or enters
//	taker     the goroutine whose transition cleared the lingering bit: StopLingering,
//	          Notify or Leave with ActionResume, or Shutdown
//	spawner   a notifier or leaver that got ActionSpawn and could not spawn: SpawnFailed
//	closer    Shutdown
//
// State:
//
//	word  the bits of the Word: CAS by every role
//
// Linearization points: the CAS that stores the next word, or the load of a word that
// the transition leaves unchanged.
//
// Happens-before edges:
//
//	E1  CAS or load of Notify  ->  CAS of Wait that takes the notification   the worker
//	    sees the tasks that were made visible before
//	E2  CAS of Wait or Linger that counts as idle  ->  CAS of Notify   a notifier whose
//	    task the worker has not seen finds the worker counted as idle, and so able to be
//	    woken
//	E3  CAS of Leave  ->  CAS or load of a goroutine that counts the workers   all
//	    operations of the worker that left are visible
//	E4  CAS of Linger  ->  CAS of the taker   the taker sees what the worker keeps
//	E5  CAS of Rest  ->  CAS of Notify   a notifier whose task the worker has not seen
//	    finds no wake-up in flight, and so starts one. A notification before the CAS
//	    makes Rest fail
//
// The load-only form of E1 needs sequential consistency, which the atomics of Go have.
// Either the worker that clears the notification sees the tasks, or the notifier sees
// the notification cleared (the Dekker pattern). With acquire and release alone a
// wake-up is lost.
//
// Progress: lock-free; a retry means that another transition was stored. Notify writes
// nothing when it leaves the word unchanged, so any number of notifiers share the cache
// line. When all workers are busy, a notification costs one load.
//
// Source: the Sync word of kprotty/zap. Changed: a failed spawn takes the signal back.
// Enter and Leave are new. A leaver passes on a signal that was meant for it.
//
// Rejected: a fetch-or in place of the load in Notify, as ports of zap have it. It is
// needed where the load may be reordered, and it takes the shared cache line on each
// notification.

// Load returns the word. The result may be out of date when the caller uses it.
func (s *Sync) Load() Word { return Word(s.word.Load()) } // E3

// cas replaces old by next and reports whether it did.
func (s *Sync) cas(old, next Word) bool {
	return s.word.CompareAndSwap(uint32(old), uint32(next))
}

// Notify announces tasks that were made visible before the call: see [Word.Notify]. It
// returns the action that the caller must take now.
func (s *Sync) Notify(waking bool, limit int) Action {
	//gcassert:inline
	if !waking && s.NotifyFast(limit) {
		return ActionNone
	}
	return s.notifySlow(waking, limit)
}

// NotifyFast reports whether Notify(false, limit) has nothing to do. That is so when
// the word already holds a notification, and either all workers are busy and no more
// may be spawned, or a wake-up is in flight. It is also so after a shutdown.
// NotifyFast is one load and inlines:
//
//	if !s.NotifyFast(limit) {
//		act := s.Notify(false, limit)
//		...
//	}
func (s *Sync) NotifyFast(limit int) bool {
	return s.Load().needsNothing(limit) // E1: needs sequential consistency
}

func (s *Sync) notifySlow(waking bool, limit int) Action {
	for {
		w := s.Load()
		next, act := w.Notify(waking, limit)
		if next == w || s.cas(w, next) { // E1, E2, E4, E5
			return act
		}
	}
}

// Wait is called by a worker that found no task: see [Word.Wait]. It does not block.
// After OutcomePark the caller parks and then calls Wait(false, true).
func (s *Sync) Wait(waking, idle bool) Outcome {
	for {
		w := s.Load()
		next, out := w.Wait(waking, idle)
		if next == w || s.cas(w, next) { // E1, E2
			return out
		}
	}
}

// Linger is Wait(waking, false) for a worker that lingers if it has to park: see
// [Word.Linger]. It does not block. After OutcomePark the worker parks alone until its taker
// unparks it.
func (s *Sync) Linger(waking bool) Outcome {
	for {
		w := s.Load()
		next, out := w.Linger(waking)
		if next == w || s.cas(w, next) { // E1, E2, E4
			return out
		}
	}
}

// StopLingering makes the caller the taker of the lingering worker, which stays counted as
// idle: see [Word.StopLingering]. It returns false when no worker lingers.
func (s *Sync) StopLingering() bool {
	for {
		w := s.Load()
		next, ok := w.StopLingering()
		if next == w || s.cas(w, next) { // E4
			return ok
		}
	}
}

// Rest ends the role of the waking worker without a wake-up: see [Word.Rest]. It returns
// false when the caller keeps the role and must call Notify.
func (s *Sync) Rest() bool {
	for {
		w := s.Load()
		next, ok := w.Rest()
		if next == w || s.cas(w, next) { // E5
			return ok
		}
	}
}

// SpawnFailed takes back the worker that ActionSpawn has counted: see [Word.SpawnFailed].
// It returns the word that it stored. When that word counts no worker, no worker looks
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

// Enter adds the caller to the worker count, and returns the word that it stored and true. It
// returns the word that it found and false when the caller must not become a worker: see
// [Word.Enter].
func (s *Sync) Enter(limit int) (Word, bool) {
	for {
		w := s.Load()
		next, ok := w.Enter(limit)
		if next == w || s.cas(w, next) {
			return next, ok
		}
	}
}

// Leave subtracts the caller from the worker count: see [Word.Leave]. It returns the
// word that it stored and the action that the caller must take now. After a shutdown, the
// caller whose word counts no worker is the last one.
func (s *Sync) Leave(waking, idle bool, limit int) (Word, Action) {
	for {
		w := s.Load()
		next, act := w.Leave(waking, idle, limit)
		if s.cas(w, next) { // E3, E4
			return next, act
		}
	}
}

// Shutdown makes every Wait return OutcomeShutdown from now on: see [Word.Shutdown]. It
// returns the number of wake tokens that the caller must post, whether the caller is the
// taker of a lingering worker, and whether it was the first to call Shutdown.
func (s *Sync) Shutdown() (idle int, lingering, first bool) {
	for {
		w := s.Load()
		next, idle, first := w.Shutdown()
		if next == w || s.cas(w, next) { // E4
			return idle, first && w.Lingering(), first
		}
	}
}
