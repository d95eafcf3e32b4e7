package interleave

import "math/bits"

// decide picks the thread that takes the next step. from is the thread that
// has just announced a step, or nil when that thread has ended or crashed.
// decide returns nil when the execution has ended or is abandoned.
//
//go:norace
func (x *explorer) decide(from *thread) *thread {
	if x.failure != nil {
		return nil
	}
	set, timeouts := x.enabled()
	if set == 0 {
		x.checkEnd()
		return nil
	}
	if x.steps >= x.opts.MaxSteps {
		x.failEndless()
		return nil
	}
	// A switch away from a thread that could continue is a preemption, unless
	// the thread is at a Yield or its step is a timeout.
	var keep uint64
	if from != nil && from.op.kind != opYield {
		keep = from.bit & set &^ timeouts
	}
	var next int
	switch {
	case x.follow != nil:
		next = x.followStep(keep, set, timeouts)
	case x.replaying:
		next = x.replayStep(set)
	case x.strategy == DFS:
		next = x.searchStep(keep, set, timeouts)
	case set&(set-1) == 0:
		next = bits.TrailingZeros64(set)
	case x.strategy == PCT:
		next = x.priorityStep(from, set, timeouts)
	default:
		next = nthBit(set, x.randIntN(bits.OnesCount64(set)))
	}
	if next < 0 {
		return nil
	}
	if keep != 0 && keep != 1<<next {
		x.preempted++
	}
	x.record(choiceRun | choice(next))
	return x.threads[next]
}

// onlyDaemons reports whether all live threads are daemons.
//
//go:norace
func (x *explorer) onlyDaemons() bool {
	for s := x.live; s != 0; s &= s - 1 {
		if !x.threads[bits.TrailingZeros64(s)].daemon {
			return false
		}
	}
	return true
}

// checkEnd is called when no thread can take a step. The execution fails unless only
// daemons are live.
//
//go:norace
func (x *explorer) checkEnd() {
	if x.onlyDaemons() {
		if x.replaying && x.entry < len(x.script) && x.script[x.entry].kind() != choiceValue { // Final may call Choose
			x.replayMismatch(executionEnded)
		}
		return
	}
	x.failBlocked("")
}

// failBlocked fails an execution in which a thread that is no daemon waits and no step of
// another one can end the wait. It is a deadlock unless a thread waits at a Yield without a
// read: what that thread polls may have changed, and the explorer does not see it. That is a
// misuse. more is the end of the message.
//
//go:norace
func (x *explorer) failBlocked(more string) {
	running, _ := x.enabled()
	f := &Failure{Kind: Deadlock, Message: "deadlock: " + x.blocked() + more}
	for s := x.atYield & x.live &^ running; s != 0; s &= s - 1 {
		if t := x.threads[bits.TrailingZeros64(s)]; len(t.reads) == 0 {
			f.Kind, f.Thread, f.hasSteps = Misuse, x.label(t), true
			f.Message = "thread " + f.Thread + " has read no object since its last Yield, so the explorer does not see what it waits for: " +
				"poll an object of the exploration, or use Sema.WaitDone: " + x.blocked() + more
			break
		}
	}
	x.fail(f)
}

// failEndless fails an execution that has not ended after MaxSteps steps. It is a
// deadlock if a thread other than a daemon waits, none of them can take a step, and none has
// taken one during the second half of the steps.
//
//go:norace
func (x *explorer) failEndless() {
	running, _ := x.enabled()
	last, waits, runs := 0, false, false
	for _, t := range x.threads {
		if t.daemon {
			continue
		}
		last = max(last, t.last)
		if x.live&t.bit != 0 {
			waits = true
			runs = runs || running&t.bit != 0 || t.op.kind == opWaitFor && x.opts.Timeouts
		}
	}
	if !waits || runs || last > x.opts.MaxSteps/2 {
		x.fail(&Failure{Kind: Livelock, Message: sprintf("livelock: the execution has not ended after %d steps", x.steps)})
		return
	}
	x.failBlocked(sprintf("; the last %d steps are those of daemons", x.steps-last))
}

// blocked lists the threads that wait, with the operation and position of each.
//
//go:norace
func (x *explorer) blocked() string {
	running, _ := x.enabled()
	var threads, crashed, daemons string
	for _, t := range x.threads {
		switch {
		case t.state == stateCrashed:
			crashed += "; thread " + x.label(t) + " has crashed"
		case x.live&t.bit == 0 || running&t.bit != 0:
		case t.daemon:
			daemons += "; daemon " + x.label(t) + " waits too"
		default:
			threads += "; thread " + x.label(t) + " waits in " + x.describeWait(t)
			if t.where != "" {
				threads += " at " + t.where
			}
		}
	}
	return (threads + crashed + daemons)[len("; "):]
}

// describeWait names the operation that a thread waits in and what it waits for.
//
//go:norace
func (x *explorer) describeWait(t *thread) string {
	switch {
	case t.op.kind != opYield:
		return opNames[t.op.kind] + " " + x.objectName(t.op.kind.objectType(), t.op.obj)
	case len(t.reads) == 0:
		return "Yield"
	}
	s := "Yield for a change of "
	for i, id := range t.reads {
		if i > 0 {
			s += ", "
		}
		s += x.objectName(x.types[id], id)
	}
	return s
}

// label returns the name of a thread. It adds the number of the thread if
// another thread has the same name.
//
//go:norace
func (x *explorer) label(t *thread) string {
	for _, u := range x.threads {
		if u != t && u.name == t.name {
			return t.name + "(" + itoa(t.id) + ")"
		}
	}
	return t.name
}

// nthBit returns the index of a set bit, with n set bits below it.
//
//go:norace
func nthBit(set uint64, n int) int {
	for range n {
		set &= set - 1
	}
	return bits.TrailingZeros64(set)
}

// A node is a point of an execution at which the search has several candidates.
type node struct {
	value  bool   // the node is a call of Choose or a crash: a value is chosen, not a thread
	cand   uint64 // the candidates: threads
	todo   uint64 // candidates that have not been tried
	done   uint64 // candidates that were tried before the chosen one
	sleep  uint64 // the sleep set before the node
	chosen int    // a thread or a value
	n      int    // values: 0 to n-1
	logged int    // the length of the log before the node
	events int    // the number of events before the node
}

// forgetPath makes the next execution the first one of a depth-first search.
func (x *explorer) forgetPath() {
	x.nodes, x.repeats, x.settled = x.nodes[:0], 0, 0
}

// backtrack changes the path to that of the next execution of the depth-first
// search. It returns false when the search is complete.
func (x *explorer) backtrack() bool {
	for len(x.nodes) > 0 {
		nd := &x.nodes[len(x.nodes)-1]
		x.repeats, x.settled = nd.logged, nd.events
		if nd.value {
			if nd.chosen+1 < nd.n {
				nd.chosen++
				return true
			}
		} else if nd.todo != 0 {
			nd.done |= 1 << nd.chosen
			nd.chosen = bits.TrailingZeros64(nd.todo)
			nd.todo &= nd.todo - 1
			return true
		}
		x.nodes = x.nodes[:len(x.nodes)-1]
	}
	return false
}

// searchStep picks the thread for the next step of the depth-first search. A
// switch away from the thread of keep is a preemption. searchStep returns -1 when
// the execution is abandoned, because all candidates sleep or the program is
// unsteady.
//
//go:norace
func (x *explorer) searchStep(keep, set, timeouts uint64) int {
	cand := set &^ x.sleep
	if cand == 0 {
		x.pruned = true
		return -1
	}
	keep &= cand
	if keep != 0 && keep != cand && x.bound != All && x.preempted >= x.bound {
		cand = keep
		x.limited = true
	}
	if cand&(cand-1) == 0 {
		x.chosenAt = -1
		return bits.TrailingZeros64(cand)
	}
	x.chosenAt = x.depth
	nd, isNew := x.nextNode(false, cand, 0)
	switch {
	case nd == nil:
		return -1
	case isNew:
		first := keep
		if keep == 0 {
			first = x.firstOf(cand, timeouts)
		}
		nd.chosen = bits.TrailingZeros64(first)
		if !x.opts.Reduce { // otherwise findRaces adds threads
			nd.todo = cand &^ first
		}
	}
	if x.opts.Reduce {
		x.sleep |= nd.done
	}
	return nd.chosen
}

// firstOf returns the candidate that the search tries first where the running thread
// does not continue. Threads at a Yield and threads that can only time out come last, and
// among them the thread that has waited longest comes first. Otherwise threads that wake
// each other would run for ever in the first execution, without a step of the thread that
// they wait for.
//
//go:norace
func (x *explorer) firstOf(cand, timeouts uint64) uint64 {
	if s := cand &^ (x.atYield | timeouts); s != 0 {
		return s & -s
	}
	first := cand & -cand
	for s := cand & (cand - 1); s != 0; s &= s - 1 {
		if x.threads[bits.TrailingZeros64(s)].last < x.threads[bits.TrailingZeros64(first)].last {
			first = s & -s
		}
	}
	return first
}

// nextNode returns the next node of the path, and whether this execution is the first one
// that passes it. It returns nil if the program is unsteady: the node differs from that of
// the execution before.
//
//go:norace
func (x *explorer) nextNode(value bool, cand uint64, n int) (nd *node, isNew bool) {
	if isNew = x.depth == len(x.nodes); isNew {
		x.nodes = extend(x.nodes)
		nd = &x.nodes[x.depth]
		*nd = node{value: value, cand: cand, n: n, sleep: x.sleep, logged: x.logged, events: x.happened}
	} else if nd = &x.nodes[x.depth]; nd.value != value || nd.cand != cand || nd.n != n || nd.logged != x.logged {
		x.unsteady("another set of threads can run, or Choose has another argument")
		return nil, false
	}
	x.depth++
	return nd, isNew
}

// wakeDependent removes from the sleep set the threads whose next step depends on
// the step of t. Their next step can now have another outcome than when it was
// tried.
//
//go:norace
func (x *explorer) wakeDependent(t *thread) {
	for s := x.sleep; s != 0; s &= s - 1 {
		u := x.threads[bits.TrailingZeros64(s)]
		if x.dependOn(t, u) {
			x.sleep &^= u.bit
		}
	}
}

// choose picks the result of Choose(n), a value from 0 to n-1.
//
//go:norace
func (x *explorer) choose(n int) int {
	if n > int(choiceArg)>>1 {
		panic("interleave: Choose: n is too large")
	}
	if x.failure != nil {
		return 0
	}
	v := 0
	switch {
	case x.follow != nil:
		v = x.followValue(n)
	case x.replaying:
		v = x.replayValue(n)
	case x.strategy == DFS:
		v = x.searchValue(n)
	default:
		v = x.randIntN(n)
	}
	x.record(choiceValue | choice(v))
	return v
}

// searchValue picks a value for the depth-first search.
//
//go:norace
func (x *explorer) searchValue(n int) int {
	nd, _ := x.nextNode(true, 0, n)
	if nd == nil {
		return 0
	}
	return nd.chosen
}

// crashNow decides whether the thread stops for ever instead of taking the
// step that it has announced. Other threads see the crash only by the steps that
// do not come, so one decision for each announced step is enough.
//
//go:norace
func (x *explorer) crashNow(t *thread) bool {
	crash := false
	if x.ran != nil {
		x.ran.announced++
	}
	switch {
	case x.follow != nil:
		crash = x.ran.announced == x.follow.crashAt
	case x.replaying:
		crash = x.entry < len(x.script) && x.script[x.entry] == choiceCrash|choice(t.id)
		if crash {
			x.entry++
		}
	case x.strategy == DFS:
		crash = x.searchValue(2) == 1
	default:
		crash = x.randIntN(x.longest) == 0
	}
	if crash {
		x.record(choiceCrash | choice(t.id))
		if x.tracing {
			x.note(t, "crashes")
		}
	}
	return crash
}

// record appends an entry to the schedule.
//
//go:norace
func (x *explorer) record(c choice) {
	x.schedule = extend(x.schedule)
	x.schedule[len(x.schedule)-1] = c
	if x.ran != nil {
		x.ran.choiceMade(c, x.current)
	}
}

// seedExecution prepares execution n of PCT or Random. Its random numbers
// depend on the seed and n only.
func (x *explorer) seedExecution(n uint64) {
	x.rng = mix(x.opts.Seed) + mix(^n)
	if x.strategy != PCT {
		return
	}
	x.changes = x.changes[:0]
	for range x.opts.Depth - 1 {
		x.changes = append(x.changes, x.randIntN(x.longest))
	}
}

// randUint64 returns a random number. The generator is SplitMix64, which gives
// the same numbers on every machine and with every version of Go.
//
//go:norace
func (x *explorer) randUint64() uint64 {
	x.rng += 0x9E3779B97F4A7C15
	return mix(x.rng)
}

// mix is the output function of SplitMix64.
//
//go:norace
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// randIntN returns a random number from 0 to n-1.
//
//go:norace
func (x *explorer) randIntN(n int) int {
	hi, _ := bits.Mul64(x.randUint64(), uint64(n))
	return int(hi)
}

// priorityStep picks the thread with the highest priority. At each step of
// x.changes that thread loses its priority first. A thread that yields or can only time
// out loses its priority in every second case. Otherwise it would run for ever while
// others change what it waits for, and if it always lost its priority, it would never
// continue without a change.
//
//go:norace
func (x *explorer) priorityStep(from *thread, set, timeouts uint64) int {
	if from != nil && (x.atYield|timeouts)&from.bit != 0 && (from.bit&set == 0 || x.randUint64()&1 == 0) {
		x.lowest--
		from.prio = x.lowest
	}
	best := x.first(set)
	for i, at := range x.changes {
		if at >= 0 && at <= x.steps {
			x.changes[i] = -1
			prio := int64(x.opts.Depth - 1 - i)
			if x.lowest < 0 { // below the threads that have yielded as well
				x.lowest--
				prio = x.lowest
			}
			x.threads[best].prio = prio
			best = x.first(set)
		}
	}
	return best
}

// first returns the thread of the set with the highest priority.
//
//go:norace
func (x *explorer) first(set uint64) int {
	best := -1
	for s := set; s != 0; s &= s - 1 {
		if t := x.threads[bits.TrailingZeros64(s)]; best < 0 || t.prio > x.threads[best].prio {
			best = t.id
		}
	}
	return best
}

// replayStep reads the next step from the schedule. After the end of the
// schedule it picks the thread with the lowest number.
//
//go:norace
func (x *explorer) replayStep(set uint64) int {
	if x.entry == len(x.script) {
		return bits.TrailingZeros64(set)
	}
	c := x.script[x.entry]
	if c.kind() != choiceRun || c.arg() >= len(x.threads) || set>>c.arg()&1 == 0 {
		x.replayMismatch("the entry names no thread that can take a step")
		return -1
	}
	x.entry++
	return c.arg()
}

// replayValue reads the next value from the schedule. After the end of the schedule it
// returns 0.
//
//go:norace
func (x *explorer) replayValue(n int) int {
	if x.entry == len(x.script) {
		return 0
	}
	c := x.script[x.entry]
	if c.kind() != choiceValue || c.arg() >= n {
		x.replayMismatch("the program calls Choose, and the entry is no result of that call")
		return 0
	}
	x.entry++
	return c.arg()
}

// replayMismatch fails a replay whose schedule does not fit the program.
//
//go:norace
func (x *explorer) replayMismatch(why string) {
	x.fail(&Failure{Kind: Misuse, Message: sprintf("the schedule does not fit the program at its entry %d: %s", x.entry+1, why)})
}

const executionEnded = "the execution has ended"
