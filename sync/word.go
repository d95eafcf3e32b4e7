package sync

import (
	"fmt"

	"github.com/lanewright/lanewright/internal/invariant"
)

// MaxWorkers is how many workers a [Word] can count. It is also the highest
// limit that its methods obey: a higher one means MaxWorkers.
const MaxWorkers = 1<<14 - 1

// State says what a [Word] knows about the one wake that may be under way.
type State uint8

// The states of a [Word].
const (
	StatePending  State = 0b00 // no wake is under way: the next notify may start one
	StateWaking   State = 0b01 // one worker, the waking worker, has the duty to wake the next one
	StateSignaled State = 0b10 // a worker was woken or spawned, and nobody has claimed the signal yet
	StateShutdown State = 0b11 // no worker waits or is started any more; final
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

// Action is what the caller of a transition has to do once the word is stored.
type Action uint8

// The actions that a transition asks for.
const (
	ActionNone  Action = iota // nothing
	ActionWake                // post one token: a parked worker takes it
	ActionSpawn               // start one worker, which is counted already; if that fails, SpawnFailed
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
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Outcome is what a worker that called Wait does next.
type Outcome uint8

// The outcomes of [Word.Wait].
const (
	OutcomeSearch       Outcome = iota // look for tasks
	OutcomeSearchWaking                // look for tasks as the waking worker
	OutcomePark                        // park on the tokens, then Wait again with idle set
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

// Word is the wake word of a scheduler as a value: how many workers exist, how
// many of them are parked, whether work came that nobody has looked for yet, and
// whether a wake is under way. Its methods are the transitions. They are pure:
// each returns the next word and what to do once it is stored. [Sync] is the
// cell that stores one.
//
// The bits, from low to high:
//
//	 0-1   state     a State
//	 2     notified  work was announced since a worker last cleared this
//	 3     -         always 0
//	 4-17  idle      workers that are parked or about to park
//	18-31  spawned   workers that exist or are being started; idle ones included
//
// Invariants, while the callers keep to the protocol of the package:
//
//	I1  idle <= spawned
//	I2  signaled implies notified
//	I3  waking means that exactly one worker has the duty; with signaled, at most one wake is under way
//	I4  pending and notified and idle > 0 holds only between a failed spawn and the next Wait of the worker that was woken before
//	I5  shutdown implies notified and idle = 0
//
// The width of a Word is no part of its contract: use MakeWord and the accessors.
type Word uint32

const (
	stateMask   Word = 0b11
	notifiedBit Word = 1 << 2
	idleShift        = 4
	idleOne     Word = 1 << idleShift
	spawnShift       = 18
	spawnedOne  Word = 1 << spawnShift
	idleMask    Word = MaxWorkers << idleShift
)

// MakeWord returns the word with these fields. It panics when one of them does
// not fit.
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

// State returns what is known about the one wake that may be under way.
func (w Word) State() State { return State(w & stateMask) }

// Notified reports whether work was announced since a worker last looked.
func (w Word) Notified() bool { return w&notifiedBit != 0 }

// Idle returns how many workers are parked or about to park.
func (w Word) Idle() int { return int(w & idleMask >> idleShift) }

// Spawned returns how many workers exist or are being started, idle ones included.
func (w Word) Spawned() int { return int(w >> spawnShift) }

// String returns the fields in words, as in "signaled notified idle=1 spawned=3".
func (w Word) String() string {
	notified := ""
	if w.Notified() {
		notified = " notified"
	}
	return fmt.Sprintf("%v%s idle=%d spawned=%d", w.State(), notified, w.Idle(), w.Spawned())
}

// with returns w in another state.
func (w Word) with(s State) Word { return w&^stateMask | Word(s) }

// quiet reports whether Notify(false, limit) would change nothing and ask for
// nothing. It needs no case for a word that is shut down, by I5.
func (w Word) quiet(limit int) bool {
	return w&notifiedBit != 0 &&
		(w&stateMask != 0 || w&idleMask == 0 && int(w>>spawnShift) >= limit)
}

// Notify is the transition of whoever made tasks visible. waking says that the
// caller is the waking worker, which found a task and passes its duty on. limit
// is how many workers may exist.
//
// At most one wake is under way at any time: Notify starts one when there is
// none, or when the caller's own has done its work. A parked worker is woken
// before another one is spawned. Otherwise the word keeps the notification for
// the next worker that is about to park.
func (w Word) Notify(waking bool, limit int) (Word, Action) {
	state := w.State()
	if state == StateShutdown {
		return w, ActionNone
	}
	invariant.Assert(!waking || state == StateWaking, "sync: Word.Notify: the caller is not the waking worker")
	can := waking || state == StatePending
	switch {
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

// Wait is the transition of a worker that found no task. waking says that it is
// the waking worker; idle that it was parked, and is counted as such. It is both
// never.
//
// A worker takes a notification instead of parking, whomever it was meant for,
// and takes the duty of the waking worker with it if nobody has that yet.
// Without one it is counted as idle, gives the duty up, and parks.
func (w Word) Wait(waking, idle bool) (Word, Outcome) {
	state := w.State()
	if state == StateShutdown {
		return w, OutcomeShutdown
	}
	invariant.Assert(!waking || !idle && state == StateWaking, "sync: Word.Wait: the caller is not the waking worker")
	invariant.Assert(!idle || w.Idle() > 0, "sync: Word.Wait: idle, but no worker is counted as idle")
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

// SpawnFailed is the transition of a caller that was asked to spawn a worker and
// could not. The worker counts no more, and the next notify may try again: the
// notification stays, since the work it speaks of is still there.
//
// If another worker has claimed the signal meanwhile, only the count changes.
func (w Word) SpawnFailed() Word {
	invariant.Assert(w.Spawned() > 0, "sync: Word.SpawnFailed: no worker is counted")
	if w.State() == StateSignaled {
		w = w.with(StatePending)
	}
	return w - spawnedOne
}

// Enter is the transition of a caller that becomes a worker on its own: it was
// not spawned. It reports false, and changes nothing, when limit workers exist
// or the word is shut down.
func (w Word) Enter(limit int) (Word, bool) {
	if w.State() == StateShutdown || w.Spawned() >= min(limit, MaxWorkers) {
		return w, false
	}
	return w + spawnedOne, true
}

// Leave is the transition of a worker that ends, for whatever reason. waking
// says that it is the waking worker; idle that it was parked and is counted as
// such, whether or not it took a token.
//
// What only this worker would have done is passed on: the duty of the waking
// worker, and a signal that may have been meant for it. A worker that leaves
// with neither does not know of work that was announced for it: it looks at the
// queues afterwards, and notifies when they hold something.
func (w Word) Leave(waking, idle bool, limit int) (Word, Action) {
	invariant.Assert(w.Spawned() > 0, "sync: Word.Leave: no worker is counted")
	w -= spawnedOne
	state := w.State()
	if state == StateShutdown {
		return w, ActionNone // idle is 0 by I5
	}
	invariant.Assert(!waking || !idle && state == StateWaking, "sync: Word.Leave: the caller is not the waking worker")
	invariant.Assert(!idle || w.Idle() > 0, "sync: Word.Leave: idle, but no worker is counted as idle")
	if idle {
		w -= idleOne
	}
	switch {
	case waking:
		return w.Notify(true, limit)
	case idle && w.Notified() && state != StateWaking:
		// Signaled: the token may have been this worker's. Pending: a failed spawn
		// took the signal back after the token was posted (I4). In state waking
		// there is a worker that sees the notification before it parks.
		return w.with(StatePending).Notify(false, limit)
	}
	return w, ActionNone
}

// Shutdown is the transition of whoever ends the workers. It returns how many
// parked workers to post a token for, and whether this was the first shutdown:
// later ones change nothing.
func (w Word) Shutdown() (next Word, idle int, first bool) {
	if w.State() == StateShutdown {
		return w, 0, false
	}
	return w.with(StateShutdown)&^idleMask | notifiedBit, w.Idle(), true
}
