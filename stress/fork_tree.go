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

// A forkTree is a tree of bodies that was read off a script, and the record of the
// one time it is computed: by ForkJoin, in one of the forms there are, with
// computations of other forms inside.
type forkTree struct {
	p        *forkRun
	failRate int // of 256 bodies, so many fail
	root     *forkNode
	nodes    []*forkNode
	comp     forkComputation

	ctx    context.Context // nil, or of all computations of the tree
	cancel context.CancelCauseFunc

	computed atomic.Int32 // times
	cut      atomic.Int32 // bodies that returned early, since the context had ended
	done     chan struct{}
}

// A forkComputation is what the bodies of one computation share.
type forkComputation struct {
	form    forkForm
	running atomic.Int32 // bodies
	over    atomic.Bool
}

// A forkNode is a body. It runs the first of its children itself, and forks the others.
type forkNode struct {
	t        *forkTree
	comp     *forkComputation
	id       int32
	action   forkAction
	spins    int
	fails    nodeFailure
	step     int // after which it fails
	children []*forkNode
	begun    chan struct{} // closed by the first body to run it

	value     uint64 // what a sequential run gives
	mayFail   bool   // somebody in the tree below, or this one, and nobody catches it
	mayExit   bool
	mayNotRun bool // below a computation that fails, and is caught: it may not run

	ran atomic.Int32
}

// forkForm is how a computation forks and joins.
type forkForm uint8

const (
	formSlots    forkForm = iota // Push, Wanted, Promote, TakeBack, Await
	formPointers                 // Fork, TakeBackPointer, Await
	formJoin2
	formScope // without a context, and so the next
	formScopeOf
	forkForms
)

var formNames = [forkForms]string{"slots", "pointers", "join2", "scope", "scope-of"}

// forkAction is what a body does beside, while its forks are open.
type forkAction uint8

const (
	actionSpin forkAction = iota
	actionYield
	actionBlock
	actionBlockUntil // the first fork was begun, by another worker
	actionSchedule
	actionWait
	actionWaitUnknown
	actionDo
	actionCancel
	actionNested // the children are a computation of their own, of another form
	actionCatch  // and its panic is caught
	forkActions
)

var actionNames = [forkActions]string{
	"spin", "yield", "block", "block-until", "schedule", "wait", "wait-unknown", "do", "cancel", "nested", "catch",
}

// Bounds of a tree.
const (
	maxForkDepth  = 12
	maxForkBodies = 400
	maxForkText   = 60 // bodies of a tree that is printed
)

// readForkTree makes the tree of a script. Each node but the leaves uses up a byte at
// least.
func readForkTree(p *forkRun, script []byte) *forkTree {
	t := &forkTree{p: p, done: make(chan struct{})}
	rest := script
	t.comp.form = forkForm(choose(&rest, int(forkForms)))
	t.failRate = [...]int{0, 0, 4, 32}[choose(&rest, 4)]
	t.root = t.readNode(&rest, &t.comp, maxForkDepth, false)
	return t
}

// choose takes a byte off a script.
func choose(script *[]byte, n int) int {
	if len(*script) == 0 {
		return 0
	}
	b := (*script)[0]
	*script = (*script)[1:]
	return int(b) % n
}

// readNode reads a node. caught says that somebody above catches panics.
func (t *forkTree) readNode(script *[]byte, comp *forkComputation, depth int, caught bool) *forkNode {
	n := &forkNode{t: t, comp: comp, id: int32(len(t.nodes)), begun: make(chan struct{})}
	t.nodes = append(t.nodes, n)
	if what := choose(script, 64); what < 2*int(forkActions) { // else it only spins
		n.action = forkAction(what / 2)
	}
	n.spins = choose(script, 200)
	if fate := choose(script, 256); fate > 0 && fate < t.failRate {
		n.fails, n.step = nodePanics+nodeFailure(fate/2%2), fate%3
	}
	if n.fails == nodeExits && (caught || t.p.withoutWorker) {
		n.fails = nodePanics // an exit would end the goroutine of whoever serves himself
	}
	if n.action == actionBlockUntil && (t.p.withoutWorker || t.p.ends || comp.form == formJoin2) {
		n.action = actionBlock // nobody may come, or nothing is forked
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

// predict computes what is to be expected of n.
func (n *forkNode) predict() {
	below := false // somebody fails there
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

// caughtValues are what a computation gives whose panic was caught.
var caughtValues = []uint64{0xbad}

// sum is the result of n, given those of its children.
func (n *forkNode) sum(children []uint64) uint64 {
	v := uint64(n.id) + 1
	for _, c := range children {
		v = (v ^ c) * 0x9e3779b97f4a7c15
		v ^= v >> 29
	}
	return v
}

func (n *forkNode) each(fn func(*forkNode)) {
	fn(n)
	for _, c := range n.children {
		c.each(fn)
	}
}

// String prints the tree.
func (t *forkTree) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", formNames[t.comp.form])
	var draw func(n *forkNode, indent int)
	draw = func(n *forkNode, indent int) {
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
			draw(c, indent+1)
		}
	}
	draw(t.root, 1)
	return b.String()
}

func (t *forkTree) failf(format string, args ...any) {
	text := t.String()
	if len(t.nodes) > maxForkText {
		text = fmt.Sprintf("%s, %d bodies\n", formNames[t.comp.form], len(t.nodes))
	}
	t.p.r.Errorf("%s\nMaxWorkers %d, withoutWorker %v, with a context %v:\n%s",
		fmt.Sprintf(format, args...), t.p.s.MaxWorkers(), t.p.withoutWorker, t.ctx != nil, text)
}

// compute computes the tree, and checks how that ends. A panic ends here; a Goexit
// goes on.
func (t *forkTree) compute() {
	if t.computed.Add(1) > 1 {
		t.failf("computed twice")
		return
	}
	defer close(t.done)
	var result uint64
	var err error
	returned := false
	defer func() { t.ended(returned, result, err, recover()) }()
	result, err = t.root.join()
	returned = true
}

// join computes n as a computation of its own.
func (n *forkNode) join() (result uint64, err error) {
	comp := n.comp
	defer func() {
		comp.over.Store(true)
		if left := comp.running.Load(); left != 0 {
			n.t.failf("a computation has ended while %d bodies of it run", left)
		}
	}()
	return joinIn(comp.form, n.t, n)
}

// ended checks the end of the computation: what it returned, or raised.
func (t *forkTree) ended(returned bool, result uint64, err error, raised any) {
	t.p.r.programs.Add(1)
	t.p.r.did(len(t.nodes))
	if err != nil && (t.ctx == nil || err != context.Cause(t.ctx)) { //nolint:errorlint // it is to be this one
		t.failf("ForkJoinContext: %v", err)
	}
	cut := t.cut.Load() > 0 || err != nil && t.root.ran.Load() == 0
	if cut && err == nil && returned && t.comp.form < formScope {
		t.failf("bodies saw that the context had ended, and ForkJoinContext tells nothing")
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
		if !strings.Contains(string(pe.Stack), "forkNode).fail(") { // it is not that of the body
			return nil
		}
	}
	n, _ := p.(*forkNode)
	return n
}

// run is the body of n. w is the worker that runs it; spread runs the children,
// and between while some of them are forked.
func (n *forkNode) run(w *sched.Worker, cancelled bool, spread func(children []*forkNode, between func()) []uint64) uint64 {
	t := n.t
	n.comp.running.Add(1)
	defer n.comp.running.Add(-1)
	if n.comp.over.Load() {
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
			t.failf("body %d is told of a context that has not ended", n.id)
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

// fail fails, when that is what n does after this step.
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

// nest computes each child of n in a computation of its own, one after the other.
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
		w.Blocking(runtime.Gosched)
	case actionBlockUntil:
		if len(n.children) < 2 || w.ID() < 0 { // without a place, forks are run where they are
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

// spinSink is what bodies that spin write to.
var spinSink atomic.Uint64
