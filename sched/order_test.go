package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/runqueue"
	"github.com/lanewright/lanewright/sched"
)

// noSpawner never starts a worker. Tasks then run only on the goroutine that
// calls Run, Do, Wait or Shutdown.
type noSpawner struct{}

var errNoSpawn = errors.New("this Spawner starts no worker")

func (noSpawner) Spawn(func()) error { return errNoSpawn }

// queuedOrNil returns nil for nil and ErrQueued, and err otherwise.
func queuedOrNil(err error) error {
	if errors.Is(err, sched.ErrQueued) {
		return nil
	}
	return err
}

const (
	ringSize   = runqueue.Capacity
	fairEvery  = 61
	stealEvery = 16
	scanSlots  = 32
)

// A queueModel is the model of a queue whose consumer takes all nodes at once: the
// pushed lists of tasks in order, and the rest of the last grab.
type queueModel struct {
	fifo  bool
	lists [][]int
	grab  []int
}

func (c *queueModel) push(ids ...int) {
	if len(ids) > 0 {
		c.lists = append(c.lists, slices.Clone(ids))
	}
}

func (c *queueModel) pop() (id int, ok bool) {
	if len(c.grab) == 0 {
		if !c.fifo {
			slices.Reverse(c.lists)
		}
		c.grab, c.lists = slices.Concat(c.lists...), nil
	}
	if len(c.grab) == 0 {
		return 0, false
	}
	id, c.grab = c.grab[0], c.grab[1:]
	return id, true
}

// A placeModel is the model of the place of a scheduler with one worker: slices in the
// documented order.
type placeModel struct {
	ring      []int
	overflow  queueModel
	injection queueModel
	tick      int
}

// push models a schedule by a callback.
func (m *placeModel) push(ids ...int) {
	n := min(ringSize-len(m.ring), len(ids))
	m.ring = append(m.ring, ids[:n]...)
	if rest := ids[n:]; len(rest) > 0 {
		m.overflow.push(slices.Concat(m.ring[:ringSize/2], rest)...)
		m.ring = slices.Clone(m.ring[ringSize/2:])
	}
}

// next returns the task that the worker runs next.
func (m *placeModel) next() (id int, ok bool) {
	switch m.tick++; m.tick % fairEvery {
	case 0:
		id, ok = m.injection.pop()
	case (fairEvery + 1) / 2:
		id, ok = m.overflow.pop()
	}
	if ok {
		return id, true
	}
	if len(m.ring) > 0 {
		id, m.ring = m.ring[0], m.ring[1:]
		return id, true
	}
	if id, ok = m.refill(&m.overflow); ok {
		return id, true
	}
	return m.refill(&m.injection)
}

func (m *placeModel) refill(c *queueModel) (id int, ok bool) {
	if id, ok = c.pop(); !ok {
		return 0, false
	}
	for range ringSize/2 - 1 {
		n, more := c.pop()
		if !more {
			break
		}
		m.ring = append(m.ring, n)
	}
	return id, true
}

func (m *placeModel) queued() []int {
	return slices.Concat(m.ring, m.overflow.grab, slices.Concat(m.overflow.lists...),
		m.injection.grab, slices.Concat(m.injection.lists...))
}

// An orderGroup is a group and its model.
type orderGroup struct {
	real   *sched.Group
	left   int
	parent *orderGroup
}

// awaited reports whether root cannot end before g has.
func (g *orderGroup) awaited(root *orderGroup) bool {
	for ; g != nil; g = g.parent {
		if g == root {
			return true
		}
	}
	return false
}

// An orderRun is a program that runs in step with the model. Each callback reports its
// entry and is compared with the task that the model expects.
type orderRun struct {
	s      *sched.Scheduler
	m      placeModel
	script []byte
	jobs   []*sched.Job[int]
	group  []*orderGroup // of each job, or nil
	queued []bool
	ran    int
	groups []*orderGroup

	sources   []func() (int, bool) // the expected task, for each nested wait
	current   []*orderGroup        // of the running tasks
	waits     int                  // waits on top of each other
	budget    int                  // pushes after which a wait may not find its tasks
	draining  bool
	cancel    context.CancelFunc
	cancelled bool
	problem   string
}

func (o *orderRun) failf(format string, args ...any) {
	if o.problem == "" {
		o.problem = fmt.Sprintf(format, args...)
	}
	o.stop()
}

func (o *orderRun) check(err error) {
	if queuedOrNil(err) != nil {
		o.failf("unexpected error: %v", err)
	}
}

func (o *orderRun) stop() {
	if o.cancel != nil {
		o.cancelled = true
		o.cancel()
	}
}

// choose takes the next choice out of n from the script, or 0 at its end.
func (o *orderRun) choose(n int) int {
	if len(o.script) == 0 {
		return 0
	}
	b := o.script[0]
	o.script = o.script[1:]
	return int(b) % n
}

const orderTasks = 3000 // at most, in one program

// make returns n new jobs of group g.
func (o *orderRun) make(n int, g *orderGroup) (ids []int) {
	for range min(n, orderTasks-len(o.jobs)) {
		id := len(o.jobs)
		ids = append(ids, id)
		o.jobs = append(o.jobs, &sched.Job[int]{Value: id, Fn: o.enter})
		o.group = append(o.group, g)
		o.queued = append(o.queued, true)
		if g != nil {
			g.left++
		}
	}
	return ids
}

// batch puts jobs into a batch.
func (o *orderRun) batch(ids []int) *sched.Batch {
	b := new(sched.Batch)
	for _, id := range ids {
		o.check(b.Add(o.jobs[id].Task()))
	}
	return b
}

func (o *orderRun) size() int {
	sizes := []int{1, 2, 3, 5, 8, ringSize/2 - 1, ringSize / 2, ringSize - 1, ringSize, ringSize + 1, 2*ringSize + 3, 61, 100}
	return sizes[o.choose(len(sizes))]
}

// enter is the function of all jobs.
func (o *orderRun) enter(w *sched.Worker, j *sched.Job[int]) {
	id := j.Value
	want, ok := o.sources[len(o.sources)-1]()
	if !ok || want != id {
		o.failf("task %d runs, the model expects %d, %v", id, want, ok)
		return
	}
	if !o.queued[id] {
		o.failf("task %d runs although it is not queued", id)
	}
	o.queued[id] = false
	o.ran++
	g := o.group[id]
	o.current = append(o.current, g)
	placeless := false
	for range o.choose(4) {
		o.act(w, id, &placeless)
	}
	o.current = o.current[:len(o.current)-1]
	if g != nil && !(o.queued[id] && o.group[id] == g) {
		g.left--
	}
	if len(o.m.queued()) == 0 && !o.nested() {
		o.stop()
	}
}

func (o *orderRun) nested() bool { return o.waits > 0 }

// pushInside models a schedule by a callback that the scheduler has accepted.
func (o *orderRun) pushInside(placeless bool, ids ...int) {
	switch {
	case !placeless:
		o.budget -= len(ids)
		o.m.push(ids...)
	case o.draining:
		o.m.overflow.push(ids...)
	default:
		o.m.injection.push(ids...)
	}
}

// act is one action of a callback.
func (o *orderRun) act(w *sched.Worker, self int, placeless *bool) {
	fits := func(n int) bool { return !o.nested() || n <= o.budget }
	switch o.choose(11) {
	case 0:
		if ids := o.make(1, nil); len(ids) > 0 && fits(1) {
			o.check(w.Schedule(o.jobs[ids[0]].Task()))
			o.pushInside(*placeless, ids...)
		} else {
			o.drop(ids)
		}
	case 1:
		if ids := o.make(o.size(), nil); fits(len(ids)) {
			o.check(w.ScheduleBatch(o.batch(ids)))
			o.pushInside(*placeless, ids...)
		} else {
			o.drop(ids)
		}
	case 2:
		o.schedule(o.make(1, nil))
	case 3:
		o.schedule(o.make(o.size(), nil))
	case 4:
		g := o.groups[o.choose(len(o.groups))]
		if ids := o.make(1, g); len(ids) > 0 && fits(1) {
			o.check(g.real.Schedule(w, o.jobs[ids[0]].Task()))
			o.pushInside(*placeless, ids...)
		} else {
			o.drop(ids)
		}
	case 5:
		g := o.groups[o.choose(len(o.groups))]
		if ids := o.make(o.size(), g); fits(len(ids)) {
			o.check(g.real.ScheduleBatch(w, o.batch(ids)))
			o.pushInside(*placeless, ids...)
		} else {
			o.drop(ids)
		}
	case 6:
		if !o.queued[self] && fits(1) && o.ran < orderTasks {
			o.queued[self] = true
			o.group[self] = nil
			o.check(w.Schedule(o.jobs[self].Task()))
			o.pushInside(*placeless, self)
		}
	case 7:
		if !*placeless {
			g := o.groups[o.choose(len(o.groups))]
			if g.left != 0 {
				g = &orderGroup{real: new(sched.Group)}
			}
			o.await(1+o.choose(4), g, func(ids []int) {
				for _, id := range ids {
					o.check(g.real.Schedule(w, o.jobs[id].Task()))
				}
				o.m.push(ids...)
				o.sources = append(o.sources, o.helping(g))
				o.check(w.Wait(g.real))
			})
		}
	case 8:
		o.do(1 + o.choose(4))
	case 9:
		if !o.nested() {
			w.Blocking(func() {})
			*placeless = true
		}
	case 10:
		o.stop()
	}
}

// drop removes jobs that were not scheduled.
func (o *orderRun) drop(ids []int) {
	for _, id := range ids {
		o.queued[id] = false
		if g := o.group[id]; g != nil {
			g.left--
		}
	}
}

// schedule schedules jobs as an external caller.
func (o *orderRun) schedule(ids []int) {
	if len(ids) == 0 {
		return
	}
	var err error
	switch g := o.group[ids[0]]; {
	case g != nil && len(ids) == 1:
		err = g.real.Schedule(nil, o.jobs[ids[0]].Task())
	case g != nil:
		err = g.real.ScheduleBatch(nil, o.batch(ids))
	case len(ids) == 1:
		err = o.s.Schedule(o.jobs[ids[0]].Task())
	default:
		err = o.s.ScheduleBatch(o.batch(ids))
	}
	if o.draining { // a callback may schedule, also without its worker
		o.check(err)
		o.m.overflow.push(ids...)
		return
	}
	o.check(err)
	o.m.injection.push(ids...)
}

// await makes wait schedule n jobs of g and wait for them, if the ring has enough free
// slots for the wait to find them.
func (o *orderRun) await(n int, g *orderGroup, wait func(ids []int)) {
	free := min(scanSlots, ringSize-len(o.m.ring))
	if o.nested() {
		free = min(free, o.budget)
	}
	if n > free {
		return
	}
	ids := o.make(n, g)
	if len(ids) == 0 {
		return
	}
	old := o.budget
	o.budget = free - len(ids)
	depth := len(o.sources)
	o.waits++
	if len(o.current) > 0 {
		g.parent = o.current[len(o.current)-1]
	}
	wait(ids)
	g.parent = nil
	o.waits--
	o.sources = o.sources[:depth]
	if g.left != 0 && o.problem == "" {
		o.failf("a wait returned with %d tasks left", g.left)
	}
	o.budget = min(old-n, o.budget)
}

// do calls Do with n jobs.
func (o *orderRun) do(n int) {
	g := new(orderGroup)
	o.await(n, g, func(ids []int) {
		o.m.push(ids[1:]...)
		first := true
		o.sources = append(o.sources, func() (int, bool) {
			if first {
				first = false
				return ids[0], true
			}
			return o.helping(g)()
		})
		var tasks []*sched.Task
		for _, id := range ids {
			tasks = append(tasks, o.jobs[id].Task())
		}
		o.check(o.s.Do(tasks...))
	})
}

// helping returns the task that a wait for g runs next: the newest one that g awaits.
func (o *orderRun) helping(g *orderGroup) func() (int, bool) {
	return func() (int, bool) {
		for i := len(o.m.ring) - 1; i >= max(0, len(o.m.ring)-scanSlots); i-- {
			if id := o.m.ring[i]; o.group[id].awaited(g) {
				o.m.ring = slices.Delete(slices.Clone(o.m.ring), i, i+1)
				return id, true
			}
		}
		return 0, false
	}
}

// run calls Run until no task is queued or a callback ends it.
func (o *orderRun) run() {
	if len(o.m.queued()) == 0 {
		return
	}
	var ctx context.Context
	ctx, o.cancel = context.WithCancel(context.Background())
	defer o.cancel()
	o.sources = append(o.sources, o.m.next)
	if err := o.s.Run(ctx); !errors.Is(err, context.Canceled) {
		o.failf("Run = %v", err)
	}
	o.sources = o.sources[:0]
	o.cancel = nil
}

// wait calls Wait as an external caller. Because no worker can be spawned, the Wait moves
// the tasks of its group from all queues to the ring, and the others to the injection
// queue. Both keep the order in which they were found. It then runs the newest first.
func (o *orderRun) wait(g *orderGroup) {
	if g.left == 0 {
		o.check(g.real.Wait())
		return
	}
	if g.left > min(scanSlots, ringSize) {
		return // the Wait would not find all of them
	}
	all := o.m.ring
	o.m.ring = nil
	for _, c := range []*queueModel{&o.m.overflow, &o.m.injection} {
		for id, ok := c.pop(); ok; id, ok = c.pop() {
			all = append(all, id)
		}
	}
	var mine, others []int
	for _, id := range all {
		if o.group[id] == g {
			mine = append(mine, id)
		} else {
			others = append(others, id)
		}
	}
	o.m.injection.push(others...)
	o.m.push(mine...)
	o.waits++
	o.budget = min(scanSlots, ringSize) - len(mine)
	o.sources = append(o.sources, o.helping(g))
	o.check(g.real.Wait())
	o.sources = o.sources[:0]
	o.waits--
	if g.left != 0 {
		o.failf("a Wait returned with %d tasks left", g.left)
	}
}

// generateScript returns evenly distributed bytes, because rapid prefers small ones.
func generateScript(t *rapid.T) []byte {
	script := rapid.SliceOfN(rapid.Byte(), 100, 1000).Draw(t, "script")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "spread"), 0))
	for i := range script {
		script[i] ^= byte(rng.Uint32())
	}
	return script
}

// TestOneWorkerOrder: a scheduler with one worker runs tasks in the documented order: the ring
// (first in, first out), the overflow queue, the injection queue. Each 61st turn polls the
// injection queue first. Half way between these turns it polls the overflow queue first. A wait
// runs only tasks that it waits for, the newest first. Programs that rapid generates run in step
// with slices. Z-012, Z-015, Z-017 to Z-019, Z-037, Z-039, Z-056.
func TestOneWorkerOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := sched.Config{MaxWorkers: 1, Spawner: noSpawner{}}
		o := &orderRun{script: generateScript(t)}
		o.m.injection.fifo = true
		if rapid.Bool().Draw(t, "observed") {
			config.OnPanic = func(_ *sched.Task, value any, _ []byte) { o.failf("panic: %v", value) }
		}
		config.OnIdle = func(*sched.Worker) {
			o.failf("the worker would park, and the model has %d tasks", len(o.m.queued()))
		}
		var err error
		if o.s, err = sched.New(config); err != nil {
			t.Fatal(err)
		}
		o.s.NeverYieldByTime() // the model has no clock
		for range 3 {
			o.groups = append(o.groups, &orderGroup{real: o.s.NewGroup(sched.GroupConfig{})})
		}
		for len(o.script) > 0 && o.problem == "" {
			switch o.choose(7) {
			case 0:
				o.schedule(o.make(1, nil))
			case 1:
				o.schedule(o.make(o.size(), nil))
			case 2:
				o.schedule(o.make(1, o.groups[o.choose(len(o.groups))]))
			case 3:
				o.schedule(o.make(o.size(), o.groups[o.choose(len(o.groups))]))
			case 4:
				o.do(1 + o.choose(6))
			case 5:
				o.run()
			case 6:
				o.wait(o.groups[o.choose(len(o.groups))])
			}
		}
		if rapid.Bool().Draw(t, "drain") {
			o.drain()
		} else {
			o.close()
		}
		if o.problem != "" {
			t.Fatal(o.problem)
		}
		if st := o.s.Stats(); st.Executed != uint64(o.ran) || st.Workers != 0 || st.Held != 0 || st.Places > 1 {
			t.Fatalf("%d tasks ran, Stats = %+v", o.ran, st)
		}
	})
}

// drain calls Shutdown, which runs the queued tasks. The tasks of the injection queue that
// are not yet grabbed move to the overflow queue as one list.
func (o *orderRun) drain() {
	if o.problem == "" {
		o.draining = true
		o.m.overflow.push(slices.Concat(o.m.injection.lists...)...)
		o.m.injection.lists = nil
		o.sources = append(o.sources, o.m.next)
	}
	if err := o.s.Shutdown(context.Background()); err != nil {
		o.failf("Shutdown = %v", err)
	}
	if n := len(o.m.queued()); n != 0 {
		o.failf("%d tasks are queued after Shutdown", n)
	}
	for i, g := range o.groups {
		if err := g.real.Wait(); err != nil || g.left != 0 {
			o.failf("group %d: Wait = %v, %d tasks are left", i, err, g.left)
		}
	}
}

// close calls Close, which returns the queued tasks and cancels the groups.
func (o *orderRun) close() {
	tasks, err := o.s.Close()
	o.check(err)
	later, err := o.s.Join(context.Background())
	o.check(err)
	var want []*sched.Task
	for _, id := range o.m.queued() {
		if o.group[id] == nil {
			want = append(want, o.jobs[id].Task())
		}
	}
	if len(later) != 0 || len(tasks) != len(want) {
		o.failf("Close returned %d tasks and Join %d, want %d", len(tasks), len(later), len(want))
	}
	for _, task := range want {
		if !slices.Contains(tasks, task) {
			o.failf("Close did not return a queued task")
		}
	}
	for i, g := range o.groups {
		if err := g.real.Wait(); errors.Is(err, sched.ErrClosed) != (g.left != 0) {
			o.failf("group %d: Wait = %v, %d tasks were left", i, err, g.left)
		}
	}
}
