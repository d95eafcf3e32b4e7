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

// TestTypes checks that each model type has the methods, the size and the
// alignment of the type that it stands for.
func TestTypes(t *testing.T) {
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

// integer is what the integer types have in common.
type integer[V any] interface {
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(before, after V) bool
	Add(V) V
	And(V) V
	Or(V) V
}

// integers runs the same operations on a model type and on the real one.
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

func bools(load func() bool, store func(bool), swap func(bool) bool, cas func(a, b bool) bool) []bool {
	store(true)
	return []bool{load(), swap(false), swap(true), cas(false, true), cas(true, false), load()}
}

// TestOperations compares the model types with the real ones, outside an
// exploration, in its body, in a thread, and in Final.
func TestOperations(t *testing.T) {
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
			t.Error("Pointer went wrong")
		}
		p.Store(nil)
		var c interleave.Cell[string]
		c.Set(c.Get() + "set")
		if p.Load() != nil || c.Get() != "set" {
			t.Error("Pointer or Cell went wrong")
		}
		var s interleave.Sema
		s.Init(1)
		if s.TryWait() || !s.Post() || s.Post() || !s.TryWait() {
			t.Error("Sema went wrong")
		}
		s.Post()
		s.Wait()
		s.Post()
		if !s.WaitDone(nil) || s.WaitFor(0) || s.WaitFor(-1) || !s.Post() || !s.WaitFor(time.Hour) {
			t.Error("Sema went wrong")
		}
		done := make(chan struct{})
		close(done)
		if s.WaitDone(done) {
			t.Error("Sema went wrong")
		}
		interleave.Yield()
	}
	compare()
	both(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		runs := 0
		good(t, interleave.Explore(o, func(m *interleave.M) {
			compare()
			m.Go("t", compare)
			m.Final(func() { compare(); runs++ })
		}))
		if runs != 1 {
			t.Errorf("one thread had %d executions", runs)
		}
	})
	var s interleave.Sema
	s.Init(1)
	if s.WaitFor(time.Microsecond) {
		t.Error("WaitFor took a token that was not there")
	}
}

// TestPlain uses the model types from several goroutines outside an
// exploration, while another goroutine explores: they are atomics for all who
// are not part of it.
func TestPlain(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("goroutines cannot be told apart on this architecture")
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
		both(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			for _, seed := range []uint64{1, 2, 3} {
				seen := map[string]int{}
				good(t, interleave.Explore(o, draw(seed).body(seen)))
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if n.Load() != goroutines*rounds || c.Get() != goroutines*rounds {
		t.Errorf("counted %d and %d, want %d", n.Load(), c.Get(), goroutines*rounds)
	}
}

// TestTwoExplorations runs explorations on several goroutines: they take turns.
func TestTwoExplorations(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("a second exploration cannot be told from a nested one here")
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
