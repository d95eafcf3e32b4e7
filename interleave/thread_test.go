package interleave_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

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
				wantFailure(t, r, interleave.Deadlock, "thread worker waits in Wait of Sema#0 at thread_test.go:")
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
		o.Strategy, o.Preemptions, o.Reduce, o.Executions = interleave.PCT, 0, false, 50_000
		before, many := runtime.NumGoroutine(), 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.GoDaemon("daemon", s.Wait)
			m.Go("thread", func() {})
			m.Final(func() {
				if runtime.NumGoroutine() > before+300 { // goroutines take time to end
					many++
				}
			})
		})
		// Without an end of daemons most executions see many. Some may see ended goroutines, which
		// NumGoroutine counts while a garbage collection frees their stacks.
		if r.Failure != nil || many > r.Executions/10 {
			t.Errorf("%v, and more than %d goroutines in %d of %d executions", r.Failure, before+300, many, r.Executions)
		}
	})
}
