package interleave

import "sync/atomic"

// The model types are the types of sync/atomic with a step of the explorer before
// each operation. They have the same size and alignment. The value is in the real
// type, so that under the race detector the program orders its threads exactly as
// it does without the explorer.

// word is the set of methods that all types of sync/atomic have.
type word[V comparable] interface {
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(before, after V) bool
}

// number is the set of methods of the integer types.
type number[V comparable] interface {
	word[V]
	Add(V) V
	And(V) V
	Or(V) V
}

//go:norace
func load[V comparable](w word[V], p address) V {
	x := enterFor(p)
	if x == nil {
		return w.Load()
	}
	x.load(p)
	v := w.Load()
	x.logResult(bitsOf(v))
	if x.tracing {
		x.noteAtomic(w, "Load()", v)
	}
	return v
}

//go:norace
func store[V comparable](w word[V], p address, v V) {
	x := enterFor(p)
	if x == nil {
		w.Store(v)
		return
	}
	x.store(p)
	if x.observed() && peek(w) != v {
		x.change(x.current, x.current.op.obj)
	}
	w.Store(v)
	if x.tracing {
		x.noteAtomic(w, "Store(%s)", v)
	}
}

//go:norace
func swap[V comparable](w word[V], p address, v V) V {
	x := enterFor(p)
	if x == nil {
		return w.Swap(v)
	}
	x.update(p)
	before := w.Swap(v)
	x.updated(before != v)
	x.logResult(bitsOf(before))
	if x.tracing {
		x.noteAtomic(w, "Swap(%s)", v, before)
	}
	return before
}

//go:norace
func compareAndSwap[V comparable](w word[V], p address, before, after V) bool {
	x := enterFor(p)
	if x == nil {
		return w.CompareAndSwap(before, after)
	}
	x.update(p)
	ok := w.CompareAndSwap(before, after)
	if ok {
		x.updated(before != after)
		x.logResult(1)
	}
	if x.tracing {
		x.noteAtomic(w, "CompareAndSwap(%s, %s)", before, after, ok)
	}
	return ok
}

//go:norace
func add[V comparable](w number[V], p address, delta V) V {
	x := enterFor(p)
	if x == nil {
		return w.Add(delta)
	}
	x.update(p)
	v := w.Add(delta)
	var zero V
	x.updated(delta != zero)
	x.logResult(bitsOf(v))
	if x.tracing {
		x.noteAtomic(w, "Add(%s)", delta, v)
	}
	return v
}

//go:norace
func and[V comparable](w number[V], p address, mask V) V {
	x := enterFor(p)
	if x == nil {
		return w.And(mask)
	}
	x.update(p)
	before := w.And(mask)
	x.updated(peek(w) != before)
	x.logResult(bitsOf(before))
	if x.tracing {
		x.noteAtomic(w, "And(%s)", mask, before)
	}
	return before
}

//go:norace
func or[V comparable](w number[V], p address, mask V) V {
	x := enterFor(p)
	if x == nil {
		return w.Or(mask)
	}
	x.update(p)
	before := w.Or(mask)
	x.updated(peek(w) != before)
	x.logResult(bitsOf(before))
	if x.tracing {
		x.noteAtomic(w, "Or(%s)", mask, before)
	}
	return before
}

// peek reads a value, unseen by the race detector.
//
//go:norace
func peek[V comparable](w word[V]) V {
	syncOff()
	v := w.Load()
	syncOn()
	return v
}

// bitsOf returns what the log includes of a value. Of a value that may be an address
// this is only whether it is zero, because addresses differ between executions.
//
//go:norace
func bitsOf[V comparable](v V) uint64 {
	switch v := any(v).(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case int32:
		return uint64(v)
	case uint32:
		return uint64(v)
	case int64:
		return uint64(v)
	case uint64:
		return v
	}
	var zero V
	if v != zero {
		return 1
	}
	return 0
}

// Int32 is the model of [atomic.Int32]. The zero value is 0.
type Int32 struct{ v atomic.Int32 }

// Load atomically reads the value.
func (x *Int32) Load() int32 { return load[int32](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Int32) Store(v int32) { store[int32](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Int32) Swap(v int32) int32 { return swap[int32](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Int32) CompareAndSwap(before, after int32) bool {
	return compareAndSwap[int32](&x.v, addressOf(x), before, after)
}

// Add atomically adds delta and returns the new value.
func (x *Int32) Add(delta int32) int32 { return add[int32](&x.v, addressOf(x), delta) }

// And atomically clears the bits that mask lacks and returns the previous value.
func (x *Int32) And(mask int32) int32 { return and[int32](&x.v, addressOf(x), mask) }

// Or atomically sets the bits of mask and returns the previous value.
func (x *Int32) Or(mask int32) int32 { return or[int32](&x.v, addressOf(x), mask) }

// Int64 is the model of [atomic.Int64]. The zero value is 0.
type Int64 struct{ v atomic.Int64 }

// Load atomically reads the value.
func (x *Int64) Load() int64 { return load[int64](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Int64) Store(v int64) { store[int64](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Int64) Swap(v int64) int64 { return swap[int64](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Int64) CompareAndSwap(before, after int64) bool {
	return compareAndSwap[int64](&x.v, addressOf(x), before, after)
}

// Add atomically adds delta and returns the new value.
func (x *Int64) Add(delta int64) int64 { return add[int64](&x.v, addressOf(x), delta) }

// And atomically clears the bits that mask lacks and returns the previous value.
func (x *Int64) And(mask int64) int64 { return and[int64](&x.v, addressOf(x), mask) }

// Or atomically sets the bits of mask and returns the previous value.
func (x *Int64) Or(mask int64) int64 { return or[int64](&x.v, addressOf(x), mask) }

// Uint32 is the model of [atomic.Uint32]. The zero value is 0.
type Uint32 struct{ v atomic.Uint32 }

// Load atomically reads the value.
func (x *Uint32) Load() uint32 { return load[uint32](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Uint32) Store(v uint32) { store[uint32](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Uint32) Swap(v uint32) uint32 { return swap[uint32](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Uint32) CompareAndSwap(before, after uint32) bool {
	return compareAndSwap[uint32](&x.v, addressOf(x), before, after)
}

// Add atomically adds delta and returns the new value.
func (x *Uint32) Add(delta uint32) uint32 { return add[uint32](&x.v, addressOf(x), delta) }

// And atomically clears the bits that mask lacks and returns the previous value.
func (x *Uint32) And(mask uint32) uint32 { return and[uint32](&x.v, addressOf(x), mask) }

// Or atomically sets the bits of mask and returns the previous value.
func (x *Uint32) Or(mask uint32) uint32 { return or[uint32](&x.v, addressOf(x), mask) }

// Uint64 is the model of [atomic.Uint64]. The zero value is 0.
type Uint64 struct{ v atomic.Uint64 }

// Load atomically reads the value.
func (x *Uint64) Load() uint64 { return load[uint64](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Uint64) Store(v uint64) { store[uint64](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Uint64) Swap(v uint64) uint64 { return swap[uint64](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Uint64) CompareAndSwap(before, after uint64) bool {
	return compareAndSwap[uint64](&x.v, addressOf(x), before, after)
}

// Add atomically adds delta and returns the new value.
func (x *Uint64) Add(delta uint64) uint64 { return add[uint64](&x.v, addressOf(x), delta) }

// And atomically clears the bits that mask lacks and returns the previous value.
func (x *Uint64) And(mask uint64) uint64 { return and[uint64](&x.v, addressOf(x), mask) }

// Or atomically sets the bits of mask and returns the previous value.
func (x *Uint64) Or(mask uint64) uint64 { return or[uint64](&x.v, addressOf(x), mask) }

// Uintptr is the model of [atomic.Uintptr]. The zero value is 0.
type Uintptr struct{ v atomic.Uintptr }

// Load atomically reads the value.
func (x *Uintptr) Load() uintptr { return load[uintptr](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Uintptr) Store(v uintptr) { store[uintptr](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Uintptr) Swap(v uintptr) uintptr { return swap[uintptr](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Uintptr) CompareAndSwap(before, after uintptr) bool {
	return compareAndSwap[uintptr](&x.v, addressOf(x), before, after)
}

// Add atomically adds delta and returns the new value.
func (x *Uintptr) Add(delta uintptr) uintptr { return add[uintptr](&x.v, addressOf(x), delta) }

// And atomically clears the bits that mask lacks and returns the previous value.
func (x *Uintptr) And(mask uintptr) uintptr { return and[uintptr](&x.v, addressOf(x), mask) }

// Or atomically sets the bits of mask and returns the previous value.
func (x *Uintptr) Or(mask uintptr) uintptr { return or[uintptr](&x.v, addressOf(x), mask) }

// Bool is the model of [atomic.Bool]. The zero value is false.
type Bool struct{ v atomic.Bool }

// Load atomically reads the value.
func (x *Bool) Load() bool { return load[bool](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Bool) Store(v bool) { store[bool](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Bool) Swap(v bool) bool { return swap[bool](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Bool) CompareAndSwap(before, after bool) bool {
	return compareAndSwap[bool](&x.v, addressOf(x), before, after)
}

// Pointer is the model of [atomic.Pointer]. The zero value is nil.
type Pointer[T any] struct{ v atomic.Pointer[T] }

// Load atomically reads the value.
func (x *Pointer[T]) Load() *T { return load[*T](&x.v, addressOf(x)) }

// Store atomically writes v.
func (x *Pointer[T]) Store(v *T) { store[*T](&x.v, addressOf(x), v) }

// Swap atomically writes v and returns the previous value.
func (x *Pointer[T]) Swap(v *T) *T { return swap[*T](&x.v, addressOf(x), v) }

// CompareAndSwap atomically writes after if the value equals before. It reports
// whether it wrote.
func (x *Pointer[T]) CompareAndSwap(before, after *T) bool {
	return compareAndSwap[*T](&x.v, addressOf(x), before, after)
}
