package interleave

import "math/bits"

// This file decides when a thread continues at a [Yield], and when a timed wait times
// out.
//
// # Await
//
// A loop that waits reads some objects, finds that it cannot continue, and calls
// Yield. The next round would do the same unless one of these objects changes. A Yield
// is therefore a step that blocks. The read set of a thread is the set of objects that
// it has read since its last Yield. Another thread that changes one of them wakes the
// thread. A write of the value that is there already changes nothing.
//
// A round counts from its first read of an object: a thread that reads an object twice
// in a round, with a change in between, is awake. The second read alone would not do,
// because the round has acted on the first one as well.
//
// A thread with an empty read set waits for something that the explorer does not see,
// such as a channel. It continues when another thread has come to its next step or to its
// end, because the code before that may have closed the channel. A thread that comes from
// one Yield to the next without a step does not count. Otherwise two threads that wait in
// this way would wake each other for ever. That thread may have closed the channel, so a
// thread with an empty read set that waits is no evidence of a deadlock. The explorer reports
// a misuse in its place (failBlocked).
//
// A thread that has passed its Yield begins its round with its next step. A change before
// that step still counts as the reason to continue. For a thread with an empty read set only
// what other threads have done before its arrival at that step counts, because the thread has
// looked at the channel by then.
//
// # Rounds
//
// A thread that is not awake may continue as well, at most Options.Rounds times in a
// row. These rounds are needed where a round begins before a change and ends after it,
// and where a round uses a value that the round before has read. Only changes by other
// threads end the row. If other steps did, threads that wait at the same time would
// allow each other any number of rounds.
//
// A timed wait has timed out at the end of its time, so the first timeout needs no
// reason. Options.Rounds bounds the timeouts that follow it without a change of any
// object by another thread. Changes by daemons do not count for daemons, because daemons
// that time out would otherwise prolong each other's executions for ever. Where no thread
// can take a step otherwise and a thread other than a daemon has not ended, the timers fire
// beyond that bound.
//
// # Chains of daemons
//
// Daemons that poll, and change what others of them poll, would wake each other for ever.
// They shall end with the other threads. A round of a daemon has a number of links: 0 if it
// is the first one or if a thread other than a daemon was the reason to continue, and
// otherwise one more than the round of the daemon that was the reason, or the least such
// number. A round with maxLinks links is no reason for a daemon to continue. All rounds
// together are then finite, because those with the least number of links that occurs
// without an end would need a reason with fewer links, without an end as well.
//
// As with timers, a daemon that is held back in this way continues where no thread can take
// a step otherwise and a thread other than a daemon has not ended. That thread may wait for
// the daemon.
//
// # What is lost
//
// Executions in which a thread continues more often than that. If the rounds of a loop
// that waits only read and keep nothing, such an execution has the outcome of one that is
// explored, with no more preemptions: the last of the additional rounds reads the same
// values as the round before, up to the first object that has changed, so the round before
// can end in its place. If the rounds change objects or count, the outcome may
// be another one. The result of a complete search names Options.Rounds as an
// assumption if a thread was held back (explorer.held), and maxLinks if a daemon was
// (explorer.cut).

// maxLinks is how many times in a row daemons wake each other. Chosen: a relay of daemons has
// fewer, and so have the random programs of the tests, which end by themselves. Each further
// link makes a search of two daemons that never end two to four times as long.
const maxLinks = 4

// noLinks stands for the links of no reason.
const noLinks = maxLinks + 1

// read adds an object to the read set of thread t.
//
//go:norace
func (x *explorer) read(t *thread, id uint32) {
	o := &x.objects.list[id]
	if o.readers&t.bit == 0 {
		o.readers |= t.bit
		x.blind &^= t.bit
		t.reads = extend(t.reads)
		t.reads[len(t.reads)-1] = id
	}
}

// change records that thread t has given an object another value.
//
//go:norace
func (x *explorer) change(t *thread, id uint32) {
	woken := x.objects.list[id].readers &^ t.bit
	if d := woken & x.daemons; d != 0 && x.chainEnds(t, d) {
		woken &^= d
	}
	x.awake |= woken
	for d := woken & x.daemons; d != 0; d &= d - 1 {
		u := x.threads[bits.TrailingZeros64(d)]
		u.byChange = min(u.byChange, t.nextLinks())
	}
	if t.daemon {
		x.refreshed |= ^(t.bit | x.daemons)
	} else {
		x.refreshed |= ^t.bit
	}
}

// observed reports whether it matters if the current store changes the value.
//
//go:norace
func (x *explorer) observed() bool {
	t := x.current
	if t == nil || x.phase != phaseRun {
		return false
	}
	return x.objects.list[t.op.obj].readers&^t.bit != 0 || x.opts.Timeouts
}

// overtake records that thread t has come to a step of this kind, or to its end.
//
//go:norace
func (x *explorer) overtake(t *thread, kind opKind) {
	if t.afterYield {
		x.arriveInRound(t)
	}
	if kind == opYield && t.afterYield {
		return
	}
	overtaken := x.live &^ t.bit
	if d := overtaken & x.blind; d != 0 {
		if x.chainEnds(t, d) {
			overtaken &^= d
			d = 0
		}
		for ; d != 0; d &= d - 1 {
			u := x.threads[bits.TrailingZeros64(d)]
			u.byStep = min(u.byStep, t.nextLinks())
		}
	}
	x.overtaken |= overtaken
}

// arriveInRound records that thread t has come to the first step of a round.
//
//go:norace
func (x *explorer) arriveInRound(t *thread) {
	t.overtook = len(t.reads) == 0 && x.overtaken&t.bit != 0
	x.overtaken &^= t.bit
	switch {
	case t.overtook:
		t.links = t.byStep
	case x.awake&t.bit != 0:
		t.links = t.byChange
	}
	t.byStep = noLinks
	if t.daemon {
		x.blind |= t.bit
	}
	if x.chained&t.bit != 0 && !t.overtook && x.awake&t.bit == 0 {
		x.cut = true // the round counts as one without a reason
	}
	x.chained &^= t.bit // here, as overtaken: the next step of another thread is a reason for the next round
}

// nextLinks returns the number of links of a round whose reason is the round of t.
//
//go:norace
func (t *thread) nextLinks() int {
	if t.daemon {
		return t.links + 1
	}
	return 0
}

// chainEnds reports whether the round of thread t is no reason for a daemon to continue,
// and if so it records that for the daemons.
//
//go:norace
func (x *explorer) chainEnds(t *thread, daemons uint64) bool {
	ends := t.nextLinks() > maxLinks
	if ends {
		x.chained |= daemons
	}
	return ends
}

// woken reports whether the wait of thread t at its Yield has ended.
//
//go:norace
func (x *explorer) woken(t *thread) bool {
	if len(t.reads) == 0 {
		return x.overtaken&t.bit != 0
	}
	return x.awake&t.bit != 0
}

// mayContinue reports whether thread t may pass its Yield.
//
//go:norace
func (x *explorer) mayContinue(t *thread) bool {
	return x.woken(t) || t.idle < x.opts.Rounds
}

// announceYield records that the announced step of thread t is a Yield.
//
//go:norace
func (x *explorer) announceYield(t *thread) {
	x.atYield |= t.bit
	if t.afterYield {
		x.beginRound(t)
		t.afterYield = false
	}
	if x.opts.Reduce && len(t.reads) == 0 {
		x.fail(&Failure{Kind: Misuse, Thread: x.label(t), Message: "Reduce cannot be used here: thread " + x.label(t) + " calls Yield and has read no object since its last Yield, so it waits for any step of another thread"})
	}
}

// beginRound begins a new round of thread t, which has passed its Yield and takes its
// next step.
//
//go:norace
func (x *explorer) beginRound(t *thread) {
	switch {
	case x.awake&t.bit != 0:
		t.idle = 0
		t.links = t.byChange
	case t.overtook:
		t.idle = 0
	default:
		t.idle++
	}
	t.byChange = noLinks
	for _, id := range t.reads {
		x.objects.list[id].readers &^= t.bit
	}
	t.reads = t.reads[:0]
	x.awake &^= t.bit
}

// mayTimeOut reports whether the timed wait of thread t may time out.
//
//go:norace
func (x *explorer) mayTimeOut(t *thread) bool {
	return x.refreshed&t.bit != 0 || t.late <= x.opts.Rounds
}

// timeOut records a timeout of thread t.
//
//go:norace
func (x *explorer) timeOut(t *thread) {
	if x.refreshed&t.bit != 0 {
		t.late = 0
	}
	t.late++
	x.refreshed &^= t.bit
}
