package pool

// callWord is the state of a call in one word. Its methods are the transitions. They are pure: the
// loops around the word are in call.go and contain no rules.
//
//	bits 0-1    phase: queued, running, done
//	bit  2      waits: it is in a callQueue, or about to be
//	bit  3      hasPermit: the runner has a permit of the lane
//	bit  4      claimed: one goroutine has the right, and the duty, to write the outcome
//	bit  5      settled: the outcome can be read
//	bit  6      waiting: one goroutine is parked in the parker of the call, or about to be
//	bit  7      hasDone: the observers of the call exist
//	bit  8      never: the call was claimed while queued, so its handler is never entered
//	bit  9      awaited: a goroutine learns of the outcome by other means than bit 6
//	bit  10     abandoned: the hard limit or a Discard has left the handler behind, and it counts so
//	bit  11     noLane: counted at no lane. A call that waits in the queue of the pool has none
//	bit  12     over: settled, and its end is counted everywhere
//	bits 13-16  the Cause of its end
//	bits 17-63  generation: which call this memory is
//
// Invariants:
//
//	C1  running is entered once in a generation, by the runner that moved the word from
//	    queued, and only if claimed was not set. A call that comes back from a process that has died enters it
//	    again: see unsend
//	C2  claimed is set once in a generation, and settled once, afterwards or in the same
//	    step. Only the claimer writes the outcome
//	C3  never holds if and only if the call was claimed while it was queued
//	C4  what the call holds for its handler is released once: by the claim of a queued call,
//	    by the end of the handler of a settled call, or otherwise by the settle that comes
//	    after the end of the handler
//	C5  gate.overdue counts the calls of the lane that are claimed and running and have
//	    hasPermit, but for the moment between a step and its duty. The duty of the claim
//	    comes before its settle
//	C6  waits and noLane are set before the call is published. The step to running clears both. The
//	    runner has counted the call at its lane before, and takes it from those that wait afterwards. A call
//	    that is claimed before keeps both, and its claimer counts its end where they say, and counts it as
//	    dead in its queue. The goroutine that drops it from there, or before it gets there, ends that
//	C7  gate.aside counts the calls of the lane that are running and not claimed and have no permit, but
//	    for the moment between a step and its duty
//	C8  over is set once in a generation, after the counts of the end and by the goroutine that has settled the
//	    call. It is not set if that is the caller that would wait. A goroutine that has waited for the call has seen over, so a count that it reads has the end
type callWord uint64

const (
	callQueued  callWord = iota // accepted, or about to be
	callRunning                 // a runner is in the handler, or about to enter it
	callDone                    // the handler has returned
	callPhase   callWord = 3

	callWaits   callWord = 1 << 2
	callPermit  callWord = 1 << 3
	callClaimed callWord = 1 << 4
	callSettled callWord = 1 << 5
	callWaiting callWord = 1 << 6
	callHasDone callWord = 1 << 7
	callNever   callWord = 1 << 8
	callAwaited callWord = 1 << 9
	callAbandon callWord = 1 << 10
	callNoLane  callWord = 1 << 11

	callOver callWord = 1 << 12

	callCauseShift               = 13
	callCause           callWord = 15 << callCauseShift
	callGeneration      callWord = 1 << callGenerationShift // what one generation adds
	callGenerationShift          = 17
)

// A duty is what the goroutine that has made a transition has to do.
type duty uint16

const (
	dutyForget       duty = 1 << iota // drop the argument, unless it comes later: see After
	dutyRelease                       // release what the call holds for its handler
	dutyInterrupt                     // let the handler learn that its call has ended
	dutyOverdue                       // count the handler as overdue
	dutyNotOverdue                    // count it as overdue no more
	dutyNotAbandoned                  // count it as abandoned no more
	dutyAside                         // count the call as one without a permit
	dutyNotAside                      // count it as one without a permit no more
	dutyAbandoned                     // count it as abandoned
)

// phase returns the phase of the call.
func (w callWord) phase() callWord { return w & callPhase }

// cause returns why the call has ended.
func (w callWord) cause() Cause { return Cause(w & callCause >> callCauseShift) }

// generation returns which call the memory is.
func (w callWord) generation() callWord { return w >> callGenerationShift }

// has reports whether all of the bits are set.
func (w callWord) has(bits callWord) bool { return w&bits == bits }

// take makes the caller the runner, with a permit of the lane or without. It reports false if the
// call was claimed: the runner skips it then.
func (w callWord) take(permit bool) (next callWord, run bool) {
	if w.has(callClaimed) {
		return w, false
	}
	next = w&^(callWaits|callNoLane) + (callRunning - callQueued) // C6
	if permit {
		next |= callPermit
	}
	return next, true
}

// claim makes the caller the claimer. It reports false if the call has one.
func (w callWord) claim(k Cause) (next callWord, d duty, won bool) {
	if w.has(callClaimed) {
		return w, 0, false
	}
	next = w | callClaimed | callWord(k)<<callCauseShift
	if w.phase() == callQueued {
		return next | callNever, dutyForget | dutyRelease, true // C3, C4
	}
	if w.has(callPermit) {
		return next, dutyInterrupt | dutyOverdue, true // C5
	}
	return next, dutyInterrupt | dutyNotAside, true // C7
}

// unsend takes the step of take back, for a call whose process has died before it has started the handler. With waits
// the call waits in the queue of the pool, and is counted there. It reports false if the call was claimed.
func (w callWord) unsend(waits bool) (next callWord, ok bool) {
	if w.has(callClaimed) {
		return w, false
	}
	next = w&^callPermit - (callRunning - callQueued)
	if waits {
		next |= callWaits | callNoLane // C6
	}
	return next, true
}

// lose says that the runner has no permit any more.
func (w callWord) lose() (next callWord, d duty) {
	switch {
	case w.has(callPermit | callClaimed):
		d = dutyNotOverdue // C5
	case w.has(callPermit):
		d = dutyAside // C7
	}
	return w &^ callPermit, d
}

// abandon says that the handler counts as left behind. It changes nothing if the handler has
// returned, or counts already.
func (w callWord) abandon() (next callWord, d duty) {
	if w.phase() != callRunning || w.has(callAbandon) {
		return w, 0
	}
	return w | callAbandon, dutyAbandoned
}

// finish is the end of the handler. The runner becomes the claimer, unless the call has one.
// With settle it settles the call in the same step, because no other goroutine writes where
// its outcome is.
func (w callWord) finish(k Cause, settle bool) (next callWord, d duty, won bool) {
	next = w &^ callPermit
	switch {
	case w.has(callPermit | callClaimed):
		d = dutyNotOverdue // C5
	case !w.has(callPermit) && !w.has(callClaimed):
		d = dutyNotAside // C7
	}
	if next.has(callAbandon) {
		next &^= callAbandon
		d |= dutyNotAbandoned
	}
	next += callDone - callRunning
	switch {
	case !w.has(callClaimed):
		next |= callClaimed | callWord(k)<<callCauseShift
		if settle {
			next |= callSettled
		}
		return next, d | dutyRelease, true // C4
	case w.has(callSettled):
		d |= dutyRelease // C4
	}
	return next, d, false
}

// settle makes the outcome readable. The caller is the claimer. The goroutine that settles a call, here
// or in finish, then wakes the goroutines that the word names.
func (w callWord) settle() (next callWord, d duty) {
	if w.phase() == callDone && !w.cause().ofRunner() {
		d = dutyRelease // C4: the handler has returned between the claim and this step
	}
	return w | callSettled, d
}

// isUnobserved reports whether no goroutine learns of the outcome.
func (w callWord) isUnobserved() bool { return w&(callWaiting|callAwaited) == 0 }

// reset returns the word of the next call in the same memory.
func (w callWord) reset() callWord { return (w.generation() + 1) << callGenerationShift }
