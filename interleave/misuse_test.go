package interleave_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestStrayOperationIsMisuse: an operation on an object of the exploration by a
// goroutine that the program has started fails the first execution that has one, with
// the name of the object and the stack of the goroutine. The kind of object makes no
// difference, nor does the part of the program that uses it.
func TestStrayOperationIsMisuse(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("foreign goroutines cannot be distinguished from threads here")
	}
	stray := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done
	}
	programs := []struct {
		name string
		want string
		body func(m *interleave.M)
	}{
		{"beside an operation of a thread", "counter is used by a goroutine that is no thread of the program (Int32.Add at misuse_test.go:", func(m *interleave.M) {
			var a interleave.Int32
			m.Name(&a, "counter")
			m.Go("t", func() {
				a.Add(1)
				stray(func() { a.Add(1) })
			})
		}},
		{"before the thread uses the object", "Uint64#1 is used", func(m *interleave.M) {
			var a, b interleave.Uint64
			m.Go("t", func() {
				stray(func() { b.Store(1) })
				a.Load()
				b.Load()
			})
		}},
		{"with an object that only Final reads", "a Bool of the model is used", func(m *interleave.M) {
			var a interleave.Bool
			m.Go("t", func() { stray(func() { a.Store(true) }) })
			m.Final(func() { a.Load() })
		}},
		{"in the body", "Pointer#0 is used", func(m *interleave.M) {
			var a interleave.Pointer[int]
			stray(func() { a.Load() })
			m.Go("t", func() { a.Load() })
		}},
		{"on a Sema", "(Sema.Post at", func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("t", func() {
				stray(func() { s.Post() })
				s.Wait()
			})
		}},
		{"on a Mutex", "(Mutex.Lock at", func(m *interleave.M) {
			var mu interleave.Mutex
			m.Go("t", func() {
				stray(func() { mu.Lock() })
				mu.TryLock()
			})
		}},
		{"on a Pool", "Pool#0 is used by a goroutine that is no thread of the program (Pool.Put at", func(m *interleave.M) {
			var p interleave.Pool
			m.Go("t", func() {
				stray(func() { p.Put(1) })
				p.Get()
			})
		}},
		{"on a Cell", "(Cell.Set at", func(m *interleave.M) {
			var c interleave.Cell[string]
			m.Go("t", func() {
				stray(func() { c.Set("x") })
				c.Get()
			})
		}},
		{"that causes another failure", "(Int32.Store at", func(m *interleave.M) {
			var a interleave.Int32
			m.Go("t", func() {
				stray(func() { a.Store(1) })
				if a.Load() == 1 {
					m.Fatalf("the store of the goroutine")
				}
			})
		}},
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				r := interleave.Explore(o, p.body)
				wantFailure(t, r, interleave.Misuse, p.want)
				f := r.Failure
				if f.Execution != 1 || f.Schedule == "" {
					t.Errorf("got execution %d with schedule %q, want the first with a schedule", f.Execution, f.Schedule)
				}
				if !strings.HasPrefix(f.Stack, "goroutine ") || !strings.Contains(f.Stack, "created by "+packagePath+".TestStrayOperationIsMisuse") {
					t.Errorf("the stack is not that of the goroutine:\n%s", f.Stack)
				}
				if strings.Contains(f.Stack, packagePath[:len(packagePath)-len("_test")]+".") {
					t.Errorf("the stack contains the explorer:\n%s", f.Stack)
				}
			})
		}
	})
}

// TestLaterStrayOperationIsNotSeen: an operation of a goroutine that a thread has started is
// not noticed if it comes after the end of the execution. That is a limit which the text of
// the package names, and no promise.
func TestLaterStrayOperationIsNotSeen(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("foreign goroutines cannot be distinguished from threads here")
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, inNextExecution := range []bool{false, true} {
			var strays sync.WaitGroup
			gate := make(chan struct{})
			executions, used := 0, atomic.Int32{}
			r := interleave.Explore(o, func(m *interleave.M) {
				if inNextExecution {
					close(gate)
					strays.Wait()
					gate = make(chan struct{})
				}
				var a interleave.Int32
				m.Go("starts", func() {
					opened := gate
					strays.Go(func() {
						<-opened
						a.Add(1)
						used.Add(1)
					})
					a.Add(1)
				})
				m.Go("other", func() { a.Add(1) })
				m.Final(func() { executions++ })
			})
			close(gate)
			strays.Wait()
			wantComplete(t, r)
			if executions != 2 || int(used.Load()) != executions {
				t.Errorf("%d operations in %d executions, want one in each of 2", used.Load(), executions)
			}
		}
	})
}

const packagePath = "github.com/lanewright/lanewright/interleave_test"

// TestForeignGoroutinesMayUseOtherObjects: a goroutine that is no thread may use model
// objects that the execution does not use, also when an earlier execution has used
// them or a later one does.
func TestForeignGoroutinesMayUseOtherObjects(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		if !interleave.SelfKnown {
			t.Skip("foreign goroutines cannot be distinguished from threads here")
		}
		var mine interleave.Int32
		var last *interleave.Int32 // of the execution before
		executions := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			a := new(interleave.Int32)
			before := last
			last = a
			for range 2 {
				m.Go("t", func() {
					a.Add(1)
					var wg sync.WaitGroup
					wg.Go(func() {
						mine.Add(1)
						if before != nil {
							before.Add(1)
						}
					})
					wg.Wait()
					a.Add(1)
				})
			}
			m.Final(func() { executions++ })
		})
		wantComplete(t, r)
		if got := mine.Load(); got != int32(2*executions) || executions != 6 {
			t.Errorf("counted %d in %d executions", got, executions)
		}
	})
}

// TestEarlierForeignUseIsNoMisuse: an object that a foreign goroutine has used during an
// earlier execution may be used by the threads of a later one.
func TestEarlierForeignUseIsNoMisuse(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("foreign goroutines cannot be distinguished from threads here")
	}
	objects := new([3]interleave.Int32)
	executions := 0
	r := interleave.Explore(interleave.Options{Strategy: interleave.Random, Executions: 2}, func(m *interleave.M) {
		executions++
		foreign, own := &objects[executions], &objects[executions-1]
		m.Go("t", func() {
			var wg sync.WaitGroup
			wg.Go(func() { foreign.Add(1) })
			wg.Wait()
			own.Add(1)
		})
	})
	if r.Failure != nil || executions != 2 {
		t.Errorf("got %v in %d executions", r.Failure, executions)
	}
}

// TestMIsForThreads: the methods of M panic in a goroutine that is no thread, during an
// execution and after it.
func TestMIsForThreads(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("foreign goroutines cannot be distinguished from threads here")
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		var last *interleave.M
		methods := func() {
			t.Helper()
			mustPanic(t, "M.Go: called by a goroutine that is no thread", func() { last.Go("t", func() {}) })
			mustPanic(t, "M.GoDaemon: called by", func() { last.GoDaemon("t", func() {}) })
			mustPanic(t, "M.Final: called by", func() { last.Final(func() {}) })
			mustPanic(t, "M.Fatalf: called by", func() { last.Fatalf("too late") })
		}
		wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
			last = m
			m.Go("t", func() {
				var wg sync.WaitGroup
				wg.Go(methods)
				wg.Wait()
			})
		}))
		methods()
	})
}

// TestNameNeedsPointer: M.Name panics if the object is no pointer, in each execution.
func TestNameNeedsPointer(t *testing.T) {
	r := interleave.Explore(all, func(m *interleave.M) { m.Name(1, "one") })
	wantFailure(t, r, interleave.Panic, "M.Name: object is not a pointer")
}

// TestEmptyCellIsMisuse: an access to a Cell of size zero fails the execution in a
// thread, in the body and in Final, and does nothing outside an exploration.
func TestEmptyCellIsMisuse(t *testing.T) {
	type empty [0]int
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		var c interleave.Cell[struct{}]
		var d interleave.Cell[empty]
		c.Set(c.Get())
		r := interleave.Explore(o, func(m *interleave.M) { m.Go("t", func() { c.Get() }) })
		wantFailure(t, r, interleave.Misuse, "a interleave.Cell[struct {}] is used: a Cell must not have size zero")
		if r.Failure.Thread != "t" {
			t.Errorf("the thread is %q", r.Failure.Thread)
		}
		r = interleave.Explore(o, func(m *interleave.M) { m.Go("t", func() { d.Set(empty{}) }) })
		wantFailure(t, r, interleave.Misuse, "a Cell must not have size zero")
		r = interleave.Explore(o, func(*interleave.M) { c.Get() })
		wantFailure(t, r, interleave.Misuse, "a Cell must not have size zero")
		r = interleave.Explore(o, func(m *interleave.M) { m.Final(func() { c.Set(struct{}{}) }) })
		wantFailure(t, r, interleave.Misuse, "a Cell must not have size zero")
	})
}
