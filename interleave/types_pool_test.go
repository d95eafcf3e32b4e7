package interleave_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// A poolItem is an item with a plain variable.
type poolItem struct {
	name string
	c    interleave.Cell[int]
}

// nameOf returns the name of an item of a Pool, or - for none.
func nameOf(v any) string {
	if v == nil {
		return "-"
	}
	return v.(*poolItem).name
}

// TestGetReturnsTheLastItem: Get returns the items in the opposite order of their Puts,
// then the result of New, or nil without New. Put of nil adds no item.
func TestGetReturnsTheLastItem(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, withNew := range []bool{false, true} {
			wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
				var p interleave.Pool
				rest := "- -"
				if withNew {
					p.New = func() any { return &poolItem{name: "new"} }
					rest = "new new"
				}
				m.Go("t", func() {
					for _, name := range []string{"a", "b", "c"} {
						p.Put(&poolItem{name: name})
						p.Put(nil)
					}
					got := nameOf(p.Get())
					p.Put(&poolItem{name: "d"})
					for range 5 {
						got += " " + nameOf(p.Get())
					}
					if want := "c d b a " + rest; got != want {
						m.Fatalf("got the items %s, want %s", got, want)
					}
				})
			}))
		}
	})
}

// TestPoolOperationsAreSteps: an exploration runs each order of the Puts and Gets of two
// threads. With sleep sets it finds the same results, and runs operations on different
// Pools in one order only.
func TestPoolOperationsAreSteps(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for name, o := range searches(o) {
			for _, same := range []bool{true, false} {
				seen := map[string]int{}
				r := interleave.Explore(o, func(m *interleave.M) {
					pools := make([]interleave.Pool, 2)
					var got [2]string
					for i, name := range []string{"a", "b"} {
						p := &pools[i]
						if same {
							p = &pools[0]
						}
						m.Go(name, func() {
							p.Put(&poolItem{name: name})
							got[i] = nameOf(p.Get())
						})
					}
					m.Final(func() { seen[strings.Join(got[:], "")]++ })
				})
				wantComplete(t, r)
				want, executions := "map[ab:4 ba:2]", 6
				switch {
				case !same && name == "all":
					want = "map[ab:6]"
				case !same:
					want, executions = "map[ab:1]", 1
				}
				if fmt.Sprint(seen) != want || r.Executions != executions {
					t.Errorf("%s, same=%t: got %v in %d executions, want %s in %d", name, same, seen, r.Executions, want, executions)
				}
			}
		}
	})
}

// TestPoolPreemption: one preemption between a Get and the Put of the same item makes the
// other thread call New.
func TestPoolPreemption(t *testing.T) {
	program := func(m *interleave.M) {
		p := interleave.Pool{New: func() any { return new(poolItem) }}
		p.Put(new(poolItem))
		made := 0
		p.New = func() any { made++; return new(poolItem) }
		for range 2 {
			m.Go("user", func() { p.Put(p.Get()) })
		}
		m.Final(func() {
			if made > 0 {
				m.Fatalf("New was called")
			}
		})
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		wantComplete(t, interleave.Explore(atBound(o, 0), program))
		wantFailure(t, interleave.Explore(atBound(o, 1), program), interleave.Failed, "New was called")
		for _, o := range searches(o) {
			wantFailure(t, interleave.Explore(o, program), interleave.Failed, "New was called")
		}
	})
}

// TestPutHappensBeforeGetOfItsItem: the Put of an item happens before the Get that returns
// it, and a Pool implies no other order.
func TestPutHappensBeforeGetOfItsItem(t *testing.T) {
	type state struct {
		p interleave.Pool
		c interleave.Cell[int]
	}
	tests := []raceCase[state]{
		{"before the Put", func(s *state) { s.c.Set(1); s.p.Put(1) }, func(s *state) {
			if s.p.Get() != nil {
				s.c.Set(2)
			}
		}, false},
		{"the item itself", func(s *state) { i := &poolItem{}; i.c.Set(1); s.p.Put(i) }, func(s *state) {
			if i, ok := s.p.Get().(*poolItem); ok {
				i.c.Set(2)
				s.p.Put(i)
			}
		}, false},
		{"after the Put", func(s *state) { i := &poolItem{}; s.p.Put(i); i.c.Set(1) }, func(s *state) {
			if i, ok := s.p.Get().(*poolItem); ok {
				i.c.Get()
			}
		}, true},
		{"before the Get", func(s *state) { s.c.Set(1); s.p.Put(1) }, func(s *state) { s.c.Get(); s.p.Get() }, true},
		{"another item", func(s *state) { s.c.Set(1); s.p.Put("a") }, func(s *state) {
			s.p.Put("b")
			if s.p.Get() == "b" {
				s.c.Get()
			}
		}, true},
		{"the first item after the second", func(s *state) { s.p.Put("a"); s.c.Set(1); s.p.Put("b") }, func(s *state) {
			if s.p.Get() == "a" {
				s.c.Get()
			}
		}, true},
		{"both items", func(s *state) { s.p.Put("a"); s.c.Set(1); s.p.Put("b") }, func(s *state) {
			if s.p.Get() == "b" {
				s.c.Get()
			}
		}, false},
		{"two Puts", func(s *state) { s.c.Set(1); s.p.Put(1) }, func(s *state) { s.p.Put(2); s.c.Get() }, true},
		{"a Get publishes nothing", func(s *state) { s.c.Set(1); s.p.Put("a"); s.p.Get(); s.c.Set(2) }, func(s *state) {
			if s.p.Get() != nil {
				s.c.Get()
			}
		}, true},
		{"two Gets", func(s *state) { s.c.Set(1); s.p.Get() }, func(s *state) { s.p.Get(); s.c.Get() }, true},
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		checkRaces(t, tests, slices.Collect(maps.Values(searches(o))), func(*state) {})
	})
}

// TestItemOfTheBodyOrdersNoThreads: a thread that gets an item of the body is ordered after
// no other thread, whatever earlier executions have put.
func TestItemOfTheBodyOrdersNoThreads(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, o := range searches(o) {
			wantFailure(t, interleave.Explore(o, func(m *interleave.M) {
				var p interleave.Pool
				var c interleave.Cell[int]
				p.Put("body")
				m.Go("a", func() {
					c.Set(1)
					p.Get()
					p.Put("a")
				})
				m.Go("b", func() {
					if p.Get() == "body" {
						c.Get()
					}
				})
			}), interleave.Race, "data race on Cell#")
		}
	})
}

// TestItemsOrderThreadsOneAfterTheOther: an item that goes through many threads, some of
// which have begun after its first Put, orders all its users.
func TestItemsOrderThreadsOneAfterTheOther(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, o := range searches(o) {
			wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
				var p interleave.Pool
				use := func() {
					if i, ok := p.Get().(*poolItem); ok {
						i.c.Set(i.c.Get() + 1)
						p.Put(i)
					}
				}
				m.Go("first", func() {
					i := new(poolItem)
					i.c.Set(1)
					p.Put(i)
					interleave.Go("late", use)
				})
				m.Go("use", use)
				m.Go("use", use)
				m.Final(func() {
					if n := p.Get().(*poolItem).c.Get(); n < 1 || n > 4 || p.Get() != nil {
						m.Fatalf("the item was used %d times", n)
					}
				})
			}))
		}
	})
}

// TestPoolIsEmptyInEachExecution: Get returns no item that was put in an earlier execution
// or outside the exploration, and a garbage collection removes no item.
func TestPoolIsEmptyInEachExecution(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		var p interleave.Pool // of all executions
		for range 100 {
			p.Put(&poolItem{name: "outside"})
		}
		executions := 0
		program := func(m *interleave.M) {
			executions++
			collect := executions%2 == 0
			item := new(poolItem)
			var x interleave.Int32
			if v := p.Get(); v != nil {
				m.Fatalf("the body has got the item %s", nameOf(v))
			}
			m.Go("user", func() {
				if v := p.Get(); v != nil {
					m.Fatalf("the thread has got the item %s", nameOf(v))
				}
				p.Put(item)
				x.Add(1)
				if collect {
					runtime.GC()
					runtime.GC()
				}
				if v := p.Get(); v != item {
					m.Fatalf("the thread has got %v in place of its item", v)
				}
				p.Put(&poolItem{name: "late"})
			})
			m.Go("other", func() { x.Add(1) })
		}
		wantComplete(t, interleave.Explore(o, program))
		for range 200 {
			if v := p.Get(); v != nil && nameOf(v) != "outside" {
				t.Fatalf("got the item %s of an exploration outside of it", nameOf(v))
			}
		}
	})
}

// TestNewRunsAfterTheStep: New runs after the step of Get and with no lock. Its operations
// are steps, it may use the Pool, and its panic is that of the thread.
func TestNewRunsAfterTheStep(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for name, o := range searches(o) {
			seen := map[string]int{}
			wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
				var p interleave.Pool
				var made interleave.Int32
				p.New = func() any {
					n := made.Add(1)
					if n == 1 {
						p.Put(&poolItem{name: "spare"})
						return p.Get()
					}
					return &poolItem{name: "second"}
				}
				var got [2]string
				for i := range got {
					m.Go("user", func() { got[i] = nameOf(p.Get()) })
				}
				m.Final(func() {
					slices.Sort(got[:])
					seen[fmt.Sprint(got, made.Load())]++
				})
			}))
			// The second thread can take its step before or after the Put of New. If it
			// takes the spare item, New calls itself.
			if got := fmt.Sprint(slices.Sorted(maps.Keys(seen))); got != "[[second spare] 2]" {
				t.Errorf("%s: got %s", name, got)
			}
			r := interleave.Explore(o, func(m *interleave.M) {
				p := interleave.Pool{New: func() any { panic("no memory") }}
				m.Go("user", func() { p.Get() })
			})
			wantFailure(t, r, interleave.Panic, "thread user panicked: no memory")
		}
	})
}

// TestPoolOutsideTheThreads: the body, Final and a thread that is ended by the explorer use
// a Pool without a step.
func TestPoolOutsideTheThreads(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		unwound := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			p := interleave.Pool{New: func() any { return &poolItem{name: "new"} }}
			var s interleave.Sema
			s.Init(1)
			p.Put(&poolItem{name: "a"})
			p.Put(&poolItem{name: "b"})
			if got := nameOf(p.Get()) + nameOf(p.Get()) + nameOf(p.Get()); got != "banew" {
				m.Fatalf("the body has got the items %s", got)
			}
			p.Put(&poolItem{name: "body"})
			m.Go("t", func() {
				if got := nameOf(p.Get()); got != "body" {
					m.Fatalf("the thread has got the item %s", got)
				}
				p.Put(&poolItem{name: "thread"})
			})
			m.GoDaemon("waiter", func() {
				defer func() {
					p.Put(&poolItem{name: "deferred"})
					if got := nameOf(p.Get()) + nameOf(p.Get()); got != "deferrednew" {
						t.Errorf("the deferred function has got the items %s", got)
					}
					unwound++
					for { // ends after a number of operations
						p.Put(p.Get())
					}
				}()
				s.Wait()
			})
			m.Final(func() {
				if got := nameOf(p.Get()) + nameOf(p.Get()); got != "threadnew" {
					m.Fatalf("Final has got the items %s", got)
				}
			})
		})
		wantComplete(t, r)
		if unwound != r.Executions {
			t.Errorf("%d of %d daemons have run their deferred function", unwound, r.Executions)
		}
	})
}

// TestPutWakesYield: a thread that has found the Pool empty waits at its Yield for a Put,
// and for ever without one.
func TestPutWakesYield(t *testing.T) {
	program := func(put bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			var p interleave.Pool
			m.Go("waiter", func() {
				for p.Get() == nil {
					interleave.Yield()
				}
			})
			m.Go("other", func() {
				if p.Get(); put {
					p.Put(1)
				}
			})
		}
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		wantComplete(t, interleave.Explore(o, program(true)))
		wantFailure(t, interleave.Explore(o, program(false)), interleave.Deadlock, "thread waiter waits in Yield for a change of Pool#0")
	})
}

// TestPoolTrace: the steps of a Pool are in the trace with their items and positions.
func TestPoolTrace(t *testing.T) {
	r := interleave.Explore(all, func(m *interleave.M) {
		var p interleave.Pool
		m.Name(&p, "spare")
		item := new(poolItem)
		m.Go("t", func() {
			p.Put(item)
			p.Put([]byte("0123456789"))
			p.Get()
			p.Get()
			p.Get()
			p.New = func() any { return item }
			p.Get()
			m.Fatalf("end")
		})
	})
	wantFailure(t, r, interleave.Failed, "end")
	for _, step := range []string{"spare.Put(p1)", "spare.Put([]uint8)", "spare.Get() = []uint8", "spare.Get() = p1", "spare.Get() = nil", "spare.Get() = New()"} {
		if !strings.Contains(r.Failure.Trace, "  "+step+"\n") {
			t.Errorf("the trace has no %q:\n%s", step, r.Failure.Trace)
		}
	}
	if n := strings.Count(r.Failure.Trace, "pool_test.go:"); n != 6 {
		t.Errorf("the trace has %d positions in place of 6:\n%s", n, r.Failure.Trace)
	}
}

// TestPoolOutsideExplorations: outside an exploration no item is returned twice, also while
// an exploration runs in another goroutine.
func TestPoolOutsideExplorations(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	type item struct{ users int }
	p := interleave.Pool{New: func() any { return new(item) }}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range rounds {
				a, b := p.Get().(*item), p.Get().(*item)
				if a.users++; a.users != 1 {
					t.Errorf("an item has %d users", a.users)
				}
				if b.users++; b.users != 1 {
					t.Errorf("an item has %d users", b.users)
				}
				a.users--
				p.Put(a)
				b.users--
				p.Put(b)
			}
		})
	}
	if interleave.SelfKnown {
		group.Go(func() {
			wantComplete(t, interleave.Explore(all, func(m *interleave.M) {
				p := interleave.Pool{New: func() any { return new(item) }}
				for range 3 {
					m.Go("t", func() {
						i := p.Get().(*item)
						i.users++
						p.Put(i)
					})
				}
				m.Final(func() {
					users := 0
					for range 3 {
						users += p.Get().(*item).users
					}
					if users != 3 {
						m.Fatalf("the items had %d users", users)
					}
				})
			}))
		})
	}
	group.Wait()
}
