package sched_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// defaultFollowsItsFirstUse is a child: see children.
func defaultFollowsItsFirstUse(t *testing.T) {
	t.Helper()
	processors(t, 3)
	first := sched.Default().MaxWorkers()
	processors(t, 5)
	fmt.Println("workers:", first, sched.Default().MaxWorkers(), sched.ForkJoin(nil, fib, 20))
}

// defaultFirstUsedInABubble is a child: see children.
func defaultFirstUsedInABubble(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { mustPanicInBubble(t, "Default", func() { sched.Default() }) })
	l := newLatch(1)
	must(t, sched.Default().Go(l.hit))
	l.wait(t)
	fmt.Println("works outside")
}

// TestNilSchedulerIsTheDefault: Default returns one scheduler, which works, and each form of
// ForkJoin runs on it if its scheduler is nil. V-01.
func TestNilSchedulerIsTheDefault(t *testing.T) {
	want := sched.Default()
	used := map[string]*sched.Scheduler{"Default": sched.Default()}
	note := func(name string, w *sched.Worker) int { used[name] = w.Scheduler(); return 0 }
	sched.ForkJoin(nil, func(f *ints, _ int) int { return note("ForkJoin", f.Worker()) }, 0)
	_, err := sched.ForkJoinContext(context.Background(), nil, func(f *ints, _ int) int { return note("ForkJoinContext", f.Worker()) }, 0)
	must(t, err)
	sched.ForkJoinFunc(nil, func(c sched.Scope) { note("ForkJoinFunc", c.Worker()) })
	sched.ForkJoinValue(nil, func(c sched.ScopeOf[int]) int { return note("ForkJoinValue", c.Worker()) })
	for name, got := range used {
		if got != want {
			t.Errorf("%s: got the scheduler %p, want %p", name, got, want)
		}
	}
	if len(used) != 5 {
		t.Errorf("%d of 5 functions ran", len(used))
	}
	works(t, want)
}

// TestDefaultWorkers: Default has GOMAXPROCS workers, of the moment of its first use.
func TestDefaultWorkers(t *testing.T) {
	if out, code := runChild(t, "default follows its first use"); code != 0 || !strings.Contains(out, "workers: 3 3 6765\n") {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
}

// TestDefaultHasNoEnd: Shutdown and Close of Default return ErrDefault, also inside its callbacks,
// and it works afterwards. V-05f.
func TestDefaultHasNoEnd(t *testing.T) {
	s := sched.Default()
	end := func() {
		mustBe(t, s.Shutdown(context.Background()), sched.ErrDefault)
		tasks, err := s.Close()
		mustBe(t, err, sched.ErrDefault)
		if len(tasks) != 0 {
			t.Errorf("Close returned %d tasks", len(tasks))
		}
	}
	end()
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { end() }}))
	_, err := s.Join(context.Background())
	mustBe(t, err, sched.ErrNotClosed)
	works(t, s)
}

// mustPanicInBubble fails the test unless call panics with the text for a bubble.
func mustPanicInBubble(t *testing.T, name string, call func()) {
	t.Helper()
	if text := fmt.Sprint(panicOf(call)); !strings.Contains(text, "Default, or a nil scheduler, is used inside a testing/synctest bubble") {
		t.Fatalf("%s in a bubble: panic %v", name, text)
	}
}

// TestDefaultInABubble: every use of Default inside a bubble panics with a text that names the
// mistake, whether or not a worker would have been started or awaited. The calls take no task and
// leave nothing in the bubble. V-05f.
func TestDefaultInABubble(t *testing.T) {
	s := sched.Default()
	works(t, s) // all workers exist: a call that fails the test starts none in the bubble
	g, limited := s.NewGroup(sched.GroupConfig{}), s.NewGroup(sched.GroupConfig{Limit: 1})
	release := make(chan struct{})
	limited.Go(func() error { <-release; return nil })
	task, body := noTask(), func(*ints, int) int { t.Error("a body runs"); return 0 }
	task.Fn = func(*sched.Worker, *sched.Task) { t.Error("a task runs") }
	var b sched.Batch
	must(t, b.Add(&sched.Task{Fn: task.Fn}))
	fn := func() error { t.Error("a function runs"); return nil }
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1000 * time.Hour) // also later in the time of the bubble
		for _, tc := range []struct {
			name string
			call func()
		}{
			{"Default", func() { sched.Default() }},
			{"ForkJoin(nil)", func() { sched.ForkJoin(nil, body, 0) }},
			{"ForkJoin(s)", func() { sched.ForkJoin(s, body, 0) }},
			{"ForkJoinContext(nil)", func() { _, _ = sched.ForkJoinContext(context.Background(), nil, body, 0) }},
			{"ForkJoinFunc(nil)", func() { sched.ForkJoinFunc(nil, func(sched.Scope) { body(nil, 0) }) }},
			{"ForkJoinValue(nil)", func() { sched.ForkJoinValue(nil, func(sched.ScopeOf[int]) int { return body(nil, 0) }) }},
			{"Blocking", func() { s.Blocking(func() {}) }},
			{"NewGroup", func() { s.NewGroup(sched.GroupConfig{}) }},
			{"Do", func() { _ = s.Do(task) }},
			{"TryDo", func() { _, _ = s.TryDo(task) }},
			{"Go", func() { _ = s.Go(func() { t.Error("a function runs") }) }},
			{"Schedule", func() { _ = s.Schedule(task) }},
			{"ScheduleBatch", func() { _ = s.ScheduleBatch(&b) }},
			{"Group.Schedule", func() { _ = g.Schedule(nil, task) }},
			{"Group.ScheduleBatch", func() { _ = g.ScheduleBatch(nil, &b) }},
			{"Group.Go", func() { g.Go(fn) }},
			{"Shutdown", func() { _ = s.Shutdown(context.Background()) }},
			{"Run", func() { _ = s.Run(context.Background()) }},
			{"Group.Go without permit", func() { limited.Go(fn) }},
			{"Group.Wait", func() { _ = limited.Wait() }},
			{"Group.Wait from a worker", func() { waitInside(t, limited) }},
		} {
			mustPanicInBubble(t, tc.name, tc.call)
		}
	})
	close(release)
	must(t, limited.Wait())
	must(t, g.Wait())
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
	if b.Len() != 1 {
		t.Errorf("the batch has %d tasks, want 1", b.Len())
	}
	if out, code := runChild(t, "default first used in a bubble"); code != 0 || !strings.Contains(out, "works outside") {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
}

// waitInside waits for g in a callback of a scheduler of the bubble.
func waitInside(t *testing.T, g *sched.Group) {
	t.Helper()
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { _ = w.Wait(g) }})
}
