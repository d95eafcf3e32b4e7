package sched_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// inspected has callbacks of each kind. Each of them hits begun and then waits for end.
type inspected struct {
	s      *sched.Scheduler
	begun  *latch
	end    chan struct{}
	waiter *sched.Worker // of waiting
}

func (h *inspected) hold()                                 { h.begun.hit(); <-h.end }
func (h *inspected) byGo()                                 { h.hold() }
func (h *inspected) bySchedule(*sched.Worker, *sched.Task) { h.hold() }
func (h *inspected) byJob(*sched.Worker, *sched.Job[int])  { h.hold() }
func (h *inspected) byGroup() error                        { h.hold(); return nil }
func (h *inspected) byDo(*sched.Worker, *sched.Task)       { h.hold() }
func (h *inspected) byTryDo(*sched.Worker, *sched.Task)    { h.hold() }
func (h *inspected) byDoOfTwo(*sched.Worker, *sched.Task)  { h.hold() }
func (h *inspected) byRun(*sched.Worker, *sched.Task)      { h.hold() }

func (h *inspected) blocking(w *sched.Worker, _ *sched.Task)     { w.Blocking(h.hold) }
func (h *inspected) blockingInDo(w *sched.Worker, _ *sched.Task) { w.Blocking(h.hold) }
func (h *inspected) afterBlocking(w *sched.Worker, _ *sched.Task) {
	w.Blocking(func() {})
	h.hold()
}

func (h *inspected) byForkJoin(*sched.Forks[int, int], int) int { h.hold(); return 0 }
func (h *inspected) byForkJoinFunc(sched.Scope)                 { h.hold() }
func (h *inspected) byForkJoinValue(sched.ScopeOf[int]) int     { h.hold(); return 0 }
func (h *inspected) blockingInForkJoin(f *sched.Forks[int, int], _ int) int {
	f.Worker().Blocking(h.hold)
	return 0
}

func (h *inspected) byPromotedFork(f *sched.Forks[int, int], n int) int {
	if n == 0 {
		f.Push(1)
		f.PromoteNow()
		h.promoting(f)
		return 0
	}
	h.hold()
	return 0
}

// promoting waits until another worker runs the fork, and then joins it.
func (h *inspected) promoting(f *sched.Forks[int, int]) {
	h.hold()
	if f.TakeBack() {
		panic("the fork was taken back")
	}
	f.Await()
}

// waiting waits for a task that runs on top of the wait. A thief may take the task before, and
// then the next one may run there.
func (h *inspected) waiting(w *sched.Worker, _ *sched.Task) {
	for h.waiter = w; h.waiter != nil; {
		g := h.s.NewGroup(sched.GroupConfig{})
		_ = g.Schedule(w, &sched.Task{Fn: h.onTop})
		_ = w.Wait(g)
	}
}

func (h *inspected) onTop(w *sched.Worker, _ *sched.Task) {
	if w == h.waiter {
		h.hold()
		h.waiter = nil
	}
}

func (h *inspected) doInBlocking(w *sched.Worker, _ *sched.Task) {
	w.Blocking(func() { _ = h.s.Do(&sched.Task{Fn: h.byDoInBlocking}) })
}

func (h *inspected) byDoInBlocking(*sched.Worker, *sched.Task) { h.hold() }

// start starts all callbacks, and returns what Inspect says of them: the functions, outermost
// first, and whether the callback has released its place.
func (h *inspected) start(t *testing.T, ctx context.Context) (want []string) {
	t.Helper()
	h.begun, h.end = newLatch(19), make(chan struct{})
	task := func(fn func(*sched.Worker, *sched.Task)) *sched.Task { return &sched.Task{Fn: fn} }
	must(t, h.s.Go(h.byGo))
	must(t, h.s.Schedule(task(h.bySchedule), task(h.blocking), task(h.afterBlocking), task(h.waiting), task(h.doInBlocking)))
	must(t, h.s.Schedule((&sched.Job[int]{Fn: h.byJob}).Task()))
	h.s.NewGroup(sched.GroupConfig{}).Go(h.byGroup)
	go func() { _ = h.s.Do(task(h.byDo)) }()
	go func() { _, _ = h.s.TryDo(task(h.byTryDo)) }()
	go func() { _ = h.s.Do(task(h.blockingInDo)) }()
	go func() { _ = h.s.Do(task(h.byDoOfTwo), task(h.byDoOfTwo)) }()
	go sched.ForkJoin(h.s, h.byForkJoin, 0)
	go sched.ForkJoinFunc(h.s, h.byForkJoinFunc)
	go sched.ForkJoinValue(h.s, h.byForkJoinValue)
	go sched.ForkJoin(h.s, h.blockingInForkJoin, 0)
	go sched.ForkJoin(h.s, h.byPromotedFork, 0)
	go func() { _ = h.s.Run(ctx) }()
	h.begun.wait(t)
	return []string{
		"afterBlocking blocked", "blocking blocked", "blockingInDo blocked", "blockingInForkJoin blocked",
		"byDo", "byDoInBlocking", "byDoOfTwo", "byDoOfTwo", "byForkJoin", "byForkJoinFunc", "byForkJoinValue", "byGo",
		"byGroup", "byJob", "byPromotedFork", "byPromotedFork", "bySchedule", "byTryDo",
		"doInBlocking blocked", "waiting > onTop",
	}
}

// shortName returns the name of a method of inspected without its type.
func shortName(function string) string {
	return strings.TrimSuffix(function[strings.LastIndexByte(function, '.')+1:], "-fm")
}

// TestInspectNamesCallbacks: Inspect returns each callback that runs in a scheduler, once, with its
// function and its place, and none of another scheduler. V-06e.
func TestInspectNamesCallbacks(t *testing.T) {
	for _, c := range []sched.Config{{}, {Labels: true, Trace: true}, {StallAfter: time.Hour}} {
		c.MaxWorkers = 24
		h, other := &inspected{s: openScheduler(t, c)}, &inspected{s: openScheduler(t, c)}
		ctx, cancel := context.WithCancel(context.Background())
		before := time.Now()
		want := h.start(t, ctx)
		other.start(t, ctx)
		var list []sched.Running
		until("each callback waits for the channel", func() bool {
			list = h.s.Inspect()
			return !slices.ContainsFunc(list, func(r sched.Running) bool { return !strings.HasPrefix(r.State, "chan receive") })
		})
		var got []string
		places := map[int]bool{}
		for _, r := range list {
			name := shortName(r.Function)
			for _, f := range r.OnTop {
				name += " > " + shortName(f)
			}
			if r.Blocked {
				name += " blocked"
			}
			got = append(got, name)
			if r.Blocked != (r.Place < 0) || places[r.Place] && !r.Blocked || r.Place >= c.MaxWorkers {
				t.Errorf("the place of %s is %d", name, r.Place)
			}
			places[r.Place] = true
			if r.Goroutine == 0 {
				t.Errorf("%s has no goroutine", name)
			}
			if r.Since.Before(before) || r.Since.After(time.Now()) {
				t.Errorf("%s runs since %v, and the first callback began after %v", name, r.Since, before)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: Inspect names\n%q\nwant\n%q", c, got, want)
		}
		until("Stats counts the same callbacks", func() bool { return h.s.Stats().Running == len(want) })
		close(h.end)
		close(other.end)
		cancel()
		atRest(t, h.s)
		atRest(t, other.s)
		if got := h.s.Inspect(); len(got) != 0 || h.s.Attention() != 0 {
			t.Errorf("at the end: Inspect = %+v, the attention counter is %d", got, h.s.Attention())
		}
	}
}

// TestInspectFindsWaiterThatRunsTasks: Inspect names tasks on the goroutine of a waiter and of a
// Shutdown, also after they have blocked.
func TestInspectFindsWaiterThatRunsTasks(t *testing.T) {
	for _, call := range []string{"Wait", "Shutdown"} {
		for _, block := range []bool{false, true} {
			h := &inspected{s: openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: never()}), begun: newLatch(1), end: make(chan struct{})}
			fn := h.bySchedule
			if block {
				fn = h.afterBlocking
			}
			g := h.s.NewGroup(sched.GroupConfig{})
			mustBe(t, g.Schedule(nil, &sched.Task{Fn: fn}), sched.ErrQueued)
			done := make(chan error, 1)
			go func() {
				if call == "Wait" {
					done <- g.Wait()
				} else {
					done <- h.s.Shutdown(within(t))
				}
			}()
			h.begun.wait(t)
			got := h.s.Inspect()
			if len(got) != 1 || got[0].Blocked != block || !strings.Contains(got[0].Function, "(*inspected).") {
				t.Errorf("in a %s, blocking %v: Inspect = %+v", call, block, got)
			}
			close(h.end)
			must(t, <-done)
		}
	}
}

// TestInspectOfNestedSchedulers: a task of one scheduler runs on top of a wait in a Do of another one.
// Each of the two schedulers has one callback, and that of the first has the task on top, also when
// that has blocked. The first one has a single place, so no thief takes the task.
func TestInspectOfNestedSchedulers(t *testing.T) {
	for _, block := range []bool{false, true} {
		s1, s2 := openScheduler(t, sched.Config{MaxWorkers: 1}), openScheduler(t, sched.Config{MaxWorkers: 2})
		begun, end := newLatch(1), make(chan struct{})
		hold := func(w *sched.Worker, _ *sched.Task) {
			if block {
				w.Blocking(func() { begun.hit(); <-end })
				return
			}
			begun.hit()
			<-end
		}
		must(t, s1.Schedule(&sched.Task{Fn: func(w1 *sched.Worker, _ *sched.Task) {
			_ = s2.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				g := s1.NewGroup(sched.GroupConfig{})
				_ = g.Schedule(w1, &sched.Task{Fn: hold})
				_ = w1.Wait(g)
			}})
		}}))
		begun.wait(t)
		outer, inner := s1.Inspect(), s2.Inspect()
		if len(outer) != 1 || len(outer[0].OnTop) != 1 || outer[0].Blocked != block {
			t.Errorf("blocking %v: the outer scheduler runs %+v", block, outer)
		}
		if len(inner) != 1 || len(inner[0].OnTop) != 0 || inner[0].Blocked {
			t.Errorf("blocking %v: the inner scheduler runs %+v", block, inner)
		}
		close(end)
		atRest(t, s1)
		atRest(t, s2)
	}
}

// recurse calls fn on top of n calls of itself.
func recurse(n int, fn func()) {
	if n > 0 {
		recurse(n-1, fn)
		runtime.KeepAlive(n)
		return
	}
	fn()
}

// TestInspectDeepStacks: of a stack with more calls than the runtime prints, Inspect gives the names
// that are there and no wrong one. A callback whose worker is not there has its place and no name.
func TestInspectDeepStacks(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 3})
	begun, end := newLatch(2), make(chan struct{})
	hold := func() { begun.hit(); <-end }
	must(t, s.Go(hold))
	go recurse(60, func() {
		_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { recurse(60, hold) }})
	})
	begun.wait(t)
	begun = newLatch(1) // one place is left, so no thief takes a task of the third callback
	var nest func(w *sched.Worker, n int)
	onTop := func(w *sched.Worker, n int) {
		g := s.NewGroup(sched.GroupConfig{})
		_ = g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { nest(w, n) }})
		_ = w.Wait(g)
	}
	nest = func(w *sched.Worker, n int) {
		if n == 0 {
			recurse(60, hold)
			return
		}
		recurse(n%7, func() { onTop(w, n-1) }) // the calls that are left out begin at any of them
	}
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { nest(w, 12) }}))
	begun.wait(t)
	got := s.Inspect()
	places, unnamed := map[int]bool{}, 0
	for _, r := range got {
		places[r.Place] = true
		if r.Function == "" {
			unnamed++
		}
		for _, f := range r.OnTop {
			if !strings.Contains(f, "TestInspectDeepStacks.") {
				t.Errorf("Inspect names %s", f)
			}
		}
	}
	if len(got) != 3 || len(places) != 3 || unnamed != 1 {
		t.Errorf("Inspect = %+v, want three callbacks and one of them without a name", got)
	}
	close(end)
	atRest(t, s)
}

// TestInspectedFunctionsAreNotInlined: the stack of a callback has the functions that Inspect looks
// for with their arguments, whatever profile the program is built with.
func TestInspectedFunctionsAreNotInlined(t *testing.T) {
	text, err := os.ReadFile("inspect.go")
	if err != nil {
		t.Skip(err) // the test program runs outside the repository
	}
	wanted := map[string]bool{}
	for _, m := range regexp.MustCompile(`ownPrefix \+ "\(\*(\w+)\)\.(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		wanted[m[1]+"."+m[2]] = true
	}
	if len(wanted) < 9 {
		t.Fatalf("callbacksIn looks for %v only", wanted)
	}
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			id, _ := star.X.(*ast.Ident)
			if id == nil || !wanted[id.Name+"."+f.Name.Name] {
				continue
			}
			delete(wanted, id.Name+"."+f.Name.Name)
			kept := f.Doc != nil && slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool { return c.Text == "//go:noinline" }) ||
				slices.ContainsFunc(f.Body.List, func(s ast.Stmt) bool { _, is := s.(*ast.DeferStmt); return is })
			if !kept {
				t.Errorf("%s: %s.%s may be inlined", name, id.Name, f.Name.Name)
			}
		}
	}
	if len(wanted) != 0 {
		t.Errorf("callbacksIn looks for %v, which do not exist", wanted)
	}
}

// TestInspectFindsTheIdleHook: a worker in Config.OnIdle holds a place, and Inspect names the hook.
func TestInspectFindsTheIdleHook(t *testing.T) {
	begun, end := newLatch(1), make(chan struct{})
	var once sync.Once
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(*sched.Worker) {
		once.Do(func() { begun.hit(); <-end })
	}})
	must(t, s.Go(func() {}))
	begun.wait(t)
	if got := s.Inspect(); len(got) != 1 || got[0].Blocked || !strings.Contains(got[0].Function, "TestInspectFindsTheIdleHook") {
		t.Errorf("in OnIdle: Inspect = %+v", got)
	}
	close(end)
	atRest(t, s)
}

// TestInspectSince: the time that Inspect returns for a callback is the same until it ends, and is
// later for the next callback on the place, however the place has changed hands.
func TestInspectSince(t *testing.T) {
	type step = func(s *sched.Scheduler, fn func())
	one := func(t *testing.T, s *sched.Scheduler) sched.Running {
		t.Helper()
		got := s.Inspect()
		if len(got) != 1 {
			t.Fatalf("Inspect = %+v, want one callback", got)
		}
		return got[0]
	}
	byGo := func(s *sched.Scheduler, fn func()) { _ = s.Go(fn) }
	byDo := func(s *sched.Scheduler, fn func()) {
		go func() { _ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { fn() }}) }()
	}
	for name, steps := range map[string][]step{
		"worker":           {byGo, byGo, byGo},
		"caller":           {byDo, byDo, byDo},
		"worker and other": {byGo, byDo, byGo, byDo},
	} {
		for _, idle := range []bool{false, true} { // Inspect between the callbacks as well
			t.Run(fmt.Sprintf("%s/idle=%v", name, idle), func(t *testing.T) {
				s := openScheduler(t, sched.Config{MaxWorkers: 1})
				var last time.Time
				for _, schedule := range steps {
					begun, end := newLatch(1), make(chan struct{})
					schedule(s, func() { begun.hit(); <-end })
					begun.wait(t)
					first := one(t, s)
					if !first.Since.After(last) {
						t.Errorf("a callback that began after %v ran at %v", last, first.Since)
					}
					if again := one(t, s); again.Since != first.Since {
						t.Errorf("a callback ran at %v, and later at %v only", first.Since, again.Since)
					}
					close(end)
					until("the scheduler is idle", func() bool {
						st := s.Stats()
						return st.Running == 0 && st.Queued == 0 && st.Parked == st.Workers
					})
					if idle && len(s.Inspect()) != 0 {
						t.Errorf("an idle scheduler runs %+v", s.Inspect())
					}
					last = time.Now()
				}
				atRest(t, s)
				if s.Attention() != 0 {
					t.Errorf("the attention counter is %d at the end", s.Attention())
				}
			})
		}
	}
}

// TestInspectSinceOfTasksInARow: a worker, or a caller of Do, that runs one task after another has a
// later time for each task, although it keeps its place.
func TestInspectSinceOfTasksInARow(t *testing.T) {
	const n = 3
	for name, schedule := range map[string]func(s *sched.Scheduler, tasks []*sched.Task) error{
		"worker": func(s *sched.Scheduler, tasks []*sched.Task) error { return s.Schedule(tasks...) },
		"Do": func(s *sched.Scheduler, tasks []*sched.Task) error {
			go func() { _ = s.Do(tasks...) }()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: 1})
			begun, end := make(chan struct{}), make(chan struct{})
			var tasks []*sched.Task
			for range n {
				tasks = append(tasks, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { begun <- struct{}{}; <-end }})
			}
			must(t, schedule(s, tasks))
			var last time.Time
			for range n {
				<-begun
				got := s.Inspect()
				if len(got) != 1 || !got[0].Since.After(last) {
					t.Errorf("after the start of the task at %v: Inspect = %+v", last, got)
				}
				last = time.Now()
				end <- struct{}{}
			}
			atRest(t, s)
		})
	}
}

// TestInspectConcurrently: concurrent calls of Inspect change nothing for tasks, and the names are
// those of the functions that run.
func TestInspectConcurrently(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	s := openScheduler(t, sched.Config{MaxWorkers: 3})
	stop := make(chan struct{})
	var load sync.WaitGroup
	for i := range 3 {
		load.Go(func() {
			task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { w.Blocking(runtime.Gosched) }}
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				if i == 0 {
					g := s.NewGroup(sched.GroupConfig{})
					for range 5 {
						g.Go(func() error { return nil })
					}
					err = g.Wait()
				} else {
					err = s.Do(task)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var inspectors sync.WaitGroup
	for range 2 {
		inspectors.Go(func() {
			for range rounds {
				for _, r := range s.Inspect() {
					if !strings.Contains(r.Function, "sched_test.TestInspectConcurrently.func") {
						t.Errorf("Inspect names %+v", r)
					}
				}
			}
		})
	}
	inspectors.Wait()
	close(stop)
	load.Wait()
	atRest(t, s)
	if s.Attention() != 0 {
		t.Errorf("the attention counter is %d at the end", s.Attention())
	}
}

// TestInspectReadsStacks: Inspect reads the form in which the runtime prints stacks.
func TestInspectReadsStacks(t *testing.T) {
	const own = "github.com/lanewright/lanewright/sched."
	worker := own + "(*Worker).work(0xc1, 0x8?)\n\t/w.go:1 +0x1\n" +
		own + "(*Worker).loop(0xc1, 0x0)\n\t/w.go:1 +0x1\n" +
		own + "(*Scheduler).runLoops(0xc5, 0xc1)\n\t/w.go:1 +0x1\n" +
		own + "(*Worker).run(0xc1)\n\t/w.go:1 +0x1\ncreated by " + own + "goSpawner.Spawn in goroutine 1\n\t/w.go:1 +0x1"
	for _, tc := range []struct {
		name, text string
		want       []string // state, wait and functions
	}{
		{"task", "goroutine 7 [chan receive]:\nmain.f(0x1?)\n\t/f.go:1 +0x1\n" + worker, []string{"7 chan receive 0s main.f"}},
		{"wait", "goroutine 7 [select, 12 minutes, locked to thread]:\nmain.f()\n\t/f.go:1 +0x1\n" + worker, []string{"7 select 12m0s main.f"}},
		{"labels", "goroutine 7 [IO wait, 2 minutes labels:{\"k\": \"a[0], 5000 minutes, \"}]:\nmain.f()\n\t/f.go:1 +0x1\n" + worker, []string{"7 IO wait 2m0s main.f"}},
		{"method of this package", "goroutine 7 [select]:\n" + own + "(*Group).Wait(0xc2)\n\t/f.go:1 +0x1\n" + own + "runFunc(0xc1)\n\t/f.go:1 +0x1\n" + worker, []string{"7 select 0s " + own + "(*Group).Wait"}},
		{"elided above the worker", "goroutine 7 [runnable]:\nmain.g(...)\n\t/f.go:1\n...900 frames elided...\n" + worker, []string{"7 runnable 0s"}},
		{"deep", "goroutine 7 [runnable]:\nmain.g(...)\n\t/f.go:1\n...900 frames elided...\nmain.f({0x1, 0x2})\n\t/f.go:1 +0x1\n" + worker, []string{"7 runnable 0s main.f"}},
		{"search", "goroutine 7 [runnable]:\ngithub.com/lanewright/lanewright/runqueue.(*Queue).Pop(0x1)\n\t/f.go:1\n" + worker, []string{"7 runnable 0s"}},
		{"spawn", "goroutine 7 [runnable]:\nmain.spawner.Spawn(0x1)\n\t/f.go:1\n" + own + "(*Scheduler).spawn(0x1)\n\t/f.go:1\n" + worker, []string{"7 runnable 0s"}},
		{"parked", "goroutine 7 [chan receive]:\n" + worker[strings.Index(worker, own+"(*Worker).loop"):], []string{"7 chan receive 0s"}},
		{"other scheduler", "goroutine 7 [select]:\nmain.f()\n\t/f.go:1 +0x1\n" + strings.ReplaceAll(worker, "0xc5", "0xc6"), nil},
		{"inexact", "goroutine 7 [select]:\nmain.f()\n\t/f.go:1 +0x1\n" + strings.ReplaceAll(worker, "0xc5", "0xc5?"), nil},
		{"two", "goroutine 6 [select]:\nmain.f()\n\t/f.go:1 +0x1\n\ngoroutine 7 [select]:\nmain.f()\n\t/f.go:1 +0x1\n" + worker, []string{"7 select 0s main.f"}},
		{"foreign", "thread 7 is in f\n", nil},
		{"empty", "", nil},
	} {
		if got := sched.CallbacksIn(tc.text, "0xc5"); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestInspectKnowsItsStack: Inspect trusts the text of stacks if the first one has the Inspect with
// the scheduler as its argument.
func TestInspectKnowsItsStack(t *testing.T) {
	const frame = "github.com/lanewright/lanewright/sched.(*Scheduler).Inspect(0xc5)\n\t/i.go:1 +0x1\n"
	const stack = "goroutine 7 [running]:\nmain.dump(0x1?)\n\t/d.go:1 +0x1\n" + frame + "main.main()\n\t/m.go:1 +0x1"
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"known":           {stack + "\n\ngoroutine 8 [running]:\nmain.f()\n\t/f.go:1 +0x1", true},
		"inexact":         {strings.ReplaceAll(stack, "0xc5", "0xc5?"), false},
		"other scheduler": {strings.ReplaceAll(stack, "0xc5", "0xc6"), false},
		"other form":      {strings.ReplaceAll(stack, "(0xc5)", "[0xc5]"), false},
		"other goroutine": {"goroutine 8 [running]:\nmain.f()\n\t/f.go:1 +0x1\n\n" + stack, false},
		"empty":           {"", false},
	} {
		if got := sched.ShowsInspector(tc.text, "0xc5"); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestRunningNamesInJSON: the JSON name of each field of Running is its name with a small first
// letter.
func TestRunningNamesInJSON(t *testing.T) {
	for f := range reflect.TypeFor[sched.Running]().Fields() {
		got, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if want := strings.ToLower(f.Name[:1]) + f.Name[1:]; got != want {
			t.Errorf("%s has the JSON name %q, want %q", f.Name, got, want)
		}
	}
}
