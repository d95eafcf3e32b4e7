package interleave_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/interleave"
)

// boundary generates values at which integers of a width change their behaviour, and
// other values.
func boundary(t *rapid.T, what string) int64 {
	return rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, -1, 1<<31 - 1, -1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, -1 << 63}),
		rapid.Int64(),
	).Draw(t, what)
}

// integerMachine applies the same operations to a model type and to the type of
// sync/atomic, and compares the results.
func integerMachine[V int32 | int64 | uint32 | uint64 | uintptr](t *testing.T, newPair func() (model, plain integer[V])) {
	t.Helper()
	t.Run(fmt.Sprintf("%T", V(0)), rapid.MakeCheck(func(t *rapid.T) {
		model, plain := newPair()
		both := func(what string, call func(x integer[V]) any) {
			if got, want := call(model), call(plain); got != want {
				t.Fatalf("%s = %v, want %v", what, got, want)
			}
		}
		value := func(t *rapid.T, what string) V {
			if rapid.Bool().Draw(t, "the current value") {
				return plain.Load()
			}
			return V(boundary(t, what))
		}
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				v := value(t, "v")
				both("Store", func(x integer[V]) any { x.Store(v); return nil })
			},
			"swap": func(t *rapid.T) {
				v := value(t, "v")
				both("Swap", func(x integer[V]) any { return x.Swap(v) })
			},
			"compare and swap": func(t *rapid.T) {
				before, after := value(t, "before"), value(t, "after")
				both("CompareAndSwap", func(x integer[V]) any { return x.CompareAndSwap(before, after) })
			},
			"add": func(t *rapid.T) {
				v := value(t, "delta")
				both("Add", func(x integer[V]) any { return x.Add(v) })
			},
			"and": func(t *rapid.T) {
				v := value(t, "mask")
				both("And", func(x integer[V]) any { return x.And(v) })
			},
			"or": func(t *rapid.T) {
				v := value(t, "mask")
				both("Or", func(x integer[V]) any { return x.Or(v) })
			},
			"": func(*rapid.T) { both("Load", func(x integer[V]) any { return x.Load() }) },
		})
	}))
}

// TestIntegersMatchSyncAtomic: outside an exploration the integers behave as those of
// sync/atomic.
func TestIntegersMatchSyncAtomic(t *testing.T) {
	integerMachine(t, func() (a, b integer[int32]) { return new(interleave.Int32), new(atomic.Int32) })
	integerMachine(t, func() (a, b integer[int64]) { return new(interleave.Int64), new(atomic.Int64) })
	integerMachine(t, func() (a, b integer[uint32]) { return new(interleave.Uint32), new(atomic.Uint32) })
	integerMachine(t, func() (a, b integer[uint64]) { return new(interleave.Uint64), new(atomic.Uint64) })
	integerMachine(t, func() (a, b integer[uintptr]) { return new(interleave.Uintptr), new(atomic.Uintptr) })
}

// TestPointerBoolAndCellMatchVariables: outside an exploration, and on one goroutine,
// a Pointer, a Bool and a Cell behave as variables.
func TestPointerBoolAndCellMatchVariables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p interleave.Pointer[int]
		var b interleave.Bool
		var c interleave.Cell[string]
		values := []*int{nil, new(int), new(int)}
		var at *int
		var set bool
		var text string
		pointer := rapid.SampledFrom(values)
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				at, set, text = pointer.Draw(t, "pointer"), rapid.Bool().Draw(t, "bool"), rapid.String().Draw(t, "text")
				p.Store(at)
				b.Store(set)
				c.Set(text)
			},
			"swap": func(t *rapid.T) {
				next, on := pointer.Draw(t, "pointer"), rapid.Bool().Draw(t, "bool")
				if p.Swap(next) != at || b.Swap(on) != set {
					t.Fatal("Swap has returned another value than the one before")
				}
				at, set = next, on
			},
			"compare and swap": func(t *rapid.T) {
				before, after := pointer.Draw(t, "before"), pointer.Draw(t, "after")
				if p.CompareAndSwap(before, after) != (before == at) {
					t.Fatalf("Pointer.CompareAndSwap: equal: %v", before == at)
				}
				if before == at {
					at = after
				}
				from, to := rapid.Bool().Draw(t, "from"), rapid.Bool().Draw(t, "to")
				if b.CompareAndSwap(from, to) != (from == set) {
					t.Fatalf("Bool.CompareAndSwap: equal: %v", from == set)
				}
				if from == set {
					set = to
				}
			},
			"": func(t *rapid.T) {
				if p.Load() != at || b.Load() != set || c.Get() != text {
					t.Fatalf("got %v, %v, %q, want %v, %v, %q", p.Load(), b.Load(), c.Get(), at, set, text)
				}
			},
		})
	})
}

// TestSemaCountsTokens: outside an exploration a Sema counts tokens. It drops tokens
// beyond its capacity. A wait takes one token, and TryWait returns false without one.
func TestSemaCountsTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s interleave.Sema
		capacity, tokens := 0, 0
		initialize := func(t *rapid.T) {
			capacity, tokens = rapid.IntRange(1, 3).Draw(t, "capacity"), 0
			s.Init(capacity)
		}
		initialize(t)
		done := make(chan struct{})
		close(done)
		take := func(t *rapid.T, what string, got bool) {
			if got != (tokens > 0) {
				t.Fatalf("%s = %v with %d tokens", what, got, tokens)
			}
			if got {
				tokens--
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				if got := s.Post(); got != (tokens < capacity) {
					t.Fatalf("Post = %v with %d of %d tokens", got, tokens, capacity)
				}
				tokens = min(tokens+1, capacity)
			},
			"try":          func(t *rapid.T) { take(t, "TryWait", s.TryWait()) },
			"for zero":     func(t *rapid.T) { take(t, "WaitFor(0)", s.WaitFor(0)) },
			"for negative": func(t *rapid.T) { take(t, "WaitFor(-1)", s.WaitFor(-1)) },
			"for a moment": func(t *rapid.T) {
				take(t, "WaitFor(1)", s.WaitFor(1))
			},
			"wait": func(t *rapid.T) {
				if tokens == 0 {
					t.Skip("a wait would block")
				}
				if rapid.Bool().Draw(t, "WaitDone") {
					take(t, "WaitDone(nil)", s.WaitDone(nil))
				} else {
					s.Wait()
					take(t, "Wait", true)
				}
			},
			"done": func(t *rapid.T) {
				// When both are possible, WaitDone may return either result.
				if s.WaitDone(done) {
					take(t, "WaitDone(closed)", true)
				}
			},
			"init": initialize,
		})
	})
}
