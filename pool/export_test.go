package pool

// LeaseWaiters returns how many goroutines wait for a lane.
func (p *Pool) LeaseWaiters() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.leases.queue)
}

// Waiters returns how many goroutines learn of changes of the counts. They wait for a lane or
// for states.
func (p *Pool) Waiters() int {
	n := int(p.waiters.Load())
	if p.walkers.Load() {
		n-- // see candidates
	}
	return n
}

// BlockedCallers returns how many callers are listed as blocked. Walking the list from either end finds as
// many, otherwise the result is -1.
func (p *Pool) BlockedCallers() int {
	q := &p.shared
	q.mu.Lock()
	defer q.mu.Unlock()
	forth, back := 0, 0
	for b := q.callers.first; b != nil; b = b.next {
		forth++
	}
	for b := q.callers.last; b != nil; b = b.prev {
		back++
	}
	if forth != q.callers.n || back != forth {
		return -1
	}
	return forth
}

// CallWord is the word of a call. Its transitions are those of the package.
type CallWord = callWord

// CallState is a CallWord in parts.
type CallState struct {
	Phase                                              int // queued, running, done
	Claimed, Settled, Waiting, HasDone, Never, Awaited bool
	Permit                                             bool // the runner has one
	Abandoned                                          bool
	Waits, NoLane, Over                                bool
	Cause                                              Cause
	Generation                                         uint64
}

// NumCauses is the number of causes.
const NumCauses = causes

// WordOf returns the word of a state.
func WordOf(s CallState) CallWord {
	w := callWord(s.Phase) | callWord(s.Cause)<<callCauseShift | callWord(s.Generation)<<callGenerationShift
	for bit, set := range map[callWord]bool{
		callClaimed: s.Claimed, callSettled: s.Settled, callWaiting: s.Waiting,
		callHasDone: s.HasDone, callNever: s.Never, callAwaited: s.Awaited, callPermit: s.Permit, callAbandon: s.Abandoned,
		callWaits: s.Waits, callNoLane: s.NoLane, callOver: s.Over,
	} {
		if set {
			w |= bit
		}
	}
	return w
}

// StateOf returns the state of a word.
func StateOf(w CallWord) CallState {
	return CallState{
		Phase: int(w.phase()), Claimed: w.has(callClaimed), Settled: w.has(callSettled), Waiting: w.has(callWaiting),
		HasDone: w.has(callHasDone), Never: w.has(callNever), Awaited: w.has(callAwaited), Permit: w.has(callPermit), Abandoned: w.has(callAbandon),
		Waits: w.has(callWaits), NoLane: w.has(callNoLane), Over: w.has(callOver),
		Cause: w.cause(), Generation: uint64(w.generation()),
	}
}

// Take, Claim, Finish, Settle and Reset are the transitions. A duty is a string of letters. The
// letters are F (drop the argument), R (release), I (interrupt), O (overdue), N (not overdue),
// A (not abandoned), S (aside) and T (not aside).
func Take(w CallWord, permit bool) (CallWord, bool) { return w.take(permit) }

func Abandon(w CallWord) (CallWord, bool) {
	next, d := w.abandon()
	return next, d == dutyAbandoned
}

func Lose(w CallWord) (CallWord, string) {
	next, d := w.lose()
	return next, d.letters()
}

func Claim(w CallWord, k Cause) (CallWord, string, bool) {
	next, d, won := w.claim(k)
	return next, d.letters(), won
}

func Finish(w CallWord, k Cause, settle bool) (CallWord, string, bool) {
	next, d, won := w.finish(k, settle)
	return next, d.letters(), won
}

func Settle(w CallWord) (CallWord, string) {
	next, d := w.settle()
	return next, d.letters()
}

func Reset(w CallWord) CallWord { return w.reset() }

func (d duty) letters() (s string) {
	for i, letter := range "FRIONAST" {
		if d&(1<<i) != 0 {
			s += string(letter)
		}
	}
	return s
}

// PermitWord is the word of the permits of a lane. Its transitions are those of the package.
type PermitWord = permitWord

// PermitState is a PermitWord in parts.
type PermitState struct {
	Pick        int // free, queued, held
	Picker, Top int // the index of a runner; -1: none
	Tag         uint32
	Surplus     bool
}

// PermitWordOf returns the word of a state.
func PermitWordOf(s PermitState) PermitWord {
	w := permitWord(s.Pick) | permitWord(s.Picker+1)<<permitPickerShift |
		permitWord(s.Top+1)<<permitTopShift | permitWord(s.Tag)*permitTag
	return w.withSurplus(s.Surplus)
}

// PermitStateOf returns the state of a word.
func PermitStateOf(w PermitWord) PermitState {
	return PermitState{
		Pick: int(w.pick()), Picker: int(w.picker()) - 1, Top: int(w.top()) - 1,
		Tag: uint32(w / permitTag), Surplus: w.surplus(),
	}
}

// CanTake, TakePick, Hold, PickOrPut, Give, Put, SetSurplus and RemoveFree are the transitions.
// The runner below a taken one is given by its index. The index is -1 if there is none.
func CanTake(w PermitWord) bool { return w.canTake() }

func TakePick(w PermitWord, below int) PermitWord { return w.take(uint32(below + 1)) }

func Hold(w PermitWord, from int) (PermitWord, bool) { return w.hold(permitWord(from)) }

func PickOrPut(w PermitWord, index int) (PermitWord, bool) { return w.end(uint32(index), pickOrPut) }

func Give(w PermitWord, to int) PermitWord { return w.give(permitWord(to)) }

func Put(w PermitWord, index int) PermitWord { return ended(w.end(uint32(index), put)) }

// PutBoth is Put and the end of the pick, which is held.
func PutBoth(w PermitWord, index int) PermitWord { return ended(w.end(uint32(index), putBoth)) }

// ended returns the word of a transition that takes no pick.
func ended(w PermitWord, picks bool) PermitWord {
	if picks {
		panic("pool: the end of a permit takes the pick")
	}
	return w
}

func SetSurplus(w PermitWord, on bool) PermitWord { return w.withSurplus(on) }

func RemoveFree(w PermitWord, below int) PermitWord { return w.remove(uint32(below + 1)) }

// Reserved returns the numbers of the lanes that are reserved for leases.
func (p *Pool) Reserved() (lanes []int) {
	for _, l := range p.everyLane() {
		if l.lease.Load()&leaseState == reserved {
			lanes = append(lanes, l.index)
		}
	}
	return lanes
}

// View returns what a balancer of the pool sees.
func (p *Pool) View() View { return View{p.roster.Load()} }

// FirstFree returns the number of the first free lane, or -1.
func (v View) FirstFree() int { return v.firstFree() }

// Unused returns how many permits no call has, or n or more of them if there are so many.
func (p *Pool) Unused(n int64) int64 {
	var t tally
	t.count(&p.shared.callQueue, n)
	return t.unused
}

// Moving returns how many calls the lanes have taken out of queues and not started.
func (p *Pool) Moving() (n int64) {
	for _, l := range p.roster.Load().lanes {
		n += l.census().moving
	}
	return n
}

// UnusedOf returns how many permits of a lane no call has.
func (p *Pool) UnusedOf(lane int) int64 {
	var t tally
	t.add(p.lanes[lane])
	return t.unused
}
