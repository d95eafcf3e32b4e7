package interleave_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// both calls f for each backend.
func both(t *testing.T, f func(t *testing.T, o interleave.Options)) {
	t.Helper()
	for _, b := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
		t.Run(b.String(), func(t *testing.T) {
			f(t, interleave.Options{Preemptions: interleave.All, Backend: b})
		})
	}
}

// want fails the test unless the exploration failed in this way, with a message
// that holds text.
func want(t *testing.T, r interleave.Result, kind interleave.Kind, text string) {
	t.Helper()
	switch {
	case r.Failure == nil:
		t.Fatalf("got no failure in %d executions, want a %s", r.Executions, kind)
	case r.Failure.Kind != kind || !strings.Contains(r.Failure.Message, text):
		t.Fatalf("got %s: %v\nwant %s with %q", r.Failure.Kind, r.Failure, kind, text)
	}
}

// good fails the test unless the exploration is complete and found nothing.
func good(t *testing.T, r interleave.Result) {
	t.Helper()
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	if !r.Complete {
		t.Fatalf("not complete after %d executions", r.Executions)
	}
}

// orders counts the orders in which threads with the given numbers of steps can
// be interleaved with at most bound preemptions: switches away from a thread
// that has steps left.
func orders(left []int, last, bound int) int {
	n, any := 0, false
	for i := range left {
		if left[i] == 0 {
			continue
		}
		any = true
		cost := 0
		if last >= 0 && i != last && left[last] > 0 {
			cost = 1
		}
		if cost > bound {
			continue
		}
		left[i]--
		n += orders(left, i, bound-cost)
		left[i]++
	}
	if !any {
		return 1
	}
	return n
}

// TestCounts compares the number of executions of a depth-first search with the
// number of orders that there are, counted in another way.
func TestCounts(t *testing.T) {
	tests := []struct {
		steps []int
		bound int
	}{
		{[]int{1}, 0},
		{[]int{3, 3}, 0},
		{[]int{3, 3}, 1},
		{[]int{3, 3}, 2},
		{[]int{3, 3}, interleave.All},
		{[]int{1, 2, 3}, interleave.All},
		{[]int{2, 2, 2, 2}, interleave.All},
		{[]int{4, 4, 4}, 0},
		{[]int{4, 4, 4}, 1},
		{[]int{4, 4, 4}, 2},
		{[]int{4, 4, 4}, 3},
		{[]int{4, 4, 4}, interleave.All},
		{[]int{0, 2, 0, 2}, interleave.All},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprint(tc.steps, tc.bound), func(t *testing.T) {
			seen := map[string]int{}
			r := interleave.Explore(interleave.Options{Preemptions: tc.bound}, func(m *interleave.M) {
				var x interleave.Int32
				order := ""
				for i, n := range tc.steps {
					m.Go("t", func() {
						for range n {
							x.Add(1)
							order += string(rune('a' + i))
						}
					})
				}
				m.Final(func() { seen[order]++ })
			})
			good(t, r)
			bound := tc.bound
			if bound == interleave.All {
				bound = 1 << 30
			}
			n := orders(slices.Clone(tc.steps), -1, bound)
			if r.Executions != n || len(seen) != n {
				t.Errorf("got %d executions and %d different orders, want %d", r.Executions, len(seen), n)
			}
		})
	}
}

// A randomProgram is drawn from a seed. Its threads are daemons, so that it
// never fails, and it says how it ended.
type randomProgram struct {
	threads [][]randomOp
	post    int // tokens at the start
}

type randomOp struct{ kind, obj, arg int }

func draw(seed uint64) randomProgram {
	r := rand.New(rand.NewPCG(seed, 7))
	p := randomProgram{post: r.IntN(2)}
	for range 2 + r.IntN(2) {
		var ops []randomOp
		for range 2 + r.IntN(2) {
			ops = append(ops, randomOp{r.IntN(10), r.IntN(2), 1 + r.IntN(3)})
		}
		p.threads = append(p.threads, ops)
	}
	return p
}

func (p randomProgram) body(seen map[string]int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var words [2]interleave.Int32
		var semas [2]interleave.Sema
		logs := make([]string, len(p.threads))
		children := make([][3]int32, len(p.threads)) // nothing is shared but words and semas
		for i := range semas {
			semas[i].Init(2)
			if i < p.post {
				semas[i].Post()
			}
		}
		for i, ops := range p.threads {
			m.GoDaemon(fmt.Sprint("t", i), func() {
				for j, op := range ops {
					w, s, v := &words[op.obj], &semas[op.obj], int32(op.arg)
					result := any("")
					switch op.kind {
					case 0, 1:
						result = w.Load()
					case 2:
						w.Store(v)
					case 3:
						result = w.CompareAndSwap(0, v)
					case 4:
						result = w.Add(v)
					case 5:
						result = s.Post()
					case 6:
						result = s.TryWait()
					case 7:
						s.Wait()
					case 8:
						if interleave.Choose(2) == 1 {
							result = w.Swap(v)
						}
					case 9:
						interleave.GoDaemon("child", func() { children[i][j] = w.Add(v) })
					}
					logs[i] += fmt.Sprint(result, ";")
				}
				logs[i] += "end"
			})
		}
		m.Final(func() {
			seen[fmt.Sprint(logs, children, words[0].Load(), words[1].Load(), m.Crashed())]++
		})
	}
}

// TestSleepSets checks on random programs that leaving out executions with
// sleep sets leaves out no outcome, and finds none that is not there.
func TestSleepSets(t *testing.T) {
	programs := 300
	if testing.Short() || interleave.RaceBuild {
		programs = 40
	}
	full, less := 0, 0
	for seed := range uint64(programs) {
		p := draw(seed)
		for _, crash := range []string{"", "t0"} {
			a, b := all, sleep
			a.Crash, b.Crash = crash, crash
			seenAll, seenSleep := map[string]int{}, map[string]int{}
			r := interleave.Explore(a, p.body(seenAll))
			good(t, r)
			s := interleave.Explore(b, p.body(seenSleep))
			good(t, s)
			for k := range seenAll {
				if seenSleep[k] == 0 {
					t.Errorf("seed %d: sleep sets miss the outcome %s of %+v", seed, k, p)
				}
			}
			for k := range seenSleep {
				if seenAll[k] == 0 {
					t.Errorf("seed %d: only sleep sets have the outcome %s of %+v", seed, k, p)
				}
			}
			full += r.Executions
			less += s.Executions
			if s.Executions > r.Executions {
				t.Errorf("seed %d: %d executions with sleep sets, %d without", seed, s.Executions, r.Executions)
			}
		}
	}
	if less*2 > full {
		t.Errorf("%d executions with sleep sets and %d without: they leave out too little", less, full)
	}
	t.Logf("%d programs: %d executions, %d with sleep sets", programs, full, less)
}

// TestBound checks that outcomes only grow with the bound on preemptions, and
// that a bound as large as the program is no bound.
func TestBound(t *testing.T) {
	for seed := range uint64(40) {
		p := draw(seed)
		var last map[string]int
		for _, bound := range []int{0, 1, 2, 9, interleave.All} {
			seen := map[string]int{}
			good(t, interleave.Explore(interleave.Options{Preemptions: bound}, p.body(seen)))
			for k := range last {
				if seen[k] == 0 {
					t.Errorf("seed %d: %d preemptions miss the outcome %s", seed, bound, k)
				}
			}
			if bound == interleave.All && !maps.Equal(seen, last) {
				t.Errorf("seed %d: 9 preemptions have %d outcomes, all have %d", seed, len(last), len(seen))
			}
			last = seen
		}
	}
}

// strategies are one option of each kind.
var strategies = []interleave.Options{
	{Preemptions: interleave.All},
	{Preemptions: interleave.All, SleepSets: true},
	{Preemptions: 2},
	{Strategy: interleave.PCT, Executions: 300, Seed: 3},
	{Strategy: interleave.Random, Executions: 300, Seed: 3},
}

// sequence returns the outcomes of an exploration in their order.
func sequence(t *testing.T, o interleave.Options, seed uint64) string {
	t.Helper()
	var b strings.Builder
	p := draw(seed)
	r := interleave.Explore(o, func(m *interleave.M) {
		seen := map[string]int{}
		p.body(seen)(m)
		m.Final(func() { b.WriteString(fmt.Sprintln(slices.Collect(maps.Keys(seen)))) })
	})
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	return fmt.Sprint(r.Executions, r.Pruned, r.Steps, r.Complete, "\n", b.String())
}

// TestDeterministic checks that the same options give the same executions in
// the same order, on both backends, and that another seed gives others.
func TestDeterministic(t *testing.T) {
	for _, o := range strategies {
		other := 0
		for seed := range uint64(10) {
			first := sequence(t, o, seed)
			if again := sequence(t, o, seed); again != first {
				t.Fatalf("%+v: a second exploration went otherwise:\n%s\nthan the first:\n%s", o, again, first)
			}
			b := o
			b.Backend = interleave.Baton
			if baton := sequence(t, b, seed); baton != first {
				t.Fatalf("%+v: the baton backend went otherwise:\n%s\nthan coroutines:\n%s", o, baton, first)
			}
			b = o
			b.Seed++
			if sequence(t, b, seed) != first {
				other++
			}
		}
		if seeded := o.Strategy != interleave.DFS; seeded != (other > 0) {
			t.Errorf("%+v: another seed changed the executions of %d programs of 10", o, other)
		}
	}
}

// TestReplay runs the schedule of each failure again.
func TestReplay(t *testing.T) {
	programs := map[string]func(m *interleave.M){
		"stack":    stackProgram(true),
		"mpsc":     mpscProgram(mpscBugs{lateCache: true}, 2),
		"mailbox":  mailboxProgram(mailboxBugs{lateSignal: true}, 1, 2),
		"throttle": throttleProgram(throttleBugs{deadLatch: true}, 2, 2, 1),
	}
	for name, prog := range programs {
		t.Run(name, func(t *testing.T) {
			for _, o := range []interleave.Options{bound2, random, pct3} {
				f := interleave.Explore(o, prog).Failure
				if f == nil {
					t.Fatal("found nothing to replay")
				}
				if strings.Contains(f.Message, "otherwise") || f.Trace == "" {
					t.Errorf("the failure has no trace: %v", f)
				}
				for _, backend := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
					r := interleave.Explore(interleave.Options{Replay: f.Schedule, Backend: backend}, prog)
					g := r.Failure
					if g == nil || r.Executions != 1 {
						t.Fatalf("%v: the replay of %s ran %d executions and failed with %v", backend, f.Schedule, r.Executions, g)
					}
					if g.Kind != f.Kind || g.Message != f.Message || g.Schedule != f.Schedule || g.Trace != f.Trace {
						t.Errorf("%v: the replay of\n%v\nis\n%v", backend, f, g)
					}
				}
			}
		})
	}
}

func TestReplayMisfit(t *testing.T) {
	prog := func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1); interleave.Choose(2); x.Add(1) })
	}
	for _, tc := range []struct{ schedule, text string }{
		{"1", "entry 1"},
		{"0,0", "entry 2"},
		{"0,v2", "entry 2"},
		{"0,v1,0,0", "entry 4: the execution is over"},
		{"0,v1,1k", "entry 3"},
		{"x", "no good count"},
		{"0x0", "count"},
		{"0x99999999999", "count"},
		{"64", "not a choice"},
		{"v-1", "not a choice"},
	} {
		want(t, interleave.Explore(interleave.Options{Replay: tc.schedule}, prog), interleave.Misuse, tc.text)
	}
	if r := interleave.Explore(interleave.Options{Replay: "0,v1,0"}, prog); r.Failure != nil || r.Executions != 1 || r.Complete {
		t.Errorf("got %+v, want one good execution", r)
	}
}

func TestScheduleText(t *testing.T) {
	for _, s := range []string{"-", "0", "0,1,0", "0x3,1,v2,v2,v0,3k,63x12"} {
		if got, err := interleave.FormatSchedule(s); got != s || err != nil {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	}
	if got, err := interleave.FormatSchedule("0,0,0x2,1"); got != "0x4,1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestCrash stops a thread before each of its steps.
func TestCrash(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Crash = "victim"
		ended := map[int]int{}
		crashes := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var x interleave.Int32
			m.Go("victim", func() {
				for range 3 {
					x.Add(1)
				}
			})
			m.Final(func() {
				ended[int(x.Load())]++
				if m.Crashed() {
					crashes++
				}
			})
		})
		good(t, r)
		if r.Executions != 4 || crashes != 3 || !maps.Equal(ended, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}) {
			t.Errorf("%d executions, %d crashes, steps taken %v", r.Executions, crashes, ended)
		}
	})
}

// TestCrashProgress checks what a crash costs the others: nothing with a
// lock-free counter, everything with a lock.
func TestCrashProgress(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Crash = "victim"
		r := interleave.Explore(o, func(m *interleave.M) {
			var x interleave.Int32
			add := func() {
				for {
					v := x.Load()
					if x.CompareAndSwap(v, v+1) {
						return
					}
				}
			}
			m.Go("victim", add)
			m.Go("other", add)
			m.Final(func() {
				if n := x.Load(); n != 2 && !m.Crashed() || n < 1 || n > 2 {
					m.Fatalf("counted %d", n)
				}
			})
		})
		good(t, r)
		locked := func(m *interleave.M) {
			var lock interleave.Sema
			lock.Init(1)
			lock.Post()
			var x interleave.Int32
			add := func() {
				lock.Wait()
				x.Add(1)
				lock.Post()
			}
			m.Go("victim", add)
			m.Go("other", add)
		}
		r = interleave.Explore(o, locked)
		want(t, r, interleave.Deadlock, "thread other waits in Wait of Sema#0 at explore_test.go:")
		want(t, r, interleave.Deadlock, "; thread victim has crashed")
		schedule := r.Failure.Schedule
		if !strings.Contains(schedule, "0k") {
			t.Errorf("the schedule %s has no crash", schedule)
		}
		replay := o
		replay.Replay = schedule
		want(t, interleave.Explore(replay, locked), interleave.Deadlock, "has crashed")
		for _, s := range []interleave.Strategy{interleave.PCT, interleave.Random} {
			o := o
			o.Strategy = s
			want(t, interleave.Explore(o, locked), interleave.Deadlock, "has crashed")
		}
		o.SleepSets = true
		want(t, interleave.Explore(o, locked), interleave.Deadlock, "has crashed")
		o.SleepSets = false
		o.Crash = "nobody"
		want(t, interleave.Explore(o, func(m *interleave.M) { m.Go("somebody", func() {}) }), interleave.Misuse, "nobody")
	})
}

// spinLock is a lock that waits with Yield.
type spinLock struct{ word interleave.Uint32 }

func (l *spinLock) lock() {
	for !l.word.CompareAndSwap(0, 1) {
		interleave.Yield()
	}
}

func (l *spinLock) unlock() { l.word.Store(0) }

// TestYield explores a lock that spins: complete, since a thread that yields
// lets another one go first, also when there are several that yield to each
// other.
func TestYield(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, bound := range []int{0, 1, 2} {
			for threads := 2; threads <= 3; threads++ {
				o.Preemptions = bound
				r := interleave.Explore(o, func(m *interleave.M) {
					var l spinLock
					var x interleave.Cell[int]
					for range threads {
						m.Go("t", func() {
							l.lock()
							x.Set(x.Get() + 1)
							l.unlock()
						})
					}
					m.Final(func() {
						if x.Get() != threads {
							m.Fatalf("counted %d", x.Get())
						}
					})
				})
				good(t, r)
				t.Logf("%d threads, %d preemptions: %d executions", threads, bound, r.Executions)
			}
		}
	})
}

// TestYieldIsNoPreemption finds an order that needs two switches away from
// threads that could go on, both of them at a Yield.
func TestYieldIsNoPreemption(t *testing.T) {
	seen := map[string]int{}
	r := interleave.Explore(bound0, func(m *interleave.M) {
		var x interleave.Int32
		order := ""
		for _, name := range []string{"a", "b"} {
			m.Go(name, func() {
				x.Add(1)
				order += name
				interleave.Yield()
				x.Add(1)
				order += name
			})
		}
		m.Final(func() { seen[order]++ })
	})
	good(t, r)
	if seen["abab"] == 0 || seen["baba"] == 0 || seen["aabb"] != 0 {
		t.Errorf("got the orders %v", seen)
	}
}

func TestLivelock(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.MaxSteps = 100
		prog := func(m *interleave.M) {
			var l spinLock
			m.Go("keeper", func() { l.lock() })
			m.Go("spinner", func() { l.lock() })
		}
		r := interleave.Explore(o, prog)
		want(t, r, interleave.Livelock, "100 steps")
		o.Replay = r.Failure.Schedule
		want(t, interleave.Explore(o, prog), interleave.Livelock, "100 steps")
	})
}

func TestYieldWithSleepSets(t *testing.T) {
	r := interleave.Explore(sleep, func(m *interleave.M) {
		m.Go("a", func() { interleave.Yield() })
	})
	want(t, r, interleave.Misuse, "SleepSets")
}

// TestRaces checks which accesses to a Cell count as ordered.
func TestRaces(t *testing.T) {
	type state struct {
		c    interleave.Cell[int]
		x, y interleave.Int32
		s    interleave.Sema
	}
	tests := []struct {
		name string
		a, b func(s *state)
		race bool
	}{
		{"two reads", func(s *state) { s.c.Get() }, func(s *state) { s.c.Get() }, false},
		{"read and write", func(s *state) { s.c.Get() }, func(s *state) { s.c.Set(1) }, true},
		{"two writes", func(s *state) { s.c.Set(1) }, func(s *state) { s.c.Set(1) }, true},
		{"publish", func(s *state) { s.c.Set(1); s.x.Store(1) }, func(s *state) {
			if s.x.Load() == 1 {
				s.c.Get()
			}
		}, false},
		{"publish too early", func(s *state) { s.x.Store(1); s.c.Set(1) }, func(s *state) {
			if s.x.Load() == 1 {
				s.c.Get()
			}
		}, true},
		{"wrong word", func(s *state) { s.c.Set(1); s.y.Store(1); s.x.Store(1) }, func(s *state) {
			s.y.Load()
			if s.x.Load() == 0 {
				s.c.Get()
			}
		}, true},
		{"lock", func(s *state) {
			if s.x.CompareAndSwap(0, 1) {
				s.c.Set(1)
				s.x.Store(0)
			}
		}, func(s *state) {
			if s.x.CompareAndSwap(0, 1) {
				s.c.Set(2)
				s.x.Store(0)
			}
		}, false},
		{"a load publishes nothing", func(s *state) { s.c.Set(1); s.x.Load() }, func(s *state) {
			s.x.Store(1)
			s.c.Get()
		}, true},
		{"a failed swap publishes nothing", func(s *state) { s.c.Set(1); s.x.CompareAndSwap(5, 6) }, func(s *state) {
			if s.x.Add(1) == 1 {
				s.c.Get()
			}
		}, true},
		{"a store hides the one before", func(s *state) { s.c.Set(1); s.x.Store(1) }, func(s *state) {
			s.x.Store(2)
			if s.x.Load() == 2 {
				s.c.Get()
			}
		}, true},
		{"an update hands on", func(s *state) { s.c.Set(1); s.x.Add(1) }, func(s *state) {
			if s.x.Add(2) == 3 {
				s.c.Get()
			}
		}, false},
		{"token", func(s *state) { s.c.Set(1); s.s.Post() }, func(s *state) { s.s.Wait(); s.c.Get() }, false},
		{"token too early", func(s *state) { s.s.Post(); s.c.Set(1) }, func(s *state) { s.s.Wait(); s.c.Get() }, true},
		{"no token", func(s *state) { s.c.Set(1); s.s.Post() }, func(s *state) { s.s.TryWait(); s.c.Get() }, true},
		{"own token", func(s *state) { s.c.Set(1); s.s.Post() }, func(s *state) {
			s.s.Post()
			s.s.Wait() // takes the oldest
			s.c.Get()
		}, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for _, o := range []interleave.Options{all, sleep} {
				r := interleave.Explore(o, func(m *interleave.M) {
					s := &state{}
					s.s.Init(2)
					m.GoDaemon("a", func() { tc.a(s) })
					m.GoDaemon("b", func() { tc.b(s) })
				})
				if tc.race {
					want(t, r, interleave.Race, "data race on Cell#")
				} else {
					good(t, r)
				}
			}
		})
	}
}

// TestRaceReport checks that both sides of a race are named with their lines.
func TestRaceReport(t *testing.T) {
	r := interleave.Explore(all, func(m *interleave.M) {
		var c interleave.Cell[int]
		m.Name(&c, "box")
		m.Go("writer", func() { c.Set(1) })
		m.Go("reader", func() { c.Get() })
	})
	want(t, r, interleave.Race, "data race on box: the read by thread reader at explore_test.go:")
	want(t, r, interleave.Race, "and nothing orders it after the write by thread writer at explore_test.go:")
}

// TestSpawnOrders checks that a new thread sees what its maker did before, and
// nothing later.
func TestSpawnOrders(t *testing.T) {
	for _, early := range []bool{true, false} {
		r := interleave.Explore(all, func(m *interleave.M) {
			var c interleave.Cell[int]
			c.Set(1)
			m.Go("maker", func() {
				if early {
					c.Set(2)
				}
				interleave.Go("made", func() { c.Get() })
				if !early {
					c.Set(2)
				}
			})
		})
		if early {
			good(t, r)
		} else {
			want(t, r, interleave.Race, "made")
		}
	}
}

func TestChoose(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		seen := map[string]int{}
		r := interleave.Explore(o, func(m *interleave.M) {
			a := interleave.Choose(2) // in the body
			b := 0
			m.Go("t", func() {
				b = interleave.Choose(3)
				if b == 2 {
					b += interleave.Choose(2)
				}
				interleave.Choose(1)
			})
			m.Final(func() { seen[fmt.Sprint(a, b, interleave.Choose(2))]++ })
		})
		good(t, r)
		if r.Executions != 16 || len(seen) != 16 {
			t.Errorf("got %d executions and the outcomes %v", r.Executions, seen)
		}
	})
	if v := interleave.Choose(5); v != 0 {
		t.Errorf("outside an exploration got %d", v)
	}
	mustPanic(t, "less than 1", func() { interleave.Choose(0) })
}

// TestTimeouts checks that timed waits time out at any step with the option
// and never without.
func TestTimeouts(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, timeouts := range []bool{true, false} {
			o.Timeouts = timeouts
			seen := map[string]int{}
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				s.Init(1)
				m.Go("post", func() { x.Store(1); s.Post() })
				m.Go("wait", func() {
					ok := s.WaitFor(time.Hour)
					before := x.Load()
					m.Final(func() { seen[fmt.Sprint(ok, before)]++ })
				})
			})
			good(t, r)
			switch {
			case timeouts && (seen["true 1"] == 0 || seen["false 0"] == 0 || seen["false 1"] == 0 || len(seen) != 3):
				t.Errorf("with timeouts got %v", seen)
			case !timeouts && (seen["true 1"] == 0 || len(seen) != 1):
				t.Errorf("without timeouts got %v", seen)
			}
		}
	})
}

// TestTimeoutLoops checks that loops of timed waits end: a thread that has
// timed out lets others go on, and daemons that only time out do not count.
func TestTimeoutLoops(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Timeouts = true
		o.Preemptions = 2
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			var stop interleave.Bool
			s.Init(1)
			for range 2 {
				m.GoDaemon("ticker", func() {
					for !stop.Load() {
						s.WaitFor(time.Millisecond)
					}
				})
			}
			m.Go("stop", func() { stop.Store(true) })
		})
		good(t, r)
		// Alone, a thread times out for ever: nothing else can happen.
		o.MaxSteps = 50
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("ticker", func() {
				for !s.WaitFor(time.Millisecond) {
				}
			})
		})
		want(t, r, interleave.Livelock, "50 steps")
		o.Timeouts = false
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("ticker", func() { s.WaitFor(time.Millisecond) })
		})
		want(t, r, interleave.Deadlock, "WaitFor")
	})
}

func TestDaemon(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, daemon := range []bool{true, false} {
			finals := 0
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				s.Init(1)
				work := func() {
					for {
						s.Wait()
						x.Add(1)
					}
				}
				if daemon {
					m.GoDaemon("worker", work)
				} else {
					m.Go("worker", work)
				}
				m.Go("host", func() { s.Post() })
				m.Final(func() {
					finals++
					if x.Load() != 1 {
						m.Fatalf("worked %d times", x.Load())
					}
				})
			})
			if daemon {
				good(t, r)
				if finals != r.Executions {
					t.Errorf("Final was called %d times in %d executions", finals, r.Executions)
				}
			} else {
				want(t, r, interleave.Deadlock, "thread worker waits in Wait of Sema#0 at explore_test.go:")
			}
		}
	})
}

// TestDynamic makes threads from threads, some before their first step.
func TestDynamic(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		seen := map[int32]int{}
		r := interleave.Explore(o, func(m *interleave.M) {
			var x, sum interleave.Int32
			m.Go("a", func() {
				m.Go("b", func() {
					interleave.Go("c", func() { x.Add(1) })
				})
				x.Add(1)
				interleave.GoDaemon("d", func() {
					x.Add(1)
					var s interleave.Sema
					s.Init(1)
					s.Wait()
				})
				sum.Store(x.Load())
			})
			m.Final(func() {
				if x.Load() != 3 {
					m.Fatalf("counted %d", x.Load())
				}
				seen[sum.Load()]++
			})
		})
		good(t, r)
		if len(seen) != 3 || seen[1] == 0 || seen[2] == 0 || seen[3] == 0 {
			t.Errorf("the sums were %v", seen)
		}
	})
	done := make(chan bool)
	interleave.Go("plain", func() { interleave.GoDaemon("plain", func() { close(done) }) })
	<-done
}

func TestThreadLimit(t *testing.T) {
	r := interleave.Explore(bound0, func(m *interleave.M) {
		for range 65 {
			m.Go("t", func() {})
		}
	})
	want(t, r, interleave.Panic, "more than 64 threads")
	ended := int32(0)
	r = interleave.Explore(interleave.Options{Strategy: interleave.Random, Executions: 20}, func(m *interleave.M) {
		var x interleave.Int32
		for range 64 {
			m.Go("t", func() { x.Add(1) })
		}
		m.Final(func() { ended += x.Load() })
	})
	if r.Failure != nil || ended != 20*64 {
		t.Errorf("got %+v, and %d threads ended", r, ended)
	}
}

// TestThreadsThatLeave checks threads that end in other ways than by
// returning.
func TestThreadsThatLeave(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		deferred := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var x interleave.Int32
			m.Go("goexit", func() {
				defer func() { deferred++ }()
				defer x.Add(1)
				x.Add(1)
				runtime.Goexit()
			})
			m.Go("recover", func() {
				defer func() {
					if recover() == nil {
						m.Fatalf("nothing to recover")
					}
					x.Add(1)
				}()
				x.Add(1)
				panic("a panic that is recovered")
			})
			m.Final(func() {
				if x.Load() != 4 {
					m.Fatalf("counted %d", x.Load())
				}
			})
		})
		good(t, r)
		if deferred != r.Executions {
			t.Errorf("the deferred function of the thread that left ran %d times in %d executions", deferred, r.Executions)
		}
		r = interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() { panic("a panic that is not recovered") })
		})
		want(t, r, interleave.Panic, "thread t panicked: a panic that is not recovered")
		if !strings.Contains(r.Failure.Stack, "TestThreadsThatLeave") {
			t.Errorf("the stack does not show where:\n%s", r.Failure.Stack)
		}
		r = interleave.Explore(o, func(*interleave.M) { panic("no body") })
		want(t, r, interleave.Panic, "the body panicked: no body")
		r = interleave.Explore(o, func(m *interleave.M) { m.Final(func() { panic("the end") }) })
		want(t, r, interleave.Panic, "Final panicked: the end")
	})
}

func TestFatalf(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		after, deferred := false, 0
		r := interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() {
				defer func() { deferred++ }()
				m.Fatalf("number %d", 1)
				after = true
			})
			m.Go("u", func() { after = true })
			m.Final(func() { after = true })
		})
		want(t, r, interleave.Failed, "number 1")
		if r.Failure.Thread != "t" || r.Failure.Execution != 1 || after || deferred != 2 {
			t.Errorf("failed as %+v, went on %t, deferred %d", r.Failure, after, deferred)
		}
		r = interleave.Explore(o, func(m *interleave.M) { m.Fatalf("number %d", 2) })
		want(t, r, interleave.Failed, "number 2")
		r = interleave.Explore(o, func(m *interleave.M) {
			m.Final(func() { m.Fatalf("number %d", 3) })
			m.Final(func() { m.Fatalf("number %d", 4) })
		})
		want(t, r, interleave.Failed, "number 3")
	})
}

// TestFailNow leaves an exploration the way t.FailNow does, and explores again.
func TestFailNow(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, inBody := range []bool{true, false} {
			left := make(chan bool)
			go func() {
				defer close(left)
				interleave.Explore(o, func(m *interleave.M) {
					var s interleave.Sema
					s.Init(1)
					m.GoDaemon("t", func() { s.Wait() })
					if inBody {
						runtime.Goexit()
					}
					m.Final(func() { runtime.Goexit() })
				})
				panic("the exploration went on")
			}()
			<-left
		}
		good(t, interleave.Explore(o, mpscProgram(mpscBugs{}, 1)))
	})
}

// TestUnwind checks that threads which do not end by themselves are ended:
// their deferred functions run, whatever those do.
func TestUnwind(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		before := runtime.NumGoroutine()
		deferred := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			var x, never interleave.Int32
			s.Init(1)
			for range 3 {
				m.GoDaemon("t", func() {
					defer func() { deferred++ }()
					defer func() { _ = recover() }()
					defer panic("a panic in a deferred function")
					defer s.Wait()
					defer interleave.Go("late", func() { m.Fatalf("a thread was made by one that unwinds") })
					defer m.Fatalf("too late to fail")
					defer func() {
						for never.Load() == 0 {
							interleave.Yield()
						}
					}()
					x.Add(1)
					x.Add(1)
					s.Wait()
				})
			}
			m.Final(func() {
				if x.Load() != 6 {
					m.Fatalf("counted %d", x.Load())
				}
			})
		})
		good(t, r)
		if deferred != 3*r.Executions {
			t.Errorf("%d deferred functions ran in %d executions", deferred, r.Executions)
		}
		deadline := time.Now().Add(10 * time.Second)
		for runtime.NumGoroutine() > before {
			if time.Now().After(deadline) {
				t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
			}
			runtime.Gosched()
		}
	})
}

// TestUnwindKeepsNothing checks that what daemons had alive is let go while the exploration
// goes on.
func TestUnwindKeepsNothing(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Strategy, o.Preemptions, o.SleepSets, o.Executions = interleave.PCT, 0, false, 50_000
		before, most := runtime.NumGoroutine(), 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.GoDaemon("daemon", s.Wait)
			m.Go("thread", func() {})
			m.Final(func() { most = max(most, runtime.NumGoroutine()) })
		})
		if r.Failure != nil || most > before+300 { // a thousand without; those that end take their time
			t.Errorf("%v, and %d goroutines after %d", r.Failure, most, before)
		}
	})
}

// TestWaitDone checks waits that end with a channel, by themselves and against
// a token.
func TestWaitDone(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, sleepSets := range []bool{false, true} {
			o.SleepSets = sleepSets
			seen := map[string]int{}
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				var c interleave.Cell[int]
				done := make(chan struct{})
				s.Init(1)
				m.Go("wait", func() {
					ok := s.WaitDone(done)
					if !ok {
						c.Get() // the close orders it after the write
					}
					before := x.Load()
					m.Final(func() { seen[fmt.Sprint(ok, before)]++ })
				})
				m.Go("post", func() { s.Post() })
				m.Go("close", func() {
					x.Store(1)
					c.Set(1)
					close(done)
					x.Store(2)
				})
			})
			good(t, r)
			got := slices.Sorted(maps.Keys(seen))
			if fmt.Sprint(got) != "[false 1 false 2 true 0 true 1 true 2]" {
				t.Errorf("got %v", got)
			}
		}
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("wait", func() { s.WaitDone(nil) })
		})
		want(t, r, interleave.Deadlock, "WaitDone")
	})
}

func TestSemaCapacity(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(2)
			s.Post()
			m.Go("t", func() {
				got := []bool{s.Post(), s.Post(), s.TryWait(), s.WaitFor(0), s.TryWait(), s.WaitFor(-1), s.Post()}
				if fmt.Sprint(got) != "[true false true true false false true]" {
					m.Fatalf("got %v", got)
				}
				s.Wait()
			})
		})
		good(t, r)
		r = interleave.Explore(o, func(m *interleave.M) { m.Go("t", func() { new(interleave.Sema).Post() }) })
		want(t, r, interleave.Panic, "before Init")
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Final(func() { s.Wait() })
		})
		want(t, r, interleave.Panic, "would block for ever")
	})
	mustPanic(t, "capacity", func() { new(interleave.Sema).Init(0) })
}

func mustPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), text) {
			t.Errorf("got the panic %v, want one with %q", v, text)
		}
	}()
	f()
}

func TestMisuse(t *testing.T) {
	body := func(m *interleave.M) { m.Go("t", func() {}) }
	for _, tc := range []struct {
		o    interleave.Options
		text string
	}{
		{interleave.Options{Strategy: 9}, "Strategy"},
		{interleave.Options{Backend: 9}, "Backend"},
		{interleave.Options{Preemptions: -2}, "Preemptions"},
		{interleave.Options{Executions: -1}, "Executions"},
		{interleave.Options{Depth: -1}, "Depth"},
		{interleave.Options{MaxSteps: -1}, "MaxSteps"},
		{interleave.Options{Budget: -1}, "Budget"},
		{interleave.Options{SleepSets: true}, "Preemptions == All"},
		{interleave.Options{SleepSets: true, Preemptions: 2}, "Preemptions == All"},
		{interleave.Options{SleepSets: true, Preemptions: interleave.All, Strategy: interleave.PCT}, "DFS"},
		{interleave.Options{SleepSets: true, Preemptions: interleave.All, Timeouts: true}, "Timeouts"},
	} {
		r := interleave.Explore(tc.o, body)
		want(t, r, interleave.Misuse, tc.text)
		if r.Executions != 0 || r.Complete {
			t.Errorf("%+v: explored all the same: %+v", tc.o, r)
		}
	}
	r := interleave.Explore(bound0, func(m *interleave.M) {
		m.Go("t", func() { interleave.Explore(bound0, body) })
	})
	want(t, r, interleave.Panic, "inside an exploration")
	r = interleave.Explore(bound0, func(m *interleave.M) { m.Go("t", nil) })
	want(t, r, interleave.Panic, "nil function")
	r = interleave.Explore(bound0, func(m *interleave.M) { m.Final(func() { m.Go("late", func() {}) }) })
	want(t, r, interleave.Panic, "Final")
}

func TestLimits(t *testing.T) {
	prog := throttleProgram(throttleBugs{}, 3, 3, 0)
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Executions: 100}, prog)
	if r.Failure != nil || r.Executions != 100 || r.Complete {
		t.Errorf("got %+v, want 100 executions", r)
	}
	r = interleave.Explore(interleave.Options{Preemptions: interleave.All, Budget: time.Millisecond}, prog)
	if r.Failure != nil || r.Executions == 0 || r.Complete {
		t.Errorf("got %+v, want an end after a millisecond", r)
	}
	r = interleave.Explore(interleave.Options{Strategy: interleave.PCT}, mpscProgram(mpscBugs{}, 1))
	if r.Failure != nil || r.Executions != 10_000 || r.Complete || r.Preemptions != interleave.All {
		t.Errorf("got %+v, want 10,000 executions", r)
	}
}

// TestUnsteady explores programs that do not do the same each time.
func TestUnsteady(t *testing.T) {
	n := 0
	r := interleave.Explore(all, func(m *interleave.M) {
		n++
		var x interleave.Int32
		m.Go("a", func() { x.Add(1); x.Add(1) })
		m.Go("b", func() { x.Add(1) })
		if n > 1 {
			m.Go("c", func() { x.Add(1) })
		}
	})
	want(t, r, interleave.Unsteady, "does not do the same")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		n++
		interleave.Choose(1 + n)
	})
	want(t, r, interleave.Unsteady, "does not do the same")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1) })
		if n++; n == 1 {
			m.Go("b", func() { x.Add(1) })
		}
	})
	want(t, r, interleave.Unsteady, "does not do the same")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		if n++; n == 1 {
			m.Fatalf("only the first time")
		}
	})
	want(t, r, interleave.Failed, "otherwise when it was run again")
}

func TestActive(t *testing.T) {
	var seen []bool
	interleave.Explore(bound0, func(m *interleave.M) {
		seen = append(seen, interleave.Active())
		m.Go("t", func() { seen = append(seen, interleave.Active()) })
		m.Final(func() { seen = append(seen, interleave.Active()) })
	})
	if fmt.Sprint(seen) != "[true true true]" || interleave.Active() {
		t.Errorf("inside %v, outside %t", seen, interleave.Active())
	}
}

// TestStrategiesReach makes sure that PCT and Random reach rare orders: each of
// them finds every outcome of a small program.
func TestStrategiesReach(t *testing.T) {
	programs := uint64(5)
	if testing.Short() || interleave.RaceBuild {
		programs = 1
	}
	for seed := range programs {
		p := draw(seed)
		full := map[string]int{}
		good(t, interleave.Explore(all, p.body(full)))
		for _, o := range []interleave.Options{
			{Strategy: interleave.Random, Executions: 20_000, Seed: 1},
			{Strategy: interleave.PCT, Executions: 20_000, Seed: 1, Depth: 5},
		} {
			seen := map[string]int{}
			interleave.Explore(o, p.body(seen))
			for k := range full {
				if seen[k] == 0 {
					t.Errorf("seed %d: %v does not reach %s in %d executions", seed, o.Strategy, k, o.Executions)
				}
			}
			for k := range seen {
				if full[k] == 0 {
					t.Errorf("seed %d: only %v has the outcome %s", seed, o.Strategy, k)
				}
			}
		}
	}
}

// A told is closed by the first write to it.
type told chan struct{}

func (c told) Write(p []byte) (int, error) {
	close(c)
	return len(p), nil
}

// TestBlocked runs a thread that blocks on a channel, which the explorer cannot
// see: it says so.
func TestBlocked(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		complaint := make(told)
		defer interleave.SetHangTimeout(time.Millisecond, complaint)()
		good(t, interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() { <-complaint })
		}))
	})
}

// TestLongReport checks that the report of a livelock is not as long as the
// execution.
func TestLongReport(t *testing.T) {
	r := interleave.Explore(bound0, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("t", func() {
			for {
				x.Add(1)
			}
		})
	})
	want(t, r, interleave.Livelock, "10000 steps")
	text := r.Failure.Error()
	if n := strings.Count(text, "\n"); n > 350 || !strings.Contains(text, "... 9700 lines ...") {
		t.Errorf("the report has %d lines", n)
	}
	if r.Failure.Schedule != "0x10000" || strings.Count(r.Failure.Trace, "\n") != 10_000 {
		t.Errorf("the failure has the schedule %s and %d lines of trace", r.Failure.Schedule, strings.Count(r.Failure.Trace, "\n"))
	}
}

// TestLockedThread explores from a goroutine that is bound to a thread of the
// operating system.
func TestLockedThread(t *testing.T) {
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range 3 {
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				s.Init(1)
				for range 3 {
					m.GoDaemon("t", func() {
						x.Add(1)
						x.Add(1)
						s.Wait()
					})
				}
			})
			good(t, r)
		}
	})
}
