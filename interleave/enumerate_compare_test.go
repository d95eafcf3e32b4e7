package interleave_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/interleave"
)

// Limits of one program. A program that exceeds one of them is compared in part.
const (
	maxStates     = 300_000 // of the enumerator
	maxExecutions = 50_000  // of one exploration
)

// A tally counts what a comparison has done.
type tally struct {
	programs, partial, executions, outcomes, races, deadlocks, blindWaits int
}

func (a *tally) String() string {
	return fmt.Sprintf("programs=%d in part=%d executions=%d outcomes=%d races=%d deadlocks=%d blind waits=%d",
		a.programs, a.partial, a.executions, a.outcomes, a.races, a.deadlocks, a.blindWaits)
}

// fault returns the reason for which the comparison of the programs of f says too little,
// or an empty string.
func (a *tally) fault(f *family) string {
	switch {
	case a.partial*mostPartial > a.programs:
		return "too many programs are compared in part"
	case a.programs < enoughPrograms:
		return ""
	case a.outcomes <= a.programs:
		return "the programs have hardly more than one outcome each"
	case f.canRace() && a.races == 0:
		return "no program has a race"
	case f.blocks && a.deadlocks == 0:
		return "no program has a deadlock"
	}
	return ""
}

const (
	mostPartial    = 50  // chosen: of so many programs one may be compared in part
	enoughPrograms = 300 // chosen: each family has all that it can have in so many programs
)

// canRace reports whether programs of f use Cells.
func (f *family) canRace() bool {
	isCell := func(op opcode) bool { return op == opGet || op == opSet }
	return f.publish || slices.ContainsFunc(f.ops, isCell) || slices.ContainsFunc(f.inner, isCell)
}

// explorations returns the options that p is explored with.
func (p *program) explorations() []interleave.Options {
	var list []interleave.Options
	for _, bound := range []int{interleave.None, 1, 2, 3, interleave.All} {
		if p.family.deep {
			break
		}
		list = append(list, interleave.Options{Preemptions: bound})
	}
	if !p.family.timeouts {
		list = append(list, interleave.Options{Preemptions: interleave.All, Reduce: true})
	}
	if !p.family.deep {
		list = append(list, interleave.Options{}) // deepens
	}
	list = append(list,
		interleave.Options{Strategy: interleave.PCT, Seed: 1},
		interleave.Options{Strategy: interleave.Random, Seed: 2})
	for i := range list {
		o := &list[i]
		o.Rounds = int(p.rounds)
		if p.rounds == 0 {
			o.Rounds = interleave.None
		}
		o.Timeouts = p.family.timeouts
		o.Executions = maxExecutions
		if o.Strategy != interleave.DFS {
			o.Executions = 20
		}
		if p.family.crash {
			o.Crash = threadNames[0]
		}
	}
	return list
}

// disagreement explores p at each bound and compares the outcomes with those of the
// enumerator. It returns the first difference, or an empty string.
func (p *program) disagreement(a *tally) string {
	a.programs++
	e := enumerate(p, maxStates, most)
	must := e // the outcomes that an exploration must have
	if e != nil && e.blind {
		must = enumerate(p, maxStates, least)
	}
	if e == nil || must == nil {
		a.partial++
		return ""
	}
	a.outcomes += len(e.costs)
	var free *enumerator // in mode unlimited
	isPartial := false
	for _, o := range p.explorations() {
		bound := o.Preemptions
		switch {
		case bound == interleave.None:
			bound = 0
		case bound == interleave.All || bound == 0:
			bound = math.MaxInt
		}
		within := func(x outcome) bool {
			cost, ok := e.costs[x]
			return ok && cost <= bound
		}
		name := fmt.Sprintf("%v preemptions=%d reduce=%t", o.Strategy, o.Preemptions, o.Reduce)
		seen := map[outcome]bool{}
		invented := ""
		r := interleave.Explore(o, p.body(func(x outcome) {
			if seen[x] {
				return
			}
			if !within(x) && invented == "" {
				invented = x.String()
			}
			seen[x] = true
		}))
		a.executions += r.Executions + r.Pruned
		if invented != "" {
			return name + ": invented " + invented
		}
		deepens := o.Strategy == interleave.DFS && o.Preemptions == 0
		if f := r.Failure; f != nil {
			switch {
			case f.Kind == interleave.Misuse && !o.Reduce && within(outcome{end: inBlindWait}):
				a.blindWaits++
			case f.Kind == interleave.Deadlock && within(outcome{end: inDeadlock}):
				a.deadlocks++
			case f.Kind == interleave.Race && within(outcome{end: inRace}):
				a.races++
			case f.Kind == interleave.Misuse && o.Reduce && (e.blind || within(outcome{end: inRace})):
				// The reduction does not know the steps that end the wait of a
				// thread that has read nothing. The enumerator does not look at the
				// Yields of a state in which a race has ended the execution.
			default:
				return name + ": invented " + f.Error()
			}
			low, high := e.leastFailure(), must.leastFailure()
			if deepens && r.Searches[len(r.Searches)-1].Strategy == interleave.DFS && (f.Preemptions < low || f.Preemptions > high) {
				return fmt.Sprintf("%s: the first failure has %d preemptions, and the least number is %d to %d", name, f.Preemptions, low, high)
			}
			continue
		}
		if o.Strategy != interleave.DFS {
			continue // PCT and Random may miss outcomes
		}
		if !r.Complete {
			isPartial = true
			continue
		}
		if o.Reduce && e.blind {
			return name + ": a Yield without reads is not refused"
		}
		if deepens && r.Preemptions != interleave.All {
			bound = r.Preemptions
		}
		var missed []string
		for x, cost := range must.costs {
			if cost <= bound && !seen[x] {
				missed = append(missed, x.String())
			}
		}
		if missed != nil {
			slices.Sort(missed)
			return fmt.Sprintf("%s: missed %d of %d outcomes, the first is %s", name, len(missed), len(must.costs), missed[0])
		}
		// A thread that waits at a blind Yield need not be held back.
		isHeld := must.held >= 0 && must.held <= bound
		isUntimed := must.untimed >= 0 && must.untimed <= bound
		wasHeld := slices.Contains(r.Assumes, fmt.Sprintf("rounds=%d", p.rounds))
		if wasHeld != isHeld && (wasHeld || !e.blind) {
			return fmt.Sprintf("%s: assumes %q, and a thread is held back: %t", name, r.Assumes, isHeld)
		}
		if slices.Contains(r.Assumes, "timeouts=off") != isUntimed || slices.Contains(r.Assumes, "reduce=on") != o.Reduce {
			return fmt.Sprintf("%s: assumes %q, and a timed wait does not time out: %t", name, r.Assumes, isUntimed)
		}
		// Loops whose rounds only load lose nothing if a thread is held back.
		if wasHeld && !p.family.pure || isUntimed || !p.family.yields && !p.family.timeouts {
			continue
		}
		if free == nil {
			free = enumerate(p, maxStates, unlimited)
		}
		if free == nil {
			isPartial = true
			continue
		}
		for x, cost := range free.costs {
			if cost <= bound && !seen[x] {
				return fmt.Sprintf("%s: missed %s, and a thread is held back: %t", name, x, wasHeld)
			}
		}
	}
	if isPartial {
		a.partial++
	}
	return ""
}

// leastFailure returns the least number of preemptions of an execution that fails, or
// math.MaxInt if none fails.
func (e *enumerator) leastFailure() int {
	cost := math.MaxInt
	for o, c := range e.costs {
		if o.end != atEnd {
			cost = min(cost, c)
		}
	}
	return cost
}

// smaller returns the programs that lack one part of p.
func (p *program) smaller() []*program {
	var list []*program
	with := func(threads []progThread) {
		list = append(list, &program{family: p.family, threads: threads, tokens: p.tokens, limits: p.limits, rounds: p.rounds})
	}
	for i := range p.threads {
		if len(p.threads) > 1 {
			with(slices.Delete(slices.Clone(p.threads), i, i+1))
		}
		for _, stmts := range smallerStmts(p.threads[i].stmts) {
			threads := slices.Clone(p.threads)
			threads[i].stmts = stmts
			with(threads)
		}
	}
	return list
}

// smallerStmts returns the lists of statements that lack one statement of list.
func smallerStmts(list []stmt) [][]stmt {
	var all [][]stmt
	for i, s := range list {
		all = append(all, slices.Delete(slices.Clone(list), i, i+1))
		for _, body := range smallerStmts(s.body) {
			smaller := slices.Clone(list)
			smaller[i].body = body
			all = append(all, smaller)
		}
		if s.op.hasBody() {
			all = append(all, slices.Concat(list[:i], s.body, list[i+1:]))
		}
	}
	return all
}

// minimize removes parts of p as long as the comparison still finds a difference.
// It returns the smallest program and its difference.
func (p *program) minimize(difference string) (*program, string) {
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		found := false
		for _, q := range p.smaller() {
			q.compile()
			if d := q.disagreement(new(tally)); d != "" {
				p, difference, found = q, d, true
				break
			}
		}
		if !found {
			break
		}
	}
	return p, difference
}

// compareOne compares the program of a seed. It returns a report of a difference, or an
// empty string.
func compareOne(f *family, seed uint64, size float64, a *tally) string {
	p := generateProgram(f, seed, size)
	d := p.disagreement(a)
	if d == "" {
		return ""
	}
	small, smallD := p.minimize(d)
	return fmt.Sprintf("seed %d: %s\n%vthe smallest program with a difference: %s\n%v", seed, d, p, smallD, small)
}

// programsPerFamily returns the number of programs of one family in a normal run.
func programsPerFamily() int {
	n := 10_000
	if testing.Short() || interleave.RaceBuild {
		n = 1000
	}
	return (n + len(families) - 1) / len(families)
}

const normalSize = 300 // chosen: 10,000 programs take about 30 s of processor time

// TestOutcomesEqualEnumeration: an exploration has the outcomes that the enumerator
// finds for the same program and bound, and no others. A reduction changes none.
func TestOutcomesEqualEnumeration(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			var a tally
			for seed := range uint64(programsPerFamily()) {
				if d := compareOne(f, seed, normalSize, &a); d != "" {
					t.Fatal(d)
				}
			}
			t.Log(&a)
			if why := a.fault(f); why != "" {
				t.Errorf("%s: %v", why, &a)
			}
		})
	}
}

// TestTallyNeedsContent: a comparison that leaves out programs is a fault. So is one of programs
// that could race or block, and never do.
func TestTallyNeedsContent(t *testing.T) {
	plain, cells, blocks := &family{ops: wordOps}, &family{ops: wordOps, inner: inCells}, &family{ops: lockOps, blocks: true}
	for _, tc := range []struct {
		f    *family
		a    tally
		want string
	}{
		{plain, tally{programs: 300, outcomes: 301, partial: 6}, ""},
		{plain, tally{programs: 300, outcomes: 301, partial: 7}, "too many programs are compared in part"},
		{plain, tally{programs: 10, partial: 1}, "too many programs are compared in part"},
		{plain, tally{programs: 10}, ""},
		{plain, tally{programs: 300, outcomes: 300}, "the programs have hardly more than one outcome each"},
		{cells, tally{programs: 300, outcomes: 900, races: 1}, ""},
		{cells, tally{programs: 300, outcomes: 900, deadlocks: 1}, "no program has a race"},
		{blocks, tally{programs: 300, outcomes: 900, deadlocks: 1}, ""},
		{blocks, tally{programs: 300, outcomes: 900, races: 1}, "no program has a deadlock"},
	} {
		if got := tc.a.fault(tc.f); got != tc.want {
			t.Errorf("%v: got %q, want %q", &tc.a, got, tc.want)
		}
	}
}

// TestGeneratedOutcomesEqualEnumeration compares programs of random seeds, which are
// larger in part.
func TestGeneratedOutcomesEqualEnumeration(t *testing.T) {
	var a tally
	defer func() {
		t.Log(&a)
		if a.programs >= enoughPrograms && a.partial*mostPartial > a.programs {
			t.Errorf("too many programs are compared in part: %v", &a)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		f := families[rapid.IntRange(0, len(families)-1).Draw(t, "family")]
		seed := rapid.Uint64().Draw(t, "seed")
		size := rapid.SampledFrom([]float64{normalSize, normalSize, normalSize, 5 * normalSize}).Draw(t, "size")
		if d := compareOne(f, seed, size, &a); d != "" {
			t.Fatal(d)
		}
	})
}
