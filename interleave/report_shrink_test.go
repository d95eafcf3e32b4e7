package interleave_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// lostUpdateProgram loses an update. Its threads take other steps before and after.
func lostUpdateProgram(threads, others int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var n, other interleave.Int32
		for range threads {
			m.Go("add", func() {
				for range others {
					other.Add(1)
				}
				n.Store(n.Load() + 1)
				for range others {
					other.Add(1)
				}
			})
		}
		m.Final(func() {
			if int(n.Load()) != threads {
				m.Fatalf("counted %d", n.Load())
			}
		})
	}
}

// blindWaitProgram has a deadlock beside a daemon that polls what the explorer does not see.
// The deadlock is due to a lost update.
func blindWaitProgram(others int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var n, other, ended interleave.Int32
		var s interleave.Sema
		s.Init(1)
		for range 2 {
			m.Go("add", func() {
				for range others {
					other.Add(1)
				}
				n.Store(n.Load() + 1)
				if ended.Add(1) == 2 && n.Load() == 2 {
					s.Post()
				}
			})
		}
		m.Go("wait", func() { s.Wait() })
		m.GoDaemon("poll", func() {
			for {
				interleave.Yield()
			}
		})
	}
}

// TestShrinkFindsFewPreemptionsOfBlindWait: the misuse of a thread that waits at a Yield without
// a read is shortened as a deadlock is.
func TestShrinkFindsFewPreemptionsOfBlindWait(t *testing.T) {
	found := 0
	for _, strategy := range []interleave.Strategy{interleave.Random, interleave.PCT} {
		for seed := range uint64(10) {
			o := interleave.Options{Strategy: strategy, Seed: seed, Executions: 1000}
			r := interleave.Explore(o, blindWaitProgram(5))
			if r.Failure == nil {
				continue
			}
			found++
			wantFailure(t, r, interleave.Misuse, "has read no object since its last Yield")
			if n := r.Failure.Preemptions; n != 1 || strings.Contains(r.Failure.Message, "second run") {
				t.Errorf("%v, seed %d: %d preemptions, want 1: %v", strategy, seed, n, r.Failure)
			}
			o.Replay = r.Failure.Schedule
			wantFailure(t, interleave.Explore(o, blindWaitProgram(5)), interleave.Misuse, r.Failure.Message)
		}
	}
	if found < 15 {
		t.Errorf("found %d failures in 20 explorations", found)
	}
}

// TestShrinkKeepsForeignOperations: the misuse of a goroutine that is no thread is reported with
// the execution that had it.
func TestShrinkKeepsForeignOperations(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("foreign goroutines cannot be distinguished from threads here")
	}
	for seed := range uint64(5) {
		r := interleave.Explore(interleave.Options{Strategy: interleave.Random, Seed: seed}, func(m *interleave.M) {
			var n interleave.Int32
			for range 2 {
				m.Go("add", func() {
					for range 10 {
						n.Add(1)
					}
					done := make(chan struct{})
					go func() { defer close(done); n.Add(1) }()
					<-done
				})
			}
		})
		wantFailure(t, r, interleave.Misuse, "is used by a goroutine that is no thread of the program")
		if r.Failure.Execution != 1 || r.Failure.Preemptions == 0 {
			t.Errorf("seed %d: execution %d with %d preemptions, want those of the first execution", seed, r.Failure.Execution, r.Failure.Preemptions)
		}
	}
}

// TestShrinkFindsFewPreemptions: a failure of PCT or Random has at most one preemption
// more than the least number with which any execution fails in this way. Its replay
// fails with the same message, and the execution of the seed keeps its number.
func TestShrinkFindsFewPreemptions(t *testing.T) {
	type program struct {
		name  string
		prog  func(m *interleave.M)
		opts  interleave.Options
		kind  interleave.Kind
		least int
	}
	programs := []program{
		{"lost update", lostUpdateProgram(2, 0), interleave.Options{}, interleave.Failed, 1},
		{"lost update of 3 among other steps", lostUpdateProgram(3, 10), interleave.Options{}, interleave.Failed, 1},
		{"bakery of 3: no tie-break", critical(3, 1, func() classicLock { return &bakeryLock{n: 3, noTieBreak: true} }), interleave.Options{}, interleave.Race, 1},
		{"wake: notification dropped", throttleProgram(throttleBugs{dropped: true}, 2, 2, 0), interleave.Options{}, interleave.Deadlock, 2},
		{"wake: spawn fails", throttleProgram(throttleBugs{closedLatch: true}, 2, 2, 1), interleave.Options{}, interleave.Deadlock, 0},
	}
	for _, p := range programs { // TestClassicsWrong checks the least bounds of the classics
		if p.least > 0 {
			wantComplete(t, interleave.Explore(within(p.opts, p.least-1), p.prog))
		}
	}
	for _, c := range classics {
		if c.wrong != "" {
			programs = append(programs, program{c.name, c.prog, c.opts, c.wrong, c.least})
		}
	}
	exact, found := 0, 0
	for _, p := range programs {
		for _, strategy := range []interleave.Strategy{interleave.Random, interleave.PCT} {
			for seed := range uint64(3) {
				o := p.opts
				o.Strategy, o.Seed, o.Executions, o.Depth = strategy, seed, 3_000, p.least+2
				r := interleave.Explore(o, p.prog)
				f := r.Failure
				if f == nil || f.Kind != p.kind {
					continue // the program may also fail in another way
				}
				found++
				if f.Preemptions == p.least {
					exact++
				}
				if f.Preemptions < p.least || f.Preemptions > p.least+1 || f.Execution != r.Executions || strings.Contains(f.Message, "second run") {
					t.Errorf("%s, %v, seed %d: want %d preemptions in execution %d, got %v", p.name, strategy, seed, p.least, r.Executions, f)
				}
				o.Replay = f.Schedule
				if again := interleave.Explore(o, p.prog).Failure; again == nil || again.Kind != f.Kind || again.Message != f.Message || again.Preemptions != f.Preemptions {
					t.Errorf("%s, %v, seed %d: the replay of\n%v\ngave\n%v", p.name, strategy, seed, f, again)
				}
			}
		}
	}
	t.Logf("%d of %d failures have the least number of preemptions", exact, found)
	if found < 200 {
		t.Errorf("found only %d failures", found)
	}
}

// TestShrinkOfLargePrograms: a failure of Random has few preemptions also where a
// depth-first search does not find one.
func TestShrinkOfLargePrograms(t *testing.T) {
	for seed := range uint64(6) {
		r := interleave.Explore(interleave.Options{Strategy: interleave.Random, Seed: seed}, throttleProgram(throttleBugs{dropped: true}, 6, 6, 0))
		wantFailure(t, r, interleave.Deadlock, "done")
		if n := r.Failure.Preemptions; n < 2 || n > 6 {
			t.Errorf("seed %d: got %d preemptions, want 2 to 6", seed, n)
		}
	}
}

// TestShrinkIsDeterministic: the same seed gives the same failure in each run and with
// each backend.
func TestShrinkIsDeterministic(t *testing.T) {
	for i, prog := range []func(m *interleave.M){
		lostUpdateProgram(3, 3),
		mailboxProgram(mailboxBugs{lateSignal: true}, 1, 2),
		throttleProgram(throttleBugs{dropped: true}, 3, 3, 0),
		throttleProgram(throttleBugs{closedLatch: true}, 2, 2, 1),
	} {
		for _, strategy := range []interleave.Strategy{interleave.Random, interleave.PCT} {
			var first *interleave.Failure
			for _, backend := range []interleave.Backend{interleave.Coroutines, interleave.Baton, interleave.Coroutines} {
				f := interleave.Explore(interleave.Options{Strategy: strategy, Seed: 3, Backend: backend}, prog).Failure
				switch {
				case f == nil:
					t.Fatalf("program %d, %v: no failure", i, strategy)
				case first == nil:
					first = f
				case *f != *first:
					t.Errorf("program %d, %v: got\n%v\nand\n%v", i, strategy, first, f)
				}
			}
		}
	}
}

// TestShrinkKeepsChoices: a shorter execution has the crash and the results of Choose
// that the failure needs, in the body, in threads and in Final.
func TestShrinkKeepsChoices(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Strategy, o.Crash, o.Seed, o.Executions = interleave.Random, "crashing", 1, 100_000
		r := interleave.Explore(o, func(m *interleave.M) {
			var x, y interleave.Int32
			in := interleave.Choose(4)
			var sums [2]int
			m.Go("crashing", func() {
				for range 4 {
					x.Add(1)
				}
			})
			for i := range sums {
				m.Go("t", func() {
					for range 3 {
						y.Add(1)
						sums[i] += interleave.Choose(3)
						y.Add(1)
					}
				})
			}
			m.Final(func() {
				if out := interleave.Choose(3); in == 2 && sums[0]+sums[1] == 11 && x.Load() == 2 && out == 1 {
					m.Fatalf("found")
				}
			})
		})
		wantFailure(t, r, interleave.Failed, "found")
		if f := r.Failure; f.Preemptions != 0 || !strings.Contains(f.Schedule, "0x2,0k") {
			t.Errorf("got %v", f)
		}
	})
}

// TestShrinkEndsForLongExecutions: the time to shorten a failure is bounded, also for
// executions of many steps.
func TestShrinkEndsForLongExecutions(t *testing.T) {
	ran := 0
	r := interleave.Explore(interleave.Options{Strategy: interleave.Random, Seed: 1}, func(m *interleave.M) {
		ran++
		var x interleave.Int32
		for range 3 {
			m.Go("t", func() {
				for {
					x.Add(1)
				}
			})
		}
	})
	wantFailure(t, r, interleave.Livelock, "10000 steps")
	if r.Executions != 1 || r.Steps != 10_000 || r.Failure.Preemptions != 0 || ran > 200 {
		t.Errorf("got %d executions of %d steps, %d preemptions, %d runs", r.Executions, r.Steps, r.Failure.Preemptions, ran)
	}
}

// A failure of Random has as few preemptions as the explorer finds, and the number of the
// execution that failed first.
func ExampleOptions_strategy() {
	r := interleave.Explore(interleave.Options{Strategy: interleave.Random, Seed: 1}, lostUpdateProgram(3, 10))
	fmt.Println(r.Failure.Message, "with", r.Failure.Preemptions, "preemption")
	// Output: counted 2 with 1 preemption
}
