package sched

import (
	"context"
	"errors"
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Group counts tasks, so that a goroutine or a task can wait for all of them.
//
// The zero Group is ready to use: it belongs to the scheduler of the worker that
// schedules its first task. [Scheduler.NewGroup] makes one that can be used from
// outside, with a context, a limit, and functions that return errors. A Group
// may be used again when Wait has returned; an error that it has recorded stays,
// and so does the end of its context. It must not be copied. All methods are safe
// for concurrent use.
//
// # How it counts
//
// Roles:
//
//	scheduler of a task  adds to scheduled, before the push that makes the task
//	                     visible to others
//	finisher             adds to finished, later: a worker keeps the count to
//	                     itself until it runs a task of another group, searches,
//	                     parks, blocks, or waits
//	waiter               reads the sums
//
// State. Two counters that only grow, in stripes:
//
//	own     stored by the holder of the place whose index is home, until there
//	        are more
//	shared  added to by everybody who has no stripe of its own
//	more    a padded stripe for each place below maxStripes, made once the shared
//	        stripe has seen growAfter tasks of workers; stored by the holder of
//	        the place. From then on workers only read the Group itself
//
// Invariants:
//
//	I1  each task is in scheduled before it can be in finished
//	I2  a stripe other than shared is stored by one goroutine at a time: the
//	    holder of its place
//
// Done: the sum of finished, read first, equals the sum of scheduled, read
// second. At the moment between the two, finished cannot have been less than the
// first sum, nor scheduled more than the second, and by I1 finished is never
// more than scheduled: so both were equal then. A stripe made in between is seen
// by the second sum or holds nothing scheduled before it.
//
// Happens-before edges:
//
//	E1  add to finished  ->  sum of finished   the waiter sees what the tasks did
//
// Nobody misses the end: a finisher stores its count and then looks for waiters;
// a waiter enters the list and then reads the sums.
//
// Progress: counting is wait-free but for the shared stripe on machines without
// an atomic add; waiting blocks.
// Rejected: one shared pair of counters (every push and finish of every worker
// takes the same line); padded stripes from the start (a Group for each node of a
// tree would cost kilobytes).
type Group struct {
	_ lfsync.NoCopy

	s    atomix.Pointer[Scheduler]
	home atomix.Uint32 // index+1 of the place that own belongs to; 0: none yet

	own    stripe
	shared stripe
	more   atomix.Pointer[[]paddedStripe]

	waiters waitList
	parent  atomix.Pointer[Group] // the group of a task that waits for this one

	failed   atomix.Pointer[failure]
	panicked atomix.Pointer[PanicError]
	opts     *groupOptions // nil for a zero Group
}

type stripe struct {
	scheduled, finished atomix.Uint64
}

type paddedStripe struct {
	stripe
	_ lfsync.Pad
}

const (
	maxStripes = 63  // places from here on share a stripe with outside callers
	growAfter  = 256 // tasks through the shared stripe before stripes are made
)

// GroupConfig configures a [Group]. The zero GroupConfig is the default.
type GroupConfig struct {
	// Context is the parent of the group's context; nil means Background.
	Context context.Context

	// Limit is how many functions given to Go and TryGo may be queued or running
	// at once. 0 means no limit.
	Limit int

	// AllErrors makes Wait return all errors, joined in the order in which they
	// came; else it returns the first.
	AllErrors bool
}

// groupOptions are the parts of a group that the zero Group does without.
type groupOptions struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	limit     *lfsync.Semaphore
	allErrors bool
}

// failure is an error in the list of a group, newest first.
type failure struct {
	err  error
	next *failure
}

// NewGroup returns a group that belongs to s. It panics when c.Limit is
// negative.
func (s *Scheduler) NewGroup(c GroupConfig) *Group {
	s.init()
	if c.Limit < 0 {
		panic("sched: NewGroup: GroupConfig.Limit is negative")
	}
	parent := c.Context
	if parent == nil {
		parent = context.Background()
	}
	o := &groupOptions{allErrors: c.AllErrors}
	o.ctx, o.cancel = context.WithCancelCause(parent)
	if c.Limit > 0 {
		o.limit, _ = lfsync.NewSemaphore(c.Limit)
	}
	g := &Group{opts: o}
	g.s.Store(s)
	return g
}

// Context returns the context of the group. It is cancelled, with the error as
// its cause, when a task of the group fails, and when Wait returns. A zero Group
// returns context.Background.
func (g *Group) Context() context.Context {
	if g.opts == nil {
		return context.Background()
	}
	return g.opts.ctx
}

// Schedule queues tasks and counts them in g. w is the worker of the callback that
// calls, or nil: then g must come from [Scheduler.NewGroup]. A worker of another
// scheduler counts as nil. It returns what [Scheduler.Schedule] returns.
func (g *Group) Schedule(w *Worker, tasks ...*Task) error {
	if w == nil || w.s != g.s.Load() {
		var err error
		if w, err = g.bind(w); err != nil {
			return err
		}
	}
	err := claimAll(tasks, g)
	if err != nil {
		return err
	}
	place, n := w.holds(), uint64(len(tasks))
	g.addScheduled(place, n)
	if w != nil {
		err = w.push(tasks)
	} else {
		err = g.s.Load().inject(tasks)
	}
	if err != nil {
		return g.finishRefused(place, n, err)
	}
	return nil
}

// ScheduleBatch queues all tasks of b and counts them in g, and leaves b empty.
// w is as in Schedule.
func (g *Group) ScheduleBatch(w *Worker, b *Batch) error {
	w, err := g.bind(w)
	if err != nil {
		return err
	}
	n, err := b.ready()
	if n == 0 || err != nil {
		return err
	}
	b.markAll(g)
	place := w.holds()
	g.addScheduled(place, uint64(n))
	if w != nil {
		err = w.pushBatch(b)
	} else {
		err = g.s.Load().injectBatch(b)
	}
	if err != nil && !errors.Is(err, ErrQueued) {
		b.markAll(batched)
	}
	return g.finishRefused(place, uint64(n), err)
}

// settle counts tasks that a push refused as finished.
func (g *Group) finishRefused(p *place, n uint64, err error) error {
	if err != nil && !errors.Is(err, ErrQueued) {
		g.addFinished(p, n)
	}
	return err
}

// bind gives a zero Group its scheduler and returns w when it belongs to it.
func (g *Group) bind(w *Worker) (*Worker, error) {
	s := g.s.Load()
	if s == nil {
		if w == nil {
			return nil, ErrNoScheduler
		}
		g.s.CompareAndSwap(nil, w.s)
		s = g.s.Load()
	}
	if w != nil && w.s != s {
		w = nil
	}
	return w, nil
}

// holds returns the place of w, if any.
func (w *Worker) holds() *place {
	if w == nil {
		return nil
	}
	return w.place
}

// stripe returns the stripe that the holder of p stores, or nil.
func (g *Group) stripe(p *place) *stripe {
	if p == nil {
		return nil
	}
	if m := g.more.Load(); m != nil {
		if p.index < len(*m) {
			return &(*m)[p.index].stripe
		}
		return nil
	}
	id := uint32(p.index) + 1
	if h := g.home.Load(); h == id || h == 0 && g.home.CompareAndSwap(0, id) {
		return &g.own
	}
	return nil
}

// addScheduled counts n tasks that are about to be pushed by the holder of p, or
// by a caller without a place.
func (g *Group) addScheduled(p *place, n uint64) {
	if st := g.stripe(p); st != nil {
		st.scheduled.Store(st.scheduled.Load() + n) // I1, I2
		return
	}
	g.shared.scheduled.Add(n) // I1
}

// addFinished counts n finished tasks and wakes the waiters when they were the
// last.
func (g *Group) addFinished(p *place, n uint64) {
	if st := g.stripe(p); st != nil {
		st.finished.Store(st.finished.Load() + n) // E1, I2
	} else if g.shared.finished.Add(n) > growAfter && p != nil { // E1
		g.grow()
	}
	if !g.waiters.empty() && g.isDone() {
		g.waiters.wakeAll()
	}
}

// grow makes the padded stripes.
func (g *Group) grow() {
	if g.more.Load() != nil {
		return
	}
	m := make([]paddedStripe, min(g.s.Load().max, maxStripes))
	g.more.CompareAndSwap(nil, &m)
}

// isDone reports whether at some moment during the call every task that had been
// scheduled was finished. See the comment of Group.
func (g *Group) isDone() bool {
	finished := g.own.finished.Load() + g.shared.finished.Load() // E1
	if m := g.more.Load(); m != nil {
		for i := range *m {
			finished += (*m)[i].finished.Load() // E1
		}
	}
	scheduled := g.own.scheduled.Load() + g.shared.scheduled.Load()
	if m := g.more.Load(); m != nil {
		for i := range *m {
			scheduled += (*m)[i].scheduled.Load()
		}
	}
	return finished == scheduled
}

// awaitedBy reports whether g is root, or is what a task of root waits for,
// directly or through others: then root cannot end before the tasks of g have.
func (g *Group) awaitedBy(root *Group) bool {
	for range maxFrames {
		if g == root {
			return true
		}
		if g = g.parent.Load(); g == nil {
			return false
		}
	}
	return false
}

// fail records what ended a task: a panic, as a *PanicError, is raised again by the
// Waits.
func (g *Group) fail(err error) {
	if p, ok := err.(*PanicError); ok { //nolint:errorlint // the value itself is meant
		g.panicked.CompareAndSwap(nil, p)
	}
	g.record(err)
}

// record puts err into the list, and cancels the context of the group with it. An
// error that a function returned is no panic of its task, whatever its type is.
func (g *Group) record(err error) {
	f := &failure{err: err}
	for {
		f.next = g.failed.Load()
		if f.next != nil && !g.wantsAll() {
			break // the first error is the one that counts
		}
		if g.failed.CompareAndSwap(f.next, f) {
			break
		}
	}
	if g.opts != nil {
		g.opts.cancel(err)
	}
}

func (g *Group) wantsAll() bool { return g.opts != nil && g.opts.allErrors }

// result ends a Wait: it raises the panic of a task again, or returns the error.
func (g *Group) result() error {
	if g.opts != nil {
		g.opts.cancel(nil)
	}
	f := g.failed.Load()
	if f == nil {
		return nil
	}
	if p := g.panicked.Load(); p != nil && g.s.Load().config.OnPanic == nil {
		panic(p)
	}
	if !g.wantsAll() {
		return f.err
	}
	var errs []error
	for ; f != nil; f = f.next {
		errs = append(errs, f.err)
	}
	slices.Reverse(errs)
	return errors.Join(errs...)
}
