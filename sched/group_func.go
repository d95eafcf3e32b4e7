package sched

import "errors"

// funcTask is the task of a function given to Group.Go.
type funcTask struct {
	task Task
	g    *Group
	fn   func() error
	ran  bool // has given back its permit: Config.OnPanic may schedule the task again
}

// Go runs fn as a task of g, or skips it as [GroupConfig] states. An error of fn becomes an
// error of the group, and so does a [*PanicError] that fn returns because another Wait
// returned it. g comes from [Scheduler.NewGroup], or a worker has scheduled a task in it. When the
// scheduler refuses the task, the reason becomes an error of the group: [ErrNilTask] if fn is nil,
// and [ErrNoScheduler] if g has no scheduler.
//
// In a group with a Limit, Go waits until fewer than Limit functions are queued or running. A
// callback of the same scheduler that has to wait releases its place and continues as after
// [Worker.Blocking]. When the scheduler has no worker and can start none, Go runs tasks of g on the
// goroutine of its caller while it waits. A function that has panicked has no permit when
// Config.OnPanic schedules its task again, so the Limit does not count it then.
func (g *Group) Go(fn func() error) {
	if o := g.opts; o != nil && o.limit != nil && !o.limit.TryAcquire() {
		acquired := false
		g.s.Load().withoutPlace(func() { acquired = g.acquire() })
		if !acquired {
			g.fail(ErrClosed)
			return
		}
	}
	g.start(fn)
}

// acquire waits for a permit, and reports false when the scheduler is closed. The caller
// must hold no place.
func (g *Group) acquire() bool {
	s, limit := g.s.Load(), g.opts.limit
	if !s.spawnMayFail {
		return limit.Acquire(s.life.closing) == nil
	}
	return g.acquireAsWaiter()
}

// TryGo is [Group.Go], but it reports false and does not run fn where Go would wait.
func (g *Group) TryGo(fn func() error) bool {
	if o := g.opts; o != nil && o.limit != nil && !o.limit.TryAcquire() {
		return false
	}
	g.start(fn)
	return true
}

// start schedules fn. The caller has acquired the permit for it.
func (g *Group) start(fn func() error) {
	f := &funcTask{g: g, fn: fn}
	if fn != nil {
		f.task.Fn = funcTaskFn
	}
	if err := g.Schedule(nil, &f.task); err != nil && !errors.Is(err, ErrQueued) {
		g.fail(err)
		f.release()
	}
}

// release gives back the permit of f, once.
func (f *funcTask) release() {
	if o := f.g.opts; !f.ran && o != nil && o.limit != nil {
		f.ran = true
		o.limit.Release()
	}
}

// funcTaskFn is the Fn of every funcTask: see isFunc.
var funcTaskFn = runFunc

func runFunc(w *Worker, t *Task) {
	f := funcOf(t)
	defer f.release()
	if w.labels != nil {
		defer w.labels.set(w.labels.enter(f.fn))
	}
	if err := f.fn(); err != nil {
		f.g.record(err)
	}
}
