package sched_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// forkAction is the action of a node of a generated computation.
type forkAction int

const (
	doNothing forkAction = iota
	doYield
	doRequest // request a fork
	doBlock   // release the place: all forks are promoted
	doNest    // run its children in a computation of its own, of another type
	doWait    // run its children in tasks, one after another
	doRecover // contain the panics of its children
	doCancel  // end the context
	doPanic
	doGoexit
)

// forkNode is a node of a generated computation. It forks all its children except the
// first, calls the first, and joins the others in reverse order.
type forkNode struct {
	action    forkAction
	value     int
	children  []*forkNode
	contained bool // a panic of this node counts as -1
	runs      atomic.Int32
}

type nodeForks = sched.Forks[*forkNode, int]

// generateForkNode returns a random tree of size nodes. If ending is doPanic or doGoexit,
// some nodes end that way.
func generateForkNode(t *rapid.T, size int, ending forkAction) *forkNode {
	n := &forkNode{value: rapid.IntRange(0, 9).Draw(t, "value")}
	if n.action = rapid.SampledFrom([]forkAction{
		doNothing, doYield, doRequest, doRequest, doBlock, doNest, doWait, doRecover, doCancel, doNothing, doRequest, doNothing,
		doNothing, doRequest, doNothing, ending,
	}).Draw(t, "action"); n.action == doPanic || n.action == doGoexit {
		return n
	}
	for size--; size > 0; {
		child := rapid.IntRange(1, size).Draw(t, "size")
		c := generateForkNode(t, child, ending)
		c.contained = n.action == doRecover
		n.children = append(n.children, c)
		size -= child
	}
	return n
}

// String shows the tree.
func (n *forkNode) String() string { return fmt.Sprint(n.action, n.children) }

// each calls fn for each node of the tree.
func (n *forkNode) each(fn func(*forkNode)) {
	fn(n)
	for _, c := range n.children {
		c.each(fn)
	}
}

// expected returns the end of a sequential run of n: a sum, or the node that panics.
func (n *forkNode) expected() (sum int, culprit *forkNode) {
	if n.action == doPanic {
		return 0, n
	}
	sum = n.value
	order := slices.Clone(n.children)
	if n.action != doNest && n.action != doWait && len(order) > 1 {
		slices.Reverse(order[1:])
	}
	for _, c := range order {
		s, culprit := c.expected()
		switch {
		case culprit == nil:
			sum += s
		case c.contained:
			sum--
		default:
			return 0, culprit
		}
	}
	return sum, nil
}

// generatedRun is a run of a generated computation.
type generatedRun struct {
	s          *sched.Scheduler
	cancel     func()
	ended      atomic.Bool
	lateBodies atomic.Int32 // bodies that were called after the end
}

// body runs the tree n. If a panic of n is contained, n runs in a computation of its own.
// Otherwise the forks of the body that panicked would stay open on this stack.
func (g *generatedRun) body(f *nodeForks, n *forkNode) (sum int) {
	if !n.contained {
		return g.runUncontained(f, n)
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := valueOf(r).(*forkNode); !ok {
				panic(r)
			}
			sum = -1
		}
	}()
	return sched.ForkJoin(g.s, func(f *nodeForks, c *forkNode) int {
		if c == n {
			return g.runUncontained(f, c)
		}
		return g.body(f, c)
	}, n)
}

func (g *generatedRun) runUncontained(f *nodeForks, n *forkNode) int {
	n.runs.Add(1)
	if g.ended.Load() {
		g.lateBodies.Add(1)
	}
	switch n.action {
	case doYield:
		runtime.Gosched()
	case doRequest:
		f.Worker().SetDemand()
	case doCancel:
		g.cancel()
	case doNest:
		return n.value + sched.ForkJoin(g.s, g.nested, n.children)
	case doWait:
		return n.value + g.wait(f.Worker(), n.children)
	case doPanic:
		panic(n)
	case doGoexit:
		runtime.Goexit()
	}
	return n.value + g.forkAll(f, n)
}

// forkAll runs the children of n.
func (g *generatedRun) forkAll(f *nodeForks, n *forkNode) (sum int) {
	if len(n.children) == 0 {
		return 0
	}
	forked := n.children[1:]
	for _, c := range forked {
		f.Fork(c)
	}
	if n.action == doBlock {
		f.Worker().Blocking(runtime.Gosched)
	}
	sum = g.body(f, n.children[0])
	for _, c := range slices.Backward(forked) {
		if f.TakeBackPointer() {
			sum += g.body(f, c)
		} else {
			sum += f.Await()
		}
	}
	return sum
}

// valueOf returns the value with which a body has panicked.
func valueOf(r any) any {
	if err, ok := r.(*sched.PanicError); ok {
		return err.Value
	}
	return r
}

// nested runs trees in a computation of another type.
func (g *generatedRun) nested(f *sched.Forks[[]*forkNode, int], trees []*forkNode) int {
	switch len(trees) {
	case 0:
		return 0
	case 1:
		return sched.ForkJoin(g.s, g.body, trees[0])
	}
	x, y := f.Join2(trees[:1], trees[1:])
	return x + y
}

// wait runs each of trees in a task and waits for it.
func (g *generatedRun) wait(w *sched.Worker, trees []*forkNode) (sum int) {
	for _, c := range trees {
		var group sched.Group
		err := group.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			sum += sched.ForkJoin(g.s, g.body, c)
		}})
		if err == nil || errors.Is(err, sched.ErrQueued) {
			err = w.Wait(&group)
		}
		if errors.Is(err, sched.ErrGoexit) {
			runtime.Goexit()
		}
		if err != nil {
			panic(err)
		}
	}
	return sum
}

// TestForkJoinGenerated: a random computation ends as it does in a sequential run, and
// none of its bodies runs later. Its nodes may block, nest, wait, panic or exit.
func TestForkJoinGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ending := rapid.SampledFrom([]forkAction{doNothing, doPanic, doGoexit}).Draw(t, "ending")
		tree := generateForkNode(t, rapid.IntRange(1, 60).Draw(t, "nodes"), ending)
		s, err := sched.New(sched.Config{MaxWorkers: rapid.IntRange(1, 4).Draw(t, "workers")})
		mustIn(t, err)
		if rapid.IntRange(0, 3).Draw(t, "spawns") == 0 {
			s, err = sched.New(sched.Config{MaxWorkers: 2, Spawner: noSpawner{}})
			mustIn(t, err)
		}
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(context.Background())
		g := &generatedRun{s: s, cancel: func() { cancel(why) }}
		var sum int
		e := endOf(t, func() {
			defer g.ended.Store(true)
			sum, err = sched.ForkJoinContext(ctx, s, g.body, tree)
		})
		mustIn(t, s.Shutdown(context.Background()))
		cancel(nil)
		e.value = valueOf(e.value)

		var exits, ends, cancelled bool
		tree.each(func(n *forkNode) {
			exits = exits || n.action == doGoexit
			ends = ends || n.action == doGoexit || n.action == doPanic
			cancelled = cancelled || n.action == doCancel && n.runs.Load() > 0
		})
		want, culprit := tree.expected()
		switch {
		case exits:
			if !e.exited {
				t.Fatalf("%v: ending %+v, sum %d, want Goexit", tree, e, sum)
			}
		case culprit != nil:
			if e.value != culprit {
				t.Fatalf("%v: ending %+v, sum %d, want a panic of %v", tree, e, sum, culprit)
			}
		case e.exited || e.value != nil || sum != want:
			t.Fatalf("%v: ending %+v, sum %d, want %d", tree, e, sum, want)
		case cancelled != errors.Is(err, why):
			t.Fatalf("%v: the computation was cancelled: %v, error %v", tree, cancelled, err)
		}
		tree.each(func(n *forkNode) {
			if runs := n.runs.Load(); runs > 1 || runs == 0 && !ends {
				t.Fatalf("%v: %v ran %d times", tree, n, runs)
			}
		})
		if late := g.lateBodies.Load(); late != 0 {
			t.Fatalf("%v: %d bodies were called after the end", tree, late)
		}
	})
}
