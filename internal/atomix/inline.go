//go:build !interleave

// This file makes the methods of the aliases inline in importers. Models have no such
// file: their operations are calls, because each of them is a step of the explorer.

package atomix

var _ = inline

// inline uses every method of the types that are not generic. The compiler exports the
// body of a method to importers of this package only if this package uses the method.
// Without inline, each Load of an algorithm is a call.
func inline(b *Bool, i32 *Int32, i64 *Int64, u32 *Uint32, u64 *Uint64, up *Uintptr) {
	b.Store(b.Load())
	b.Swap(b.CompareAndSwap(false, true))
	i32.Store(i32.Load())
	i32.CompareAndSwap(i32.Swap(0), i32.Add(1))
	i32.And(i32.Or(1))
	i64.Store(i64.Load())
	i64.CompareAndSwap(i64.Swap(0), i64.Add(1))
	i64.And(i64.Or(1))
	u32.Store(u32.Load())
	u32.CompareAndSwap(u32.Swap(0), u32.Add(1))
	u32.And(u32.Or(1))
	u64.Store(u64.Load())
	u64.CompareAndSwap(u64.Swap(0), u64.Add(1))
	u64.And(u64.Or(1))
	up.Store(up.Load())
	up.CompareAndSwap(up.Swap(0), up.Add(1))
	up.And(up.Or(1))
}
