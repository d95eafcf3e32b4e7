package sync

import (
	"fmt"

	"github.com/lanewright/lanewright/internal/invariant"
)

// MaxWorkers is the number of workers that a [Word] can count. It is also the highest
// limit that the methods of a Word obey: a higher limit means MaxWorkers.
const MaxWorkers = 1<<14 - 1

// State is the part of a [Word] that describes the one wake-up that may be in flight. A
// wake-up is the wake of a parked worker or the spawn of a new one. It is a signal until a
// worker takes it.
type State uint8

// The states of a [Word].
const (
	StatePending  State = 0b00 // no wake-up is in flight: the next Notify may start one
	StateWaking   State = 0b01 // one worker, the waking worker, has taken the signal and must pass the wake-up on
	StateSignaled State = 0b10 // a worker was woken or spawned, and no worker has taken the signal yet
	StateShutdown State = 0b11 // no worker waits or is spawned any more; final
)

// String returns the name of the state, such as "pending".
func (s State) String() string {
	switch s {
	case StatePending:
		return "pending"
	case StateWaking:
		return "waking"
	case StateSignaled:
		return "signaled"
	case StateShutdown:
		return "shutdown"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Action is the step that a transition requires of its caller once the word is stored.
type Action uint8

// The actions of a transition.
const (
	ActionNone   Action = iota // nothing
	ActionWake                 // post one wake token: a parked worker takes it
	ActionSpawn                // start one worker, which is already counted; if that fails, SpawnFailed
	ActionResume               // unpark the worker that lingered, which is the waking worker now
)

// String returns the name of the action, such as "wake".
func (a Action) String() string {
	switch a {
	case ActionNone:
		return "none"
	case ActionWake:
		return "wake"
	case ActionSpawn:
		return "spawn"
	case ActionResume:
		return "resume"
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Outcome is the next step of a worker that called Wait or Linger.
type Outcome uint8

// The outcomes of [Word.Wait] and [Word.Linger].
const (
	OutcomeSearch       Outcome = iota // look for tasks
	OutcomeSearchWaking                // look for tasks as the waking worker
	OutcomePark                        // after Wait: take a wake token, then Wait again with idle set; after Linger: park alone until a taker resumes or ends the lingering
	OutcomeShutdown                    // leave
)

// String returns the name of the outcome, such as "park".
func (o Outcome) String() string {
	switch o {
	case OutcomeSearch:
		return "search"
	case OutcomeSearchWaking:
		return "search waking"
	case OutcomePark:
		return "park"
	case OutcomeShutdown:
		return "shutdown"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Word is the Sync word of a scheduler as a value. It holds the number of workers, the
// number of parked workers, a notification that no worker has taken yet, and the state
// of the one wake-up that may be in flight. Its methods are the transitions. They are
// pure: each returns the next word and the action of the caller once that word is
// stored. [Sync] is the cell that stores a Word.
//
// One of the idle workers may linger. It keeps the means to run a task, and parks alone
// instead of on the wake tokens. It is woken before the others.
//
// The bits, from low to high:
//
//	 0-1   state      a State
//	 2     notified   tasks were announced since a worker last cleared this bit
//	 3     lingering  one of the idle workers lingers
//	 4-17  idle       workers that are parked or about to park
//	18-31  spawned    workers that exist or are being spawned, including idle ones
//
// The width of a Word is not part of its contract. Use [MakeWord] and the accessors.
type Word uint32

// Invariants of Word, while the callers follow the protocol of the package:
//
//	I1  idle <= spawned
//	I2  signaled implies notified
//	I3  waking means that exactly one worker has the role of the waking worker. Together
//	    with signaled, at most one wake-up is in flight
//	I4  pending and notified and idle > 0 holds only between a failed spawn and the next
//	    Wait of the worker that was woken before
//	I5  shutdown implies notified, not lingering, and idle = 0
//	I6  lingering implies idle > 0, and either waking, or pending and not notified. The
//	    goroutine that stores the word without the bit is the only taker of the worker
//	    that lingered

const (
	stateMask    Word = 0b11
	notifiedBit  Word = 1 << 2
	lingeringBit Word = 1 << 3
	idleShift         = 4
	idleOne      Word = 1 << idleShift
	spawnShift        = 18
	spawnedOne   Word = 1 << spawnShift
	idleMask     Word = MaxWorkers << idleShift
)

// MakeWord returns the word with these fields, in which no worker lingers. It panics when a
// field does not fit.
func MakeWord(s State, notified bool, idle, spawned int) Word {
	if s > StateShutdown {
		panic("sync: MakeWord: no such state")
	}
	if idle < 0 || idle > MaxWorkers || spawned < 0 || spawned > MaxWorkers {
		panic("sync: MakeWord: idle and spawned must be 0 to MaxWorkers")
	}
	w := Word(s) | Word(idle)<<idleShift | Word(spawned)<<spawnShift
	if notified {
		w |= notifiedBit
	}
	return w
}

// State returns the state of the one wake-up that may be in flight.
func (w Word) State() State { return State(w & stateMask) }

// Notified reports whether tasks were announced since a worker last cleared the bit.
func (w Word) Notified() bool { return w&notifiedBit != 0 }

// Lingering reports whether one of the idle workers lingers.
func (w Word) Lingering() bool { return w&lingeringBit != 0 }

// Idle returns the number of workers that are parked or about to park.
func (w Word) Idle() int { return int(w & idleMask >> idleShift) }

// onTokens returns the number of idle workers that park on the wake tokens.
func (w Word) onTokens() int {
	if w.Lingering() {
		return w.Idle() - 1 // I6
	}
	return w.Idle()
}

// Spawned returns the number of workers that exist or are being spawned, including idle
// ones.
func (w Word) Spawned() int { return int(w >> spawnShift) }

// String returns the fields as text, such as "signaled notified idle=1 spawned=3".
func (w Word) String() string {
	flags := ""
	if w.Notified() {
		flags = " notified"
	}
	if w.Lingering() {
		flags += " lingering"
	}
	return fmt.Sprintf("%v%s idle=%d spawned=%d", w.State(), flags, w.Idle(), w.Spawned())
}

// with returns w with the state s.
func (w Word) with(s State) Word { return w&^stateMask | Word(s) }

// needsNothing reports whether Notify(false, limit) would leave w unchanged and return
// ActionNone. A word that is shut down needs no case of its own, by I5.
func (w Word) needsNothing(limit int) bool {
	return w&notifiedBit != 0 &&
		(w&stateMask != 0 || w&idleMask == 0 && int(w>>spawnShift) >= limit)
}

// Notify is the transition of a notifier, which has made tasks visible. waking states
// that the caller is the waking worker, which found a task and passes its role on.
// limit is the number of workers that may exist.
//
// At most one wake-up is in flight at any time. Notify starts a wake-up when none is in
// flight, or when the caller is the waking worker, whose own wake-up then ends. A parked
// worker is woken before another one is spawned, and the lingering worker before the other
// parked ones. The lingering worker becomes the waking worker in the same transition and
// without a signal, because no other worker can answer the wake-up. It takes the notification,
// because it searches after this transition. In every other case the word keeps the
// notification for the next worker that is about to park.
func (w Word) Notify(waking bool, limit int) (Word, Action) {
	state := w.State()
	if state == StateShutdown {
		return w, ActionNone
	}
	invariant.Assert(!waking || state == StateWaking, "sync: Word.Notify: the caller is not the waking worker")
	can := waking || state == StatePending
	switch {
	case can && w.Lingering(): // I3, I6
		return w.with(StateWaking)&^(lingeringBit|notifiedBit) - idleOne, ActionResume
	case can && w.Idle() > 0:
		return w.with(StateSignaled) | notifiedBit, ActionWake
	case can && w.Spawned() < min(limit, MaxWorkers):
		return (w.with(StateSignaled) | notifiedBit) + spawnedOne, ActionSpawn
	case waking:
		return w.with(StatePending) | notifiedBit, ActionNone
	default:
		return w | notifiedBit, ActionNone
	}
}

// Wait is the transition of a worker that found no task. waking states that it is the
// waking worker. idle states that it was parked and is counted as idle. A worker is never
// both.
//
// A worker takes a notification instead of parking, whichever worker the notification
// was meant for. In StateSignaled it also takes the signal and becomes the waking worker.
// Without a notification, a waking worker gives its role up. The worker is then counted as
// idle, and parks.
func (w Word) Wait(waking, idle bool) (Word, Outcome) {
	state := w.State()
	if state == StateShutdown {
		return w, OutcomeShutdown
	}
	invariant.Assert(!waking || !idle && state == StateWaking, "sync: Word.Wait: the caller is not the waking worker")
	invariant.Assert(!idle || w.onTokens() > 0, "sync: Word.Wait: idle, but no worker is counted as idle")
	switch {
	case w.Notified():
		next := w &^ notifiedBit
		if idle {
			next -= idleOne
		}
		if state == StateSignaled {
			return next.with(StateWaking), OutcomeSearchWaking
		}
		if waking {
			return next, OutcomeSearchWaking
		}
		return next, OutcomeSearch
	case idle:
		return w, OutcomePark
	}
	invariant.Assert(w.Idle() < w.Spawned(), "sync: Word.Wait: more workers wait than were spawned")
	if waking {
		w = w.with(StatePending)
	}
	return w + idleOne, OutcomePark
}

// Linger is Wait(waking, false) for a worker that lingers if it has to park. No other worker
// may linger, because the word counts one lingering worker only.
func (w Word) Linger(waking bool) (Word, Outcome) {
	invariant.Assert(!w.Lingering(), "sync: Word.Linger: another worker lingers")
	next, out := w.Wait(waking, false)
	if out == OutcomePark {
		next |= lingeringBit
	}
	return next, out
}

// StopLingering is the transition of a goroutine that ends the lingering without a task for the
// lingering worker. That goroutine needs what the worker keeps, or is the worker. The worker
// stays counted as idle, and parks on the wake tokens from then on. StopLingering returns false
// and changes nothing when no worker lingers.
func (w Word) StopLingering() (Word, bool) { return w &^ lingeringBit, w.Lingering() }

// Rest is the transition of the waking worker that has found a task and sees no other one.
// The worker gives its role up without a wake-up. Rest returns false and changes nothing when
// the word holds a notification, because the announced task may be one that the worker has
// not seen. The caller then makes the transition Notify. Rest also returns false after a
// shutdown.
func (w Word) Rest() (Word, bool) {
	invariant.Assert(w.State() == StateWaking || w.State() == StateShutdown, "sync: Word.Rest: the caller is not the waking worker")
	if w.State() == StateShutdown || w.Notified() {
		return w, false
	}
	return w.with(StatePending), true
}

// SpawnFailed is the transition of a caller that got ActionSpawn and could not start a
// worker. The worker is no longer counted, and the next Notify may try again. The
// notification stays, because the announced tasks are still queued.
//
// If another worker has taken the signal in between, only the count changes.
func (w Word) SpawnFailed() Word {
	invariant.Assert(w.Spawned() > 0, "sync: Word.SpawnFailed: no worker is counted")
	if w.State() == StateSignaled {
		w = w.with(StatePending)
	}
	return w - spawnedOne
}

// Enter is the transition of a caller that becomes a worker without being spawned. It
// returns false and changes nothing when limit workers exist or the word is shut down.
func (w Word) Enter(limit int) (Word, bool) {
	if w.State() == StateShutdown || w.Spawned() >= min(limit, MaxWorkers) {
		return w, false
	}
	return w + spawnedOne, true
}

// Leave is the transition of a worker that ends, for any reason. waking states that it
// is the waking worker. idle states that it was parked and is counted as idle, whether or
// not it has taken a wake token. A lingering worker ends the lingering first.
//
// Leave passes on the work that only this worker would have done: the role of the waking
// worker, and a signal that may have been meant for it. A worker that leaves with neither
// cannot know of tasks that were announced for it. It therefore looks at the queues
// afterwards and notifies when they hold a task.
func (w Word) Leave(waking, idle bool, limit int) (Word, Action) {
	invariant.Assert(w.Spawned() > 0, "sync: Word.Leave: no worker is counted")
	w -= spawnedOne
	state := w.State()
	if state == StateShutdown {
		return w, ActionNone // idle is 0 by I5
	}
	invariant.Assert(!waking || !idle && state == StateWaking, "sync: Word.Leave: the caller is not the waking worker")
	invariant.Assert(!idle || w.onTokens() > 0, "sync: Word.Leave: idle, but no worker is counted as idle")
	if idle {
		w -= idleOne
	}
	switch {
	case waking:
		return w.Notify(true, limit)
	case idle && w.Notified() && state != StateWaking:
		// Signaled: the wake token may have been meant for this worker. Pending: a
		// failed spawn took the signal back after the wake token was posted (I4).
		// Waking: the waking worker sees the notification before it parks or rests.
		return w.with(StatePending).Notify(false, limit)
	}
	return w, ActionNone
}

// Shutdown is the transition of a closer, which ends the workers. It returns the number
// of wake tokens to post, and whether this was the first shutdown. There is one token for
// each idle worker except the lingering one. The lingering worker takes no wake token, so the
// closer unparks it. Later shutdowns change nothing.
func (w Word) Shutdown() (next Word, idle int, first bool) {
	if w.State() == StateShutdown {
		return w, 0, false
	}
	return w.with(StateShutdown)&^(idleMask|lingeringBit) | notifiedBit, w.onTokens(), true
}
