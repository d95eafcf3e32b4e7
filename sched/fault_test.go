package sched_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// failingSpawner fails where fail says so, by the number of the call.
type failingSpawner struct {
	calls atomic.Int64
	fail  func(call int64) bool
}

func (f *failingSpawner) Spawn(run func()) error {
	if f.fail(f.calls.Add(1)) {
		return errors.New("no worker today")
	}
	go run()
	return nil
}

// Z-005, Z-061, X-31, B6: the first k spawns fail; then the pool works. V-13a.
func TestSpawnFailsAtFirst(t *testing.T) {
	for k := range int64(65) {
		s := newScheduler(t, sched.Config{
			MaxWorkers: 3,
			Spawner:    &failingSpawner{fail: func(call int64) bool { return call <= k }},
		})
		l := newLatch(int(k) + 1)
		for i := range k + 1 {
			err := s.Go(l.hit)
			if i < k {
				mustBe(t, err, sched.ErrQueued)
			} else {
				must(t, err)
			}
		}
		l.wait(t)
		if st := s.Stats(); st.SpawnFailures < uint64(k) {
			t.Fatalf("%d spawn failures counted, want %d", st.SpawnFailures, k)
		}
	}
}

// TestSpawnFailsAtN: every n-th spawn fails while workers block and come back.
// V-13b.
func TestSpawnFailsAtN(t *testing.T) {
	for n := int64(2); n <= 64; n++ {
		s := newScheduler(t, sched.Config{
			MaxWorkers: 2,
			Spawner:    &failingSpawner{fail: func(call int64) bool { return call%n == 0 }},
		})
		g := s.NewGroup(sched.GroupConfig{})
		for range 20 {
			err := g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(runtime.Gosched)
			}})
			if err != nil && !errors.Is(err, sched.ErrQueued) {
				t.Fatal(err)
			}
		}
		must(t, g.Wait())
	}
}

// TestSpawnFailsAlways: Do, Wait, Run and Shutdown serve what no worker can. V-13c.
func TestSpawnFailsAlways(t *testing.T) {
	never := func() *failingSpawner { return &failingSpawner{fail: func(int64) bool { return true }} }
	s, err := sched.New(sched.Config{MaxWorkers: 2, Spawner: never()})
	must(t, err)
	ran := 0
	count := func(*sched.Worker, *sched.Task) { ran++ }

	must(t, s.Do(&sched.Task{Fn: count}, &sched.Task{Fn: count}))
	if ran != 2 {
		t.Fatalf("Do ran %d tasks, want 2", ran)
	}

	mustBe(t, s.Schedule(&sched.Task{Fn: count}), sched.ErrQueued)
	g := s.NewGroup(sched.GroupConfig{})
	mustBe(t, g.Schedule(nil, &sched.Task{Fn: count}), sched.ErrQueued)
	must(t, g.Wait())
	if ran != 3 {
		t.Fatalf("%d tasks ran, want 3: Wait serves its group and nobody else", ran)
	}

	ctx, cancel := context.WithCancel(context.Background())
	mustBe(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++; cancel() }}), sched.ErrQueued)
	mustBe(t, s.Run(ctx), context.Canceled)
	if ran != 5 {
		t.Fatalf("%d tasks ran, want 5: Run serves all", ran)
	}

	mustBe(t, s.Schedule(&sched.Task{Fn: count}), sched.ErrQueued)
	must(t, s.Shutdown(within(t)))
	if ran != 6 {
		t.Fatalf("%d tasks ran, want 6: Shutdown drains", ran)
	}
}

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

// TestPanicCrashes: a panic that nobody awaits ends the program. V-06a.
func TestPanicCrashes(t *testing.T) {
	if os.Getenv("SCHED_TEST_CRASH") != "" {
		var s sched.Scheduler
		_ = s.Go(panicHere)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicCrashes$")
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

// TestEndlessCallback: it costs its worker, and its queue is stolen. V-06d.
func TestEndlessCallback(t *testing.T) {
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
