package interleave_test

// This file enumerates the outcomes of a program without the explorer. The search
// visits each state of the program once and leaves out none. It is the reference
// that the explorer is compared with.

// A phase is a part of the life of a thread.
type phase uint8

const (
	absent  phase = iota // not made
	made                 // made, and not started
	live                 // before a step
	ended                // at its end
	crashed              // stopped for ever
)

// A thread is the state of one thread.
type thread struct {
	phase phase
	pc    uint8
	reg   int8
	out   result

	// An event is an access to a Cell. Each set of events has one bit for each.
	known  uint32 // the events that happen before the next action of the thread
	events uint8  // the number of events of the thread
}

const maxEvents = 8 // of one thread

// A state is the state of a program between two steps. Two executions with equal
// states have the same continuations.
type state struct {
	cur     int8 // the thread that took the last step, or -1
	crashed bool // t0 has crashed
	closed  bool
	threads [maxThreads]thread
	words   [wordCount]int8
	tokens  [semaCount]int8
	cells   [cellCount]int8

	before  [wordCount]uint32    // the events that happen before a read of the word
	posted  [semaCount][2]uint32 // the events that happen before the end of a wait for this token
	readers [cellCount]uint32    // the events that are reads of the cell
	writers [cellCount]uint32    // the events that are writes to the cell
}

// An enumerator visits the states of a program.
type enumerator struct {
	p       *program
	visited map[state]struct{}
	costs   map[outcome]int // the least number of preemptions of an outcome
	cost    int             // the number of preemptions in the states of level
	level   []state         // to visit, with cost preemptions
	next    []state         // to visit, with one preemption more
	preempt bool            // the step that is being taken is after a preemption
}

// enumerate returns all outcomes of p and the least number of preemptions in an
// execution with each of them. It returns false when there are more states than
// limit.
func enumerate(p *program, limit int) (map[outcome]int, bool) {
	e := &enumerator{p: p, visited: map[state]struct{}{}, costs: map[outcome]int{}}
	s := state{cur: -1, tokens: p.tokens}
	for i := range p.tokens {
		s.tokens[i] = min(p.tokens[i], p.limits[i])
	}
	for i := range p.threads {
		s.threads[i].phase = made
	}
	e.start(s)
	for ; len(e.level) > 0; e.cost++ {
		// A state is visited with its least number of preemptions first.
		for len(e.level) > 0 {
			s := e.level[len(e.level)-1]
			e.level = e.level[:len(e.level)-1]
			if _, ok := e.visited[s]; ok {
				continue
			}
			if len(e.visited) == limit {
				return nil, false
			}
			e.visited[s] = struct{}{}
			e.visit(&s)
		}
		e.level, e.next = e.next, e.level
	}
	return e.costs, true
}

// end records the outcome of an execution whose last step is being taken.
func (e *enumerator) end(o outcome) {
	cost := e.cost
	if e.preempt {
		cost++
	}
	if old, ok := e.costs[o]; !ok || cost < old {
		e.costs[o] = cost
	}
}

// visit takes each step that is possible in s.
func (e *enumerator) visit(s *state) {
	e.preempt = false
	possible := 0
	var ready [maxThreads]bool
	for i := range s.threads {
		ready[i] = e.canStep(s, i)
		if ready[i] {
			possible++
		}
	}
	// A crash is no step of a thread, and so no preemption of another one. A thread
	// that is blocked may crash as well.
	if e.p.family.crash && !s.crashed && s.threads[0].phase == live {
		after := *s
		after.crashed = true
		after.threads[0] = thread{phase: crashed, out: after.threads[0].out}
		e.push(&after)
	}
	if possible == 0 {
		e.last(s)
		return
	}
	for i := range s.threads {
		if ready[i] {
			e.preempt = s.cur >= 0 && int(s.cur) != i && ready[s.cur]
			e.step(*s, i)
		}
	}
}

// last records the outcome of an execution that ends in s.
func (e *enumerator) last(s *state) {
	o := outcome{crashed: s.crashed, words: s.words, tokens: s.tokens, cells: s.cells}
	for i := range s.threads {
		t := &s.threads[i]
		o.threads[i] = t.out
		if t.phase == live && i < len(e.p.threads) && !e.p.threads[i].daemon {
			e.end(outcome{end: inDeadlock})
			return
		}
	}
	e.end(o)
}

// canStep reports whether thread i can take a step.
func (e *enumerator) canStep(s *state, i int) bool {
	t := &s.threads[i]
	if t.phase != live {
		return false
	}
	in := &e.p.code[i][t.pc]
	switch in.op {
	case opWait, opWaitFor:
		return s.tokens[in.obj] > 0
	case opWaitDone:
		return s.tokens[in.obj] > 0 || s.closed
	}
	return true
}

// step takes the next step of thread i, in each way that is possible.
func (e *enumerator) step(s state, i int) {
	s.cur = int8(i)
	t := &s.threads[i]
	in := &e.p.code[i][t.pc]
	t.pc++
	switch in.op {
	case opLoad, opStore, opCAS, opAdd, opSwap, opOr, opAnd:
		s.access(t, in)
	case opPost:
		n := s.tokens[in.obj]
		t.reg = toInt(n < e.p.limits[in.obj])
		if t.reg == 1 {
			s.posted[in.obj][n] = t.known
			s.tokens[in.obj]++
		}
		t.out.add(t.reg)
	case opTryWait, opWait, opWaitFor:
		t.reg = toInt(s.tokens[in.obj] > 0)
		if t.reg == 1 {
			s.take(t, in.obj)
		}
		t.out.add(t.reg)
	case opWaitDone:
		if s.closed {
			// The close orders all previous events, because the explorer does not
			// know the thread that closed the channel.
			closed := s
			t := &closed.threads[i]
			for c := range closed.cells {
				t.known |= closed.readers[c] | closed.writers[c]
			}
			t.reg = 0
			t.out.add(0)
			e.continues(closed, i)
		}
		if s.tokens[in.obj] == 0 {
			return
		}
		s.take(t, in.obj)
		t.reg = 1
		t.out.add(1)
	default:
		panic("no step")
	}
	e.continues(s, i)
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
	t.reg = *w
	switch in.op {
	case opCAS:
		t.reg = toInt(*w == in.a)
		if *w == in.a {
			*w = in.b
			*before = t.known
		}
	case opAdd:
		*w += in.a
		t.reg = *w
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
	t.out.add(t.reg)
}

// take takes the oldest token of a semaphore.
func (s *state) take(t *thread, sema int8) {
	posted := &s.posted[sema]
	t.known |= posted[0]
	posted[0], posted[1] = posted[1], 0
	s.tokens[sema]--
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
		default:
			panic("unknown instruction")
		}
	}
	if int(t.pc) == len(code) {
		*t = thread{phase: ended, out: t.out}
		t.out.ended = true
	}
	e.start(s)
}

// event returns the next event of thread i as a set. The thread knows its own
// events.
func (t *thread) event(i int) uint32 {
	if t.events == maxEvents {
		panic("a thread has too many events")
	}
	bit := uint32(1) << (i*maxEvents + int(t.events))
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
	if _, ok := e.visited[*s]; ok {
		return
	}
	if e.preempt {
		e.next = append(e.next, *s)
	} else {
		e.level = append(e.level, *s)
	}
}
