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

// eachBackend calls f for each backend.
func eachBackend(t *testing.T, f func(t *testing.T, o interleave.Options)) {
	t.Helper()
	for _, b := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
		t.Run(b.String(), func(t *testing.T) {
			f(t, interleave.Options{Preemptions: interleave.All, Backend: b})
		})
	}
}

// wantFailure fails the test unless the exploration failed with this kind and a
// message that contains text.
func wantFailure(t *testing.T, r interleave.Result, kind interleave.Kind, text string) {
	t.Helper()
	switch {
	case r.Failure == nil:
		t.Fatalf("got no failure in %d executions, want a %s", r.Executions, kind)
	case r.Failure.Kind != kind || !strings.Contains(r.Failure.Message, text):
		t.Fatalf("got %s: %v\nwant %s with %q", r.Failure.Kind, r.Failure, kind, text)
	}
}

// wantComplete fails the test unless the exploration is complete without a
// failure.
func wantComplete(t *testing.T, r interleave.Result) {
	t.Helper()
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	if !r.Complete {
		t.Fatalf("not complete after %d executions", r.Executions)
	}
}

// countOrders returns the number of interleavings of threads that have left[i]
// steps each, with at most bound preemptions. A preemption is a switch away from a
// thread that has steps left.
func countOrders(left []int, last, bound int) int {
	n, stepsLeft := 0, false
	for i := range left {
		if left[i] == 0 {
			continue
		}
		stepsLeft = true
		cost := 0
		if last >= 0 && i != last && left[last] > 0 {
			cost = 1
		}
		if cost > bound {
			continue
		}
		left[i]--
		n += countOrders(left, i, bound-cost)
		left[i]++
	}
	if !stepsLeft {
		return 1
	}
	return n
}

// TestDFSRunsEveryOrderOnce: a depth-first search runs each order of the steps
// within the bound once. countOrders counts the orders by another method.
func TestDFSRunsEveryOrderOnce(t *testing.T) {
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
			wantComplete(t, r)
			bound := tc.bound
			if bound == interleave.All {
				bound = 1 << 30
			}
			n := countOrders(slices.Clone(tc.steps), -1, bound)
			if r.Executions != n || len(seen) != n {
				t.Errorf("got %d executions and %d different orders, want %d", r.Executions, len(seen), n)
			}
		})
	}
}

// A randomProgram is generated from a seed. Its threads are daemons, so that no
// execution is a deadlock. Its body records the outcome of each execution.
type randomProgram struct {
	threads [][]randomOp
	post    int // tokens at the start
}

type randomOp struct{ kind, obj, arg int }

// generate returns the random program of a seed.
func generate(seed uint64) randomProgram {
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
		children := make([][3]int32, len(p.threads)) // the threads share words and semas only
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

// TestSleepSetsKeepEveryOutcome: a search with sleep sets has the same outcomes as
// one without them, and fewer executions.
func TestSleepSetsKeepEveryOutcome(t *testing.T) {
	programs := 300
	if testing.Short() || interleave.RaceBuild {
		programs = 40
	}
	full, less := 0, 0
	for seed := range uint64(programs) {
		p := generate(seed)
		for _, crash := range []string{"", "t0"} {
			a, b := all, sleep
			a.Crash, b.Crash = crash, crash
			seenAll, seenSleep := map[string]int{}, map[string]int{}
			r := interleave.Explore(a, p.body(seenAll))
			wantComplete(t, r)
			s := interleave.Explore(b, p.body(seenSleep))
			wantComplete(t, s)
			for k := range seenAll {
				if seenSleep[k] == 0 {
					t.Errorf("seed %d: the search with sleep sets lacks the outcome %s of %+v", seed, k, p)
				}
			}
			for k := range seenSleep {
				if seenAll[k] == 0 {
					t.Errorf("seed %d: only the search with sleep sets has the outcome %s of %+v", seed, k, p)
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
		t.Errorf("got %d executions with sleep sets and %d without, want at most half", less, full)
	}
	t.Logf("%d programs: %d executions, %d with sleep sets", programs, full, less)
}

// TestHigherBoundKeepsOutcomes: a search has all outcomes of a search with a lower
// bound, and a bound as large as the program has those of All.
func TestHigherBoundKeepsOutcomes(t *testing.T) {
	for seed := range uint64(40) {
		p := generate(seed)
		var last map[string]int
		for _, bound := range []int{0, 1, 2, 9, interleave.All} {
			seen := map[string]int{}
			wantComplete(t, interleave.Explore(interleave.Options{Preemptions: bound}, p.body(seen)))
			for k := range last {
				if seen[k] == 0 {
					t.Errorf("seed %d: the search with %d preemptions lacks the outcome %s", seed, bound, k)
				}
			}
			if bound == interleave.All && !maps.Equal(seen, last) {
				t.Errorf("seed %d: 9 preemptions have %d outcomes, all have %d", seed, len(last), len(seen))
			}
			last = seen
		}
	}
}

// strategies has one element for each kind of search.
var strategies = []interleave.Options{
	{Preemptions: interleave.All},
	{Preemptions: interleave.All, SleepSets: true},
	{Preemptions: 2},
	{Strategy: interleave.PCT, Executions: 300, Seed: 3},
	{Strategy: interleave.Random, Executions: 300, Seed: 3},
}

// sequence returns the outcomes of an exploration in the order of its executions.
func sequence(t *testing.T, o interleave.Options, seed uint64) string {
	t.Helper()
	var b strings.Builder
	p := generate(seed)
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

// TestSameOptionsGiveSameExecutions: the same options give the same executions in
// the same order with both backends. Another seed gives other executions.
func TestSameOptionsGiveSameExecutions(t *testing.T) {
	for _, o := range strategies {
		other := 0
		for seed := range uint64(10) {
			first := sequence(t, o, seed)
			if again := sequence(t, o, seed); again != first {
				t.Fatalf("%+v: the second exploration is\n%s\nwant that of the first:\n%s", o, again, first)
			}
			b := o
			b.Backend = interleave.Baton
			if baton := sequence(t, b, seed); baton != first {
				t.Fatalf("%+v: the exploration with Baton is\n%s\nwant that with Coroutines:\n%s", o, baton, first)
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

// TestReplayRepeatsFailure: the schedule of a failure gives the same failure with
// both backends.
func TestReplayRepeatsFailure(t *testing.T) {
	programs := map[string]func(m *interleave.M){
		"stack":    stackProgram(true),
		"mpsc":     mpscProgram(mpscBugs{lateCache: true}, 2),
		"mailbox":  mailboxProgram(mailboxBugs{lateSignal: true}, 1, 2),
		"throttle": throttleProgram(throttleBugs{closedLatch: true}, 2, 2, 1),
	}
	for name, prog := range programs {
		t.Run(name, func(t *testing.T) {
			for _, o := range []interleave.Options{bound2, random, pct3} {
				f := interleave.Explore(o, prog).Failure
				if f == nil {
					t.Fatal("no failure to replay")
				}
				if strings.Contains(f.Message, "second run") || f.Trace == "" {
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

// TestReplayRefusesForeignSchedule: a schedule that is malformed or does not fit the
// program is a misuse, and the message names its first wrong entry.
func TestReplayRefusesForeignSchedule(t *testing.T) {
	prog := func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1); interleave.Choose(2); x.Add(1) })
	}
	for _, tc := range []struct{ schedule, text string }{
		{"1", "entry 1"},
		{"0,0", "entry 2"},
		{"0,v2", "entry 2"},
		{"0,v1,0,0", "entry 4: the execution has ended"},
		{"0,v1,1k", "entry 3"},
		{"x", "no valid count"},
		{"0x0", "count"},
		{"0x99999999999", "count"},
		{"64", "not a choice"},
		{"v-1", "not a choice"},
	} {
		wantFailure(t, interleave.Explore(interleave.Options{Replay: tc.schedule}, prog), interleave.Misuse, tc.text)
	}
	if r := interleave.Explore(interleave.Options{Replay: "0,v1,0"}, prog); r.Failure != nil || r.Executions != 1 || r.Complete {
		t.Errorf("got %+v, want one execution without a failure", r)
	}
}

// TestScheduleSurvivesParseAndFormat: formatting a parsed schedule gives the same
// text, with repeated steps joined.
func TestScheduleSurvivesParseAndFormat(t *testing.T) {
	for _, s := range []string{"-", "0", "0,1,0", "0x3,1,v2,v2,v0,3k,63x12"} {
		if got, err := interleave.FormatSchedule(s); got != s || err != nil {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	}
	if got, err := interleave.FormatSchedule("0,0,0x2,1"); got != "0x4,1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestCrashBeforeEachStep: with Options.Crash a depth-first search stops the thread
// before each of its steps once. In one execution the thread does not crash.
func TestCrashBeforeEachStep(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
		if r.Executions != 4 || crashes != 3 || !maps.Equal(ended, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}) {
			t.Errorf("%d executions, %d crashes, steps taken %v", r.Executions, crashes, ended)
		}
	})
}

// TestCrashBlocksLocksOnly: when a thread crashes, the others complete with a
// lock-free counter, and deadlock with a lock.
func TestCrashBlocksLocksOnly(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
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
		wantFailure(t, r, interleave.Deadlock, "thread other waits in Wait of Sema#0 at explore_test.go:")
		wantFailure(t, r, interleave.Deadlock, "; thread victim has crashed")
		schedule := r.Failure.Schedule
		if !strings.Contains(schedule, "0k") {
			t.Errorf("the schedule %s has no crash", schedule)
		}
		replay := o
		replay.Replay = schedule
		wantFailure(t, interleave.Explore(replay, locked), interleave.Deadlock, "has crashed")
		for _, s := range []interleave.Strategy{interleave.PCT, interleave.Random} {
			o := o
			o.Strategy = s
			wantFailure(t, interleave.Explore(o, locked), interleave.Deadlock, "has crashed")
		}
		o.SleepSets = true
		wantFailure(t, interleave.Explore(o, locked), interleave.Deadlock, "has crashed")
		o.SleepSets = false
		o.Crash = "absent"
		wantFailure(t, interleave.Explore(o, func(m *interleave.M) { m.Go("present", func() {}) }), interleave.Misuse, "absent")
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

// TestYieldLetsSpinLocksComplete: the search of a program whose spin lock yields is
// complete, also when several threads yield to each other.
func TestYieldLetsSpinLocksComplete(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
				wantComplete(t, r)
				t.Logf("%d threads, %d preemptions: %d executions", threads, bound, r.Executions)
			}
		}
	})
}

// TestYieldIsNoPreemption: a search with 0 preemptions finds an order that needs two
// switches away from threads that could continue, both at a Yield.
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
	wantComplete(t, r)
	if seen["abab"] == 0 || seen["baba"] == 0 || seen["aabb"] != 0 {
		t.Errorf("got the orders %v", seen)
	}
}

// TestTooManyStepsAreLivelock: an execution with more than Options.MaxSteps steps
// fails as a livelock, and so does its replay.
func TestTooManyStepsAreLivelock(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.MaxSteps = 100
		prog := func(m *interleave.M) {
			var l spinLock
			m.Go("holder", func() { l.lock() })
			m.Go("spinner", func() { l.lock() })
		}
		r := interleave.Explore(o, prog)
		wantFailure(t, r, interleave.Livelock, "100 steps")
		o.Replay = r.Failure.Schedule
		wantFailure(t, interleave.Explore(o, prog), interleave.Livelock, "100 steps")
	})
}

// TestSleepSetsRefuseYield: a program that calls Yield is a misuse of SleepSets.
func TestSleepSetsRefuseYield(t *testing.T) {
	r := interleave.Explore(sleep, func(m *interleave.M) {
		m.Go("a", func() { interleave.Yield() })
	})
	wantFailure(t, r, interleave.Misuse, "SleepSets")
}

// TestUnorderedCellAccessesAreRaces: two accesses to a Cell, one of which is a write,
// race unless an atomic write that is read or a token that is taken orders them.
func TestUnorderedCellAccessesAreRaces(t *testing.T) {
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
		{"an update keeps the edge of the one before", func(s *state) { s.c.Set(1); s.x.Add(1) }, func(s *state) {
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
					wantFailure(t, r, interleave.Race, "data race on Cell#")
				} else {
					wantComplete(t, r)
				}
			}
		})
	}
}

// TestRaceReportNamesBothAccesses: the report of a race names both accesses with
// their lines.
func TestRaceReportNamesBothAccesses(t *testing.T) {
	r := interleave.Explore(all, func(m *interleave.M) {
		var c interleave.Cell[int]
		m.Name(&c, "box")
		m.Go("writer", func() { c.Set(1) })
		m.Go("reader", func() { c.Get() })
	})
	wantFailure(t, r, interleave.Race, "data race on box: the read by thread reader at explore_test.go:")
	wantFailure(t, r, interleave.Race, " is not ordered after the write by thread writer at explore_test.go:")
}

// TestNewThreadSeesEarlierWritesOnly: the creation of a thread orders the earlier
// writes of its creator before the actions of the thread, and no later write.
func TestNewThreadSeesEarlierWritesOnly(t *testing.T) {
	for _, early := range []bool{true, false} {
		r := interleave.Explore(all, func(m *interleave.M) {
			var c interleave.Cell[int]
			c.Set(1)
			m.Go("creator", func() {
				if early {
					c.Set(2)
				}
				interleave.Go("created", func() { c.Get() })
				if !early {
					c.Set(2)
				}
			})
		})
		if early {
			wantComplete(t, r)
		} else {
			wantFailure(t, r, interleave.Race, "created")
		}
	}
}

// TestChooseTriesEveryValue: a depth-first search tries each value of Choose in the
// body, in a thread and in Final. Outside an exploration Choose returns 0.
func TestChooseTriesEveryValue(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
		if r.Executions != 16 || len(seen) != 16 {
			t.Errorf("got %d executions and the outcomes %v", r.Executions, seen)
		}
	})
	if v := interleave.Choose(5); v != 0 {
		t.Errorf("outside an exploration got %d", v)
	}
	mustPanic(t, "less than 1", func() { interleave.Choose(0) })
}

// TestWaitsTimeOutOnlyWithTimeouts: a timed wait times out at any step with
// Options.Timeouts, and never without it.
func TestWaitsTimeOutOnlyWithTimeouts(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
			wantComplete(t, r)
			switch {
			case timeouts && (seen["true 1"] == 0 || seen["false 0"] == 0 || seen["false 1"] == 0 || len(seen) != 3):
				t.Errorf("with timeouts got %v", seen)
			case !timeouts && (seen["true 1"] == 0 || len(seen) != 1):
				t.Errorf("without timeouts got %v", seen)
			}
		}
	})
}

// TestLoopsOfTimedWaitsEnd: a thread that has timed out lets other threads take a
// step, and an execution ends when only daemons could time out.
func TestLoopsOfTimedWaitsEnd(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
		// A thread that is alone times out for ever: no other step is possible.
		o.MaxSteps = 50
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("ticker", func() {
				for !s.WaitFor(time.Millisecond) {
				}
			})
		})
		wantFailure(t, r, interleave.Livelock, "50 steps")
		o.Timeouts = false
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("ticker", func() { s.WaitFor(time.Millisecond) })
		})
		wantFailure(t, r, interleave.Deadlock, "WaitFor")
	})
}

// TestBlockedDaemonIsNoDeadlock: a daemon may be blocked at the end of an execution.
// Any other blocked thread is a deadlock.
func TestBlockedDaemonIsNoDeadlock(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
				m.Go("poster", func() { s.Post() })
				m.Final(func() {
					finals++
					if x.Load() != 1 {
						m.Fatalf("worked %d times", x.Load())
					}
				})
			})
			if daemon {
				wantComplete(t, r)
				if finals != r.Executions {
					t.Errorf("Final was called %d times in %d executions", finals, r.Executions)
				}
			} else {
				wantFailure(t, r, interleave.Deadlock, "thread worker waits in Wait of Sema#0 at explore_test.go:")
			}
		}
	})
}

// TestThreadsMakeThreads: a thread can make threads and daemons, also before its
// first step. Outside an exploration Go starts a goroutine.
func TestThreadsMakeThreads(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
		if len(seen) != 3 || seen[1] == 0 || seen[2] == 0 || seen[3] == 0 {
			t.Errorf("the sums were %v", seen)
		}
	})
	done := make(chan bool)
	interleave.Go("plain", func() { interleave.GoDaemon("plain", func() { close(done) }) })
	<-done
}

// TestExecutionHasAtMost64Threads: 64 threads run, and the 65th is a panic.
func TestExecutionHasAtMost64Threads(t *testing.T) {
	r := interleave.Explore(bound0, func(m *interleave.M) {
		for range 65 {
			m.Go("t", func() {})
		}
	})
	wantFailure(t, r, interleave.Panic, "more than 64 threads")
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

// TestThreadsEndByGoexitAndPanic: a thread may end by Goexit or recover a panic. A
// panic that is not recovered fails the execution, also in the body and in Final.
func TestThreadsEndByGoexitAndPanic(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
		if deferred != r.Executions {
			t.Errorf("the deferred function of the thread that called Goexit ran %d times in %d executions", deferred, r.Executions)
		}
		r = interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() { panic("a panic that is not recovered") })
		})
		wantFailure(t, r, interleave.Panic, "thread t panicked: a panic that is not recovered")
		if !strings.Contains(r.Failure.Stack, "TestThreadsEndByGoexitAndPanic") {
			t.Errorf("the stack does not contain the position of the panic:\n%s", r.Failure.Stack)
		}
		r = interleave.Explore(o, func(*interleave.M) { panic("no body") })
		wantFailure(t, r, interleave.Panic, "the body panicked: no body")
		r = interleave.Explore(o, func(m *interleave.M) { m.Final(func() { panic("the end") }) })
		wantFailure(t, r, interleave.Panic, "Final panicked: the end")
	})
}

// TestFatalfEndsExecution: Fatalf ends its caller, runs its deferred functions, and
// no other code of the execution runs after it.
func TestFatalfEndsExecution(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantFailure(t, r, interleave.Failed, "number 1")
		if r.Failure.Thread != "t" || r.Failure.Execution != 1 || after || deferred != 2 {
			t.Errorf("got the failure %+v, code after Fatalf: %t, deferred functions: %d", r.Failure, after, deferred)
		}
		r = interleave.Explore(o, func(m *interleave.M) { m.Fatalf("number %d", 2) })
		wantFailure(t, r, interleave.Failed, "number 2")
		r = interleave.Explore(o, func(m *interleave.M) {
			m.Final(func() { m.Fatalf("number %d", 3) })
			m.Final(func() { m.Fatalf("number %d", 4) })
		})
		wantFailure(t, r, interleave.Failed, "number 3")
	})
}

// TestGoexitEndsExploration: a Goexit of the body or of Final, as in t.FailNow, ends
// the caller of Explore, and a later exploration works.
func TestGoexitEndsExploration(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
				panic("Explore returned")
			}()
			<-left
		}
		wantComplete(t, interleave.Explore(o, mpscProgram(mpscBugs{}, 1)))
	})
}

// TestUnwindRunsDeferredFunctions: the explorer ends the remaining threads of an
// execution. Their deferred functions run, also when these block, loop, panic, fail
// or make threads. No goroutine is left after the exploration.
func TestUnwindRunsDeferredFunctions(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
					defer interleave.Go("late", func() { m.Fatalf("a thread that unwinds has made a thread") })
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
		wantComplete(t, r)
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

// TestUnwindReleasesDaemons: the number of goroutines stays bounded during an
// exploration whose daemons never end.
func TestUnwindReleasesDaemons(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		if r.Failure != nil || most > before+300 { // a thousand if none were ended: goroutines take time to end
			t.Errorf("%v, and %d goroutines after %d", r.Failure, most, before)
		}
	})
}

// TestWaitDoneTriesTokenAndClose: WaitDone ends by a token or by the close of its
// channel, and the search tries both. The close orders the writes before it.
func TestWaitDoneTriesTokenAndClose(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
			wantComplete(t, r)
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
		wantFailure(t, r, interleave.Deadlock, "WaitDone")
	})
}

// TestSemaDropsTokensBeyondCapacity: a full semaphore drops a token, and a wait outside
// the threads or before Init panics.
func TestSemaDropsTokensBeyondCapacity(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
		wantComplete(t, r)
		r = interleave.Explore(o, func(m *interleave.M) { m.Go("t", func() { new(interleave.Sema).Post() }) })
		wantFailure(t, r, interleave.Panic, "before Init")
		r = interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Final(func() { s.Wait() })
		})
		wantFailure(t, r, interleave.Panic, "would block for ever")
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

// TestInvalidOptionsAreMisuse: invalid options run no execution and fail as a misuse
// that names the field. A nested exploration and a nil function panic.
func TestInvalidOptionsAreMisuse(t *testing.T) {
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
		wantFailure(t, r, interleave.Misuse, tc.text)
		if r.Executions != 0 || r.Complete {
			t.Errorf("%+v: got %+v, want no execution", tc.o, r)
		}
	}
	r := interleave.Explore(bound0, func(m *interleave.M) {
		m.Go("t", func() { interleave.Explore(bound0, body) })
	})
	wantFailure(t, r, interleave.Panic, "inside an exploration")
	r = interleave.Explore(bound0, func(m *interleave.M) { m.Go("t", nil) })
	wantFailure(t, r, interleave.Panic, "nil function")
	r = interleave.Explore(bound0, func(m *interleave.M) { m.Final(func() { m.Go("late", func() {}) }) })
	wantFailure(t, r, interleave.Panic, "Final")
}

// TestLimitsEndSearchIncomplete: Executions and Budget end a search, which is then not
// complete. PCT runs 10,000 executions by default.
func TestLimitsEndSearchIncomplete(t *testing.T) {
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

// TestNondeterminismIsUnsteady: the search fails as Unsteady when the threads that
// can run, or the n of Choose, differ between two executions of the same path.
func TestNondeterminismIsUnsteady(t *testing.T) {
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
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		n++
		interleave.Choose(1 + n)
	})
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1) })
		if n++; n == 1 {
			m.Go("b", func() { x.Add(1) })
		}
	})
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		if n++; n == 1 {
			m.Fatalf("only the first time")
		}
	})
	wantFailure(t, r, interleave.Failed, "the second run of this execution was different")
}

// TestActiveOnlyInsideExploration: Active is true in the body, in a thread and in
// Final, and false outside an exploration.
func TestActiveOnlyInsideExploration(t *testing.T) {
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

// TestPCTAndRandomReachEveryOutcome: PCT and Random find every outcome of a small
// program, and no other outcome.
func TestPCTAndRandomReachEveryOutcome(t *testing.T) {
	programs := uint64(5)
	if testing.Short() || interleave.RaceBuild {
		programs = 1
	}
	for seed := range programs {
		p := generate(seed)
		full := map[string]int{}
		wantComplete(t, interleave.Explore(all, p.body(full)))
		for _, o := range []interleave.Options{
			{Strategy: interleave.Random, Executions: 20_000, Seed: 1},
			{Strategy: interleave.PCT, Executions: 20_000, Seed: 1, Depth: 5},
		} {
			seen := map[string]int{}
			interleave.Explore(o, p.body(seen))
			for k := range full {
				if seen[k] == 0 {
					t.Errorf("seed %d: %v lacks the outcome %s in %d executions", seed, o.Strategy, k, o.Executions)
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

// A closeOnWrite is a writer whose first Write closes the channel.
type closeOnWrite chan struct{}

func (c closeOnWrite) Write(p []byte) (int, error) {
	close(c)
	return len(p), nil
}

// TestWatchdogReportsBlockedThread: the watchdog reports a thread that blocks on a
// channel.
func TestWatchdogReportsBlockedThread(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		report := make(closeOnWrite)
		defer interleave.SetHangTimeout(time.Millisecond, report)()
		wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() { <-report })
		}))
	})
}

// TestLongTraceIsShortened: the text of a failure leaves out the middle of a long
// trace. Failure.Trace has all of it.
func TestLongTraceIsShortened(t *testing.T) {
	r := interleave.Explore(bound0, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("t", func() {
			for {
				x.Add(1)
			}
		})
	})
	wantFailure(t, r, interleave.Livelock, "10000 steps")
	text := r.Failure.Error()
	if n := strings.Count(text, "\n"); n > 350 || !strings.Contains(text, "... 9700 lines ...") {
		t.Errorf("the report has %d lines", n)
	}
	if r.Failure.Schedule != "0x10000" || strings.Count(r.Failure.Trace, "\n") != 10_000 {
		t.Errorf("the failure has the schedule %s and %d lines of trace", r.Failure.Schedule, strings.Count(r.Failure.Trace, "\n"))
	}
}

// TestExploreFromLockedThread: Explore works on a goroutine that is locked to a
// thread of the operating system.
func TestExploreFromLockedThread(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
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
			wantComplete(t, r)
		}
	})
}
