package interleave_test

import "hash/maphash"

// This file enumerates the outcomes of a program without the explorer. The search
// visits each state of the program once and leaves out none. It is the reference
// that the explorer is compared with. The round of a thread that has passed a Yield begins
// with its next step, and the reason to continue may come until then.
//
// A blind Yield is one of a thread that has read nothing in its round. The enumerator does not
// know the rule by which the explorer lets that thread continue. It enumerates a program with
// such a Yield in two modes: all that an exploration may do, and all that it must do.

// A mode says when a thread may pass a Yield.
type mode uint8

const (
	// most allows each blind Yield to pass, and to wait until the execution ends.
	most mode = iota
	// least passes a blind Yield after a step, other than a Yield, or the end of another
	// thread. It leaves out executions in which the thread waits for anything else.
	least
	// unlimited passes each Yield, and times out at each timed wait.
	unlimited
)

// A phase is a part of the life of a thread.
type phase uint8

const (
	absent  phase = iota // not made
	made                 // made, and not started
	live                 // before a step
	ended                // at its end
	crashed              // stopped for ever
)

// A thread is the state of one thread. Like state it has no padding, so that its memory is
// hashed and compared as one piece.
type thread struct {
	phase phase
	pc    uint8
	reg   int8
	count int8 // the rounds of an await
	out   result

	// Of a thread that yields:
	reads  objects // read since its last Yield
	awake  bool    // another thread has changed one of reads since it was read
	moved  bool    // in mode least: another thread has taken a step, or ended, since the last Yield
	idle   uint8   // the rounds in a row that have begun without a reason
	passed bool    // it has passed a Yield that was not blind, and its next round has not begun
	// Of a thread that has timed waits:
	late uint8 // the timeouts in a row without a change by another thread

	// An event is an access to a Cell. Each set of events has one bit for each.
	known  uint32 // the events that happen before the next action of the thread
	events uint32 // the number of events of the thread
}

const maxEvents = 8 // of one thread

// A state is the state of a program between two steps. Two executions with equal
// states have the same continuations.
type state struct {
	cur     int16 // the thread that took the last step, or -1
	crashed bool  // t0 has crashed
	closed  bool
	words   [wordCount]int8
	tokens  [semaCount]int8
	cells   [cellCount]int8
	locked  [lockCount]bool
	items   [maxItems]int8 // in the pool, the last one put last; 0: none
	threads [maxThreads]thread

	before  [wordCount]uint32    // the events that happen before a read of the word
	posted  [semaCount][2]uint32 // the events that happen before the end of a wait for this token
	unlocks [lockCount]uint32    // the events that happen before the next lock
	puts    [maxItems]uint32     // the events that happen before the Get of the item
	readers [cellCount]uint32    // the events that are reads of the cell
	writers [cellCount]uint32    // the events that are writes to the cell
}

// objects is a set of words, semaphores, locks and the pool.
type objects uint8

func word(i int8) objects { return 1 << i }
func sema(i int8) objects { return 1 << (wordCount + i) }
func lock(i int8) objects { return 1 << (wordCount + semaCount + i) }

const pool objects = 1 << (wordCount + semaCount + lockCount)

// A stateSet is a set of states.
type stateSet struct {
	states []state
	slots  []uint32 // an open hash table, a power of two: the index in states plus 1, or 0
	seed   maphash.Seed
}

// firstSlots is the size of the table of an empty set. Chosen.
const firstSlots = 1 << 10

// reset removes all states. The memory is used again.
func (s *stateSet) reset() {
	if s.slots == nil {
		s.seed = maphash.MakeSeed()
		s.slots = make([]uint32, firstSlots)
	}
	s.states = s.states[:0]
	s.slots = s.slots[:firstSlots]
	clear(s.slots)
}

// find returns the slot of x, which is 0 if x is not in the set.
func (s *stateSet) find(x *state) *uint32 {
	mask := uint64(len(s.slots) - 1)
	for i := maphash.Comparable(s.seed, *x) & mask; ; i = (i + 1) & mask {
		if n := s.slots[i]; n == 0 || s.states[n-1] == *x {
			return &s.slots[i]
		}
	}
}

// add adds x. It returns false if x is in the set already.
func (s *stateSet) add(x *state) bool {
	slot := s.find(x)
	if *slot != 0 {
		return false
	}
	s.states = append(s.states, *x)
	*slot = uint32(len(s.states))
	if 2*len(s.states) > len(s.slots) {
		s.grow()
	}
	return true
}

// grow doubles the table.
func (s *stateSet) grow() {
	n := 2 * len(s.slots)
	if n <= cap(s.slots) {
		s.slots = s.slots[:n]
		clear(s.slots)
	} else {
		s.slots = make([]uint32, n)
	}
	for i := range s.states {
		*s.find(&s.states[i]) = uint32(i + 1)
	}
}

// visitedStates is the memory of each enumerator, one after the other.
var visitedStates stateSet

// An enumerator visits the states of a program.
type enumerator struct {
	p       *program
	yields  [maxThreads]bool // the threads that yield
	visited *stateSet        // with states that will be visited
	costs   map[outcome]int  // the least number of preemptions of an outcome
	cost    int              // the number of preemptions in the states of level
	level   []int            // the indexes of states to visit, with cost preemptions
	next    []state          // to visit, with one preemption more
	spare   []state          // the memory of an earlier next
	preempt bool             // the step that is being taken is after a preemption
	mode    mode
	held    int  // the least number of preemptions before a thread is held back, or -1
	untimed int  // the same before a thread waits that could time out with Timeouts
	blind   bool // some Yield is blind
}

// enumerate finds all outcomes of p and the least number of preemptions in an
// execution with each of them. enumerate returns nil when there are more states than limit.
func enumerate(p *program, limit int, m mode) *enumerator {
	e := &enumerator{p: p, mode: m, visited: &visitedStates, costs: map[outcome]int{}, held: -1, untimed: -1}
	s := state{cur: -1, tokens: p.tokens}
	for i := range p.tokens {
		s.tokens[i] = min(p.tokens[i], p.limits[i])
	}
	for i := range p.threads {
		s.threads[i].phase = made
	}
	for i, code := range p.code {
		for _, in := range code {
			e.yields[i] = e.yields[i] || in.op == opYield && m != unlimited
		}
	}
	e.visited.reset()
	e.start(s)
	for {
		// A state is visited with its least number of preemptions.
		for len(e.level) > 0 {
			if len(e.visited.states) > limit {
				return nil
			}
			s := e.visited.states[e.level[len(e.level)-1]]
			e.level = e.level[:len(e.level)-1]
			e.visit(&s)
		}
		if len(e.next) == 0 {
			return e
		}
		e.cost++
		next := e.next
		e.next = e.spare[:0]
		for i := range next {
			e.visitLater(&next[i])
		}
		e.spare = next
	}
}

// end records the outcome of an execution whose last step is being taken.
func (e *enumerator) end(o outcome) {
	if old, ok := e.costs[o]; !ok || e.stepCost() < old {
		e.costs[o] = e.stepCost()
	}
}

// stepCost returns the number of preemptions including the step that is being taken.
func (e *enumerator) stepCost() int {
	if e.preempt {
		return e.cost + 1
	}
	return e.cost
}

// visit takes each step that is possible in s.
func (e *enumerator) visit(s *state) {
	e.preempt = false
	possible, counts, mayEnd := e.ready(s)
	// A crash is no step of a thread, and so no preemption of another one. A thread
	// that is blocked may crash as well.
	if e.p.family.crash && !s.crashed && s.threads[0].phase == live {
		after := *s
		after.crashed = true
		after.threads[0] = thread{phase: crashed, out: after.threads[0].out}
		e.push(&after)
	}
	if mayEnd {
		e.last(s)
	}
	for i := range s.threads {
		if possible[i] {
			e.preempt = s.cur >= 0 && int(s.cur) != i && counts[s.cur]
			e.step(*s, i)
		}
	}
}

// ready returns the threads that can take a step in s. A switch away from one for
// which counts is true is a preemption. mayEnd reports whether an execution may end in s.
func (e *enumerator) ready(s *state) (possible, counts [maxThreads]bool, mayEnd bool) {
	var late [maxThreads]bool // the threads with a timeout that Options.Rounds holds back
	awaited := false
	sure := false   // some thread takes a step in every exploration
	unsure := false // some blind Yield may pass or wait
	for i := range s.threads {
		t := &s.threads[i]
		if t.phase != live {
			continue
		}
		awaited = awaited || e.isAwaited(i)
		isTimeout := false
		counts[i] = e.isReady(s, i)
		switch e.p.code[i][t.pc].op {
		case opWaitFor:
			if !e.p.family.timeouts && e.untimed < 0 {
				e.untimed = e.cost
			}
			isTimeout = !counts[i] && e.p.family.timeouts
			possible[i] = isTimeout && e.mayTimeOut(t)
			late[i] = isTimeout && !possible[i]
		case opYield:
			switch {
			case e.isBlind(s, i):
				e.blind = true
				if !t.moved {
					unsure = true
					e.holdBack()
					possible[i] = e.mode == most
					continue
				}
				possible[i] = true
			case e.mode == unlimited || t.awake || t.idle < e.p.rounds:
				possible[i] = true
			default:
				e.holdBack()
			}
		}
		possible[i] = possible[i] || counts[i]
		sure = sure || possible[i]
	}
	if late != ([maxThreads]bool{}) {
		e.holdBack()
	}
	if sure || unsure && e.mode == least {
		return possible, counts, false
	}
	if awaited && late != ([maxThreads]bool{}) { // a timer fires in the end
		for i := range late {
			possible[i] = possible[i] || late[i]
		}
		return possible, counts, false
	}
	return possible, counts, true
}

// isBlind reports whether thread i is at a blind Yield.
func (e *enumerator) isBlind(s *state, i int) bool {
	t := &s.threads[i]
	return t.phase == live && t.reads == 0 && e.yields[i] && e.p.code[i][t.pc].op == opYield
}

// isReady reports whether a live thread can take a step that is no Yield and no
// timeout.
func (e *enumerator) isReady(s *state, i int) bool {
	switch in := &e.p.code[i][s.threads[i].pc]; in.op {
	case opWait, opWaitFor:
		return s.tokens[in.obj] > 0
	case opWaitDone:
		return s.tokens[in.obj] > 0 || s.closed
	case opLock:
		return !s.locked[in.obj]
	case opYield:
		return false
	}
	return true
}

// mayTimeOut reports whether Options.Rounds allows a timeout of t.
func (e *enumerator) mayTimeOut(t *thread) bool { return e.mode == unlimited || t.late <= e.p.rounds }

// holdBack records that Options.Rounds holds back a thread.
func (e *enumerator) holdBack() {
	if e.held < 0 || e.stepCost() < e.held {
		e.held = e.stepCost()
	}
}

// isAwaited reports whether an execution is a deadlock when thread i is blocked.
func (e *enumerator) isAwaited(i int) bool {
	return i < len(e.p.threads) && !e.p.threads[i].daemon
}

// last records the outcome of an execution that ends in s.
func (e *enumerator) last(s *state) {
	o := outcome{crashed: s.crashed, words: s.words, tokens: s.tokens, locked: s.locked, cells: s.cells}
	for i, v := range s.items[:s.itemCount()] {
		o.items[s.itemCount()-1-i] = v // the last one is taken first
	}
	awaited, blind := false, false
	for i := range s.threads {
		t := &s.threads[i]
		o.threads[i] = t.out
		awaited = awaited || t.phase == live && e.isAwaited(i)
		blind = blind || e.isBlind(s, i)
	}
	switch {
	case awaited && blind:
		o = outcome{end: inBlindWait}
	case awaited:
		o = outcome{end: inDeadlock}
	}
	e.end(o)
}

// step takes the next step of thread i, in each way that is possible.
func (e *enumerator) step(s state, i int) {
	s.cur = int16(i)
	t := &s.threads[i]
	in := &e.p.code[i][t.pc]
	isBlind := e.isBlind(&s, i)
	t.pc++
	if in.op == opYield {
		t.moved = false
		t.passed = e.yields[i] && !isBlind
		if isBlind {
			if e.mode == most && t.idle < e.p.rounds { // the explorer may count this round
				counted := s
				counted.threads[i].idle++
				e.continues(counted, i)
			}
			t.idle = 0
		}
		e.continues(s, i)
		return
	}
	e.move(&s, i)
	if t.passed {
		e.beginRound(t)
	}
	switch in.op {
	case opLoad, opStore, opCAS, opAdd, opSwap, opOr, opAnd:
		old := s.words[in.obj]
		s.access(t, in)
		if in.op != opStore {
			e.reads(t, i, word(in.obj))
		}
		if s.words[in.obj] != old {
			e.changes(&s, i, word(in.obj))
		}
		e.continues(s, i)
	case opPost:
		e.reads(t, i, sema(in.obj))
		n := s.tokens[in.obj]
		if n < e.p.limits[in.obj] {
			s.posted[in.obj][n] = t.known
			s.tokens[in.obj]++
			e.changes(&s, i, sema(in.obj))
		}
		t.record(in, toInt(n < e.p.limits[in.obj]))
		e.continues(s, i)
	case opTryWait, opWait, opWaitDone, opWaitFor:
		e.wait(s, i, in)
	case opLock, opTryLock:
		e.reads(t, i, lock(in.obj))
		free := !s.locked[in.obj]
		if free {
			s.locked[in.obj] = true
			t.known |= s.unlocks[in.obj]
			e.changes(&s, i, lock(in.obj))
		}
		if in.op == opTryLock {
			t.record(in, toInt(free))
		}
		e.continues(s, i)
	case opUnlock:
		s.locked[in.obj] = false
		s.unlocks[in.obj] = t.known
		e.changes(&s, i, lock(in.obj))
		e.continues(s, i)
	case opTake:
		e.reads(t, i, pool)
		v := int8(0)
		if n := s.itemCount() - 1; n >= 0 {
			v = s.items[n]
			t.known |= s.puts[n]
			s.items[n], s.puts[n] = 0, 0
			e.changes(&s, i, pool)
		}
		t.record(in, v)
		e.continues(s, i)
	case opPut:
		n := s.itemCount()
		s.items[n], s.puts[n] = in.a, t.known
		e.changes(&s, i, pool)
		e.continues(s, i)
	default:
		panic("no step")
	}
}

// itemCount returns the number of items in the pool.
func (s *state) itemCount() int {
	n := 0
	for n < maxItems && s.items[n] != 0 {
		n++
	}
	return n
}

// beginRound begins the next round of a thread that has passed a Yield.
func (e *enumerator) beginRound(t *thread) {
	if t.awake {
		t.idle = 0
	} else {
		t.idle++
	}
	t.reads, t.awake, t.passed = 0, false, false
}

// move lets the other threads see that thread i has taken a step or ended.
func (e *enumerator) move(s *state, i int) {
	for j := range s.threads {
		if u := &s.threads[j]; e.mode == least && j != i && u.phase == live && e.yields[j] {
			u.moved = true
		}
	}
}

// reads adds an object to those that thread i has read.
func (e *enumerator) reads(t *thread, i int, o objects) {
	if e.yields[i] {
		t.reads |= o
	}
}

// changes lets the other threads see that thread i has changed an object.
func (e *enumerator) changes(s *state, i int, o objects) {
	for j := range s.threads {
		if u := &s.threads[j]; j != i {
			u.awake = u.awake || u.reads&o != 0
			if e.isAwaited(i) || e.isAwaited(j) {
				u.late = 0
			}
		}
	}
}

// record makes v the result of an instruction.
func (t *thread) record(in *instr, v int8) {
	t.reg = v
	if !in.quiet {
		t.out.add(v)
	}
}

// wait ends a wait of thread i in each way that is possible.
func (e *enumerator) wait(s state, i int, in *instr) {
	e.reads(&s.threads[i], i, sema(in.obj))
	token := s.tokens[in.obj] > 0
	fails := !token
	switch in.op {
	case opWaitDone:
		fails = s.closed
	case opWaitFor:
		if token && e.p.family.timeouts {
			fails = e.mayTimeOut(&s.threads[i])
			if !fails {
				e.holdBack()
			}
		}
	}
	if fails {
		failed := s
		t := &failed.threads[i]
		switch in.op {
		case opWaitDone:
			// The close orders all previous events, because the explorer does not
			// know the thread that closed the channel.
			for c := range s.cells {
				t.known |= s.readers[c] | s.writers[c]
			}
		case opWaitFor:
			if e.mode != unlimited {
				t.late = min(t.late+1, e.p.rounds+1)
			}
		}
		t.record(in, 0)
		e.continues(failed, i)
	}
	if token {
		t := &s.threads[i]
		posted := &s.posted[in.obj]
		t.known |= posted[0]
		posted[0], posted[1] = posted[1], 0
		s.tokens[in.obj]--
		e.changes(&s, i, sema(in.obj))
		t.record(in, 1)
		e.continues(s, i)
	}
}

// access applies an operation on a word.
func (s *state) access(t *thread, in *instr) {
	w, before := &s.words[in.obj], &s.before[in.obj]
	if in.op == opStore {
		*w = in.a
		*before = t.known // a read no longer sees the writes before this one
		return
	}
	t.known |= *before
	v := *w
	switch in.op {
	case opCAS:
		v = toInt(*w == in.a)
		if *w == in.a {
			*w = in.b
			*before = t.known
		}
	case opAdd:
		*w += in.a
		v = *w
		*before = t.known
	case opSwap:
		*w = in.a
		*before = t.known
	case opOr:
		*w |= in.a
		*before = t.known
	case opAnd:
		*w &= in.a
		*before = t.known
	}
	t.record(in, v)
}

// continues executes the instructions of thread i before its next step, in each way
// that is possible.
func (e *enumerator) continues(s state, i int) {
	t := &s.threads[i]
	code := e.p.code[i]
	for int(t.pc) < len(code) && code[t.pc].op > lastStep {
		in := &code[t.pc]
		t.pc++
		switch in.op {
		case opChoose:
			for v := int8(1); v < in.a; v++ {
				chosen := s
				chosen.threads[i].reg = v
				chosen.threads[i].out.add(v)
				e.continues(chosen, i)
			}
			t.reg = 0
			t.out.add(0)
		case opClose:
			s.closed = true
		case opSpawn:
			s.threads[in.a] = thread{phase: made, known: t.known}
		case opGet:
			if s.writers[in.obj]&^t.known != 0 {
				e.end(outcome{end: inRace})
				return
			}
			s.readers[in.obj] |= t.event(i)
			t.reg = s.cells[in.obj]
			t.out.add(t.reg)
		case opSet:
			if (s.writers[in.obj]|s.readers[in.obj])&^t.known != 0 {
				e.end(outcome{end: inRace})
				return
			}
			s.writers[in.obj] |= t.event(i)
			s.cells[in.obj] = in.a
		case opBranch:
			if t.reg == in.a {
				t.pc = in.to
			}
		case opJump:
			t.pc = in.to
		case opCount:
			if t.count++; t.count == in.a {
				t.pc = in.to
				t.count = 0
			}
		case opNote:
			t.count = 0
			t.out.add(in.a)
		case opPause:
		default:
			panic("unknown instruction")
		}
	}
	if int(t.pc) < len(code) && code[t.pc].op == opYield && t.passed {
		e.beginRound(t) // the thread has come from a Yield to the next one
	}
	if int(t.pc) == len(code) {
		*t = thread{phase: ended, out: t.out}
		t.out.ended = true
		e.move(&s, i)
	}
	e.start(s)
}

// event returns the next event of thread i as a set. The thread knows its own
// events.
func (t *thread) event(i int) uint32 {
	if t.events == maxEvents {
		panic("a thread has too many events")
	}
	bit := uint32(1) << (uint32(i)*maxEvents + t.events)
	t.events++
	t.known |= bit
	return bit
}

// start starts the threads that have been made. s is then complete.
func (e *enumerator) start(s state) {
	for i := range s.threads {
		if s.threads[i].phase == made {
			s.threads[i].phase = live
			e.continues(s, i)
			return
		}
	}
	e.push(&s)
}

// push adds a state to those that will be visited.
func (e *enumerator) push(s *state) {
	switch {
	case !e.preempt:
		e.visitLater(s)
	case *e.visited.find(s) == 0:
		e.next = append(e.next, *s)
	}
}

// visitLater adds a state to those of the level, unless it was added before.
func (e *enumerator) visitLater(s *state) {
	if e.visited.add(s) {
		e.level = append(e.level, len(e.visited.states)-1)
	}
}
