//go:build interleave

package program_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A twig is a task of a drawn program. It runs its kids in one of the ways there
// are, and may fail when somebody awaits it.
type twig struct {
	id      int
	way     way
	fails   failing
	again   bool    // it schedules itself once more before it does anything
	awaited bool    // its parent waits for it, or whoever waits for its parent
	needs   []*twig // it keeps its place until these have started
	parent  *twig
	kids    []*twig
}

// way is how a task, or an outside thread, runs tasks.
type way int

const (
	waySchedule way = iota
	wayEach
	wayOutside
	wayBatch
	wayOutsideBatch
	wayBlockingFirst
	wayBlockingUntil
	wayHold
	wayJoin
	wayWait
	wayWaitUnknown
	wayWaitContext
	wayFuncs
	wayDo
	wayRun
	wayCancel
)

var wayNames = [...]string{
	waySchedule:      "Schedule",
	wayEach:          "Schedule one by one",
	wayOutside:       "Scheduler.Schedule",
	wayBatch:         "ScheduleBatch",
	wayOutsideBatch:  "Scheduler.ScheduleBatch",
	wayBlockingFirst: "Blocking, then Schedule",
	wayBlockingUntil: "Schedule, then Blocking until all have started",
	wayHold:          "Schedule, then wait on the place until one has started",
	wayJoin:          "Group.Schedule in its own group",
	wayWait:          "Group.Schedule, Wait",
	wayWaitUnknown:   "Group.ScheduleBatch, Wait without a worker",
	wayWaitContext:   "Group.Schedule, WaitContext",
	wayFuncs:         "Group.Go, Wait",
	wayDo:            "Do",
	wayRun:           "Run until the context ends",
	wayCancel:        "end the context",
}

// awaits reports whether who takes this way waits for the end of the tasks.
func (v way) awaits() bool { return v >= wayWait && v <= wayDo }

// groups reports whether the tasks are counted in a Group that tasks can join.
func (v way) groups() bool { return v >= wayJoin && v <= wayWaitContext }

// failing is how a task ends.
type failing int

const (
	succeeds failing = iota
	panics
	exits
	errs // functions only
)

func (f failing) String() string { return [...]string{"", " panics", " exits", " fails"}[f] }

// String writes the twig as "1 panics {Do: 2, 3}".
func (tw *twig) String() string {
	s := fmt.Sprint(tw.id) + tw.fails.String()
	if tw.again {
		s += " again"
	}
	if tw.needs != nil {
		s += " (keeps its place until all others have started)"
	}
	if len(tw.kids) > 0 {
		s += " {" + listed(tw.way, tw.kids) + "}"
	}
	return s
}

// GoString is for the list of draws that rapid logs.
func (tw *twig) GoString() string {
	if tw.id < 0 {
		return listed(tw.way, tw.kids)
	}
	return tw.String()
}

func listed(v way, kids []*twig) string {
	var names []string
	for _, k := range kids {
		names = append(names, k.String())
	}
	return strings.TrimSuffix(wayNames[v]+": "+strings.Join(names, ", "), ": ")
}

// members returns the tasks that a wait for those of tw waits for.
func (tw *twig) members() (tws []*twig) {
	for _, k := range tw.kids {
		tws = append(tws, k)
		if k.way == wayJoin {
			tws = append(tws, k.members()...)
		}
	}
	return tws
}

// mayExit reports whether the goroutine that runs the twig may unwind.
func (tw *twig) mayExit() bool {
	return tw.fails == exits || tw.way.awaits() && slices.ContainsFunc(tw.kids, (*twig).mayExit)
}

// under reports whether top waits for tw, directly or through others: only then
// may tw run on its stack.
func (tw *twig) under(top *twig) bool {
	for ; tw.awaited; tw = tw.parent {
		if tw.parent == top {
			return true
		}
	}
	return false
}

// A program is what a few threads do with a scheduler.
type program struct {
	workers  int
	observed bool      // Config.OnPanic is set
	warm     bool      // all workers are about to park when the callers begin
	failures int       // bit i: call i of the Spawner fails
	callers  [][]*twig // threads: what they do, as twigs that are no tasks
	closer   []end     // one more thread
	last     end       // done when all threads have ended

	size    int
	holders int // tasks that wait while they hold their place
}

// end is a call that ends the scheduler.
type end int

const (
	endNothing end = iota
	endShutdown
	endShutdownContext
	endClose
	endJoin
)

func (e end) String() string {
	return [...]string{"nothing", "Shutdown", "Shutdown with the context", "Close", "Join"}[e]
}

const maxTasks = 8

// Generators.
var (
	drawFails = rapid.SampledFrom([]failing{succeeds, succeeds, succeeds, succeeds, panics, exits, errs})
	insideWay = rapid.Map(rapid.IntRange(0, int(wayDo)+3), func(n int) way {
		if n > int(wayDo) {
			return wayJoin // it needs a parent that is in a group
		}
		return way(n)
	})

	leafs    = twigs(nil, 0, 2)
	branches = twigs(leafs, 0, 3)
	roots    = twigs(branches, 1, 2)

	outsideWay = rapid.SampledFrom([]way{
		waySchedule, waySchedule, wayDo, wayDo, wayBatch, wayWait, wayWaitUnknown, wayFuncs, wayRun, wayWaitContext, wayEach, wayCancel,
	})
	calls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *twig {
		c := &twig{id: -1, way: outsideWay.Draw(t, "call")}
		if c.way < wayRun {
			c.kids = roots.Draw(t, "tasks")
		}
		return c
	}), 1, 3)
	callers = rapid.SliceOfN(calls, 1, 3)
	closers = rapid.SliceOfN(rapid.SampledFrom([]end{endShutdown, endClose, endShutdownContext, endJoin}), 1, 2)
	lasts   = rapid.SampledFrom([]end{endNothing, endNothing, endShutdown, endClose})
)

// twigs draws from least to most twigs with such kids.
func twigs(kids *rapid.Generator[[]*twig], least, most int) *rapid.Generator[[]*twig] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *twig {
		tw := &twig{fails: drawFails.Draw(t, "fails")}
		if kids == nil {
			return tw
		}
		if tw.kids = kids.Draw(t, "kids"); len(tw.kids) > 0 {
			tw.way = insideWay.Draw(t, "way")
		}
		tw.again = rapid.IntRange(0, 7).Draw(t, "again") == 7
		return tw
	}), least, most)
}

// drawProgram draws a program and takes out of it what cannot be meant.
func drawProgram(t *rapid.T) *program {
	p := &program{
		workers: 2 - rapid.IntRange(0, 2).Draw(t, "fewer")/2,
		callers: callers.Draw(t, "callers"),
		last:    lasts.Draw(t, "last"),
	}
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 3:
		p.observed = true
	case 5:
		p.failures = rapid.IntRange(1, 7).Draw(t, "failures")
	case 6, 7:
		p.closer = closers.Draw(t, "closer")
	}
	p.warm = p.failures == 0 && rapid.IntRange(0, 3).Draw(t, "warm") == 3
	if p.failures != 0 && p.last == endNothing {
		p.last = endShutdown // who is told of no worker schedules again
	}
	for _, calls := range p.callers {
		for _, c := range calls {
			p.settle(c)
		}
	}
	if p.closer == nil && p.last != endClose && p.failures == 0 {
		p.hold(t)
	}
	return p
}

// hold makes one task keep its place until all others have started that do not
// depend on it: the law that no task waits while a worker sleeps. All places but
// one may be kept so.
func (p *program) hold(t *rapid.T) {
	if p.workers < 2 || p.holders > 0 || rapid.IntRange(0, 3).Draw(t, "hold") == 0 {
		return
	}
	var tasks []*twig
	p.each(func(tw *twig) {
		if tw.fails == exits { // it might end a caller before its other calls
			tw.fails = succeeds
		}
		if tw.id >= 0 && tw.parent.way != wayFuncs {
			tasks = append(tasks, tw)
		}
	})
	if len(tasks) == 0 {
		return
	}
	h := rapid.SampledFrom(tasks).Draw(t, "holder")
	for _, calls := range p.callers {
		for _, c := range calls {
			h.needs = append(h.needs, c.without(h)...)
			if c.way == wayRun || h.under(c) {
				break // the other calls come when it has ended
			}
		}
	}
}

// without returns the tasks below tw, other than h and those below h.
func (tw *twig) without(h *twig) (tasks []*twig) {
	for _, k := range tw.kids {
		if k != h {
			tasks = append(append(tasks, k), k.without(h)...)
		}
	}
	return tasks
}

// each calls fn for all calls and tasks.
func (p *program) each(fn func(*twig)) {
	var visit func(tws []*twig)
	visit = func(tws []*twig) {
		for _, tw := range tws {
			fn(tw)
			visit(tw.kids)
		}
	}
	for _, calls := range p.callers {
		visit(calls)
	}
}

// settle numbers the tasks below tw, and keeps to what is promised.
func (p *program) settle(tw *twig) {
	dropping := p.last == endClose || slices.Contains(p.closer, endClose)
	if p.failures != 0 || dropping || p.workers == 1 && tw.way == wayHold {
		// Whoever waits without telling the scheduler relies on a worker.
		if tw.way == wayBlockingUntil || tw.way == wayHold {
			tw.way = wayBlockingFirst
		}
	}
	if tw.way == wayJoin && !(tw.awaited && tw.parent.way.groups()) {
		tw.way = waySchedule
	}
	tw.kids = tw.kids[:min(len(tw.kids), maxTasks-p.size)]
	if tw.way == wayHold && len(tw.kids) > 0 {
		if p.holders++; p.holders >= p.workers {
			tw.way = wayBlockingUntil
		}
	}
	for _, k := range tw.kids {
		k.parent = tw
		k.awaited = tw.way.awaits() || tw.way == wayJoin
		k.again = k.again && !k.awaited
		if !k.awaited || k.fails == errs && tw.way != wayFuncs {
			k.fails = succeeds
		}
		if tw.way == wayJoin && k.fails == exits {
			k.fails = succeeds
		}
		if tw.way == wayFuncs {
			k.kids = nil // a function has no worker
		}
		k.id = p.size
		p.size++
	}
	for _, k := range tw.kids {
		p.settle(k)
	}
}

// String writes the program, one thread a line.
func (p *program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "MaxWorkers %d", p.workers)
	if p.observed {
		b.WriteString(", OnPanic set")
	}
	if p.warm {
		b.WriteString(", all workers have run and park")
	}
	for i := range 3 {
		if p.failures>>i&1 != 0 {
			fmt.Fprintf(&b, ", spawn %d fails", i+1)
		}
	}
	for i, calls := range p.callers {
		fmt.Fprintf(&b, "\n  caller %d:", i)
		for j, c := range calls {
			if j > 0 {
				b.WriteString(";")
			}
			b.WriteString(" " + listed(c.way, c.kids))
		}
	}
	if p.closer != nil {
		fmt.Fprintf(&b, "\n  closer: %v", p.closer)
	}
	fmt.Fprintf(&b, "\n  at the end: %v", p.last)
	return b.String()
}
