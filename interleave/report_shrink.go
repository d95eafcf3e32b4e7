package interleave

import (
	"math/bits"
	"slices"
)

// This file shortens the failures of PCT and Random. Their executions switch threads at
// many steps that have nothing to do with the failure.
//
// shrink takes the failing execution as a row of blocks, one for each time that a
// thread runs. It removes, joins and moves blocks as long as the execution still fails
// with the same kind (delta debugging: Zeller and Hildebrandt, Simplifying and isolating
// failure-inducing input, 2002). A change of one block can change the steps after it, so
// an execution follows a plan only as far as the plan fits. A depth-first search then
// looks for a failure with fewer preemptions.
//
// Both are needed. Measured: the blocks alone leave 28 of 608 failures of small wrong
// programs above the least number of preemptions, and the search alone none. In a program
// of 7 threads and 100 steps Random needs 40 to 69 preemptions, of which the blocks leave
// 2 to 5, and the search alone all.
//
// The limits are numbers of executions and steps, not times. A failure therefore has
// the same report in each run and with each backend.

// The limits of shrink. Chosen: shrink takes 50 to 240 ms for programs of up to 100 steps,
// measured on one core, and at most 4 million steps for any program.
const (
	shrinkExecutions = 2_000   // by changes of blocks in each round, and as many by search
	shrinkSteps      = 500_000 // likewise
	shrinkRounds     = 4       // each but the first begins with what search has found
)

// A plan is an execution as a row of blocks.
type plan struct {
	blocks []block
	values [maxThreads + 1][]int // the results of Choose in thread i at i+1, and those in the body and in Final at 0

	// The thread of Options.Crash crashes instead of its step number crashAt; 0: never.
	crashAt   int
	announced int // the steps that this thread has announced so far
}

// A block is a number of entries of a schedule for one thread in a row.
type block struct{ thread, steps int }

// A follower is the position of an execution in the plan that it follows.
type follower struct {
	*plan
	taken int                 // entries of the first of blocks that are done
	drawn [maxThreads + 1]int // results of Choose that are done
}

// A cost orders the executions that fail: the smaller one explains more.
type cost struct{ preemptions, steps, blocks int }

func (a cost) less(b cost) bool {
	switch {
	case a.preemptions != b.preemptions:
		return a.preemptions < b.preemptions
	case a.steps != b.steps:
		return a.steps < b.steps
	}
	return a.blocks < b.blocks
}

// A shrinker shortens one failure.
type shrinker struct {
	x    *explorer
	best *Failure
	plan *plan // of best
	cost cost  // of best

	executions, steps int // what is left
}

// canShrink reports whether another execution that fails with the same kind can stand for f.
// A misuse can if its steps have caused it. The operation of a foreign goroutine need not come
// again. The race detector reports each race once.
func (f *Failure) canShrink() bool {
	switch f.Kind {
	case Misuse:
		return f.hasSteps && f.Thread != ""
	case Unsteady:
		return false
	case Race:
		return !raceBuild || f.Thread != ""
	}
	return true
}

// shrink returns a failure of the same kind as f with as few preemptions as it finds. f
// is the failure of the last execution. No failure of this kind has fewer than least
// preemptions.
func (x *explorer) shrink(f *Failure, least int) *Failure {
	if !f.canShrink() {
		return f
	}
	script, err := parseSchedule(f.Schedule)
	if err != nil {
		panic("interleave: a schedule of its own cannot be read: " + err.Error())
	}
	held, cut, untimed := x.held, x.cut, x.untimed
	x.useCoroutines()
	s := &shrinker{x: x, best: f, cost: cost{preemptions: f.Preemptions + 1}}
	x.script, x.replaying = script, true
	again := s.run()
	x.script, x.replaying = nil, false
	for range shrinkRounds {
		if !again {
			break
		}
		s.changeBlocks()
		again = s.cost.preemptions > least && s.search(least)
	}
	x.follow, x.ran = nil, nil
	x.held, x.cut, x.untimed = held, cut, untimed
	return s.best
}

// refill allows another row of executions.
func (s *shrinker) refill() { s.executions, s.steps = shrinkExecutions, shrinkSteps }

// empty reports whether no execution is left.
func (s *shrinker) empty() bool { return s.executions <= 0 || s.steps <= 0 }

// run runs an execution, and keeps it if it fails in the same way at a lower cost. It
// reports whether it does.
func (s *shrinker) run() bool {
	x := s.x
	x.ran = &plan{}
	x.execute()
	s.executions--
	s.steps -= x.steps + stepsOfStart
	f := x.failure
	if f == nil || f.Kind != s.best.Kind || !f.canShrink() {
		return false
	}
	c := cost{f.Preemptions, x.steps, len(x.ran.blocks)}
	if !c.less(s.cost) {
		return false
	}
	s.best, s.plan, s.cost = f, x.ran, c
	return true
}

// stepsOfStart is the number of steps that take as long as the start and the end of an
// execution. Measured: about 2 µs and 100 to 200 ns.
const stepsOfStart = 15

// try runs the best plan with other blocks.
func (s *shrinker) try(blocks []block) bool {
	if s.empty() {
		return false
	}
	p := *s.plan
	p.blocks = blocks
	s.x.follow = &follower{plan: &p}
	return s.run()
}

// changeBlocks removes, joins and moves blocks until nothing improves.
func (s *shrinker) changeBlocks() {
	s.refill()
	for improved := true; improved && !s.empty(); {
		improved = s.remove()
		for i := 0; i < len(s.plan.blocks); i++ {
			if s.join(i) {
				improved = true
				i--
			}
		}
		improved = improved || s.move()
	}
	s.x.follow = nil
}

// remove removes rows of blocks, the longest ones first. Their threads take the steps
// later.
func (s *shrinker) remove() (improved bool) {
	for size := (len(s.plan.blocks) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i < len(s.plan.blocks); {
			end := min(i+size, len(s.plan.blocks))
			if s.try(slices.Concat(s.plan.blocks[:i], s.plan.blocks[end:])) {
				improved = true
			} else {
				i = end
			}
		}
	}
	return improved
}

// join joins block i with the next block of its thread, at the place of the one or of
// the other. If there is none, it lets the thread run as long as it can.
func (s *shrinker) join(i int) bool {
	blocks := s.plan.blocks
	b := blocks[i]
	j := i + 1
	for j < len(blocks) && blocks[j].thread != b.thread {
		j++
	}
	if j == len(blocks) {
		changed := slices.Clone(blocks)
		changed[i].steps = s.x.opts.MaxSteps
		return s.try(changed)
	}
	b.steps += blocks[j].steps
	return s.try(slices.Concat(blocks[:i], []block{b}, blocks[i+1:j], blocks[j+1:])) ||
		s.try(slices.Concat(blocks[:i], blocks[i+1:j], []block{b}, blocks[j+1:]))
}

// move moves a block to another place.
func (s *shrinker) move() bool {
	for i, b := range s.plan.blocks {
		rest := slices.Concat(s.plan.blocks[:i], s.plan.blocks[i+1:])
		for j := range s.plan.blocks {
			if i != j && s.try(slices.Concat(rest[:j], []block{b}, rest[j:])) {
				return true
			}
		}
	}
	return false
}

// search looks for a failure with fewer preemptions than the best one, in the order of
// their number. It reports whether it has found one.
func (s *shrinker) search(least int) bool {
	x := s.x
	x.strategy = DFS
	defer x.forgetPath()
	s.refill()
	for x.bound = least; x.bound < s.cost.preemptions; x.bound++ {
		x.forgetPath()
		for {
			if s.run() {
				return true
			}
			if s.empty() || x.failure != nil && x.failure.Kind == Unsteady {
				return false
			}
			if !x.backtrack() {
				break
			}
		}
	}
	return false
}

// choiceMade records an entry of the schedule in the plan of the execution that runs.
func (p *plan) choiceMade(c choice, owner *thread) {
	switch c.kind() {
	case choiceRun:
		if n := len(p.blocks); n > 0 && p.blocks[n-1].thread == c.arg() {
			p.blocks[n-1].steps++
		} else {
			p.blocks = append(p.blocks, block{c.arg(), 1})
		}
	case choiceValue:
		i := ownerIndex(owner)
		p.values[i] = append(p.values[i], c.arg())
	case choiceCrash:
		p.crashAt = p.announced
	}
}

// ownerIndex returns the index of a thread in plan.values. t is nil for the body and
// Final.
func ownerIndex(t *thread) int {
	if t == nil {
		return 0
	}
	return t.id + 1
}

// followStep picks the thread for the next step as the plan says. It skips a block
// whose thread cannot run. After the last block the running thread continues if it can.
func (x *explorer) followStep(keep, set, timeouts uint64) int {
	f := x.follow
	for len(f.blocks) > 0 {
		if b := f.blocks[0]; f.taken < b.steps && set>>b.thread&1 != 0 {
			f.taken++
			return b.thread
		}
		f.blocks = f.blocks[1:]
		f.taken = 0
	}
	if keep != 0 {
		set = keep
	}
	return bits.TrailingZeros64(x.firstOf(set, timeouts))
}

// followValue picks the result of Choose(n) as the plan says, and 0 after its end.
func (x *explorer) followValue(n int) int {
	f, i := x.follow, ownerIndex(x.current)
	if f.drawn[i] == len(f.values[i]) {
		return 0
	}
	f.drawn[i]++
	return min(f.values[i][f.drawn[i]-1], n-1)
}
