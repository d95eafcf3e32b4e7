package sched

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Task is one unit of work: a function and the link that queues it.
//
// The caller owns the memory: embed a Task in a struct of your own, or use [Job]. A
// Task is 24 bytes (12 on 32-bit machines), and scheduling one allocates nothing. From
// Schedule until Fn is entered the Task belongs to the scheduler and must not be
// touched. From the first instruction of Fn on it belongs to the caller again. The
// caller may change it, drop it, or schedule it again. A Task that its [Group] skips
// belongs to the caller again when Wait has returned.
//
// A Task that is queued is refused with [ErrAlreadyScheduled]. The mark that shows
// this is plain memory. To schedule a Task twice without knowing that its callback was
// entered in between is therefore a data race of the caller, which -race reports.
type Task struct {
	node mpsc.Node // first, so that a node is its task

	// Fn is called by a worker, once for each time that the task is scheduled. w is
	// valid until Fn returns, and only on the goroutine that called Fn.
	Fn func(w *Worker, t *Task)

	// group is nil while the task belongs to the caller. Otherwise it is the group
	// that counts the task, or one of the marks below.
	group *Group
}

// A Task is three words; a node is its first.
var (
	_ [0]struct{} = [unsafe.Sizeof(Task{}) - 3*unsafe.Sizeof(uintptr(0))]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Task{}.node)]struct{}{}
)

// Marks in Task.group.
var (
	ungrouped = new(Group) // queued, in no group
	batched   = new(Group) // in a batch; also queued, when the batch was scheduled without a group
	appended  = new(Group) // batched, and the first of a batch that was appended to another
)

// claim marks the task as queued in group g, or returns the reason why it cannot.
func (t *Task) claim(g *Group) error {
	if t == nil || t.Fn == nil {
		return ErrNilTask
	}
	if t.group != nil {
		return ErrAlreadyScheduled
	}
	t.group = g
	return nil
}

// claimAll claims all tasks, or none.
func claimAll(tasks []*Task, g *Group) error {
	for i, t := range tasks {
		if err := t.claim(g); err != nil {
			unclaimAll(tasks[:i])
			return err
		}
	}
	return nil
}

// unclaimAll returns tasks that were not queued to their caller.
func unclaimAll(tasks []*Task) {
	for _, t := range tasks {
		t.group = nil
	}
}

// link adds tasks to l.
func link(l *mpsc.List, tasks []*Task) {
	for _, t := range tasks {
		l.Push(&t.node)
	}
}

// counts reports whether g is a group, and not nil or a mark.
func (g *Group) counts() bool {
	return g != nil && g != ungrouped && g != batched && g != appended
}

// A tally counts the tasks that a worker has finished, for their groups. Only the worker accesses
// it. It keeps the count of one group until the worker enters a task of another group. A worker
// stores the count earlier when it parks, blocks or waits, notifies for a task that it has found,
// spins before a refill, or requests a fork, because a waiter may need the count.
type tally struct {
	// cur is the group of the innermost running task. done counts the tasks of cur
	// that have finished here and are not stored in cur yet.
	cur  *Group
	done uint64

	// runsAll is cur if every task of cur runs, and otherwise nil. The next task of that
	// group is entered without a look at the group.
	runsAll *Group

	task  *Task    // the running task, kept for OnPanic only
	outer []*Group // the groups of the tasks on whose top the running one runs, outermost first
}

// enter makes t the running task and reports true, or reports false if the group of t skips
// it. From then on t belongs to the caller. The worker, which has the place p, counts t as
// finished in both cases. In the common case enter costs a load and a compare.
func (c *tally) enter(t *Task, p *place) (runs bool) {
	runs = t.group == c.runsAll || c.enterGroup(t, p)
	t.group = nil
	return runs
}

// enterGroup makes the group of t the one whose finished tasks are counted. It first stores
// the count of the previous group. It reports false if the group skips t.
func (c *tally) enterGroup(t *Task, p *place) (runs bool) {
	g := t.group
	if g == batched || g == appended {
		g = ungrouped
	}
	if g != c.cur {
		c.flush(p)
		c.cur = g
	}
	c.runsAll = nil
	if !g.maySkip() {
		c.runsAll = g
		return true
	}
	if !g.skips() {
		return true
	}
	if isFunc(t) {
		funcOf(t).release()
	}
	return false
}

// leaveGroup makes g, which may be nil, the group of the running task t again.
func (c *tally) leaveGroup(g *Group, t *Task) {
	c.cur, c.task, c.runsAll = g, t, nil
}

// flush stores the count of finished tasks in their group. p is the place of the worker, or nil:
// only the holder of a place stores its stripe of a group.
func (c *tally) flush(p *place) {
	n := c.done
	if n == 0 {
		return
	}
	c.done = 0
	if c.grouped() {
		c.cur.addFinished(p, n)
	}
}

// failTask counts the running task as finished with err. p is as in flush.
func (c *tally) failTask(err error, p *place) {
	if c.grouped() {
		c.cur.fail(err)
	}
	c.done++
	c.flush(p)
}

// grouped reports whether the running task is counted in a group.
func (c *tally) grouped() bool { return c.cur != nil && c.cur != ungrouped }

// groupAt returns the group of the task that runs on top of depth others.
func (c *tally) groupAt(depth int) *Group {
	if depth < len(c.outer) {
		return c.outer[depth]
	}
	return c.cur
}

// Batch is a list of tasks that are scheduled together, with one push and one
// notification. The zero Batch is empty and ready to use. A Batch must not be copied
// and is not safe for concurrent use.
type Batch struct {
	_    lfsync.NoCopy
	list mpsc.List
}

// Add appends t. It returns [ErrNilTask] or, when t is queued or in a batch
// already, [ErrAlreadyScheduled].
func (b *Batch) Add(t *Task) error {
	if err := t.claim(batched); err != nil {
		return err
	}
	b.list.Push(&t.node)
	return nil
}

// Append moves the tasks of other to the end of b in constant time and leaves
// other empty. It returns [ErrAlreadyScheduled] when both are the same batch.
func (b *Batch) Append(other *Batch) error {
	if other == nil {
		return ErrNilTask
	}
	if b == other {
		return ErrAlreadyScheduled
	}
	if err := other.check(); err != nil {
		return err
	}
	if b.Len() > 0 {
		other.mark(appended) // a copy of other is refused from here on
	}
	b.list.Append(&other.list)
	return nil
}

// Len returns the number of tasks in the batch.
func (b *Batch) Len() int { return b.list.Len() }

// check reports a batch whose tasks were scheduled through a copy of it.
func (b *Batch) check() error {
	if n := b.list.Front(); n != nil && taskOf(n).group != batched {
		return ErrAlreadyScheduled
	}
	return nil
}

// ready returns the number of tasks to schedule, or the reason why they cannot be
// scheduled.
func (b *Batch) ready() (n int, err error) {
	if b == nil {
		return 0, ErrNilTask
	}
	return b.Len(), b.check()
}

// mark sets the mark of the first task, where check finds it through a copy of the
// batch.
func (b *Batch) mark(g *Group) {
	if n := b.list.Front(); n != nil {
		taskOf(n).group = g
	}
}

// markAll sets the group of all tasks.
func (b *Batch) markAll(g *Group) {
	for range b.list.Len() {
		n := b.list.Pop()
		taskOf(n).group = g
		b.list.Push(n)
	}
}

// Job is a task with a value of its own. Fn gets the job that was scheduled, so the
// caller needs no unsafe code to find its value. Like a [Task] it belongs to the
// scheduler from Schedule until Fn is entered.
type Job[T any] struct {
	task Task // first, so that a task is its job

	// Fn is called by a worker, once for each time that the job is scheduled.
	Fn func(w *Worker, j *Job[T])

	// Value belongs to the caller. The scheduler does not touch it.
	Value T
}

// Task returns the task of the job, ready to be scheduled:
//
//	w.Schedule(job.Task())
//
// It returns nil when Fn is nil. Schedule refuses a nil task.
func (j *Job[T]) Task() *Task {
	if j == nil || j.Fn == nil {
		return nil
	}
	j.task.Fn = taskFn(j.Fn)
	return &j.task
}
