package sched

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Group counts tasks, so that a goroutine or a task can wait for all of them. It
// collects their errors and carries their panics to the waiters.
//
// The zero Group is ready to use inside callbacks. It belongs to the scheduler of the
// worker that schedules its first task. [Scheduler.NewGroup] makes a group that
// external callers can use, with a context, a limit, and functions that return errors.
//
//	g := s.NewGroup(sched.GroupConfig{})
//	for _, u := range urls {
//		g.Go(func() error { return fetch(u) })
//	}
//	err := g.Wait()
//
// A Group may be used again after Wait has returned. A recorded error stays, and its
// context stays cancelled. A group with a Context that has an error therefore skips every
// later task. A Group must not be copied. All methods are safe for
// concurrent use.
type Group struct {
	_ lfsync.NoCopy

	// How a group counts.
	//
	// Roles:
	//
	//	scheduler of a task  adds to scheduled, before the push that makes the task
	//	                     visible to other workers
	//	finisher             a worker that adds to finished, also for tasks that the
	//	                     group skips. It keeps the count to itself until it runs a
	//	                     task of another group, searches, parks, blocks, or waits
	//	waiter               reads the sums
	//
	// State. Two counters that only grow, in stripes:
	//
	//	own     stored by the holder of the place with the index home, until more
	//	        exists
	//	shared  added to by every goroutine without a stripe
	//	more    a padded stripe for each place below maxStripes, stored by the holder
	//	        of the place. It is made once the shared stripe has counted growAfter
	//	        tasks of workers. From then on workers only read the Group itself
	//
	// Invariants:
	//
	//	I1  each task is in scheduled before it can be in finished
	//	I2  a stripe other than shared is stored by one goroutine at a time: the
	//	    holder of its place
	//	I3  more is set once, because the counts in earlier stripes would be lost
	//
	// Done: the group is done when the sum of finished, which is read first, equals
	// the sum of scheduled, which is read second. At the moment between the two sums
	// the real value of finished is at least the first sum, and that of scheduled is
	// at most the second. By I1 finished never exceeds scheduled. If the sums are
	// equal, both real values were therefore equal at that moment. The second sum
	// sees a stripe that was made in between, or that stripe holds no task that was
	// scheduled before.
	//
	// Happens-before edges:
	//
	//	E1  add to finished  ->  sum of finished   the waiter sees the writes of the tasks
	//
	// The end of a wait is never missed. A finisher stores its count and then looks for
	// waiters. A waiter enters the list and then reads the sums.
	//
	// Progress: counting is wait-free, but for the shared stripe on machines without an
	// atomic add. Waiting blocks.
	// Rejected: one shared pair of counters, because each push and each finish of every
	// worker would write the same cache line. Padded stripes from the start, because a
	// Group for each node of a tree would take kilobytes.

	s    atomix.Pointer[Scheduler]
	home atomix.Uint32 // index+1 of the place that own belongs to; 0: none yet

	own    stripe
	shared stripe
	more   atomix.Pointer[[]paddedStripe]

	waiters waitList
	parent  atomix.Pointer[Group] // the group of a task that waits for this group

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
	maxStripes = 63  // places from this index on share a stripe with external callers
	growAfter  = 256 // tasks counted in the shared stripe before more is made
)

// GroupConfig configures a [Group]. The zero GroupConfig is the default.
type GroupConfig struct {
	// Context is the parent of the context of the group. With nil, that context has no parent.
	//
	// A group with a Context skips the tasks that no worker has entered when its context
	// ends, because Context has ended or a task of the group has failed. A skipped task
	// counts as finished, its Fn is not called, and it belongs to the caller again when
	// Wait has returned. A group without a Context runs every task. A function that has to
	// run, such as one that closes a channel, needs RunAll or a group without Context,
	// because errgroup.Group runs it and this group may not.
	//
	// If tasks were skipped because Context has ended, Wait returns the cause unless a task
	// has failed. With AllErrors the cause is the last error. The end of the context by a
	// Wait skips no task of this group. A group whose Context is that of this group skips
	// its tasks after that Wait.
	Context context.Context

	// RunAll makes a group with a Context run every task. It is for tasks that have to run,
	// such as those that release something.
	RunAll bool

	// Limit is how many functions given to Go and TryGo may be queued or running
	// at once. 0 means no limit.
	Limit int

	// AllErrors makes Wait return all errors, joined in the order in which they were
	// recorded. Otherwise Wait returns the first error.
	AllErrors bool
}

// groupOptions holds the parts of a group that the zero Group does not have.
//
// The context is made on the first use, because most groups need none. A goroutine that ends
// the context stores ended and then loads made. The goroutine that makes the context stores
// made and then loads ended. So one of them cancels the context.
type groupOptions struct {
	made      atomix.Pointer[groupContext] // nil until the first use; made with a group that has a Context
	ended     atomix.Pointer[failure]      // the cause of the end of the context: the first one is kept
	limit     *lfsync.Semaphore
	allErrors bool

	parent  context.Context         // GroupConfig.Context, or nil in a group that runs every task
	skipped atomix.Pointer[failure] // the cause of the end of parent, once a task was skipped because of it
}

// groupContext is the context of a group.
type groupContext struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// waitEnded is the cause of a context that a Wait has ended.
var waitEnded failure

func newGroupContext(parent context.Context) *groupContext {
	c := new(groupContext)
	c.ctx, c.cancel = context.WithCancelCause(parent)
	return c
}

// context returns the context of the group.
func (o *groupOptions) context() context.Context {
	c := o.made.Load()
	if c == nil {
		c = newGroupContext(context.Background())
		if !o.made.CompareAndSwap(nil, c) {
			c = o.made.Load()
		}
		if f := o.ended.Load(); f != nil {
			c.cancel(f.err)
		}
	}
	return c.ctx
}

// end ends the context of the group with the error of f as its cause, unless it has ended.
func (o *groupOptions) end(f *failure) {
	if o.ended.Load() == nil {
		o.ended.CompareAndSwap(nil, f)
	}
	if c := o.made.Load(); c != nil {
		c.cancel(o.ended.Load().err)
	}
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
	both := new(struct { // one allocation
		g Group
		o groupOptions
	})
	g, o := &both.g, &both.o
	g.opts = o
	o.allErrors = c.AllErrors
	if !c.RunAll {
		o.parent = c.Context
	}
	if c.Context != nil {
		o.made.Store(newGroupContext(c.Context))
	}
	if c.Limit > 0 {
		o.limit, _ = lfsync.NewSemaphore(c.Limit)
	}
	g.s.Store(s)
	return g
}

// Context returns the context of the group. It is cancelled, with the error as
// its cause, when a task of the group fails. It is also cancelled when a wait returns
// after all tasks of the group have finished. A zero Group returns context.Background. [GroupConfig] states which groups then skip tasks.
func (g *Group) Context() context.Context {
	if g.opts == nil {
		return context.Background()
	}
	return g.opts.context()
}

// Schedule queues tasks and counts them in g. [GroupConfig] states when g skips them. w is
// the worker of the calling callback, or nil. With nil, g must come from
// [Scheduler.NewGroup]. A worker of another scheduler counts as nil. The errors are those of
// [Scheduler.Schedule], and [ErrNoScheduler] for a zero Group without a worker.
func (g *Group) Schedule(w *Worker, tasks ...*Task) error {
	if w == nil || w.s != g.s.Load() {
		var err error
		if w, err = g.bind(w); err != nil {
			return err
		}
	}
	place, n := placeOf(w), uint64(len(tasks))
	err := claimAll(tasks, g)
	if err != nil {
		return err
	}
	g.addScheduled(place, n)
	if place != nil {
		err = place.push(w.s, tasks)
	} else {
		err = g.s.Load().inject(tasks)
	}
	if err != nil {
		return g.finishRefused(place, n, err)
	}
	return nil
}

// ScheduleBatch queues all tasks of b with one notification, counts them in g, and leaves b
// empty. w and the errors are those of Schedule. b is unchanged when no task was queued.
func (g *Group) ScheduleBatch(w *Worker, b *Batch) error {
	w, err := g.bind(w)
	if err != nil {
		return err
	}
	place := placeOf(w)
	n, err := b.ready()
	if n == 0 || err != nil {
		return err
	}
	b.markAll(g)
	g.addScheduled(place, uint64(n))
	if place != nil {
		err = place.pushBatch(w.s, b)
	} else {
		err = g.s.Load().injectBatch(b)
	}
	if err != nil && !errors.Is(err, ErrQueued) {
		b.markAll(batched)
	}
	return g.finishRefused(place, uint64(n), err)
}

// finishRefused counts tasks that a push has refused as finished.
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
	if w == nil {
		s.init()
	}
	return w, nil
}

// placeOf is [Worker.holds] for a worker that may be nil.
func placeOf(w *Worker) *place {
	if w == nil {
		return nil
	}
	return w.holds()
}

// stripe returns the stripe that the holder of p stores, or nil if the holder adds to
// the shared stripe.
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

// addScheduled counts n tasks that the holder of p, or a caller without a place, is
// about to push.
func (g *Group) addScheduled(p *place, n uint64) {
	if st := g.stripe(p); st != nil {
		st.scheduled.Store(st.scheduled.Load() + n) // I1, I2
		return
	}
	g.shared.scheduled.Add(n) // I1
}

// addFinished counts n finished tasks, and wakes the waiters if they were the last.
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
	g.more.CompareAndSwap(nil, &m) // I3: another place may have made them
}

// isDone reports whether every scheduled task was finished at some moment during the
// call. See "Done" in Group.
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

// maySkip reports whether g may skip tasks.
func (g *Group) maySkip() bool { return g.opts != nil && g.opts.parent != nil }

// skips reports whether g, which may skip tasks, skips a task now. The first task that is
// skipped because the parent of the context has ended stores the cause. It does so before it
// is counted as finished, so every wait that it ends sees the cause.
func (g *Group) skips() bool {
	o := g.opts
	if o.context().Err() == nil {
		return false
	}
	if cause := context.Cause(o.parent); cause != nil {
		if o.skipped.Load() == nil {
			o.skipped.CompareAndSwap(nil, &failure{err: cause})
		}
		return true
	}
	return g.failed.Load() != nil // otherwise a Wait has ended the context
}

// awaitedBy reports whether g is root, or a task of root waits for g, directly or
// through other groups. In both cases root cannot end before the tasks of g have ended.
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

// fail records the error that ended a task. A Wait raises a *PanicError again.
func (g *Group) fail(err error) {
	if p, ok := err.(*PanicError); ok { //nolint:errorlint // the value itself is meant
		g.panicked.CompareAndSwap(nil, p)
	}
	g.record(err)
}

// record adds err to the list and cancels the context of the group with it. An error
// that a function returned is no panic of its task, even if it is a *PanicError.
func (g *Group) record(err error) {
	f := &failure{err: err}
	for {
		f.next = g.failed.Load()
		if f.next != nil && !g.wantsAll() {
			break // only the first error is kept
		}
		if g.failed.CompareAndSwap(f.next, f) {
			break
		}
	}
	if g.opts != nil {
		g.opts.end(f)
	}
}

func (g *Group) wantsAll() bool { return g.opts != nil && g.opts.allErrors }

// result ends a Wait: it raises the panic of a task again, or returns the error. The cause of
// skipped tasks comes after the errors of tasks, because a task that has failed may have
// ended the context.
func (g *Group) result() error {
	var skipped *failure
	if g.opts != nil {
		g.opts.end(&waitEnded)
		skipped = g.opts.skipped.Load()
	}
	f := g.failed.Load()
	if f != nil {
		if p := g.panicked.Load(); p != nil && g.s.Load().config.OnPanic == nil {
			panic(p)
		}
	}
	if !g.wantsAll() {
		if f = cmp.Or(f, skipped); f == nil {
			return nil
		}
		return f.err
	}
	var errs []error
	if skipped != nil {
		errs = append(errs, skipped.err)
	}
	for ; f != nil; f = f.next {
		errs = append(errs, f.err)
	}
	slices.Reverse(errs)
	return errors.Join(errs...)
}
