package interleave_test

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/lanewright/lanewright/interleave"
)

// TestModelTypesMatchSyncAtomic: each model type has the methods, the size and the
// alignment of the type of sync/atomic that it models.
func TestModelTypesMatchSyncAtomic(t *testing.T) {
	check := func(model, plain any) {
		t.Helper()
		m, p := reflect.TypeOf(model), reflect.TypeOf(plain)
		if m.Elem().Size() != p.Elem().Size() || m.Elem().Align() != p.Elem().Align() {
			t.Errorf("%v: %d bytes aligned to %d, want %d aligned to %d", m, m.Elem().Size(), m.Elem().Align(), p.Elem().Size(), p.Elem().Align())
		}
		if m.NumMethod() != p.NumMethod() {
			t.Errorf("%v has %d methods, %v has %d", m, m.NumMethod(), p, p.NumMethod())
		}
		for i := range p.NumMethod() {
			want := p.Method(i)
			got, ok := m.MethodByName(want.Name)
			if !ok {
				t.Errorf("%v has no method %s", m, want.Name)
				continue
			}
			a, b := got.Type, want.Type
			same := a.NumIn() == b.NumIn() && a.NumOut() == b.NumOut()
			for j := 1; same && j < a.NumIn(); j++ {
				same = a.In(j) == b.In(j)
			}
			for j := 0; same && j < a.NumOut(); j++ {
				same = a.Out(j) == b.Out(j)
			}
			if !same {
				t.Errorf("%v.%s is %v, want %v", m, want.Name, a, b)
			}
		}
	}
	check(new(interleave.Bool), new(atomic.Bool))
	check(new(interleave.Int32), new(atomic.Int32))
	check(new(interleave.Int64), new(atomic.Int64))
	check(new(interleave.Uint32), new(atomic.Uint32))
	check(new(interleave.Uint64), new(atomic.Uint64))
	check(new(interleave.Uintptr), new(atomic.Uintptr))
	check(new(interleave.Pointer[string]), new(atomic.Pointer[string]))
	if got, want := unsafe.Sizeof(interleave.Cell[[3]byte]{}), unsafe.Sizeof([3]byte{}); got != want {
		t.Errorf("a Cell of 3 bytes has %d", got)
	}
}

// integer is the set of methods of the integer types.
type integer[V any] interface {
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(before, after V) bool
	Add(V) V
	And(V) V
	Or(V) V
}

// integers applies the same operations to a model type and to the real type.
func integers[V int32 | int64 | uint32 | uint64 | uintptr](t *testing.T, model, plain integer[V]) {
	t.Helper()
	run := func(x integer[V]) []any {
		x.Store(6)
		return []any{
			x.Add(7), x.Load(), x.Swap(0x5f), x.And(0x3c), x.Load(), x.Or(3), x.Load(),
			x.CompareAndSwap(1, 2), x.CompareAndSwap(0x1f, 2), x.Load(), x.Add(^V(0)),
		}
	}
	if got, want := run(model), run(plain); !reflect.DeepEqual(got, want) {
		t.Errorf("%T: got %v, want %v", model, got, want)
	}
}

// bools applies operations to a Bool and returns their results.
func bools(load func() bool, store func(bool), swap func(bool) bool, cas func(a, b bool) bool) []bool {
	store(true)
	return []bool{load(), swap(false), swap(true), cas(false, true), cas(true, false), load()}
}

// TestOperationsMatchSyncAtomic: the operations of the model types return what those
// of sync/atomic do: outside an exploration, in its body, in a thread and in Final.
func TestOperationsMatchSyncAtomic(t *testing.T) {
	compare := func() {
		integers[int32](t, new(interleave.Int32), new(atomic.Int32))
		integers[int64](t, new(interleave.Int64), new(atomic.Int64))
		integers[uint32](t, new(interleave.Uint32), new(atomic.Uint32))
		integers[uint64](t, new(interleave.Uint64), new(atomic.Uint64))
		integers[uintptr](t, new(interleave.Uintptr), new(atomic.Uintptr))
		var b interleave.Bool
		var ab atomic.Bool
		got := bools(b.Load, b.Store, b.Swap, b.CompareAndSwap)
		want := bools(ab.Load, ab.Store, ab.Swap, ab.CompareAndSwap)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Bool: got %v, want %v", got, want)
		}
		var p interleave.Pointer[int]
		x, y := new(int), new(int)
		if p.Load() != nil || p.CompareAndSwap(x, y) || !p.CompareAndSwap(nil, x) || p.Swap(y) != x || p.Load() != y {
			t.Error("Pointer: an operation has returned a wrong value")
		}
		p.Store(nil)
		var c interleave.Cell[string]
		c.Set(c.Get() + "set")
		if p.Load() != nil || c.Get() != "set" {
			t.Error("Pointer or Cell: an operation has returned a wrong value")
		}
		var s interleave.Sema
		s.Init(1)
		if s.TryWait() || !s.Post() || s.Post() || !s.TryWait() {
			t.Error("Sema: an operation has returned a wrong value")
		}
		s.Post()
		s.Wait()
		s.Post()
		if !s.WaitDone(nil) || s.WaitFor(0) || s.WaitFor(-1) || !s.Post() || !s.WaitFor(time.Hour) {
			t.Error("Sema: an operation has returned a wrong value")
		}
		done := make(chan struct{})
		close(done)
		if s.WaitDone(done) {
			t.Error("Sema: an operation has returned a wrong value")
		}
		interleave.Yield()
	}
	compare()
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		runs := 0
		wantComplete(t, interleave.Explore(o, func(m *interleave.M) {
			compare()
			m.Go("t", compare)
			m.Final(func() { compare(); runs++ })
		}))
		if runs != 1 {
			t.Errorf("got %d executions of one thread, want 1", runs)
		}
	})
	var s interleave.Sema
	s.Init(1)
	if s.WaitFor(time.Microsecond) {
		t.Error("WaitFor has taken a token from an empty semaphore")
	}
}

// TestOtherGoroutinesUsePlainAtomics: while one goroutine explores, the model types
// are plain atomics for all goroutines that are not part of the exploration.
func TestOtherGoroutinesUsePlainAtomics(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("goroutines cannot be closeOnWrite apart on this architecture")
	}
	const goroutines, rounds = 4, 2000
	var n, lock interleave.Int64
	var c interleave.Cell[int]
	var s, work interleave.Sema
	s.Init(1)
	work.Init(goroutines)
	s.Post()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				n.Add(1)
				for !lock.CompareAndSwap(0, 1) {
					interleave.Yield()
				}
				c.Set(c.Get() + 1)
				lock.Store(0)
				s.Wait()
				if interleave.Active() || interleave.Choose(3) != 0 {
					t.Error("a goroutine outside the exploration is part of it")
				}
				s.Post()
			}
		})
	}
	for range 3 {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			for _, seed := range []uint64{1, 2, 3} {
				seen := map[string]int{}
				wantComplete(t, interleave.Explore(o, generate(seed).body(seen)))
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if n.Load() != goroutines*rounds || c.Get() != goroutines*rounds {
		t.Errorf("counted %d and %d, want %d", n.Load(), c.Get(), goroutines*rounds)
	}
}

// TestExplorationsRunOneAtATime: concurrent calls of Explore run one after another,
// and each is complete.
func TestExplorationsRunOneAtATime(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("a second exploration cannot be closeOnWrite from a nested one here")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 5 {
				r := interleave.Explore(bound2, mpscProgram(mpscBugs{}, 1))
				if r.Failure != nil || !r.Complete {
					t.Errorf("got %+v", r)
				}
			}
		})
	}
	wg.Wait()
}
