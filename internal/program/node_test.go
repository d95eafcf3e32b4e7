//go:build interleave

package program_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A node is a task of a generated program. It runs its children in one of the modes,
// and may fail when another task or a caller waits for it.
type node struct {
	id       int
	mode     mode
	fails    failing
	again    bool    // it schedules itself once more before it runs its children
	awaited  bool    // its parent waits for it, directly or through the waiter of its parent
	needs    []*node // it holds its place until these have started
	parent   *node
	children []*node
}

// mode is how a task or an external caller runs tasks.
type mode int

const (
	modeSchedule mode = iota
	modeEach
	modeExternal
	modeBatch
	modeExternalBatch
	modeBlockingFirst
	modeBlockingUntil
	modeHold
	modeJoin
	modeWait
	modeWaitUnknown
	modeWaitContext
	modeFuncs
	modeDo
	modeRun
	modeCancel
)

var modeNames = [...]string{
	modeSchedule:      "Schedule",
	modeEach:          "Schedule one by one",
	modeExternal:      "Scheduler.Schedule",
	modeBatch:         "ScheduleBatch",
	modeExternalBatch: "Scheduler.ScheduleBatch",
	modeBlockingFirst: "Blocking, then Schedule",
	modeBlockingUntil: "Schedule, then Blocking until all have started",
	modeHold:          "Schedule, then wait on the place until one has started",
	modeJoin:          "Group.Schedule in its own group",
	modeWait:          "Group.Schedule, Wait",
	modeWaitUnknown:   "Group.ScheduleBatch, Wait without a worker",
	modeWaitContext:   "Group.Schedule, WaitContext",
	modeFuncs:         "Group.Go, Wait",
	modeDo:            "Do",
	modeRun:           "Run until the context ends",
	modeCancel:        "end the context",
}

// awaits reports whether a node with this mode waits for the end of its children.
func (v mode) awaits() bool { return v >= modeWait && v <= modeDo }

// groups reports whether the tasks are counted in a Group that other tasks can join.
func (v mode) groups() bool { return v >= modeJoin && v <= modeWaitContext }

// failing is how a task ends.
type failing int

const (
	succeeds failing = iota
	panics
	exits
	errs // functions only
)

func (f failing) String() string { return [...]string{"", " panics", " exits", " fails"}[f] }

// String returns the node as "1 panics {Do: 2, 3}".
func (nd *node) String() string {
	s := fmt.Sprint(nd.id) + nd.fails.String()
	if nd.again {
		s += " again"
	}
	if nd.needs != nil {
		s += " (holds its place until all others have started)"
	}
	if len(nd.children) > 0 {
		s += " {" + listed(nd.mode, nd.children) + "}"
	}
	return s
}

// GoString formats a node for the list of draws that rapid logs.
func (nd *node) GoString() string {
	if nd.id < 0 {
		return listed(nd.mode, nd.children)
	}
	return nd.String()
}

func listed(v mode, children []*node) string {
	var names []string
	for _, k := range children {
		names = append(names, k.String())
	}
	return strings.TrimSuffix(modeNames[v]+": "+strings.Join(names, ", "), ": ")
}

// members returns the tasks that a wait for the children of nd waits for.
func (nd *node) members() (nds []*node) {
	for _, k := range nd.children {
		nds = append(nds, k)
		if k.mode == modeJoin {
			nds = append(nds, k.members()...)
		}
	}
	return nds
}

// mayExit reports whether Goexit may unwind the goroutine that runs the node.
func (nd *node) mayExit() bool {
	return nd.fails == exits || nd.mode.awaits() && slices.ContainsFunc(nd.children, (*node).mayExit)
}

// under reports whether top waits for nd, directly or through other tasks. Only then
// may nd run on the stack of top.
func (nd *node) under(top *node) bool {
	for ; nd.awaited; nd = nd.parent {
		if nd.parent == top {
			return true
		}
	}
	return false
}

// A program is the sequence of calls that several threads make on a scheduler.
type program struct {
	workers  int
	observed bool      // Config.OnPanic is set
	warm     bool      // all workers are about to park when the callers begin
	failures int       // bit i: call i of the Spawner fails
	callers  [][]*node // by thread: its calls, as nodes that are no tasks
	closer   []end     // calls of one more thread
	last     end       // called when all threads have ended

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
	failings  = rapid.SampledFrom([]failing{succeeds, succeeds, succeeds, succeeds, panics, exits, errs})
	innerMode = rapid.Map(rapid.IntRange(0, int(modeDo)+3), func(n int) mode {
		if n > int(modeDo) {
			return modeJoin // it needs a parent in a group
		}
		return mode(n)
	})

	leafs    = nodes(nil, 0, 2)
	branches = nodes(leafs, 0, 3)
	roots    = nodes(branches, 1, 2)

	callerMode = rapid.SampledFrom([]mode{
		modeSchedule, modeSchedule, modeDo, modeDo, modeBatch, modeWait, modeWaitUnknown, modeFuncs, modeRun, modeWaitContext, modeEach, modeCancel,
	})
	calls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *node {
		c := &node{id: -1, mode: callerMode.Draw(t, "call")}
		if c.mode < modeRun {
			c.children = roots.Draw(t, "tasks")
		}
		return c
	}), 1, 3)
	callers = rapid.SliceOfN(calls, 1, 3)
	closers = rapid.SliceOfN(rapid.SampledFrom([]end{endShutdown, endClose, endShutdownContext, endJoin}), 1, 2)
	lasts   = rapid.SampledFrom([]end{endNothing, endNothing, endShutdown, endClose})
)

// nodes generates from least to most nodes with children from the given generator.
func nodes(children *rapid.Generator[[]*node], least, most int) *rapid.Generator[[]*node] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *node {
		nd := &node{fails: failings.Draw(t, "fails")}
		if children == nil {
			return nd
		}
		if nd.children = children.Draw(t, "children"); len(nd.children) > 0 {
			nd.mode = innerMode.Draw(t, "mode")
		}
		nd.again = rapid.IntRange(0, 7).Draw(t, "again") == 7
		return nd
	}), least, most)
}

// generateProgram generates a program and removes what the promises of the scheduler
// exclude.
func generateProgram(t *rapid.T) *program {
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
		p.last = endShutdown // a caller whose Schedule reports that no worker runs does not schedule again
	}
	for _, calls := range p.callers {
		for _, c := range calls {
			p.normalize(c)
		}
	}
	if p.closer == nil && p.last != endClose && p.failures == 0 {
		p.hold(t)
	}
	return p
}

// hold makes one task hold its place until all tasks have started that do not depend on
// it. It tests the law that no task stays queued while a worker is parked. At most all
// places but one are held this way.
func (p *program) hold(t *rapid.T) {
	if p.workers < 2 || p.holders > 0 || rapid.IntRange(0, 3).Draw(t, "hold") == 0 {
		return
	}
	var tasks []*node
	p.each(func(nd *node) {
		if nd.fails == exits { // an exit might end a caller before its other calls
			nd.fails = succeeds
		}
		if nd.id >= 0 && nd.parent.mode != modeFuncs {
			tasks = append(tasks, nd)
		}
	})
	if len(tasks) == 0 {
		return
	}
	h := rapid.SampledFrom(tasks).Draw(t, "holder")
	for _, calls := range p.callers {
		for _, c := range calls {
			if c.mode != modeWaitContext { // its group may skip tasks
				h.needs = append(h.needs, c.without(h)...)
			}
			if c.mode == modeRun || h.under(c) {
				break // the later calls follow when this one has ended
			}
		}
	}
}

// without returns the tasks below nd, except for h and the tasks below h.
func (nd *node) without(h *node) (tasks []*node) {
	for _, k := range nd.children {
		if k != h {
			tasks = append(append(tasks, k), k.without(h)...)
		}
	}
	return tasks
}

// awaitsExit reports whether a task below nd exits. If that runs on top of the wait of nd, nd ends as
// well.
func (nd *node) awaitsExit() bool {
	return slices.ContainsFunc(nd.children, func(k *node) bool { return k.fails == exits || k.awaitsExit() })
}

// each calls fn for all calls and tasks.
func (p *program) each(fn func(*node)) {
	var visit func(nds []*node)
	visit = func(nds []*node) {
		for _, nd := range nds {
			fn(nd)
			visit(nd.children)
		}
	}
	for _, calls := range p.callers {
		visit(calls)
	}
}

// normalize numbers the tasks below nd and keeps the program within the promises of the
// scheduler.
func (p *program) normalize(nd *node) {
	dropping := p.last == endClose || slices.Contains(p.closer, endClose)
	if p.failures != 0 || dropping || p.workers == 1 && nd.mode == modeHold {
		// A task that waits outside Blocking or a Wait relies on another worker.
		if nd.mode == modeBlockingUntil || nd.mode == modeHold {
			nd.mode = modeBlockingFirst
		}
	}
	if nd.mode == modeJoin && !(nd.awaited && nd.parent.mode.groups()) {
		nd.mode = modeSchedule
	}
	nd.children = nd.children[:min(len(nd.children), maxTasks-p.size)]
	if nd.mode == modeHold && len(nd.children) > 0 {
		if p.holders++; p.holders >= p.workers {
			nd.mode = modeBlockingUntil
		}
	}
	for _, k := range nd.children {
		k.parent = nd
		k.awaited = nd.mode.awaits() || nd.mode == modeJoin
		k.again = k.again && !k.awaited
		if !k.awaited || k.fails == errs && nd.mode != modeFuncs {
			k.fails = succeeds
		}
		if nd.mode == modeJoin && k.fails == exits {
			k.fails = succeeds
		}
		if nd.mode == modeFuncs {
			k.children = nil // a function has no worker
		}
		k.id = p.size
		p.size++
	}
	for _, k := range nd.children {
		p.normalize(k)
	}
}

// String returns the program, one thread a line.
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
			b.WriteString(" " + listed(c.mode, c.children))
		}
	}
	if p.closer != nil {
		fmt.Fprintf(&b, "\n  closer: %v", p.closer)
	}
	fmt.Fprintf(&b, "\n  at the end: %v", p.last)
	return b.String()
}
