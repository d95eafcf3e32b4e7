package sched_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// TestPanicIsCarried: a panic in a group, or in a Do, reaches who waits for it.
// V-06a.
func TestPanicIsCarried(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		boom := func(*sched.Worker, *sched.Task) { panicHere() }
		wait := map[string]func(){
			"Group.Wait": func() {
				g := s.NewGroup(sched.GroupConfig{})
				must(t, g.Schedule(nil, &sched.Task{Fn: boom}))
				_ = g.Wait()
			},
			"Worker.Wait": func() {
				_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					var g sched.Group
					if err := g.Schedule(w, &sched.Task{Fn: boom}); err != nil {
						t.Error(err)
					}
					_ = w.Wait(&g)
				}})
			},
			"Do of two": func() {
				_ = s.Do(&sched.Task{Fn: boom}, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}})
			},
		}
		for name, fn := range wait {
			func() {
				defer func() {
					p, ok := recover().(*sched.PanicError)
					if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "panicHere") {
						t.Errorf("%s: recovered %v", name, p)
					}
				}()
				fn()
			}()
		}
		func() { // the caller's own goroutine: the very panic
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("Do: recovered %v", r)
				}
			}()
			// A new one, where a place is free: a worker of s may be searching still.
			_ = newScheduler(t, sched.Config{MaxWorkers: workers}).Do(&sched.Task{Fn: boom})
		}()
		ran := false // and the scheduler goes on
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
		if !ran {
			t.Error("nothing runs after a panic")
		}
	}
}

func panicHere() { panic("boom") }

// TestOnPanic: the handler gets task, value and stack; the worker survives. V-06a.
func TestOnPanic(t *testing.T) {
	type report struct {
		task  *sched.Task
		value any
		stack string
	}
	got := make(chan report, 4)
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(task *sched.Task, value any, stack []byte) {
		got <- report{task, value, string(stack)}
	}})
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panicHere() }}
	must(t, s.Schedule(task))
	if r := <-got; r.task != task || r.value != "boom" || !strings.Contains(r.stack, "panicHere") {
		t.Errorf("OnPanic got %v", r)
	}
	g := s.NewGroup(sched.GroupConfig{})
	must(t, g.Schedule(nil, task))
	var p *sched.PanicError
	if err := g.Wait(); !errors.As(err, &p) || p.Value != "boom" {
		t.Errorf("Wait = %v, want the panic as an error", err)
	}
	<-got
	if err := s.Do(task); !errors.As(err, &p) {
		t.Errorf("Do = %v, want the panic as an error", err)
	}
	<-got
	must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic(nil) }})) //nolint:govet // on purpose
	if r := <-got; r.value == nil {
		t.Error("panic(nil) was not reported")
	}
	if n := s.Stats().Workers; n > 1 {
		t.Errorf("%d workers after panics", n)
	}
}

// TestUnawaitedPanicEndsProgram: a panic that nobody awaits ends the program. V-06a.
func TestUnawaitedPanicEndsProgram(t *testing.T) {
	if os.Getenv("SCHED_TEST_CRASH") != "" {
		var s sched.Scheduler
		_ = s.Go(panicHere)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnawaitedPanicEndsProgram$")
	cmd.Env = append(os.Environ(), "SCHED_TEST_CRASH=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("the test program cannot start itself here: %v", err) // under an emulator
	}
	if err == nil || !strings.Contains(string(out), "panic: boom") || !strings.Contains(string(out), "panicHere") {
		t.Errorf("err %v, output:\n%s", err, out)
	}
}

// TestGoexit: it ends the task and its worker, and nothing else. V-06b.
func TestGoexit(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		exit := func() *sched.Task {
			return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { runtime.Goexit() }}
		}
		for range 20 {
			must(t, s.Schedule(exit()))
			g := s.NewGroup(sched.GroupConfig{})
			must(t, g.Schedule(nil, exit()))
			mustBe(t, g.Wait(), sched.ErrGoexit)
		}
		// In a task that somebody waits for on top of another.
		g := s.NewGroup(sched.GroupConfig{})
		must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			var inner sched.Group
			if err := inner.Schedule(w, exit()); err != nil {
				t.Error(err)
			}
			_ = w.Wait(&inner)
		}}))
		if err := g.Wait(); err != nil && !errors.Is(err, sched.ErrGoexit) {
			t.Error(err)
		}
		// After giving the place away.
		g = s.NewGroup(sched.GroupConfig{})
		must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			w.Blocking(func() {})
			runtime.Goexit()
		}}))
		mustBe(t, g.Wait(), sched.ErrGoexit)
		// On the goroutine of a caller of Do.
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Do(exit())
		}()
		<-done
		l := newLatch(10)
		for range 10 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
	}
}

// TestEndlessCallbackCostsOneWorker: it costs its worker, and its queue is stolen. V-06d.
func TestEndlessCallbackCostsOneWorker(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var stop atomic.Bool
	l := newLatch(300)
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		for range 300 {
			if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
				t.Error(err)
			}
		}
		for !stop.Load() {
			runtime.Gosched()
		}
	}}))
	l.wait(t)
	stop.Store(true)
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

// TestGroupReportsAbnormalEnds: however a callback ends, its group learns how, its worker or
// another goes on, and nothing stays held: on a worker, after giving the place
// away, on top of a Wait, and on a caller of Do. V-06a, V-06b.
func TestGroupReportsAbnormalEnds(t *testing.T) {
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

// TestPanicInOnPanicReleasesPlace: a hook that panics leaves no place held and no worker counted.
// V-06a.
func TestPanicInOnPanicReleasesPlace(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(_ *sched.Task, v any, _ []byte) { panic(v) }, Spawner: never()})
	if err := s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}); !errors.Is(err, sched.ErrQueued) {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Run(context.Background())
	}()
	if st := s.Stats(); st.Held != 0 || st.Workers != 0 {
		t.Errorf("after Run: %d places held, %d workers counted", st.Held, st.Workers)
	}
	if _, err := s.Close(); err != nil {
		t.Errorf("Close from outside = %v", err)
	}
}

// TestOnPanicGetsThePanickedTask: the hook is given the task that panicked, not one that ran on top of it.
func TestOnPanicGetsThePanickedTask(t *testing.T) {
	got := make(chan *sched.Task, 1)
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(task *sched.Task, _ any, _ []byte) { got <- task }})
	inner := noTask()
	outer := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		var g sched.Group
		_ = g.Schedule(w, inner)
		_ = w.Wait(&g)
		panic("outer")
	}}
	must(t, s.Schedule(outer))
	switch task := <-got; task {
	case outer:
	case inner:
		t.Fatal("OnPanic was given the task that ran on top, which had ended")
	}
}

// TestGoexitInOnPanicCostsOneWorker: a hook that calls Goexit costs the worker and nothing else.
// V-06b.
func TestGoexitInOnPanicCostsOneWorker(t *testing.T) {
	for name, workers := range map[string]int{"worker": 1} {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: workers, OnPanic: func(*sched.Task, any, []byte) { runtime.Goexit() }})
			must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}))
			st := s.Stats()
			t.Logf("workers %d parked %d held %d", st.Workers, st.Parked, st.Held)
			l := newLatch(1)
			must(t, s.Go(l.hit))
			ends(t, "a task after OnPanic called Goexit", func() { <-l.done })
		})
	}
}

// TestGoexitInOnPanicEndsGroup: the group of a task whose panic such a hook was told of ends.
// V-06b.
func TestGoexitInOnPanicEndsGroup(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) { runtime.Goexit() }})
	g := s.NewGroup(sched.GroupConfig{})
	must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}))
	ends(t, "Wait", func() { _ = g.Wait() })
}

// A Do whose first task panics leaves the others running: "returns when all have finished".
// The same with Goexit in a nested task: Wait is left though the group is not done.
// The waiter's callback is ended by the Goexit of a task that happened to run on top of it.
// Goexit of a helped task ends a caller of Do that did not call it.
// Double schedule from one goroutine: run with -race.

// TestTightLoopCostsOneWorker: a callback that never ends, and never gives the processor away,
// costs its worker; the runtime takes the processor from it. V-06d.
func TestTightLoopCostsOneWorker(t *testing.T) {
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

// TestStuckCallbackCostsOneWorker: one that blocks for ever costs its worker. Shutdown returns
// when its context ends, Stats then counts the places that are still held, and a
// goroutine profile shows what their workers do. V-06e.
func TestStuckCallbackCostsOneWorker(t *testing.T) {
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
