package fuzz_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/sched"
)

// A node is a task that schedules its children in one of the modes.
type node struct {
	id       int
	mode     int
	children []*node
	task     sched.Task

	accepted, refused atomic.Int32 // by the goroutine that scheduled it
	awaited           bool         // by a Wait or a Do
	ran, back         atomic.Int32 // runs; returns by Close or Join
}

// The modes of a node. From modeWait on the node waits for its children. They then
// neither panic nor exit.
const (
	modeSchedule = iota
	modeExternal
	modeBatch
	modeBlocking
	modePanic
	modeGoexit
	modeWait
	modeWaitUnknown
	modeDo
	modes
)

// world is a scheduler and the record of its tasks.
type world struct {
	s       *sched.Scheduler
	onPanic bool
	nodes   []*node
	others  sync.WaitGroup // callers on goroutines of their own

	ending, closed    atomic.Bool // Shutdown or Close was called; Close was called
	goAccepted, goRan atomic.Int64
	panics, panicked  atomic.Int64 // tasks that panicked; panics that OnPanic saw
	runs              []context.CancelFunc
	backUnknown       atomic.Int64 // returned tasks of Go

	mu     sync.Mutex
	byTask map[*sched.Task]*node
	faults []error
}

const maxNodes = 300 // of one trace

// failf records a violation, on any goroutine.
func (m *world) failf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, fmt.Errorf(format, args...))
}

// readNode reads a node from the trace.
func (m *world) readNode(tr *trace, depth int, awaited bool) *node {
	nd := &node{id: len(m.nodes), mode: tr.below(modes), awaited: awaited}
	m.nodes = append(m.nodes, nd)
	m.mu.Lock()
	m.byTask[&nd.task] = nd
	m.mu.Unlock()
	nd.task.Fn = func(w *sched.Worker, _ *sched.Task) { m.enter(w, nd) }
	if (nd.mode == modePanic && !m.onPanic) || (awaited && (nd.mode == modePanic || nd.mode == modeGoexit)) {
		nd.mode = modeSchedule
	}
	if depth > 0 {
		for range tr.below(4) {
			if len(m.nodes) < maxNodes {
				nd.children = append(nd.children, m.readNode(tr, depth-1, nd.mode >= modeWait))
			}
		}
	}
	return nd
}

// forest reads several nodes.
func (m *world) forest(tr *trace, awaited bool) []*node {
	var nds []*node
	for range 1 + tr.below(4) {
		if len(m.nodes) < maxNodes {
			nds = append(nds, m.readNode(tr, 3, awaited))
		}
	}
	return nds
}

func tasksOf(nds []*node) (tasks []*sched.Task) {
	for _, nd := range nds {
		tasks = append(tasks, &nd.task)
	}
	return tasks
}

func batchOf(nds []*node) *sched.Batch {
	b := new(sched.Batch)
	for _, nd := range nds {
		if err := b.Add(&nd.task); err != nil {
			panic(err) // all tasks are new
		}
	}
	return b
}

// noteResult records the result of scheduling nds. A callback is refused only after
// Close. Other callers are also refused after Shutdown.
func (m *world) noteResult(what string, nds []*node, inside bool, err error) bool {
	for _, nd := range nds {
		if err == nil {
			nd.accepted.Add(1)
		} else {
			nd.refused.Add(1)
		}
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, sched.ErrClosed) && m.closed.Load():
	case errors.Is(err, sched.ErrShutdown) && m.ending.Load() && (!inside || m.closed.Load()):
	default:
		m.failf("%s: %w", what, err)
	}
	return false
}

// waited checks the result of a wait for nds.
func (m *world) waited(what string, nds []*node, err error) {
	if err != nil {
		if !errors.Is(err, sched.ErrClosed) || !m.closed.Load() {
			m.failf("%s: %w", what, err)
		}
		return
	}
	for _, nd := range nds {
		if nd.ran.Load() != 1 {
			m.failf("%s returned nil, and task %d ran %d times", what, nd.id, nd.ran.Load())
		}
	}
}

// enter is the callback of nd.
func (m *world) enter(w *sched.Worker, nd *node) {
	nd.ran.Add(1)
	if nd.mode == modeBlocking && nd.id%2 == 0 {
		w.Blocking(runtime.Gosched) // the children are then scheduled without a place
	}
	switch nd.mode {
	case modeExternal:
		for _, child := range nd.children {
			m.noteResult("Schedule inside", []*node{child}, true, m.s.Schedule(&child.task))
		}
	case modeBatch:
		m.noteResult("Worker.ScheduleBatch", nd.children, true, w.ScheduleBatch(batchOf(nd.children)))
	case modeWait:
		var g sched.Group
		if m.noteResult("Group.Schedule inside", nd.children, true, g.Schedule(w, tasksOf(nd.children)...)) {
			m.waited("Worker.Wait", nd.children, w.Wait(&g))
		}
	case modeWaitUnknown:
		g := m.s.NewGroup(sched.GroupConfig{})
		if m.noteResult("Group.ScheduleBatch inside", nd.children, true, g.ScheduleBatch(w, batchOf(nd.children))) {
			m.waited("Wait inside", nd.children, g.Wait())
		}
	case modeDo:
		m.do(nd.children, true)
	default:
		m.noteResult("Worker.Schedule", nd.children, true, w.Schedule(tasksOf(nd.children)...))
	}
	switch nd.mode {
	case modeBlocking:
		w.Blocking(runtime.Gosched) // another worker has the place for the duration
	case modePanic:
		m.panics.Add(1)
		panic(nd)
	case modeGoexit:
		runtime.Goexit()
	}
}

// do calls Do. It runs all tasks or none, apart from those that Close cancels.
func (m *world) do(nds []*node, inside bool) {
	err := m.s.Do(tasksOf(nds)...)
	if errors.Is(err, sched.ErrClosed) && m.closed.Load() {
		return // some tasks may have run
	}
	if m.noteResult("Do", nds, inside, err) {
		m.waited("Do", nds, nil)
	}
}

// inGroup schedules nds in a group and waits for it.
func (m *world) inGroup(nds []*node) {
	g := m.s.NewGroup(sched.GroupConfig{})
	if m.noteResult("Group.Schedule", nds, false, g.Schedule(nil, tasksOf(nds)...)) {
		m.waited("Wait", nds, g.Wait())
	}
}

// start starts a caller of Run.
func (m *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	m.runs = append(m.runs, cancel)
	m.others.Go(func() {
		if err := m.s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			m.failf("Run: %w", err)
		}
	})
}

// stop ends the callers of Run.
func (m *world) stop() {
	for _, cancel := range m.runs {
		cancel()
	}
	m.runs = nil
}

func (m *world) shutdown() {
	m.ending.Store(true)
	if err := m.s.Shutdown(context.Background()); err != nil {
		m.failf("Shutdown: %w", err)
	}
}

func (m *world) close() {
	m.ending.Store(true)
	m.closed.Store(true)
	tasks, err := m.s.Close()
	m.returned("Close", tasks, err)
}

func (m *world) join() {
	tasks, err := m.s.Join(context.Background())
	if errors.Is(err, sched.ErrNotClosed) && len(tasks) == 0 {
		return
	}
	m.returned("Join", tasks, err)
}

// returned records the tasks that Close or Join returned.
func (m *world) returned(what string, tasks []*sched.Task, err error) {
	if err != nil {
		m.failf("%s: %w", what, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, task := range tasks {
		if nd := m.byTask[task]; nd != nil {
			nd.back.Add(1)
		} else {
			m.backUnknown.Add(1)
		}
	}
}

// step does one operation of the trace, on this goroutine or on one of its own.
func (m *world) step(t *testing.T, tr *trace) {
	t.Helper()
	op := tr.below(24)
	call := func(f func()) { f() }
	if op >= 12 {
		call = m.others.Go
	}
	switch op % 12 {
	case 0, 1:
		nds := m.forest(tr, false)
		call(func() { m.noteResult("Schedule", nds, false, m.s.Schedule(tasksOf(nds)...)) })
	case 2:
		nds := m.forest(tr, false)
		call(func() { m.noteResult("ScheduleBatch", nds, false, m.s.ScheduleBatch(batchOf(nds))) })
	case 3, 4:
		nds := m.forest(tr, true)
		call(func() { m.do(nds, false) })
	case 5:
		nds := m.forest(tr, true)
		call(func() { m.inGroup(nds) })
	case 6:
		call(func() {
			if m.noteResult("Go", nil, false, m.s.Go(func() { m.goRan.Add(1) })) {
				m.goAccepted.Add(1)
			}
		})
	case 7:
		if tr.coin() {
			m.start()
		} else {
			m.stop()
		}
	case 8: // until all goroutines are blocked
		synctest.Wait()
		m.checkRest(t, "at rest")
	case 9:
		if tr.below(4) == 0 {
			call(m.shutdown)
		}
	case 10:
		if tr.below(4) == 0 {
			call(m.close)
		}
	case 11:
		call(m.join)
	}
}

// checkRest checks the tasks when all goroutines are blocked. Each accepted task has
// run, was cancelled with its group, or was returned. None of these happened twice.
func (m *world) checkRest(t *testing.T, when string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, err := range m.faults {
		t.Error(when, err)
	}
	ended := m.closed.Load()
	for _, nd := range m.nodes {
		accepted, refused, ran, back := nd.accepted.Load(), nd.refused.Load(), nd.ran.Load(), nd.back.Load()
		ok := ran+back == accepted
		switch {
		case accepted+refused > 1:
			ok = false
		case nd.awaited && ended: // cancelled, or Close has ended the Do early
			ok = ran <= 1 && back == 0
		case ended: // the Join that follows returns it
			ok = ran+back <= accepted
		}
		if !ok {
			t.Errorf("%s: task %d of %d (awaited: %v): accepted %d, refused %d, ran %d, returned %d", when,
				nd.id, len(m.nodes), nd.awaited, accepted, refused, ran, back)
		}
	}
	if t.Failed() {
		t.Fatalf("%s: Stats = %+v", when, m.s.Stats())
	}
}

// end closes the scheduler, unless it was ended before, and checks the sums.
func (m *world) end(t *testing.T) {
	t.Helper()
	synctest.Wait()
	m.stop()
	if !m.ending.Load() {
		m.close()
	}
	m.join()
	m.others.Wait()
	m.join() // a Close that came last may have left tasks
	m.checkRest(t, "at the end")
	executed := m.goRan.Load()
	for _, nd := range m.nodes {
		executed += int64(nd.ran.Load())
		if !nd.awaited && nd.ran.Load()+nd.back.Load() != nd.accepted.Load() {
			t.Errorf("task %d of %d was lost", nd.id, len(m.nodes))
		}
	}
	want(t, "panics that OnPanic saw", m.panicked.Load(), m.panics.Load())
	want(t, "functions that ran or were returned", m.goRan.Load()+m.backUnknown.Load(), m.goAccepted.Load())
	st := m.s.Stats()
	want(t, "Executed", int64(st.Executed), executed)
	want(t, "Workers + Held + Parked", st.Workers+st.Held+st.Parked, 0)
	if _, err := m.s.Close(); err != nil {
		t.Errorf("Close again = %v", err)
	}
	if err := m.s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}); !errors.Is(err, sched.ErrClosed) && !errors.Is(err, sched.ErrShutdown) {
		t.Errorf("Schedule after the end = %v", err)
	}
}

// FuzzScheduler runs traces of all operations of a scheduler. They come from callbacks
// and from external callers, before and after its end. They run on real goroutines in a
// bubble of synctest, which reports a call that never returns as a deadlock at once.
// Each task runs once, or it is refused, cancelled or returned. When all goroutines are
// blocked, no task is left. Z-006, Z-012, Z-015, Z-057.
func FuzzScheduler(f *testing.F) {
	f.Add(uint8(0), []byte{0, 3, 0, 0, 0, 0, 8, 9, 0})                                              // some tasks, and the end
	f.Add(uint8(1), []byte{0, 3, 2, 3, 6, 2, 0, 0, 7, 1, 1, 8, 3, 2, 8, 3, 0, 0, 0, 8})             // trees
	f.Add(uint8(2), []byte{12, 2, 6, 3, 0, 0, 0, 15, 1, 8, 2, 0, 0, 19, 1, 17, 0, 6, 2, 0, 0})      // from several goroutines
	f.Add(uint8(5), []byte{0, 3, 4, 0, 5, 0, 3, 1, 4, 0, 7, 1, 0, 2, 5, 1, 4, 0, 8, 7, 0, 22, 0})   // panics and exits
	f.Add(uint8(3), []byte{12, 3, 0, 3, 0, 0, 0, 17, 3, 6, 1, 0, 22, 0, 0, 1, 0, 0, 23, 15, 0, 21}) // closed in between
	f.Fuzz(func(t *testing.T, config uint8, input []byte) {
		synctest.Test(t, func(t *testing.T) {
			m := &world{byTask: make(map[*sched.Task]*node), onPanic: config&4 != 0}
			c := sched.Config{MaxWorkers: 1 + int(config&3)%3}
			if m.onPanic {
				c.OnPanic = func(*sched.Task, any, []byte) { m.panicked.Add(1) }
			}
			var err error
			m.s, err = sched.New(c)
			wantErr(t, "New", err, nil)
			tr := trace(input)
			tr.steps(func() { m.step(t, &tr) })
			m.end(t)
		})
	})
}
