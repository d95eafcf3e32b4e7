package sched_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// The bad inputs that docs/VERIFICATION.md lists, as far as the scheduler has to
// withstand them. What is tested elsewhere is named there.

// panicOf returns what fn panics with.
func panicOf(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// atRest shuts s down and checks that nobody is left.
func atRest(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	must(t, s.Shutdown(within(t)))
	if st := s.Stats(); st.Workers != 0 || st.Held != 0 || st.Parked != 0 {
		t.Errorf("at the end: Stats = %+v", st)
	}
}

// TestNilArguments: what is nil fails at the caller, with an error or a panic
// that says what, and nothing of the call is taken. V-01.
func TestNilArguments(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{AllErrors: true})
	var b sched.Batch
	var inside []error
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		inside = []error{
			w.Schedule(nil), w.Schedule(new(sched.Task)), w.ScheduleBatch(nil),
			g.Schedule(w, nil), g.Schedule(w, new(sched.Task)), g.ScheduleBatch(w, nil),
			s.Do(nil), s.Go(nil), b.Append(nil),
		}
		if r := panicOf(func() { _ = w.Wait(nil) }); r != "sched: Worker.Wait: nil group" {
			t.Errorf("Wait(nil) panics with %v", r)
		}
		for name, fn := range map[string]func(){
			"Blocking":      func() { w.Blocking(nil) },
			"ForkJoinFunc":  func() { sched.ForkJoinFunc(s, nil) },
			"ForkJoinValue": func() { sched.ForkJoinValue[int](s, nil) },
		} {
			if r := panicOf(fn); r != "sched: "+name+": nil function" {
				t.Errorf("%s(nil) panics with %v", name, r)
			}
		}
	}}))
	for i, err := range inside {
		if !errors.Is(err, sched.ErrNilTask) {
			t.Errorf("call %d from inside = %v, want ErrNilTask", i, err)
		}
	}
	g.Go(nil)
	if !g.TryGo(nil) {
		t.Error("TryGo(nil) says that it would wait")
	}
	mustBe(t, g.Wait(), sched.ErrNilTask)

	// One nil among several: none is taken.
	l := newLatch(2)
	one := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	two := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	for _, bad := range []*sched.Task{nil, new(sched.Task)} {
		mustBe(t, s.Schedule(one, bad, two), sched.ErrNilTask)
		mustBe(t, s.Do(one, bad, two), sched.ErrNilTask)
		mustBe(t, g.Schedule(nil, one, bad, two), sched.ErrNilTask)
	}
	must(t, s.Schedule(one, two))
	l.wait(t)

	if r := panicOf(func() { _ = s.Run(nil) }); r != "sched: Run: nil context" { //nolint:staticcheck // on purpose
		t.Errorf("Run(nil) panics with %v", r)
	}
	var none *sched.Scheduler
	var group *sched.Group
	for name, fn := range map[string]func(){
		"Schedule": func() { _ = none.Schedule(noTask()) },
		"Do":       func() { _ = none.Do(noTask()) },
		"Go":       func() { _ = none.Go(func() {}) },
		"Shutdown": func() { _ = none.Shutdown(context.Background()) },
		"Close":    func() { _, _ = none.Close() },
		"NewGroup": func() { none.NewGroup(sched.GroupConfig{}) },
		"Group.Go": func() { group.Go(func() error { return nil }) },
		"Wait":     func() { _ = group.Wait() },
		"Add":      func() { _ = (*sched.Batch)(nil).Add(noTask()) },
	} {
		if _, ok := panicOf(fn).(runtime.Error); !ok {
			t.Errorf("%s on nil does not panic at its caller", name)
		}
	}
	atRest(t, s)
}

// TestQueuedTaskIsRefused: a task that is queued is refused by all that schedule,
// with the tasks that are given together with it, and runs once. V-02a, V-03a.
func TestQueuedTaskIsRefused(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	must(t, err)
	other := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := s.NewGroup(sched.GroupConfig{})
	var ran, free int
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
	fresh := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { free++ }}
	must(t, queuedOrNil(s.Schedule(task)))
	var b sched.Batch
	check := func(w *sched.Worker, where string) {
		for name, err := range map[string]error{
			"Schedule":              s.Schedule(task),
			"Schedule, last":        s.Schedule(fresh, task),
			"Schedule, twice":       s.Schedule(fresh, fresh),
			"Do":                    s.Do(task),
			"Do, last":              s.Do(fresh, task),
			"Group.Schedule":        g.Schedule(nil, fresh, task),
			"Batch.Add":             b.Add(task),
			"another scheduler":     other.Schedule(task),
			"another scheduler, Do": other.Do(task),
		} {
			if !errors.Is(err, sched.ErrAlreadyScheduled) {
				t.Errorf("%s %s = %v, want ErrAlreadyScheduled", name, where, err)
			}
		}
		if w == nil {
			return
		}
		for name, err := range map[string]error{
			"Worker.Schedule": w.Schedule(fresh, task),
			"Group.Schedule":  g.Schedule(w, fresh, task),
		} {
			if !errors.Is(err, sched.ErrAlreadyScheduled) {
				t.Errorf("%s %s = %v, want ErrAlreadyScheduled", name, where, err)
			}
		}
	}
	check(nil, "from outside")
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { check(w, "from inside") }}))
	if b.Len() != 0 || ran+free != 0 {
		t.Errorf("a batch of %d tasks; %d and %d runs", b.Len(), ran, free)
	}
	must(t, queuedOrNil(s.Schedule(fresh)))
	atRest(t, s)
	must(t, g.Wait())
	if ran != 1 || free != 1 {
		t.Errorf("the tasks ran %d and %d times, want once", ran, free)
	}
}

// TestScheduledFromItsOwnCallback: from the first instruction of its callback a
// task may be scheduled again, in every way. V-02b.
func TestScheduledFromItsOwnCallback(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{})
	batch := func(task *sched.Task) *sched.Batch {
		b := new(sched.Batch)
		if err := b.Add(task); err != nil {
			t.Error(err)
		}
		return b
	}
	ways := []func(w *sched.Worker, self *sched.Task) error{
		func(w *sched.Worker, self *sched.Task) error { return w.Schedule(self) },
		func(_ *sched.Worker, self *sched.Task) error { return s.Schedule(self) },
		func(_ *sched.Worker, self *sched.Task) error { return s.Do(self) },
		func(w *sched.Worker, self *sched.Task) error { return g.Schedule(w, self) },
		func(_ *sched.Worker, self *sched.Task) error { return g.Schedule(nil, self) },
		func(w *sched.Worker, self *sched.Task) error { return w.ScheduleBatch(batch(self)) },
		func(_ *sched.Worker, self *sched.Task) error { return s.ScheduleBatch(batch(self)) },
		func(w *sched.Worker, self *sched.Task) error { return g.ScheduleBatch(w, batch(self)) },
	}
	const rounds = 50
	l := newLatch(1 + rounds*len(ways))
	at := 0 // written by the callback, which runs once at a time
	task := &sched.Task{}
	task.Fn = func(w *sched.Worker, self *sched.Task) {
		if at < rounds*len(ways) {
			way := ways[at%len(ways)]
			at++
			if err := way(w, self); err != nil {
				t.Error(err)
			}
		}
		l.hit()
	}
	must(t, s.Schedule(task))
	l.wait(t)
	must(t, g.Wait())
	atRest(t, s)
}

// TestBatchesCrossed: appending two batches to each other makes no cycle, a batch
// is scheduled by one scheduler, and its copies by none. V-03a, V-03b, V-03c.
func TestBatchesCrossed(t *testing.T) {
	a := newScheduler(t, sched.Config{MaxWorkers: 1})
	b := newScheduler(t, sched.Config{MaxWorkers: 1})
	const n = 10
	l := newLatch(n)
	var ran [n]atomic.Int32
	tasks := make([]sched.Task, n)
	var one, two sched.Batch
	for i := range tasks {
		tasks[i].Fn = func(*sched.Worker, *sched.Task) { ran[i].Add(1); l.hit() }
		to := &one
		if i%2 == 0 {
			to = &two
		}
		must(t, to.Add(&tasks[i]))
		mustBe(t, one.Add(&tasks[i]), sched.ErrAlreadyScheduled)
		mustBe(t, two.Add(&tasks[i]), sched.ErrAlreadyScheduled)
	}
	for range 3 {
		must(t, one.Append(&two))
		must(t, two.Append(&one))
	}
	if one.Len() != 0 || two.Len() != n {
		t.Fatalf("the batches have %d and %d tasks, want 0 and %d", one.Len(), two.Len(), n)
	}
	copied := new(sched.Batch) // go vet refuses to copy one otherwise
	reflect.ValueOf(copied).Elem().Set(reflect.ValueOf(&two).Elem())
	release, blocked := make(chan struct{}), newLatch(1)
	must(t, a.Go(func() { blocked.hit(); <-release })) // so that the batch stays queued
	blocked.wait(t)
	must(t, a.ScheduleBatch(&two))
	must(t, b.ScheduleBatch(&two)) // empty by now
	mustBe(t, b.ScheduleBatch(copied), sched.ErrAlreadyScheduled)
	mustBe(t, a.ScheduleBatch(copied), sched.ErrAlreadyScheduled)
	mustBe(t, one.Append(copied), sched.ErrAlreadyScheduled)
	close(release)
	l.wait(t)
	for i := range ran {
		if got := ran[i].Load(); got != 1 {
			t.Errorf("task %d ran %d times", i, got)
		}
	}
}

// TestCopyOfAQueuedTask: the copy carries the mark, and is refused for as long as
// it has it; the task itself runs once. V-04b.
func TestCopyOfAQueuedTask(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	must(t, err)
	ran := 0
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
	job := &sched.Job[int]{Fn: func(*sched.Worker, *sched.Job[int]) { ran++ }}
	must(t, queuedOrNil(s.Schedule(task, job.Task())))
	taskCopy, jobCopy := *task, *job
	atRest(t, s)
	live := newScheduler(t, sched.Config{MaxWorkers: 1})
	var b sched.Batch
	for _, c := range []*sched.Task{&taskCopy, jobCopy.Task()} {
		mustBe(t, live.Schedule(c), sched.ErrAlreadyScheduled)
		mustBe(t, live.Do(c), sched.ErrAlreadyScheduled)
		mustBe(t, b.Add(c), sched.ErrAlreadyScheduled)
	}
	if ran != 2 {
		t.Errorf("%d runs, want 2", ran)
	}
	// What was copied before it was queued, or after it ran, is a task like others.
	idle := *task
	must(t, live.Do(&idle))
	if ran != 3 {
		t.Errorf("%d runs, want 3", ran)
	}
}

// TestScheduleDuringShutdown: of what callers from outside schedule while the
// scheduler shuts down, each task is accepted and has run when Shutdown returns,
// or is refused. V-05a, V-05b.
func TestScheduleDuringShutdown(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	for round := range rounds {
		s, err := sched.New(sched.Config{MaxWorkers: 1 + round%3})
		must(t, err)
		var accepted, ran atomic.Int64
		var callers sync.WaitGroup
		begun := newLatch(3)
		for range 3 {
			callers.Go(func() {
				for i := 0; ; i++ {
					if i == round {
						begun.hit()
					}
					task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}
					schedule := s.Schedule
					if i%5 == 0 {
						schedule = s.Do
					}
					switch err := schedule(task); {
					case err == nil:
						accepted.Add(1)
						runtime.Gosched()
					case errors.Is(err, sched.ErrShutdown):
						return
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		begun.wait(t)
		var ends sync.WaitGroup
		for range 2 {
			ends.Go(func() {
				if err := s.Shutdown(within(t)); err != nil {
					t.Error(err)
				}
			})
		}
		ends.Wait()
		atTheEnd := ran.Load()
		callers.Wait()
		if ran.Load() != accepted.Load() || atTheEnd != ran.Load() {
			t.Fatalf("round %d: %d accepted, %d ran, %d of them before Shutdown returned",
				round, accepted.Load(), ran.Load(), atTheEnd)
		}
		atRest(t, s)
	}
}

// TestWaitForTheOwnGroup: a task that waits for the group that it is counted in
// waits for itself; it does so without a place, and until its context ends. V-05d.
func TestWaitForTheOwnGroup(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{})
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	waits := newLatch(1)
	must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		waits.hit()
		if err := g.WaitContext(w.Context(ctx)); !errors.Is(err, why) {
			t.Errorf("WaitContext = %v, want the cause", err)
		}
	}}))
	waits.wait(t)
	l := newLatch(10)
	for range 10 {
		must(t, s.Go(l.hit))
	}
	l.wait(t)
	cancel(why)
	must(t, g.Wait())
	atRest(t, s)
}

// badEnds are the ways in which a callback may end other than by returning, and
// what a Wait of its group is told.
var badEnds = []struct {
	name string
	fn   func()
	want func(p *sched.PanicError, err error) bool // one of them is not nil
}{
	{"panic", func() { panic("one") }, panics("one")},
	{"panic of an error", func() { panic(errNoSpawn) }, panics(errNoSpawn)},
	{"panic(nil)", func() { panic(nil) }, panicsNil},
	{"runtime error", func() { var m map[int]int; m[1] = 1 }, panicsAtRuntime}, //nolint:staticcheck // on purpose
	{"panic again in a defer", func() { defer func() { panic(recover()) }(); panic("one") }, panics("one")},
	{"another panic in a defer", func() { defer func() { panic("two") }(); panic("one") }, panics("two")},
	{"Goexit", runtime.Goexit, exits},
	{"Goexit in a defer", func() { defer runtime.Goexit(); panic("one") }, exits},
	{
		"panic in a defer after Goexit", func() { defer func() { panic("late") }(); runtime.Goexit() },
		// The panic ends the task, and Goexit the callback that it ran on top of.
		func(p *sched.PanicError, err error) bool { return panics("late")(p, err) || exits(p, err) },
	},
	{"FailNow", func() { new(testing.T).FailNow() }, exits},
}

func panics(value any) func(*sched.PanicError, error) bool {
	return func(p *sched.PanicError, _ error) bool { return p != nil && p.Value == value && len(p.Stack) > 0 }
}

func panicsNil(p *sched.PanicError, _ error) bool {
	var value *runtime.PanicNilError
	return p != nil && errors.As(p, &value)
}

func panicsAtRuntime(p *sched.PanicError, _ error) bool {
	var value runtime.Error
	return p != nil && errors.As(p, &value)
}

func exits(p *sched.PanicError, err error) bool { return p == nil && errors.Is(err, sched.ErrGoexit) }

// waitFor waits for g and returns the panic that it raises, or its error.
func waitFor(t *testing.T, g *sched.Group) (p *sched.PanicError, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			p = r.(*sched.PanicError)
		}
	}()
	return nil, g.WaitContext(within(t))
}

// TestBadEnds: however a callback ends, its group learns how, its worker or
// another goes on, and nothing stays held: on a worker, after giving the place
// away, on top of a Wait, and on a caller of Do. V-06a, V-06b.
func TestBadEnds(t *testing.T) {
	for _, tc := range badEnds {
		t.Run(tc.name, func(t *testing.T) {
			for _, workers := range []int{1, 2} {
				s, err := sched.New(sched.Config{MaxWorkers: workers})
				must(t, err)
				bad := func() *sched.Task { return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { tc.fn() }} }
				for where, task := range map[string]*sched.Task{
					"on a worker": bad(),
					"after Blocking": {Fn: func(w *sched.Worker, _ *sched.Task) {
						w.Blocking(func() {})
						tc.fn()
					}},
					"in Blocking": {Fn: func(w *sched.Worker, _ *sched.Task) { w.Blocking(tc.fn) }},
					"in a Wait": {Fn: func(w *sched.Worker, _ *sched.Task) {
						var inner sched.Group
						if err := inner.Schedule(w, bad()); err != nil {
							t.Error(err)
						}
						if err := w.Wait(&inner); err != nil && !errors.Is(err, sched.ErrGoexit) {
							t.Error(err)
						} else if err != nil {
							runtime.Goexit() // the inner task ran elsewhere
						}
					}},
					"in a Do": {Fn: func(*sched.Worker, *sched.Task) {
						if err := s.Do(bad()); err != nil {
							t.Error(err)
						}
					}},
				} {
					g := s.NewGroup(sched.GroupConfig{})
					must(t, g.Schedule(nil, task))
					if p, err := waitFor(t, g); !tc.want(p, err) {
						t.Errorf("%s: the group was told %v, %v", where, p, err)
					}
				}
				done := make(chan struct{})
				go func() { // Do from outside: the caller's own goroutine ends like that
					defer close(done)
					defer func() { _ = recover() }()
					_ = s.Do(bad())
				}()
				<-done
				l := newLatch(10)
				for range 10 {
					must(t, s.Go(l.hit))
				}
				l.wait(t)
				atRest(t, s)
			}
		})
	}
}

// TestTightLoop: a callback that never ends, and never gives the processor away,
// costs its worker; the runtime takes the processor from it. V-06d.
func TestTightLoop(t *testing.T) {
	if runtime.GOARCH == "wasm" || strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		t.Skip("nothing takes the processor from a loop")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var stop atomic.Bool
	defer stop.Store(true)
	l := newLatch(300)
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		for range 300 {
			if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
				t.Error(err)
			}
		}
		for !stop.Load() {
		}
	}}))
	l.wait(t)
}

func stuckCallback(release chan struct{}) { <-release }

// TestStuckCallback: one that blocks for ever costs its worker. Shutdown returns
// when its context ends, Stats then counts the places that are still held, and a
// goroutine profile shows what their workers do. V-06e.
func TestStuckCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 3, Labels: true})
		must(t, err)
		release := make(chan struct{})
		for range 2 {
			must(t, s.Go(func() { stuckCallback(release) }))
		}
		l := newLatch(10)
		for range 10 {
			must(t, s.Go(l.hit))
		}
		<-l.done // the third worker
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		mustBe(t, s.Shutdown(ctx), context.DeadlineExceeded)
		if st := s.Stats(); st.Held != 2 {
			t.Errorf("2 callbacks are stuck, Stats = %+v", st)
		}
		var profile bytes.Buffer
		must(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
		stuck := 0
		for g := range strings.SplitSeq(profile.String(), "\n\n") {
			if strings.Contains(g, `"lanewright.worker":`) && strings.Contains(g, "stuckCallback") {
				stuck++
			}
		}
		if stuck != 2 {
			t.Errorf("the profile shows %d stuck workers, want 2:\n%s", stuck, &profile)
		}
		close(release)
		must(t, s.Shutdown(context.Background()))
	})
}

// children are programs that TestChild runs in a process of their own.
//
//nolint:thelper // each is a test
var children = map[string]func(t *testing.T){
	"exit": func(t *testing.T) { callback(t, func() { os.Exit(7) }) },
	"exit in Do": func(*testing.T) {
		var s sched.Scheduler
		_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { os.Exit(7) }})
	},
	"stack": func(t *testing.T) {
		debug.SetMaxStack(1 << 20)
		callback(t, func() { deeper(0) }) //nolint:staticcheck // it does not return
	},
	"memory": func(t *testing.T) {
		debug.SetGCPercent(-1)
		callback(t, func() {
			var all [][]byte
			for {
				all = append(all, make([]byte, 64<<20)) //nolint:staticcheck // to use up memory
			}
		})
	},
	"maps": func(t *testing.T) {
		m := map[int]int{}
		write := func() {
			for i := range math.MaxInt32 {
				m[i&0xff] = i
			}
		}
		callback(t, write, write)
	},
	"scheduled by two at once": func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
		must(t, err)
		task := noTask()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _ = s.Schedule(task) })
		}
		wg.Wait()
	},
	"written while queued": func(t *testing.T) {
		s := newScheduler(t, sched.Config{MaxWorkers: 1})
		l := newLatch(1)
		fn := func(*sched.Worker, *sched.Task) { l.hit() }
		task := &sched.Task{Fn: fn}
		must(t, s.Schedule(task))
		task.Fn = fn
		l.wait(t)
	},
}

func deeper(n int) int { return deeper(n+1) + 1 } //nolint:staticcheck // on purpose

// callback runs fns as callbacks of a scheduler whose hook takes every panic, and
// says so first.
func callback(t *testing.T, fns ...func()) {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: len(fns), OnPanic: func(*sched.Task, any, []byte) {}})
	must(t, err)
	fmt.Println("in a callback")
	for _, fn := range fns {
		must(t, s.Go(fn))
	}
	_ = s.Shutdown(within(t))
	fmt.Println("the callback returned")
}

// TestChild is what the process of a child runs.
func TestChild(t *testing.T) {
	run := children[os.Getenv("SCHED_TEST_CHILD")]
	if run == nil {
		t.Skip("other tests start it")
	}
	run(t)
}

// runChild runs a child and returns what it printed and how it ended. prefix, if
// any, is a command that runs the command that follows it.
func runChild(t *testing.T, name string, prefix ...string) (out string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	args := append(prefix, exe, "-test.run=^TestChild$", "-test.timeout=2m")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "SCHED_TEST_CHILD="+name)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("the test program cannot start itself here: %v", err) // under an emulator
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// TestExitInACallback: os.Exit ends the program, with its code, at once. V-06c.
func TestExitInACallback(t *testing.T) {
	for _, name := range []string{"exit", "exit in Do"} {
		if out, code := runChild(t, name); code != 7 || strings.Contains(out, "panic") || strings.Contains(out, "returned") {
			t.Errorf("%s: exit code %d, output:\n%s", name, code, out)
		}
	}
}

// TestFatalInACallback: what Go lets nobody recover from ends the program, also in
// a callback. V-07.
func TestFatalInACallback(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		prefix     []string
	}{
		{"stack", "stack overflow", nil},
		{"maps", "concurrent map", nil},
		{"memory", "out of memory", []string{"sh", "-c", `ulimit -v 3000000 && exec "$0" "$@"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			switch {
			case tc.name == "maps" && (runtime.GOMAXPROCS(0) < 2 || testing.Short()):
				t.Skip("two processors write a map at once, sooner or later")
			case tc.name == "memory" && (runtime.GOOS != "linux" || raceBuild()):
				t.Skip("needs a bound on the memory of a process, which the race detector does not work with")
			}
			out, code := runChild(t, tc.name, tc.prefix...)
			if !strings.Contains(out, "in a callback") {
				t.Skipf("the child did not start:\n%.500s", out)
			}
			if code == 0 || !strings.Contains(out, "fatal error: ") || !strings.Contains(out, tc.want) {
				t.Errorf("exit code %d, output:\n%.2000s", code, out)
			}
		})
	}
}

// TestRacesOnTasks: the race detector sees a task that two goroutines schedule at
// once, and one that is written while it is queued. V-02c, V-04c.
func TestRacesOnTasks(t *testing.T) {
	if !raceBuild() {
		t.Skip("the race detector is off")
	}
	for _, name := range []string{"scheduled by two at once", "written while queued"} {
		if out, code := runChild(t, name); code == 0 || !strings.Contains(out, "DATA RACE") {
			t.Errorf("a task that is %s: exit code %d, output:\n%s", name, code, out)
		}
	}
}

// raceBuild reports whether the race detector is on.
func raceBuild() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// TestContexts: a wait whose context has ended, or ends, returns the cause; one
// whose context ends later has returned already, and what it waited for is not
// touched either way. V-11.
func TestContexts(t *testing.T) {
	why := errors.New("why")
	cancelled := func(parent context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(parent)
		return ctx, func() { cancel(why) }
	}
	for _, tc := range []struct {
		name string
		make func(parent context.Context) (ctx context.Context, end func())
		when string
		want error
	}{
		{"cancelled before", cancelled, "before", why},
		{"cancelled during", cancelled, "during", why},
		{"cancelled after", cancelled, "after", nil},
		{"deadline 0", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, 0)
			return ctx, cancel
		}, "never", context.DeadlineExceeded},
		{"deadline past", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, math.MinInt64)
			return ctx, cancel
		}, "never", context.DeadlineExceeded},
		{"deadline during", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, time.Hour)
			return ctx, cancel
		}, "never", context.DeadlineExceeded},
		{"deadline far", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, math.MaxInt64)
			return ctx, cancel
		}, "after", nil},
	} {
		for _, call := range []string{"WaitContext", "WaitContext from inside", "Shutdown", "Join", "Run"} {
			t.Run(tc.name+"/"+call, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := sched.New(sched.Config{MaxWorkers: 2})
					must(t, err)
					release, ended := make(chan struct{}), false
					g := s.NewGroup(sched.GroupConfig{})
					g.Go(func() error { <-release; ended = true; return nil })
					synctest.Wait()
					ctx, end := tc.make(t.Context())
					if tc.when == "before" {
						end()
					}
					if call == "Join" {
						_, err := s.Close()
						must(t, err)
					}
					result := make(chan error, 1)
					wait := func() (err error) {
						switch call {
						case "WaitContext":
							return g.WaitContext(ctx)
						case "WaitContext from inside":
							doErr := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { err = g.WaitContext(w.Context(ctx)) }})
							return errors.Join(err, doErr)
						case "Shutdown":
							return s.Shutdown(ctx)
						case "Join":
							_, err = s.Join(ctx)
							return err
						}
						return s.Run(ctx)
					}
					go func() { result <- wait() }()
					synctest.Wait()
					if tc.when == "during" {
						end()
					}
					if tc.want != nil {
						mustBe(t, <-result, tc.want)
						if ended {
							t.Error("the callback has ended")
						}
					}
					close(release)
					must(t, s.Shutdown(context.Background()))
					if tc.want == nil {
						must(t, <-result)
					}
					end()
					if !ended {
						t.Error("the callback has not ended")
					}
					must(t, g.Wait())
				})
			})
		}
	}
}

// TestCancelRacesWithTheResult: a wait whose context ends when its group does
// returns one of the two, and what it returns is true. V-11.
func TestCancelRacesWithTheResult(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 300
	}
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	why := errors.New("why")
	for range n {
		g := s.NewGroup(sched.GroupConfig{})
		ctx, cancel := context.WithCancelCause(context.Background())
		var ran atomic.Int32
		ready := make(chan struct{})
		g.Go(func() error { <-ready; ran.Add(1); return nil })
		var wg sync.WaitGroup
		wg.Go(func() { <-ready; cancel(why) })
		wg.Go(func() {
			switch err := g.WaitContext(ctx); {
			case err == nil && ran.Load() != 1:
				t.Error("WaitContext = nil before the task has run")
			case err != nil && !errors.Is(err, why):
				t.Error(err)
			}
		})
		close(ready)
		wg.Wait()
		must(t, g.Wait())
		if ran.Load() != 1 {
			t.Fatalf("the task ran %d times", ran.Load())
		}
	}
}

// TestGroupOfAnEndedContext: a group whose parent context has ended runs its tasks
// all the same; its context says so to them. V-11.
func TestGroupOfAnEndedContext(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := s.NewGroup(sched.GroupConfig{Context: ctx})
	var seen error
	g.Go(func() error { seen = g.Context().Err(); return nil })
	must(t, g.Wait())
	mustBe(t, seen, context.Canceled)
}

// TestCloseWhileACallIsQueued: a Do that waits for a place when the scheduler is
// closed returns ErrClosed, and its task never runs; a call that runs ends with
// its own result. V-12a.
func TestCloseWhileACallIsQueued(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	release, started := make(chan struct{}), newLatch(1)
	running := s.NewGroup(sched.GroupConfig{})
	running.Go(func() error { started.hit(); <-release; return errNoSpawn })
	started.wait(t)
	ran := false
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}
	result := make(chan error, 1)
	go func() { result <- s.Do(task) }()
	for !s.AnyQueued() {
		runtime.Gosched()
	}
	tasks, err := s.Close()
	must(t, err)
	mustBe(t, <-result, sched.ErrClosed)
	close(release)
	mustBe(t, running.Wait(), errNoSpawn)
	later, err := s.Join(within(t))
	must(t, err)
	if len(tasks)+len(later) != 0 || ran {
		t.Errorf("%d tasks came back, ran: %v", len(tasks)+len(later), ran)
	}
	mustBe(t, s.Do(task), sched.ErrClosed) // it is the caller's again, and refused for the scheduler
}

// TestOneSpawnFails: when the n-th spawn of 64 fails, no task is lost: the next
// Schedule tries again, until all 64 workers are there. V-13b.
func TestOneSpawnFails(t *testing.T) {
	const workers = 64
	for n := int64(1); n <= workers; n++ {
		s, err := sched.New(sched.Config{
			MaxWorkers: workers,
			Spawner:    &failingSpawner{fail: func(call int64) bool { return call == n }},
		})
		must(t, err)
		l := newLatch(workers)
		for i := range workers {
			err := s.Go(func() { l.hit(); <-l.done })
			if (i == 0 && n == 1) != errors.Is(err, sched.ErrQueued) {
				t.Errorf("spawn %d fails: Go %d = %v", n, i, err)
			}
		}
		// Further tasks make up for the spawn that failed; no more of them than that takes,
		// since what is queued in a stuck worker's ring waits for whoever has nothing else.
		for deadline := time.Now().Add(patience); s.Stats().Spawns < workers && time.Now().Before(deadline); runtime.Gosched() {
			must(t, s.Go(func() {}))
		}
		l.wait(t)
		if st := s.Stats(); st.SpawnFailures != 1 || st.Spawns != workers {
			t.Errorf("spawn %d fails: Stats = %+v", n, st)
		}
		atRest(t, s)
	}
}

// TestMaxWorkersOutOfRange: what the Sync word cannot count is refused by New. V-14a.
func TestMaxWorkersOutOfRange(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 16_384, 1<<14 + 1, math.MaxInt32, math.MaxInt} {
		s, err := sched.New(sched.Config{MaxWorkers: n})
		if s != nil || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Config.MaxWorkers is %d", n)) {
			t.Errorf("New(%d) = %v, %v", n, s, err)
		}
		if n > 0 && !errors.Is(err, sched.ErrTooManyWorkers) {
			t.Errorf("New(%d) = %v, want ErrTooManyWorkers", n, err)
		}
	}
}

// TestAsManyWorkersAsCanBe: with 16,383 workers the next one is refused, the fields
// of the Sync word stay apart, and one of those there runs a task. V-14b.
func TestAsManyWorkersAsCanBe(t *testing.T) {
	const most = 16_383
	if testing.Short() || raceBuild() {
		t.Skip("too many goroutines for -short, and for the race detector")
	}
	s, err := sched.New(sched.Config{MaxWorkers: most})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	for range most {
		callers.Go(func() {
			if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v", err)
			}
		})
	}
	for deadline := time.Now().Add(patience); s.Stats().Parked < most && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	mustBe(t, s.Run(ctx), sched.ErrTooManyWorkers)
	l := newLatch(100)
	for range 100 {
		must(t, s.Go(l.hit))
	}
	l.wait(t)
	if st := s.Stats(); st.Workers != most || st.Spawns != 0 {
		t.Errorf("Stats = %+v, want %d workers, none of them spawned", st, most)
	}
	cancel()
	callers.Wait()
	atRest(t, s)
}

// TestGroupLimits: the limit of a group is checked, and the highest is no limit. V-16c.
func TestGroupLimits(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for _, n := range []int{-1, math.MinInt} {
		if r := panicOf(func() { s.NewGroup(sched.GroupConfig{Limit: n}) }); r == nil {
			t.Errorf("NewGroup with a limit of %d does not panic", n)
		}
	}
	for _, n := range []int{0, 1, math.MaxInt} {
		g := s.NewGroup(sched.GroupConfig{Limit: n})
		var ran atomic.Int32
		for range 3 {
			g.Go(func() error { ran.Add(1); return nil })
		}
		must(t, g.Wait())
		if ran.Load() != 3 {
			t.Errorf("with a limit of %d, %d of 3 functions ran", n, ran.Load())
		}
	}
}

// underPressure are the tests that TestMatrix runs again.
const underPressure = "^(TestExactlyOnce|TestRescheduleItself|TestWaitInTasks|TestNestedGroups|TestBlocking" +
	"|TestShutdownDrains|TestCloseReturnsWhatNobodyRan|TestSpawnFailsAtN|TestGoexit|TestBadEnds|TestScheduleDuringShutdown)$"

// TestMatrix runs what is most sensitive with one processor, with a collector that
// runs all the time, and with a runtime that preempts at calls only. V-17a.
func TestMatrix(t *testing.T) {
	if testing.Short() || raceBuild() || ringSize < 64 {
		t.Skip("runs many tests again, five times: not with -short, nor where all is slow")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	const noPreempt = "GODEBUG=asyncpreemptoff=1"
	for _, env := range [][]string{
		{"GOMAXPROCS=1"}, {"GOGC=1"}, {noPreempt}, {"GOMAXPROCS=1", "GOGC=1", noPreempt}, {"GOMAXPROCS=8"},
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			cmd := exec.Command(exe, "-test.short", "-test.timeout=5m", "-test.run="+underPressure)
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Skipf("the test program cannot start itself here: %v", err)
			}
			if err != nil || !strings.Contains(string(out), "PASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestProcessInACallback: a callback may start a process and wait for it, on a
// worker that is wired to its thread as well. V-17d.
func TestProcessInACallback(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for _, lock := range []bool{false, true} {
		s := newScheduler(t, sched.Config{MaxWorkers: 1, LockOSThread: lock})
		g := s.NewGroup(sched.GroupConfig{})
		var errs [3]error
		for i := range errs {
			must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(func() { errs[i] = exec.Command(exe, "-test.run=^$").Run() })
			}}))
		}
		must(t, g.Wait())
		if errs[0] != nil {
			t.Skipf("the test program cannot start itself here: %v", errs[0])
		}
		if err := errors.Join(errs[:]...); err != nil {
			t.Error(err)
		}
	}
}
