package sched_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/runqueue"
	"github.com/lanewright/lanewright/sched"
)

// mustIn is must for a test of rapid.
func mustIn(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantIn checks that err is want, or nil.
func wantIn(t rapid.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// copyBatch copies what must not be copied, so that tests see what happens.
func copyBatch(b *sched.Batch) *sched.Batch {
	c := new(sched.Batch)
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(b).Elem())
	return c
}

// TestBatchModel compares batches with slices: what a batch refuses leaves it as
// it was, a copy of a batch that was scheduled is refused, and tasks run in the
// order of the batch, each once. Z-003, Z-009.
func TestBatchModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
		mustIn(t, err)
		ended, err := sched.New(sched.Config{MaxWorkers: 1})
		mustIn(t, err)
		mustIn(t, ended.Shutdown(context.Background()))
		group := open.NewGroup(sched.GroupConfig{})
		refused := ended.NewGroup(sched.GroupConfig{})

		var ran, queued []int
		var cancel context.CancelFunc
		batches := [3]*sched.Batch{new(sched.Batch), new(sched.Batch), new(sched.Batch)}
		var model [3][]int
		jobs := make([]*sched.Job[int], 12)
		inside := make([]bool, len(jobs)) // queued, or in a batch
		for i := range jobs {
			jobs[i] = &sched.Job[int]{Value: i, Fn: func(_ *sched.Worker, j *sched.Job[int]) {
				ran = append(ran, j.Value)
				inside[j.Value] = false
				if len(ran) == len(queued) {
					cancel()
				}
			}}
		}
		pick := func(t *rapid.T) int { return rapid.IntRange(0, len(batches)-1).Draw(t, "batch") }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				b, i := pick(t), rapid.IntRange(0, len(jobs)-1).Draw(t, "job")
				var want error
				if inside[i] {
					want = sched.ErrAlreadyScheduled
				} else {
					model[b] = append(model[b], i)
					inside[i] = true
				}
				wantIn(t, "Add", batches[b].Add(jobs[i].Task()), want)
			},
			"add nothing": func(t *rapid.T) {
				wantIn(t, "Add(nil)", batches[pick(t)].Add(nil), sched.ErrNilTask)
				wantIn(t, "Add(zero)", batches[pick(t)].Add(new(sched.Task)), sched.ErrNilTask)
			},
			"schedule a task in a batch": func(t *rapid.T) {
				b := pick(t)
				if len(model[b]) == 0 {
					t.Skip("empty")
				}
				task := jobs[rapid.SampledFrom(model[b]).Draw(t, "job")].Task()
				wantIn(t, "Schedule", open.Schedule(task), sched.ErrAlreadyScheduled)
				wantIn(t, "Group.Schedule", group.Schedule(nil, task), sched.ErrAlreadyScheduled)
				wantIn(t, "Do", open.Do(task), sched.ErrAlreadyScheduled)
			},
			"append": func(t *rapid.T) {
				to, from := pick(t), pick(t)
				if to == from {
					wantIn(t, "Append(itself)", batches[to].Append(batches[to]), sched.ErrAlreadyScheduled)
					return
				}
				wantIn(t, "Append", batches[to].Append(batches[from]), nil)
				model[to] = append(model[to], model[from]...)
				model[from] = nil
			},
			"refuse": func(t *rapid.T) {
				b := pick(t)
				var want error
				if len(model[b]) > 0 {
					want = sched.ErrShutdown
				}
				wantIn(t, "ScheduleBatch", ended.ScheduleBatch(batches[b]), want)
				wantIn(t, "Group.ScheduleBatch", refused.ScheduleBatch(nil, batches[b]), want)
				wantIn(t, "Wait", refused.Wait(), nil)
			},
			"schedule": func(t *rapid.T) {
				b := pick(t)
				clone := copyBatch(batches[b])
				schedule := open.ScheduleBatch
				if rapid.Bool().Draw(t, "grouped") {
					schedule = func(b *sched.Batch) error { return group.ScheduleBatch(nil, b) }
				}
				var want error
				if len(model[b]) > 0 {
					want = sched.ErrQueued
				}
				wantIn(t, "ScheduleBatch", schedule(batches[b]), want)
				if want != nil { // the copy still names tasks that are queued now
					wantIn(t, "ScheduleBatch(copy)", open.ScheduleBatch(clone), sched.ErrAlreadyScheduled)
					wantIn(t, "Group.ScheduleBatch(copy)", group.ScheduleBatch(nil, clone), sched.ErrAlreadyScheduled)
					wantIn(t, "Append(copy)", batches[b].Append(clone), sched.ErrAlreadyScheduled)
				}
				queued = append(queued, model[b]...)
				model[b] = nil
			},
			"run": func(t *rapid.T) {
				if len(queued) == 0 {
					t.Skip("nothing is queued")
				}
				ran = nil
				var ctx context.Context
				ctx, cancel = context.WithCancel(context.Background())
				wantIn(t, "Run", open.Run(ctx), context.Canceled)
				if runqueue.Capacity < 64 { // the ring is refilled late, and injection has turns
					slices.Sort(ran)
					slices.Sort(queued)
				}
				if !slices.Equal(ran, queued) {
					t.Fatalf("ran %v, want %v", ran, queued)
				}
				queued = nil
				wantIn(t, "Wait", group.Wait(), nil)
			},
			"": func(t *rapid.T) {
				for b := range batches {
					if batches[b].Len() != len(model[b]) {
						t.Fatalf("batch %d: Len = %d, want %d", b, batches[b].Len(), len(model[b]))
					}
				}
			},
		})
	})
}

// A twig is a task of a drawn program: it schedules its children in one of the
// ways there are, may wait for them, and may panic or call Goexit when somebody
// awaits it.
type twig struct {
	id       int
	way      int
	fails    int // 0: no, 1: panics, 2: calls Goexit
	children []*twig
}

// The ways to run children. From waits on, somebody awaits them.
const (
	waySchedule = iota
	wayOutside
	wayBatch
	wayBlockingFirst
	wayBlockingUntil
	waits
	wayWait = iota - 1
	wayWaitUnknown
	wayWaitContext
	wayDo
	ways
)

// A program is a forest of twigs and the record of a run of it.
type program struct {
	s       *sched.Scheduler
	roots   []*twig
	size    int
	ran     []atomic.Int32
	holding []atomic.Uintptr // by worker ID: the goroutine that runs a callback
	errs    chan error
}

func (p *program) failf(format string, args ...any) {
	select {
	case p.errs <- fmt.Errorf(format, args...):
	default: // there are enough
	}
}

// growTwig reads a twig off the script.
func (p *program) growTwig(script *[]byte, depth int, awaited bool) *twig {
	choose := func(n int) int {
		if len(*script) == 0 {
			return 0
		}
		b := (*script)[0]
		*script = (*script)[1:]
		return int(b) % n
	}
	tw := &twig{id: p.size, way: choose(ways)}
	p.size++
	if awaited && choose(8) == 1 {
		tw.fails = 1 + choose(2)
	}
	if depth > 0 {
		for range choose(4) {
			if len(*script) == 0 {
				break
			}
			tw.children = append(tw.children, p.growTwig(script, depth-1, tw.way >= wayWait))
		}
	}
	return tw
}

// task returns the task of a twig.
func (p *program) task(tw *twig) *sched.Task {
	return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { p.enter(w, tw) }}
}

func (p *program) tasks(tws []*twig) (ts []*sched.Task) {
	for _, tw := range tws {
		ts = append(ts, p.task(tw))
	}
	return ts
}

func (p *program) check(what string, err error) {
	if err != nil {
		p.failf("%s: %w", what, err)
	}
}

// awaitErr checks what a wait for twigs returned, given how they may fail.
func (p *program) awaitErr(what string, err error, tws []*twig) {
	for _, tw := range tws {
		if tw.mayExit() && (errors.Is(err, sched.ErrGoexit) || err == nil) {
			return
		}
	}
	p.check(what, err)
}

// mayExit reports whether the goroutine that runs the twig may unwind.
func (tw *twig) mayExit() bool {
	if tw.fails == 2 {
		return true
	}
	return tw.way >= wayWait && slices.ContainsFunc(tw.children, (*twig).mayExit)
}

// mayPanic reports whether a panic comes out of the twig.
func (tw *twig) mayPanic() bool { return tw.fails == 1 }

// enter is the callback of tw.
func (p *program) enter(w *sched.Worker, tw *twig) {
	p.ran[tw.id].Add(1)
	release := func() {}
	if id := w.ID(); id >= 0 {
		if other := p.holding[id].Swap(park.Self()); other != 0 {
			p.failf("two callbacks run with the ID %d", id)
		}
		release = func() { p.holding[id].Store(0) }
	}
	p.runChildren(w, tw, release)
	switch tw.fails {
	case 1:
		panic(tw)
	case 2:
		runtime.Goexit()
	}
}

// runChildren schedules the children of tw, all of them before it waits. release
// says that the callback may give its place away from then on.
func (p *program) runChildren(w *sched.Worker, tw *twig, release func()) {
	awaiting := func(what string, wait func() error) {
		release()
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			from, _ := r.(*twig) // a Do on the caller's goroutine
			if pe, ok := r.(*sched.PanicError); ok {
				from, _ = pe.Value.(*twig)
			}
			if from == nil || !slices.Contains(tw.children, from) {
				p.failf("%s raised %v", what, r)
			}
		}()
		err := wait()
		if slices.ContainsFunc(tw.children, (*twig).mayPanic) && !slices.ContainsFunc(tw.children, (*twig).mayExit) {
			p.failf("%s did not raise the panic of a child", what)
		}
		for _, c := range tw.children {
			if p.ran[c.id].Load() != 1 {
				p.failf("%s returned before task %d ran", what, c.id)
			}
		}
		p.awaitErr(what, err, tw.children)
	}
	switch tw.way {
	case waySchedule:
		for _, c := range tw.children {
			p.check("Worker.Schedule", w.Schedule(p.task(c)))
		}
		release()
	case wayOutside:
		for _, c := range tw.children {
			// A drain refuses what comes from outside.
			if err := p.s.Schedule(p.task(c)); err != nil {
				p.failf("Schedule: %w", err)
			}
		}
		release()
	case wayBatch:
		var b sched.Batch
		for _, task := range p.tasks(tw.children) {
			p.check("Add", b.Add(task))
		}
		p.check("Worker.ScheduleBatch", w.ScheduleBatch(&b))
		release()
	case wayBlockingFirst:
		release()
		w.Blocking(runtime.Gosched)
		for _, c := range tw.children {
			p.check("Worker.Schedule", w.Schedule(p.task(c)))
		}
	case wayBlockingUntil:
		entered := newLatch(len(tw.children) + 1)
		for _, c := range tw.children {
			p.check("Worker.Schedule", w.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				entered.hit()
				p.enter(w, c)
			}}))
		}
		entered.hit()
		release()
		w.Blocking(func() { <-entered.done })
	case wayWait:
		var g sched.Group
		for _, c := range tw.children {
			p.check("Group.Schedule", g.Schedule(w, p.task(c)))
		}
		awaiting("Worker.Wait", func() error { return w.Wait(&g) })
	case wayWaitUnknown:
		g := p.s.NewGroup(sched.GroupConfig{})
		var b sched.Batch
		for _, task := range p.tasks(tw.children) {
			p.check("Add", b.Add(task))
		}
		p.check("Group.ScheduleBatch", g.ScheduleBatch(w, &b))
		awaiting("Group.Wait", g.Wait)
	case wayWaitContext:
		g := p.s.NewGroup(sched.GroupConfig{AllErrors: true})
		for _, c := range tw.children {
			p.check("Group.Schedule", g.Schedule(nil, p.task(c)))
		}
		ctx := w.Context(context.Background())
		awaiting("Group.WaitContext", func() error { return g.WaitContext(ctx) })
	case wayDo:
		awaiting("Do", func() error { return p.s.Do(p.tasks(tw.children)...) })
	}
}

// run runs the program and checks the laws: each task ran once, all waits end,
// Shutdown returns, and the counters add up.
func (p *program) run(t *rapid.T, workers, runners int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	runCtx, stopRun := context.WithCancel(context.Background())
	defer stopRun()
	var running, callers sync.WaitGroup
	for range runners {
		running.Go(func() {
			if err := p.s.Run(runCtx); !errors.Is(err, context.Canceled) {
				p.failf("Run: %w", err)
			}
		})
	}
	var total atomic.Int64 // of goroutines that are through
	for i, root := range p.roots {
		callers.Go(func() {
			defer total.Add(1)
			if i%2 == 0 {
				p.check("Schedule", p.s.Schedule(p.task(root)))
				return
			}
			defer func() {
				if r := recover(); r != nil {
					p.failf("Do raised %v", r)
				}
			}()
			p.awaitErr("Do", p.s.Do(p.task(root)), []*twig{root})
		})
	}
	done := make(chan struct{})
	go func() { callers.Wait(); p.quiet(ctx); stopRun(); running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%d of %d callers are through, Stats = %+v", total.Load(), len(p.roots), p.s.Stats())
	}
	mustIn(t, p.s.Shutdown(ctx))
	select {
	case err := <-p.errs:
		t.Fatal(err)
	default:
	}
	for id := range p.ran {
		if n := p.ran[id].Load(); n != 1 {
			t.Fatalf("task %d of %d ran %d times", id, p.size, n)
		}
	}
	st := p.s.Stats()
	if st.Executed != uint64(p.size) || st.Workers != 0 || st.Held != 0 || st.Parked != 0 || st.Places > workers || st.EmptyWakes > st.Wakes {
		t.Fatalf("%d tasks ran on %d workers, Stats = %+v", p.size, workers, st)
	}
}

// quiet waits until every task ran, so that no schedule from outside meets a drain.
func (p *program) quiet(ctx context.Context) {
	for id := 0; id < len(p.ran) && ctx.Err() == nil; {
		if p.ran[id].Load() > 0 {
			id++
			continue
		}
		runtime.Gosched()
	}
}

// TestPrograms runs programs that rapid draws on real goroutines: trees of tasks
// that schedule, wait, block, call Do, panic and exit. Z-006, Z-012, Z-015, Z-057.
func TestPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(t, "workers")
		runners := rapid.IntRange(0, 2).Draw(t, "runners")
		script := drawScript(t)
		p := &program{errs: make(chan error, 10)}
		for len(script) > 0 {
			p.roots = append(p.roots, p.growTwig(&script, 5, false))
		}
		p.ran = make([]atomic.Int32, p.size)
		p.holding = make([]atomic.Uintptr, workers)
		var err error
		p.s, err = sched.New(sched.Config{MaxWorkers: workers})
		mustIn(t, err)
		p.run(t, workers, runners)
	})
}
