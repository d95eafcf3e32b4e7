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

// A twig is a task that schedules its kids in one of the ways there are.
type twig struct {
	id   int
	way  int
	kids []*twig
	task sched.Task

	accepted, refused atomic.Int32 // by whoever scheduled it
	awaited           bool         // by a Wait or a Do
	ran, back         atomic.Int32 // run; returned by Close or Join
}

// What a twig does. From wayWait on it waits for its kids, which then neither
// panic nor exit.
const (
	waySchedule = iota
	wayOutside
	wayBatch
	wayBlocking
	wayPanic
	wayGoexit
	wayWait
	wayWaitUnknown
	wayDo
	ways
)

// world is a scheduler and the record of what became of its tasks.
type world struct {
	s       *sched.Scheduler
	onPanic bool
	twigs   []*twig
	others  sync.WaitGroup // callers on goroutines of their own

	ending, closed    atomic.Bool // Shutdown or Close was called; Close was
	goAccepted, goRan atomic.Int64
	panics, panicked  atomic.Int64 // tasks that panicked, and what OnPanic saw
	runs              []context.CancelFunc
	backUnknown       atomic.Int64 // of Go

	mu     sync.Mutex
	byTask map[*sched.Task]*twig
	faults []error
}

const maxTwigs = 300 // of one trace

// failf records what is wrong, from any goroutine.
func (m *world) failf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, fmt.Errorf(format, args...))
}

// grow reads a twig off the trace.
func (m *world) grow(tr *trace, depth int, awaited bool) *twig {
	tw := &twig{id: len(m.twigs), way: tr.below(ways), awaited: awaited}
	m.twigs = append(m.twigs, tw)
	m.mu.Lock()
	m.byTask[&tw.task] = tw
	m.mu.Unlock()
	tw.task.Fn = func(w *sched.Worker, _ *sched.Task) { m.enter(w, tw) }
	if (tw.way == wayPanic && !m.onPanic) || (awaited && (tw.way == wayPanic || tw.way == wayGoexit)) {
		tw.way = waySchedule
	}
	if depth > 0 {
		for range tr.below(4) {
			if len(m.twigs) < maxTwigs {
				tw.kids = append(tw.kids, m.grow(tr, depth-1, tw.way >= wayWait))
			}
		}
	}
	return tw
}

// forest reads some twigs.
func (m *world) forest(tr *trace, awaited bool) []*twig {
	var tws []*twig
	for range 1 + tr.below(4) {
		if len(m.twigs) < maxTwigs {
			tws = append(tws, m.grow(tr, 3, awaited))
		}
	}
	return tws
}

func tasksOf(tws []*twig) (tasks []*sched.Task) {
	for _, tw := range tws {
		tasks = append(tasks, &tw.task)
	}
	return tasks
}

func batchOf(tws []*twig) *sched.Batch {
	b := new(sched.Batch)
	for _, tw := range tws {
		if err := b.Add(&tw.task); err != nil {
			panic(err) // they are all new
		}
	}
	return b
}

// handed notes what scheduling all of tws came to. A callback is refused after
// Close only; others after Shutdown as well.
func (m *world) handed(what string, tws []*twig, inside bool, err error) bool {
	for _, tw := range tws {
		if err == nil {
			tw.accepted.Add(1)
		} else {
			tw.refused.Add(1)
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

// waited checks what a wait for tws returned.
func (m *world) waited(what string, tws []*twig, err error) {
	if err != nil {
		if !errors.Is(err, sched.ErrClosed) || !m.closed.Load() {
			m.failf("%s: %w", what, err)
		}
		return
	}
	for _, tw := range tws {
		if tw.ran.Load() != 1 {
			m.failf("%s returned nil, and task %d ran %d times", what, tw.id, tw.ran.Load())
		}
	}
}

// enter is the callback of tw.
func (m *world) enter(w *sched.Worker, tw *twig) {
	tw.ran.Add(1)
	if tw.way == wayBlocking && tw.id%2 == 0 {
		w.Blocking(runtime.Gosched) // the kids are scheduled without a place
	}
	switch tw.way {
	case wayOutside:
		for _, kid := range tw.kids {
			m.handed("Schedule inside", []*twig{kid}, true, m.s.Schedule(&kid.task))
		}
	case wayBatch:
		m.handed("Worker.ScheduleBatch", tw.kids, true, w.ScheduleBatch(batchOf(tw.kids)))
	case wayWait:
		var g sched.Group
		if m.handed("Group.Schedule inside", tw.kids, true, g.Schedule(w, tasksOf(tw.kids)...)) {
			m.waited("Worker.Wait", tw.kids, w.Wait(&g))
		}
	case wayWaitUnknown:
		g := m.s.NewGroup(sched.GroupConfig{})
		if m.handed("Group.ScheduleBatch inside", tw.kids, true, g.ScheduleBatch(w, batchOf(tw.kids))) {
			m.waited("Wait inside", tw.kids, g.Wait())
		}
	case wayDo:
		m.do(tw.kids, true)
	default:
		m.handed("Worker.Schedule", tw.kids, true, w.Schedule(tasksOf(tw.kids)...))
	}
	switch tw.way {
	case wayBlocking:
		w.Blocking(runtime.Gosched) // their place is somebody else's meanwhile
	case wayPanic:
		m.panics.Add(1)
		panic(tw)
	case wayGoexit:
		runtime.Goexit()
	}
}

// do calls Do, which runs nothing or all, except for what Close cancels.
func (m *world) do(tws []*twig, inside bool) {
	err := m.s.Do(tasksOf(tws)...)
	if errors.Is(err, sched.ErrClosed) && m.closed.Load() {
		return // perhaps after some have run
	}
	if m.handed("Do", tws, inside, err) {
		m.waited("Do", tws, nil)
	}
}

// inGroup schedules tws in a group and waits for it.
func (m *world) inGroup(tws []*twig) {
	g := m.s.NewGroup(sched.GroupConfig{})
	if m.handed("Group.Schedule", tws, false, g.Schedule(nil, tasksOf(tws)...)) {
		m.waited("Wait", tws, g.Wait())
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

// returned notes the tasks that came back.
func (m *world) returned(what string, tasks []*sched.Task, err error) {
	if err != nil {
		m.failf("%s: %w", what, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, task := range tasks {
		if tw := m.byTask[task]; tw != nil {
			tw.back.Add(1)
		} else {
			m.backUnknown.Add(1)
		}
	}
}

// step performs one operation of the trace, and what it calls either here or on
// a goroutine of its own.
func (m *world) step(t *testing.T, tr *trace) {
	t.Helper()
	op := tr.below(24)
	call := func(f func()) { f() }
	if op >= 12 {
		call = m.others.Go
	}
	switch op % 12 {
	case 0, 1:
		tws := m.forest(tr, false)
		call(func() { m.handed("Schedule", tws, false, m.s.Schedule(tasksOf(tws)...)) })
	case 2:
		tws := m.forest(tr, false)
		call(func() { m.handed("ScheduleBatch", tws, false, m.s.ScheduleBatch(batchOf(tws))) })
	case 3, 4:
		tws := m.forest(tr, true)
		call(func() { m.do(tws, false) })
	case 5:
		tws := m.forest(tr, true)
		call(func() { m.inGroup(tws) })
	case 6:
		call(func() {
			if m.handed("Go", nil, false, m.s.Go(func() { m.goRan.Add(1) })) {
				m.goAccepted.Add(1)
			}
		})
	case 7:
		if tr.coin() {
			m.start()
		} else {
			m.stop()
		}
	case 8: // until nobody can go on
		synctest.Wait()
		m.settled(t, "at rest")
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

// settled checks, when nobody can go on, that what was accepted has run, was
// cancelled with its group, or came back; and nothing twice.
func (m *world) settled(t *testing.T, when string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, err := range m.faults {
		t.Error(when, err)
	}
	ended := m.closed.Load()
	for _, tw := range m.twigs {
		accepted, refused, ran, back := tw.accepted.Load(), tw.refused.Load(), tw.ran.Load(), tw.back.Load()
		ok := ran+back == accepted
		switch {
		case accepted+refused > 1:
			ok = false
		case tw.awaited && ended: // cancelled, or a Do that Close has cut short
			ok = ran <= 1 && back == 0
		case ended: // with Join to come, which returns it
			ok = ran+back <= accepted
		}
		if !ok {
			t.Errorf("%s: task %d of %d (awaited: %v): accepted %d, refused %d, ran %d, back %d", when,
				tw.id, len(m.twigs), tw.awaited, accepted, refused, ran, back)
		}
	}
	if t.Failed() {
		t.Fatalf("%s: Stats = %+v", when, m.s.Stats())
	}
}

// end closes the scheduler, if nothing else has, and adds up.
func (m *world) end(t *testing.T) {
	t.Helper()
	synctest.Wait()
	m.stop()
	if !m.ending.Load() {
		m.close()
	}
	m.join()
	m.others.Wait()
	m.join() // what a Close has let go of that came last
	m.settled(t, "at the end")
	executed := m.goRan.Load()
	for _, tw := range m.twigs {
		executed += int64(tw.ran.Load())
		if !tw.awaited && tw.ran.Load()+tw.back.Load() != tw.accepted.Load() {
			t.Errorf("task %d of %d was lost", tw.id, len(m.twigs))
		}
	}
	want(t, "panics that OnPanic saw", m.panicked.Load(), m.panics.Load())
	want(t, "functions that ran or came back", m.goRan.Load()+m.backUnknown.Load(), m.goAccepted.Load())
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

// FuzzScheduler runs traces of everything that a scheduler can be asked for, from
// inside and outside, until and after its end, on real goroutines in a bubble of
// synctest: a call that never returns is a deadlock there, which is reported at
// once. Each task runs once, or is refused, cancelled, or returned; and whenever
// all is quiet, nothing is left behind: Z-006, Z-012, Z-015, Z-057.
func FuzzScheduler(f *testing.F) {
	f.Add(uint8(0), []byte{0, 3, 0, 0, 0, 0, 8, 9, 0})                                              // some tasks, and the end
	f.Add(uint8(1), []byte{0, 3, 2, 3, 6, 2, 0, 0, 7, 1, 1, 8, 3, 2, 8, 3, 0, 0, 0, 8})             // trees
	f.Add(uint8(2), []byte{12, 2, 6, 3, 0, 0, 0, 15, 1, 8, 2, 0, 0, 19, 1, 17, 0, 6, 2, 0, 0})      // from several goroutines
	f.Add(uint8(5), []byte{0, 3, 4, 0, 5, 0, 3, 1, 4, 0, 7, 1, 0, 2, 5, 1, 4, 0, 8, 7, 0, 22, 0})   // panics and exits
	f.Add(uint8(3), []byte{12, 3, 0, 3, 0, 0, 0, 17, 3, 6, 1, 0, 22, 0, 0, 1, 0, 0, 23, 15, 0, 21}) // closed meanwhile
	f.Fuzz(func(t *testing.T, config uint8, input []byte) {
		synctest.Test(t, func(t *testing.T) {
			m := &world{byTask: make(map[*sched.Task]*twig), onPanic: config&4 != 0}
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
