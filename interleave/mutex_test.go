package interleave_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// searches returns the exhaustive searches: without a reduction, and with sleep
// sets.
func searches(o interleave.Options) map[string]interleave.Options {
	reduced := o
	reduced.Reduce = true
	return map[string]interleave.Options{"all": o, "sleep sets": reduced}
}

// atBound returns o with a bound on the preemptions.
func atBound(o interleave.Options, bound int) interleave.Options {
	o.Preemptions = bound
	if bound == 0 {
		o.Preemptions = interleave.None
	}
	return o
}

// TestMutexExcludes: the threads of a program enter the critical sections of a
// Mutex one at a time and in every order.
func TestMutexExcludes(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for name, o := range searches(o) {
			seen := map[string]int{}
			wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
				var mu interleave.Mutex
				var inside interleave.Int32
				var n interleave.Cell[int]
				order := ""
				for _, name := range []string{"a", "b", "c"} {
					m.Go(name, func() {
						mu.Lock()
						if inside.Add(1) != 1 {
							m.Fatalf("two threads are in the critical section")
						}
						n.Set(n.Get() + 1)
						order += name
						inside.Add(-1)
						mu.Unlock()
					})
				}
				m.Final(func() {
					mu.Lock() // free: all have unlocked it
					if n.Get() != 3 {
						m.Fatalf("counted %d", n.Get())
					}
					seen[order]++
				})
			}))
			if got := fmt.Sprint(slices.Sorted(maps.Keys(seen))); got != "[abc acb bac bca cab cba]" {
				t.Errorf("%s: got the orders %s", name, got)
			}
		}
	})
}

// TestLockIsAStep: a preemption between a load and the Lock after it finds the
// wake-up that is lost when a thread looks at a flag, registers under the lock and
// does not look again.
func TestLockIsAStep(t *testing.T) {
	program := func(again bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			var flag interleave.Bool
			var mu interleave.Mutex
			var waiting interleave.Cell[*interleave.Sema]
			m.Go("waiter", func() {
				if flag.Load() {
					return
				}
				s := new(interleave.Sema)
				s.Init(1)
				mu.Lock()
				waiting.Set(s)
				mu.Unlock()
				if again && flag.Load() {
					return
				}
				s.Wait()
			})
			m.Go("setter", func() {
				flag.Store(true)
				mu.Lock()
				s := waiting.Get()
				mu.Unlock()
				if s != nil {
					s.Post()
				}
			})
		}
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		wantComplete(t, interleave.Explore(atBound(o, 0), program(false)))
		wantFailure(t, interleave.Explore(atBound(o, 1), program(false)), interleave.Deadlock, "thread waiter waits in Wait of Sema#")
		for _, o := range searches(o) {
			wantFailure(t, interleave.Explore(o, program(false)), interleave.Deadlock, "thread waiter waits in Wait of Sema#")
			wantComplete(t, interleave.Explore(o, program(true)))
		}
	})
}

// TestUnlockIsAStep: one preemption between two critical sections loses an update
// that is divided between them.
func TestUnlockIsAStep(t *testing.T) {
	program := func(m *interleave.M) {
		var mu interleave.Mutex
		var x interleave.Cell[int]
		for range 2 {
			m.Go("add", func() {
				mu.Lock()
				v := x.Get()
				mu.Unlock()
				mu.Lock()
				x.Set(v + 1)
				mu.Unlock()
			})
		}
		m.Final(func() {
			if x.Get() != 2 {
				m.Fatalf("counted %d", x.Get())
			}
		})
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		wantComplete(t, interleave.Explore(atBound(o, 0), program))
		wantFailure(t, interleave.Explore(atBound(o, 1), program), interleave.Failed, "counted 1")
		for _, o := range searches(o) {
			wantFailure(t, interleave.Explore(o, program), interleave.Failed, "counted 1")
		}
	})
}

// TestLockOrderIsADeadlock: two threads that take two locks in opposite orders
// deadlock after one preemption, and the report names both locks and waiters.
func TestLockOrderIsADeadlock(t *testing.T) {
	program := func(names ...string) func(m *interleave.M) {
		return func(m *interleave.M) {
			locks := map[string]*interleave.Mutex{"left": {}, "right": {}}
			m.Name(locks["left"], "left")
			m.Name(locks["right"], "right")
			for i := range 2 {
				first, second := locks[names[2*i]], locks[names[2*i+1]]
				m.Go(fmt.Sprint("t", i), func() {
					first.Lock()
					defer first.Unlock()
					second.Lock()
					defer second.Unlock()
				})
			}
		}
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		wantComplete(t, interleave.Explore(atBound(o, 0), program("left", "right", "right", "left")))
		for _, o := range append(slices.Collect(maps.Values(searches(o))), atBound(o, 1)) {
			r := interleave.Explore(o, program("left", "right", "right", "left"))
			wantFailure(t, r, interleave.Deadlock, "thread t0 waits in Lock of right at mutex_test.go:")
			wantFailure(t, r, interleave.Deadlock, "thread t1 waits in Lock of left at mutex_test.go:")
			wantComplete(t, interleave.Explore(o, program("left", "right", "left", "right")))
		}
	})
}

// TestLockIsNotReentrant: a thread that locks a Mutex twice deadlocks. A daemon may
// wait for ever.
func TestLockIsNotReentrant(t *testing.T) {
	twice := func(mu *interleave.Mutex) func() { return func() { mu.Lock(); mu.Lock() } }
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, o := range searches(o) {
			r := interleave.Explore(o, func(m *interleave.M) { m.Go("t", twice(new(interleave.Mutex))) })
			wantFailure(t, r, interleave.Deadlock, "thread t waits in Lock of Mutex#0")
			wantComplete(t, interleave.Explore(o, func(m *interleave.M) { m.GoDaemon("t", twice(new(interleave.Mutex))) }))
		}
	})
}

// TestTryLockFailsWhileLocked: TryLock returns true exactly when the Mutex is
// unlocked at its step, and never blocks.
func TestTryLockFailsWhileLocked(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for name, o := range searches(o) {
			seen := map[string]int{}
			wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
				var mu interleave.Mutex
				var at interleave.Int32
				m.Go("lock", func() {
					mu.Lock()
					at.Store(1)
					mu.Unlock()
				})
				m.Go("try", func() {
					ok := mu.TryLock()
					v := at.Load()
					m.Final(func() { seen[fmt.Sprint(ok, v)]++ })
					if ok {
						if mu.TryLock() {
							m.Fatalf("TryLock has locked a Mutex twice")
						}
						mu.Unlock()
					}
				})
			}))
			// A failed TryLock is inside the critical section, or before its store
			// and the load after it.
			if got := fmt.Sprint(slices.Sorted(maps.Keys(seen))); got != "[false 0 false 1 true 0 true 1]" {
				t.Errorf("%s: got %s", name, got)
			}
		}
	})
}

// TestUnlockOrdersLaterLocks: an Unlock happens before each later Lock and each later
// successful TryLock, and a failed TryLock orders nothing.
func TestUnlockOrdersLaterLocks(t *testing.T) {
	type state struct {
		mu interleave.Mutex
		c  interleave.Cell[int]
	}
	pass := func(s *state) {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	tests := []raceCase[state]{
		{"lock", func(s *state) { s.mu.Lock(); s.c.Set(1); s.mu.Unlock() }, func(s *state) { s.mu.Lock(); s.c.Set(2); s.mu.Unlock() }, false},
		{"try", func(s *state) { s.mu.Lock(); s.c.Set(1); s.mu.Unlock() }, func(s *state) {
			if s.mu.TryLock() {
				s.c.Set(2)
				s.mu.Unlock()
			}
		}, false},
		{"a failed try", func(s *state) { s.c.Set(1); pass(s) }, func(s *state) {
			if !s.mu.TryLock() {
				s.c.Get()
			}
		}, true},
		{"after the unlock", func(s *state) { pass(s); s.c.Set(1) }, func(s *state) { s.mu.Lock(); s.c.Get(); s.mu.Unlock() }, true},
		{"before the lock", func(s *state) { s.mu.Lock(); s.c.Set(1); s.mu.Unlock() }, func(s *state) { s.c.Get(); pass(s) }, true},
		{"a lock publishes nothing", func(s *state) { s.c.Set(1); s.mu.Lock() }, func(s *state) {
			if !s.mu.TryLock() {
				s.mu.Unlock()
				s.mu.Lock()
				s.c.Get()
			}
		}, true},
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		checkRaces(t, tests, slices.Collect(maps.Values(searches(o))), func(*state) {})
	})
}

// TestForeignUnlockKeepsEarlierEdges: a Lock is ordered after all earlier Unlocks, also
// when the last Unlock is by a thread that is not ordered after the others.
func TestForeignUnlockKeepsEarlierEdges(t *testing.T) {
	o := all
	o.Replay = "0x2,1,2x2,3"
	r := interleave.Explore(o, func(m *interleave.M) {
		var mu interleave.Mutex
		var c interleave.Cell[int]
		m.Go("writer", func() {
			c.Set(1)
			mu.Lock()
			defer mu.Unlock()
		})
		m.Go("holder", func() { mu.Lock() })
		m.Go("foreign", func() {
			if !mu.TryLock() { // false: no edge
				mu.Unlock()
			}
		})
		m.Go("reader", func() {
			mu.Lock()
			c.Get()
		})
	})
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
}

// TestUnlockOfUnlockedFails: the Unlock of a Mutex that is not locked fails the
// execution in a thread, in the body and in Final, and recover does not hide it.
func TestUnlockOfUnlockedFails(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		r := interleave.Explore(o, func(m *interleave.M) {
			var mu interleave.Mutex
			m.Go("t", func() {
				defer func() { _ = recover() }()
				mu.Lock()
				defer mu.Unlock()
				mu.Unlock()
			})
		})
		wantFailure(t, r, interleave.Panic, "thread t unlocks Mutex#0, which is not locked at mutex_test.go:")
		if strings.Count(r.Failure.Trace, "Mutex#0.Unlock()") != 2 || r.Failure.Thread != "t" || !strings.Contains(r.Failure.Stack, "mutex_test.go") {
			t.Errorf("got the report\n%v", r.Failure)
		}
		r = interleave.Explore(o, func(m *interleave.M) { new(interleave.Mutex).Unlock() })
		wantFailure(t, r, interleave.Panic, "a Mutex that is not locked is unlocked outside the threads")
		r = interleave.Explore(o, func(m *interleave.M) { m.Final(func() { new(interleave.Mutex).Unlock() }) })
		wantFailure(t, r, interleave.Panic, "a Mutex that is not locked is unlocked outside the threads")
	})
}

// TestLockOutsideTheThreads: the body and Final may lock a free Mutex, threads see its
// state, and a Lock that would block there panics.
func TestLockOutsideTheThreads(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
			var mu interleave.Mutex
			mu.Lock()
			m.Go("t", func() {
				if mu.TryLock() {
					m.Fatalf("the body has locked it")
				}
				mu.Unlock()
				mu.Lock()
			})
			m.Final(func() {
				if mu.TryLock() {
					m.Fatalf("the thread has locked it")
				}
				mu.Unlock()
				mu.Lock()
			})
		}))
		for _, f := range []func(m *interleave.M, f func()){
			func(m *interleave.M, f func()) { f() },
			func(m *interleave.M, f func()) { m.Final(f) },
		} {
			r := interleave.Explore(o, func(m *interleave.M) {
				var mu interleave.Mutex
				f(m, func() { mu.Lock(); mu.Lock() })
			})
			wantFailure(t, r, interleave.Panic, "a Lock outside the threads would block for ever")
		}
	})
}

// TestUnwindingThreadsDoNotWaitForLocks: a thread that is ended by the explorer runs its
// deferred calls of a Mutex, which neither block nor fail.
func TestUnwindingThreadsDoNotWaitForLocks(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		ended := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var held, free interleave.Mutex
			var s interleave.Sema
			s.Init(1)
			m.Go("holder", func() { held.Lock() })
			m.GoDaemon("waiter", func() {
				defer func() { ended++ }()
				defer held.Lock()   // blocks: the rest is left out
				defer free.Unlock() // not locked: ignored
				defer free.Unlock()
				defer free.Lock()
				defer func() {
					for { // ends after a number of operations
						free.TryLock()
					}
				}()
				s.Wait()
			})
		})
		wantComplete(t, r)
		if ended != r.Executions {
			t.Errorf("%d of %d daemons have run their deferred functions", ended, r.Executions)
		}
	})
}

// TestCrashedHolderKeepsTheLock: a thread that crashes between Lock and Unlock blocks
// the others for ever.
func TestCrashedHolderKeepsTheLock(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Crash = "holder"
		for _, o := range searches(o) {
			r := interleave.Explore(o, func(m *interleave.M) {
				var mu interleave.Mutex
				for _, name := range []string{"holder", "other"} {
					m.Go(name, func() { mu.Lock(); defer mu.Unlock() })
				}
			})
			wantFailure(t, r, interleave.Deadlock, "thread other waits in Lock of Mutex#0")
			wantFailure(t, r, interleave.Deadlock, "thread holder has crashed")
		}
	})
}

// TestForeignLockFailsTheExecution: a Mutex that a goroutine outside the exploration
// locks during an execution does not hang the exploration, which names that goroutine.
func TestForeignLockFailsTheExecution(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("the explorer does not distinguish goroutines here")
	}
	r := interleave.Explore(all, func(m *interleave.M) {
		var mu interleave.Mutex
		m.Go("t", func() {
			if mu.TryLock() {
				mu.Unlock()
			}
			locked := make(chan struct{})
			go func() { mu.Lock(); close(locked) }()
			<-locked
			mu.Lock()
		})
	})
	wantFailure(t, r, interleave.Misuse, "Mutex#0 is used by a goroutine that is no thread of the program (Mutex.Lock at")
}

// TestMutexTrace: the steps of a Mutex are in the trace with their positions.
func TestMutexTrace(t *testing.T) {
	r := interleave.Explore(all, func(m *interleave.M) {
		var mu interleave.Mutex
		m.Name(&mu, "mu")
		m.Go("t", func() {
			mu.TryLock()
			mu.TryLock()
			mu.Unlock()
			mu.Lock()
			m.Fatalf("end")
		})
	})
	wantFailure(t, r, interleave.Failed, "end")
	for _, step := range []string{"mu.TryLock() = true", "mu.TryLock() = false", "mu.Unlock()", "mu.Lock()"} {
		if !regexp.MustCompile(` mutex_test\.go:\d+  ` + regexp.QuoteMeta(step) + "\n").MatchString(r.Failure.Trace) {
			t.Errorf("the trace has no %q:\n%s", step, r.Failure.Trace)
		}
	}
}

// TestMutexOutsideExplorations: outside an exploration a Mutex excludes goroutines and
// TryLock fails while one holds it, also while an exploration runs in another
// goroutine.
func TestMutexOutsideExplorations(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	var mu interleave.Mutex
	var group sync.WaitGroup
	n, inside := 0, 0
	enter := func() {
		if inside++; inside != 1 {
			t.Errorf("%d goroutines are in the critical section", inside)
		}
		n++
		inside--
	}
	for range 4 {
		group.Go(func() {
			for range rounds {
				mu.Lock()
				enter()
				mu.Unlock()
			}
		})
		group.Go(func() {
			for range rounds {
				for !mu.TryLock() {
					interleave.Pause()
				}
				enter()
				mu.Unlock()
			}
		})
	}
	if interleave.SelfKnown {
		group.Go(func() {
			wantComplete(t, interleave.Explore(all, func(m *interleave.M) {
				var own interleave.Mutex
				for range 3 {
					m.Go("t", func() { own.Lock(); defer own.Unlock() })
				}
			}))
		})
	}
	group.Wait()
	if n != 8*rounds {
		t.Errorf("counted %d, want %d", n, 8*rounds)
	}
}

// TestPauseKeepsEveryNumberOfRounds: a loop that calls Pause may end before another
// thread has taken a step, so that the search finds the wake-up that is lost behind
// any number of rounds. Pause is no step.
func TestPauseKeepsEveryNumberOfRounds(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for rounds := range 5 {
			program := func(m *interleave.M) {
				var flag interleave.Bool
				var s interleave.Sema
				var waiting interleave.Bool
				s.Init(1)
				m.Go("waiter", func() {
					for range rounds {
						if flag.Load() {
							return
						}
						interleave.Pause()
					}
					waiting.Store(true) // without a second load
					s.Wait()
				})
				m.Go("setter", func() {
					flag.Store(true)
					if waiting.Load() {
						s.Post()
					}
				})
			}
			for _, o := range searches(o) {
				wantFailure(t, interleave.Explore(o, program), interleave.Deadlock, "thread waiter waits")
			}
		}
		seen := map[int]int{}
		wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
			var flag interleave.Bool
			m.Go("set", func() { flag.Store(true) })
			m.Go("spin", func() {
				n := 0
				for n < 3 && !flag.Load() {
					interleave.Pause()
					n++
				}
				m.Final(func() { seen[n]++ })
			})
		}))
		if fmt.Sprint(seen) != "map[0:1 1:1 2:1 3:1]" {
			t.Errorf("got the numbers of rounds %v, want each from 0 to 3 once", seen)
		}
	})
	interleave.Pause() // outside an exploration it returns
}
