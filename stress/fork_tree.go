package stress

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

// A forkTree is a tree of bodies that was read from a script, and the record of its one
// computation. ForkJoin computes it in one of the forms. Some nodes are computations of
// other forms.
type forkTree struct {
	p        *forkRun
	failRate int // of 256 bodies, this many fail
	root     *forkNode
	nodes    []*forkNode
	comp     forkComputation

	ctx    context.Context // nil, or of all computations of the tree
	cancel context.CancelCauseFunc

	computed atomic.Int32 // computations
	cut      atomic.Int32 // bodies that returned early because the context had ended
	done     chan struct{}
}

// A forkComputation is what the bodies of one computation share.
type forkComputation struct {
	form    forkForm
	running atomic.Int32 // bodies
	ended   atomic.Bool
}

// A forkNode is a body. It runs its first child itself and forks the others.
type forkNode struct {
	t        *forkTree
	comp     *forkComputation
	id       int32
	action   forkAction
	spins    int
	fails    nodeFailure
	step     int // after which it fails
	children []*forkNode
	begun    chan struct{} // closed by the first run of the body

	value     uint64 // the result of a sequential run
	mayFail   bool   // a failure of this node or of one below leaves this node
	mayExit   bool
	mayNotRun bool // it is below a computation whose panic is caught

	ran atomic.Int32
}

// forkForm is how a computation forks and joins.
type forkForm uint8

const (
	formSlots    forkForm = iota // Push, Wanted, Promote, TakeBack, Await
	formPointers                 // Fork, TakeBackPointer, Await
	formJoin2
	formScope // like formScopeOf, it has no context
	formScopeOf
	forkForms
)

var formNames = [forkForms]string{"slots", "pointers", "join2", "scope", "scope-of"}

// forkAction is what a body does while its forks are open.
type forkAction uint8

const (
	actionSpin forkAction = iota
	actionYield
	actionBlock
	actionBlockUntil // until another worker has begun the first fork
	actionSchedule
	actionWait
	actionWaitUnknown
	actionDo
	actionCancel
	actionNested // the children are computations of their own, in another form
	actionCatch  // as actionNested, and a panic of the computation is caught
	forkActions
)

var actionNames = [forkActions]string{
	"spin", "yield", "block", "block-until", "schedule", "wait", "wait-unknown", "do", "cancel", "nested", "catch",
}

// Bounds of a tree.
const (
	maxForkDepth  = 12
	maxForkBodies = 400
	maxForkText   = 60 // bodies; a larger tree is not printed
)

// readForkTree reads a tree from a script. Each node, apart from the leaves, uses at
// least one byte.
func readForkTree(p *forkRun, script []byte) *forkTree {
	t := &forkTree{p: p, done: make(chan struct{})}
	rest := script
	t.comp.form = forkForm(choose(&rest, int(forkForms)))
	t.failRate = [...]int{0, 0, 4, 32}[choose(&rest, 4)]
	t.root = t.readNode(&rest, &t.comp, maxForkDepth, false)
	return t
}

// choose reads a number below n from a script. It returns 0 at the end of the script.
func choose(script *[]byte, n int) int {
	if len(*script) == 0 {
		return 0
	}
	b := (*script)[0]
	*script = (*script)[1:]
	return int(b) % n
}

// readNode reads a node and its children. caught states that a node above catches
// panics.
func (t *forkTree) readNode(script *[]byte, comp *forkComputation, depth int, caught bool) *forkNode {
	n := &forkNode{t: t, comp: comp, id: int32(len(t.nodes)), begun: make(chan struct{})}
	t.nodes = append(t.nodes, n)
	if what := choose(script, 64); what < 2*int(forkActions) { // all other numbers mean actionSpin
		n.action = forkAction(what / 2)
	}
	n.spins = choose(script, 200)
	if fate := choose(script, 256); fate > 0 && fate < t.failRate {
		n.fails, n.step = nodePanics+nodeFailure(fate/2%2), fate%3
	}
	if n.fails == nodeExits && (caught || t.p.withoutWorker) {
		n.fails = nodePanics // an exit would end the goroutine of a caller that runs its tasks itself
	}
	if n.action == actionBlockUntil && (t.p.withoutWorker || t.p.ends || comp.form == formJoin2) {
		n.action = actionBlock // no worker may begin the fork, or nothing is forked
	}
	var inner forkForm
	if n.nests() {
		inner = forkForm(choose(script, int(forkForms)))
	}
	if depth > 0 {
		for range choose(script, 5) {
			if len(*script) == 0 || len(t.nodes) >= maxForkBodies {
				break
			}
			if n.nests() {
				comp = &forkComputation{form: inner}
			}
			n.children = append(n.children, t.readNode(script, comp, depth-1, caught || n.action == actionCatch))
		}
	}
	n.predict()
	return n
}

// nests reports whether the children of n are computations of their own.
func (n *forkNode) nests() bool { return n.action >= actionNested }

// predict computes the expected result of n and how n may fail.
func (n *forkNode) predict() {
	below := false // a child may fail
	var values []uint64
	for _, c := range n.children {
		values = append(values, c.value)
		below = below || c.mayFail
		n.mayExit = n.mayExit || c.mayExit
	}
	n.mayExit = n.mayExit || n.fails == nodeExits
	n.mayFail = n.fails != nodeReturns || below && n.action != actionCatch
	if n.action == actionCatch && below {
		values = caughtValues
		for _, c := range n.children {
			c.each(func(o *forkNode) { o.mayNotRun = true })
		}
	}
	n.value = n.sum(values)
}

// caughtValues stands for the results of computations of which a panic was caught.
var caughtValues = []uint64{0xbad}

// sum returns the result of n for the given results of its children.
func (n *forkNode) sum(children []uint64) uint64 {
	v := uint64(n.id) + 1
	for _, c := range children {
		v = (v ^ c) * 0x9e3779b97f4a7c15
		v ^= v >> 29
	}
	return v
}

// each calls fn for n and all nodes below it.
func (n *forkNode) each(fn func(*forkNode)) {
	fn(n)
	for _, c := range n.children {
		c.each(fn)
	}
}

// String returns the tree, one node a line.
func (t *forkTree) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", formNames[t.comp.form])
	var write func(n *forkNode, indent int)
	write = func(n *forkNode, indent int) {
		fmt.Fprintf(&b, "%*s%d %s", 2*indent, "", n.id, actionNames[n.action])
		if n.nests() && len(n.children) > 0 {
			fmt.Fprintf(&b, " %s", formNames[n.children[0].comp.form])
		}
		switch n.fails {
		case nodePanics:
			fmt.Fprintf(&b, ", panics after step %d", n.step)
		case nodeExits:
			fmt.Fprintf(&b, ", exits after step %d", n.step)
		}
		b.WriteByte('\n')
		for _, c := range n.children {
			write(c, indent+1)
		}
	}
	write(t.root, 1)
	return b.String()
}

// failf records a violation with the tree.
func (t *forkTree) failf(format string, args ...any) {
	text := t.String()
	if len(t.nodes) > maxForkText {
		text = fmt.Sprintf("%s, %d bodies\n", formNames[t.comp.form], len(t.nodes))
	}
	t.p.r.Errorf("%s\nMaxWorkers %d, Spawner may fail: %v, with a context: %v:\n%s",
		fmt.Sprintf(format, args...), t.p.s.MaxWorkers(), t.p.withoutWorker, t.ctx != nil, text)
}

// compute computes the tree and checks how the computation ends. It catches a panic but
// not a Goexit.
func (t *forkTree) compute() {
	if t.computed.Add(1) > 1 {
		t.failf("computed twice")
		return
	}
	defer close(t.done)
	var result uint64
	var err error
	returned := false
	defer func() { t.checkResult(returned, result, err, recover()) }()
	result, err = t.root.join()
	returned = true
}

// join computes n as a computation of its own.
func (n *forkNode) join() (result uint64, err error) {
	comp := n.comp
	defer func() {
		comp.ended.Store(true)
		if left := comp.running.Load(); left != 0 {
			n.t.failf("a computation has ended while %d bodies of it run", left)
		}
	}()
	return joinIn(comp.form, n.t, n)
}

// checkResult checks the end of the computation: its results or its panic.
func (t *forkTree) checkResult(returned bool, result uint64, err error, raised any) {
	t.p.r.programs.Add(1)
	t.p.r.did(len(t.nodes))
	if err != nil && (t.ctx == nil || err != context.Cause(t.ctx)) { //nolint:errorlint // it has to be this error itself
		t.failf("ForkJoinContext: %v", err)
	}
	cut := t.cut.Load() > 0 || err != nil && t.root.ran.Load() == 0
	if cut && err == nil && returned && t.comp.form < formScope {
		t.failf("bodies saw that the context had ended, and ForkJoinContext returned no error")
	}
	switch from := raisedBy(raised); {
	case returned && !cut:
		if t.root.mayFail {
			t.failf("a body fails, and ForkJoin has returned")
		} else if result != t.root.value {
			t.failf("the result is %#x, want %#x", result, t.root.value)
		}
	case returned:
	case raised == nil:
		if !t.root.mayExit {
			t.failf("the caller of ForkJoin was ended by Goexit")
		}
	case from == nil || from.t != t || from.fails != nodePanics || from.mayNotRun || from.ran.Load() != 1:
		t.failf("ForkJoin raised %v", raised)
	}
	for _, n := range t.nodes {
		if ran := n.ran.Load(); ran > 1 || ran == 0 && returned && !cut && !n.mayNotRun {
			t.failf("body %d ran %d times", n.id, ran)
			return
		}
	}
}

// raisedBy returns the node whose panic p is, or nil.
func raisedBy(p any) *forkNode {
	if pe, ok := p.(*sched.PanicError); ok {
		p = pe.Value
		if !strings.Contains(string(pe.Stack), "forkNode).fail(") { // not the stack of the body
			return nil
		}
	}
	n, _ := p.(*forkNode)
	return n
}

// run is the body of n. w is the worker that runs it. spread runs the children and
// calls between while some of them are forked.
func (n *forkNode) run(w *sched.Worker, cancelled bool, spread func(children []*forkNode, between func()) []uint64) uint64 {
	t := n.t
	n.comp.running.Add(1)
	defer n.comp.running.Add(-1)
	if n.comp.ended.Load() {
		t.failf("body %d runs after the end of its computation", n.id)
	}
	if n.ran.Add(1) == 1 {
		close(n.begun)
	}
	if w.Scheduler() != t.p.s {
		t.failf("body %d runs on another scheduler", n.id)
	}
	if cancelled {
		t.cut.Add(1)
		if t.ctx == nil || t.ctx.Err() == nil {
			t.failf("body %d is cancelled, and its context has not ended", n.id)
		}
		return 0
	}
	n.fail(0)
	var results []uint64
	if n.nests() {
		n.fail(1)
		results = n.nest()
	} else {
		results = spread(n.children, func() {
			n.act(w)
			n.fail(1)
		})
	}
	n.fail(2)
	return n.sum(results)
}

// fail fails if n fails after this step.
func (n *forkNode) fail(step int) {
	if n.step != step {
		return
	}
	switch n.fails {
	case nodePanics:
		n.t.p.r.faults.panics.Add(1)
		panic(n)
	case nodeExits:
		n.t.p.r.faults.goexits.Add(1)
		runtime.Goexit()
	}
}

// nest computes each child of n as a computation of its own, one after the other.
func (n *forkNode) nest() (results []uint64) {
	if n.action == actionCatch {
		defer func() {
			raised := recover()
			if raised == nil {
				return
			}
			results = caughtValues
			from := raisedBy(raised)
			if from == nil || !slices.ContainsFunc(n.children, func(c *forkNode) bool { return c.mayFail }) || from.ran.Load() != 1 {
				n.t.failf("a computation in body %d raised %v", n.id, raised)
			}
		}()
	}
	for _, c := range n.children {
		result, err := c.join()
		if err != nil && c.ran.Load() == 0 {
			n.t.cut.Add(1)
		}
		results = append(results, result)
	}
	return results
}

// act does the action of n.
func (n *forkNode) act(w *sched.Worker) {
	p := n.t.p
	for range n.spins {
		spinSink.Add(1)
	}
	switch n.action {
	case actionYield:
		runtime.Gosched()
	case actionBlock:
		p.r.faults.blocks.Add(1)
		inside := runtime.Gosched
		if n.spins%2 == 1 {
			inside = func() {
				w.Blocking(runtime.Gosched)
				if id := w.ID(); id >= 0 {
					n.t.failf("body %d has the place %d inside Blocking", n.id, id)
				}
			}
		}
		w.Blocking(inside)
	case actionBlockUntil:
		if len(n.children) < 2 || w.ID() < 0 { // without a place, the body runs its forks itself
			break
		}
		p.r.faults.blocks.Add(1)
		w.Blocking(func() { <-n.children[1].begun })
	case actionSchedule:
		p.schedule(w.Schedule, 1+n.spins%3, nil)
	case actionWait:
		var g sched.Group
		p.await(&g, w, 1+n.spins%3, func() error { return w.Wait(&g) })
	case actionWaitUnknown:
		g := p.s.NewGroup(sched.GroupConfig{})
		p.await(g, nil, 1+n.spins%3, g.Wait)
	case actionDo:
		var ran atomic.Bool
		p.waited(p.s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Store(true) }}), ran.Load)
	case actionCancel:
		if n.t.cancel != nil {
			p.r.faults.cancels.Add(1)
			n.t.cancel(errForkCancel)
		}
	}
}

// spinSink is the target of bodies that spin.
var spinSink atomic.Uint64
