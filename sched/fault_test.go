package sched_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/sched"
)

// TestPanicIsCarried: a panic in a group or in a Do is raised again in the caller that waits for
// it. V-06a.
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
		func() { // on the goroutine of the caller: the panic itself
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("Do: recovered %v", r)
				}
			}()
			// A new scheduler has a free place. A worker of s may still hold one and search.
			_ = newScheduler(t, sched.Config{MaxWorkers: workers}).Do(&sched.Task{Fn: boom})
		}()
		ran := false // the scheduler continues
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
		if !ran {
			t.Error("nothing runs after a panic")
		}
	}
}

func panicHere() { panic("boom") }

// TestOnPanic: OnPanic receives the task, the value and the stack of a panic, and the worker
// survives. V-06a.
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

// TestUnawaitedPanicEndsProgram: a panic of a task that no caller waits for ends the program.
// V-06a.
func TestUnawaitedPanicEndsProgram(t *testing.T) {
	if os.Getenv("SCHED_TEST_CRASH") != "" {
		var s sched.Scheduler
		_ = s.Go(panicHere)
		select {}
	}
	out, err := proctest.Output(t, proctest.Self(t, []string{"SCHED_TEST_CRASH=1"}, "-test.run=^TestUnawaitedPanicEndsProgram$"))
	if err == nil || !strings.Contains(out, "panic: boom") || !strings.Contains(out, "panicHere") {
		t.Errorf("err %v, output:\n%s", err, out)
	}
}

// TestGoexit: runtime.Goexit in a callback ends its task and its worker, and nothing else.
// V-06b.
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
		// In a task that a Wait runs on top of another task.
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
		// After the release of the place.
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

// TestEndlessCallbackCostsOneWorker: a callback that never ends costs its worker, and another
// worker steals the tasks of its place. V-06d.
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

// abnormalEnds are the ways in which a callback ends without a return, and the result that a
// Wait of its group reports.
var abnormalEnds = []struct {
	name string
	fn   func()
	want func(p *sched.PanicError, err error) bool // either p or err is not nil
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
		// The panic ends the task. Goexit ends the callback below the task.
		func(p *sched.PanicError, err error) bool { return panics("late")(p, err) || exits(p, err) },
	},
	{"FailNow", func() { new(testing.T).FailNow() }, exits},
}

// panics accepts a panic with the given value and a stack.
func panics(value any) func(*sched.PanicError, error) bool {
	return func(p *sched.PanicError, _ error) bool { return p != nil && p.Value == value && len(p.Stack) > 0 }
}

// panicsNil accepts a panic with nil.
func panicsNil(p *sched.PanicError, _ error) bool {
	var value *runtime.PanicNilError
	return p != nil && errors.As(p, &value)
}

// panicsAtRuntime accepts a runtime error.
func panicsAtRuntime(p *sched.PanicError, _ error) bool {
	var value runtime.Error
	return p != nil && errors.As(p, &value)
}

// exits accepts ErrGoexit.
func exits(p *sched.PanicError, err error) bool { return p == nil && errors.Is(err, sched.ErrGoexit) }

// waitFor waits for g and returns the error of the Wait, or the panic that it raises.
func waitFor(t *testing.T, g *sched.Group) (p *sched.PanicError, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			p = r.(*sched.PanicError)
		}
	}()
	return nil, g.WaitContext(within(t))
}

// TestGroupReportsAbnormalEnds: the group of a callback that ends without a return reports how
// the callback ended. The worker or a new one continues, and no place stays held. This holds on
// a worker, after the release of the place, on top of a Wait, and on a caller of Do. V-06a,
// V-06b.
func TestGroupReportsAbnormalEnds(t *testing.T) {
	for _, tc := range abnormalEnds {
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
							runtime.Goexit() // the inner task ran on another worker
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
						t.Errorf("%s: the group reports %v, %v", where, p, err)
					}
				}
				done := make(chan struct{})
				go func() { // Do of an external caller, whose goroutine ends in the same way
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

// TestPanicOnTopOfAWait: a panic of a task that runs on top of a wait ends that task only. The wait runs the
// other tasks, keeps its place unless the task has released it, and raises the panic at its end. A
// WaitContext whose context ends before that returns the cause, and a later wait raises the panic. V-06a.
func TestPanicOnTopOfAWait(t *testing.T) {
	isBoom := func(r any) bool {
		p, ok := r.(*sched.PanicError)
		return ok && p.Value == "boom" && strings.Contains(string(p.Stack), "panicHere")
	}
	boom := func() *sched.Task { return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panicHere() }} }
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	var hooked []*sched.Task
	onPanic := func(task *sched.Task, _ any, _ []byte) { hooked = append(hooked, task) }
	//nolint:thelper // each is a test
	for _, tc := range []struct {
		name    string
		onPanic func(*sched.Task, any, []byte)
		held    int // places that the callback holds after the wait
		fn      func(t *testing.T, w *sched.Worker, g *sched.Group)
	}{
		{"Wait runs the others", nil, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			ran := false
			must(t, g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
			must(t, g.Schedule(w, boom())) // the newest task runs first
			if r := panicOf(func() { _ = w.Wait(g) }); !isBoom(r) || !ran {
				t.Errorf("Wait raises %v, and the other task ran: %t", r, ran)
			}
		}},
		{"WaitContext", nil, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			must(t, g.Schedule(w, boom()))
			if r := panicOf(func() { _ = g.WaitContext(w.Context(t.Context())) }); !isBoom(r) {
				t.Errorf("WaitContext raises %v", r)
			}
		}},
		{"the context ends first", nil, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			ran := false
			must(t, g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
			must(t, g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { cancel(why); panicHere() }}))
			mustBe(t, g.WaitContext(w.Context(ctx)), why)
			if ran {
				t.Error("a task has begun on top of the wait after its context has ended")
			}
			if r := panicOf(func() { _ = w.Wait(g) }); !isBoom(r) || !ran {
				t.Errorf("the next Wait raises %v, and the other task ran: %t", r, ran)
			}
		}},
		{"the context has ended and all tasks as well", nil, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			must(t, g.Schedule(w, boom()))
			_ = panicOf(func() { _ = w.Wait(g) })
			if r := panicOf(func() { _ = g.WaitContext(w.Context(ctx)) }); !isBoom(r) {
				t.Errorf("WaitContext raises %v", r)
			}
		}},
		{"nested and recovered", nil, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			var r any
			must(t, g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				var inner sched.Group
				must(t, inner.Schedule(w, boom()))
				r = panicOf(func() { _ = w.Wait(&inner) })
			}}))
			if must(t, g.WaitContext(w.Context(t.Context()))); !isBoom(r) {
				t.Errorf("the inner Wait raises %v", r)
			}
		}},
		{"nested and raised again", nil, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			var first any
			must(t, g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				var inner sched.Group
				must(t, inner.Schedule(w, boom()))
				defer func() { first = recover(); panic(first) }()
				_ = w.Wait(&inner)
			}}))
			if r := panicOf(func() { _ = g.WaitContext(w.Context(t.Context())) }); !isBoom(r) || r != first {
				t.Errorf("the outer wait raises %v, want the value that the inner one raises, %v", r, first)
			}
		}},
		{"nested with OnPanic", onPanic, 1, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			bad := boom()
			must(t, g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				var inner sched.Group
				must(t, inner.Schedule(w, bad))
				if err := w.Wait(&inner); !isBoom(err) {
					t.Errorf("the inner Wait = %v, want the panic as an error", err)
				}
			}}))
			if must(t, w.Wait(g)); len(hooked) != 1 || hooked[0] != bad {
				t.Errorf("OnPanic got %v, want the inner task alone", hooked)
			}
		}},
		{"the task has released the place", nil, 0, func(t *testing.T, w *sched.Worker, g *sched.Group) {
			must(t, g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { w.Blocking(panicHere) }}))
			if r := panicOf(func() { _ = w.Wait(g) }); !isBoom(r) {
				t.Errorf("Wait raises %v", r)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spawner := heldSpawner{begin: make(chan struct{})} // no worker takes a place during the Do
			s := openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: tc.onPanic, Spawner: spawner})
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				tc.fn(t, w, new(sched.Group))
				if st := s.Stats(); st.Held != tc.held || st.Running != 1 {
					t.Errorf("after the wait: Stats = %+v, want %d held places and the callback", st, tc.held)
				}
			}}))
			close(spawner.begin)
			atRest(t, s)
		})
	}
}

// TestPanicInOnPanicReleasesPlace: a panic in OnPanic leaves no place held and no worker
// counted. V-06a.
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
		t.Errorf("Close = %v", err)
	}
}

// TestOnPanicGetsThePanickedTask: OnPanic receives the task that panicked, and not a task that
// ran on top of it.
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
		t.Fatal("OnPanic got the task that ran on top of the panicked one and had ended")
	}
}

// TestGoexitInOnPanicCostsOneWorker: a runtime.Goexit in OnPanic costs the worker and nothing
// else. V-06b.
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

// TestGoexitInOnPanicEndsGroup: a group ends although OnPanic calls runtime.Goexit for a panic
// of its task. V-06b.
func TestGoexitInOnPanicEndsGroup(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) { runtime.Goexit() }})
	g := s.NewGroup(sched.GroupConfig{})
	must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}))
	ends(t, "Wait", func() { _ = g.Wait() })
}

// needsPreemption skips a test that has a loop without calls and needs progress of other goroutines
// meanwhile. Where the runtime does not preempt such a loop, a garbage collection stops the other
// goroutines and waits for the loop for ever.
func needsPreemption(t *testing.T) {
	t.Helper()
	if runtime.GOARCH == "wasm" || strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		t.Skip("the runtime does not preempt loops here")
	}
}

// TestTightLoopCostsOneWorker: a callback in a loop without calls costs its worker, because the
// runtime preempts the loop. V-06d.
func TestTightLoopCostsOneWorker(t *testing.T) {
	needsPreemption(t)
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

// TestStuckCallbackCostsOneWorker: a callback that blocks for ever costs its worker. Shutdown
// returns when its context ends, Stats counts the held places, and a goroutine profile shows the
// stuck callbacks. V-06e.
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
