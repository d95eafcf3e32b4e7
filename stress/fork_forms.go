package stress

import "github.com/lanewright/lanewright/sched"

// joinIn computes n in the given form.
func joinIn(form forkForm, t *forkTree, n *forkNode) (uint64, error) {
	switch form {
	case formPointers:
		return joinPointers(t, n)
	case formJoin2:
		return joinJoin2(t, n)
	case formScope:
		return joinScope(t, n), nil
	case formScopeOf:
		return joinScopeOf(t, n), nil
	default:
		return joinSlots(t, n)
	}
}

// forkJoinOf calls ForkJoin, or ForkJoinContext when the tree has a context.
func forkJoinOf[A, R any](t *forkTree, body func(*sched.Forks[A, R], A) R, arg A) (R, error) {
	if t.ctx == nil {
		return sched.ForkJoin(t.p.s, body, arg), nil
	}
	return sched.ForkJoinContext(t.ctx, t.p.s, body, arg)
}

// joinSlots forks arguments without pointers.
func joinSlots(t *forkTree, n *forkNode) (uint64, error) {
	type forks = sched.Forks[int32, uint64]
	var body func(f *forks, id int32) uint64
	body = func(f *forks, id int32) uint64 {
		return t.nodes[id].run(f.Worker(), f.Cancelled(), func(children []*forkNode, between func()) []uint64 {
			for _, c := range forked(children) {
				f.Push(c.id)
				if f.Wanted() {
					f.Promote()
				}
			}
			between()
			return inTurn(children, func(c *forkNode) uint64 { return body(f, c.id) }, func(c *forkNode) uint64 {
				if f.TakeBack() {
					return body(f, c.id)
				}
				return f.Await()
			})
		})
	}
	return forkJoinOf(t, body, n.id)
}

// joinPointers forks arguments with pointers and returns a pointer.
func joinPointers(t *forkTree, n *forkNode) (uint64, error) {
	type forks = sched.Forks[*forkNode, *uint64]
	var body func(f *forks, n *forkNode) *uint64
	body = func(f *forks, n *forkNode) *uint64 {
		result := n.run(f.Worker(), f.Cancelled(), func(children []*forkNode, between func()) []uint64 {
			for _, c := range forked(children) {
				f.Fork(c)
			}
			between()
			return inTurn(children, func(c *forkNode) uint64 { return *body(f, c) }, func(c *forkNode) uint64 {
				if c.id%4 > 0 && f.TakeBackPointer() { // Await also takes back
					return *body(f, c)
				}
				return *f.Await()
			})
		})
		return &result
	}
	result, err := forkJoinOf(t, body, n)
	if result == nil { // the body was not called
		return 0, err
	}
	return *result, err
}

// joinJoin2 joins the children in pairs.
func joinJoin2(t *forkTree, n *forkNode) (uint64, error) {
	type forks = sched.Forks[*forkNode, uint64]
	var body func(f *forks, n *forkNode) uint64
	body = func(f *forks, n *forkNode) uint64 {
		return n.run(f.Worker(), f.Cancelled(), func(children []*forkNode, between func()) (results []uint64) {
			between()
			for ; len(children) > 1; children = children[2:] {
				x, y := f.Join2(children[0], children[1])
				results = append(results, x, y)
			}
			for _, c := range children {
				results = append(results, body(f, c))
			}
			return results
		})
	}
	return forkJoinOf(t, body, n)
}

// joinScope joins functions. There is no such form with a context.
func joinScope(t *forkTree, n *forkNode) (result uint64) {
	var body func(c sched.Scope, n *forkNode) uint64
	var spread func(c sched.Scope, children []*forkNode, results []uint64, between func())
	spread = func(c sched.Scope, children []*forkNode, results []uint64, between func()) {
		if len(children) < 2 {
			between()
			for i, n := range children {
				results[i] = body(c, n)
			}
			return
		}
		c.Join(func(c sched.Scope) {
			between()
			results[0] = body(c, children[0])
		}, func(c sched.Scope) {
			spread(c, children[1:], results[1:], func() {})
		})
	}
	body = func(c sched.Scope, n *forkNode) uint64 {
		return n.run(c.Worker(), c.Cancelled(), func(children []*forkNode, between func()) []uint64 {
			results := make([]uint64, len(children))
			spread(c, children, results, between)
			return results
		})
	}
	sched.ForkJoinFunc(t.p.s, func(c sched.Scope) { result = body(c, n) })
	return result
}

// joinScopeOf joins functions with results.
func joinScopeOf(t *forkTree, n *forkNode) uint64 {
	type scope = sched.ScopeOf[[]uint64]
	var body func(c scope, n *forkNode) uint64
	var spread func(c scope, children []*forkNode, between func()) []uint64
	spread = func(c scope, children []*forkNode, between func()) (results []uint64) {
		if len(children) < 2 {
			between()
			for _, n := range children {
				results = append(results, body(c, n))
			}
			return results
		}
		x, y := c.Join(func(c scope) []uint64 {
			between()
			return []uint64{body(c, children[0])}
		}, func(c scope) []uint64 {
			return spread(c, children[1:], func() {})
		})
		return append(x, y...)
	}
	body = func(c scope, n *forkNode) uint64 {
		return n.run(c.Worker(), c.Cancelled(), func(children []*forkNode, between func()) []uint64 {
			return spread(c, children, between)
		})
	}
	return sched.ForkJoinValue(t.p.s, func(c scope) []uint64 { return []uint64{body(c, n)} })[0]
}

// forked returns the children that a body forks: all but the first.
func forked(children []*forkNode) []*forkNode {
	if len(children) == 0 {
		return nil
	}
	return children[1:]
}

// inTurn calls the first child and joins the others, the newest fork first.
func inTurn(children []*forkNode, call, join func(*forkNode) uint64) []uint64 {
	results := make([]uint64, len(children))
	for i := range children {
		if i == 0 {
			results[0] = call(children[0])
			continue
		}
		at := len(children) - i
		results[at] = join(children[at])
	}
	return results
}
