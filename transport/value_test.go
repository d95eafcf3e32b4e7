package transport_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/transport"
)

// typeOf returns the Type of T with the codec JSON.
func typeOf[T any](tb testing.TB) *transport.Type[T] {
	tb.Helper()
	typ, err := transport.TypeOf[T](nil)
	if err != nil {
		tb.Fatal(err)
	}
	return typ
}

// failer is the common part of testing.T and rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// cross encodes v and decodes it. It returns the result, its bytes and its tag. It
// checks that Append appends the bytes and that Size returns their number. The result
// does not share the bytes.
func cross[T any](t failer, typ *transport.Type[T], v T) (T, []byte, transport.Tag) {
	t.Helper()
	before := []byte("before")
	b, tag, err := typ.Append(before, &v)
	if err != nil {
		t.Fatalf("Append(%v): %v", v, err)
	}
	payload, ok := bytes.CutPrefix(b, before)
	if !ok {
		t.Fatalf("Append made %q of %q", b, before)
	}
	if n, known := typ.Size(&v); known && n != len(payload) {
		t.Fatalf("Size = %d, and Append made %d bytes", n, len(payload))
	}
	src := bytes.Clone(payload)
	var got T
	if err := typ.Decode(tag, src, &got); err != nil {
		t.Fatalf("Decode(%v, %x): %v", tag, payload, err)
	}
	for i := range src {
		src[i] = 0xa5
	}
	return got, payload, tag
}

// same reports whether two values of one type are the same. The comparison includes the
// sign of zero, the bits of a NaN, and the zone of a time. It also tells nil from
// empty.
func same(a, b any) bool {
	switch x := a.(type) {
	case float32:
		y, ok := b.(float32)
		return ok && math.Float32bits(x) == math.Float32bits(y)
	case float64:
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	case complex64:
		y, ok := b.(complex64)
		return ok && same(real(x), real(y)) && same(imag(x), imag(y))
	case complex128:
		y, ok := b.(complex128)
		return ok && same(real(x), real(y)) && same(imag(x), imag(y))
	case *big.Int:
		y, ok := b.(*big.Int)
		return ok && (x == nil) == (y == nil) && (x == nil || x.Cmp(y) == 0)
	case time.Time:
		y, ok := b.(time.Time)
		_, east := x.Zone()
		_, want := y.Zone()
		return ok && x.Equal(y) && east == want && (x.Location() == time.UTC) == (y.Location() == time.UTC)
	}
	return reflect.DeepEqual(a, b)
}

// kindTest is a type that keeps its identity without a Type. It has values of that
// type.
type kindTest struct {
	name string
	tag  transport.Tag
	size int // of the elements of a slice, otherwise 0
	run  func(t *rapid.T)
}

// kindOf returns the test of T. Values cross with a Type and without one, and both make
// the same bytes.
func kindOf[T any](tag transport.Tag, values *rapid.Generator[T]) kindTest {
	rt := reflect.TypeFor[T]()
	k := kindTest{name: rt.String(), tag: tag}
	if rt.Kind() == reflect.Slice {
		k.size = int(rt.Elem().Size())
	}
	k.run = func(t *rapid.T) {
		v := values.Draw(t, "value")
		typ, err := transport.TypeOf[T](nil)
		if err != nil || typ.Tag() != tag {
			t.Fatalf("TypeOf: %v, %v; want %v", typ.Tag(), err, tag)
		}
		got, payload, sent := cross(t, typ, v)
		if !same(got, v) || sent&^transport.TagNilBit != tag {
			t.Fatalf("%#v arrived as %#v, tag %v", v, got, sent)
		}
		b, dynamic, err := transport.AppendAny([]byte("before"), v, nil)
		if err != nil || dynamic != sent || string(b) != "before"+string(payload) {
			t.Fatalf("AppendAny(%#v) = %x, %v, %v; a Type made %x, %v", v, b, dynamic, err, payload, sent)
		}
		if n, ok := transport.SizeAny(v); n != len(payload) || !ok {
			t.Fatalf("SizeAny(%#v) = %d, %v; want %d", v, n, ok, len(payload))
		}
		back, err := transport.DecodeAny(sent, payload, nil)
		if err != nil || !same(back, v) {
			t.Fatalf("%#v arrived as %#v, %v", v, back, err)
		}
	}
	return k
}

// sizes are the limits of the tiers and their neighbours.
var sizes = []int{0, 1, 22, 23, 24, 25, 26, 511, 512, 513, 4096}

// slicesOf generates nil and slices whose lengths in bytes are near the limits of the
// tiers.
func slicesOf[E any](elements *rapid.Generator[E]) *rapid.Generator[[]E] {
	size := int(reflect.TypeFor[E]().Size())
	return rapid.Custom(func(t *rapid.T) []E {
		n := rapid.SampledFrom(sizes).Draw(t, "bytes") + rapid.IntRange(-1, size).Draw(t, "more")
		if n < 0 {
			return nil
		}
		s := make([]E, n/size)
		few := rapid.SliceOfN(elements, 1, 4).Draw(t, "elements")
		for i := range s {
			s[i] = few[i%len(few)]
		}
		return s
	})
}

// Floats with all possible bits, including those of NaNs.
var (
	float32s = rapid.Map(rapid.Uint32(), math.Float32frombits)
	float64s = rapid.Map(rapid.Uint64(), math.Float64frombits)
)

// times are times in zones that both sides know.
var times = rapid.Custom(func(t *rapid.T) time.Time {
	sec := rapid.OneOf(rapid.Int64Range(-1<<40, 1<<40), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, -62135596800})).Draw(t, "seconds")
	at := time.Unix(sec, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
	switch rapid.IntRange(0, 2).Draw(t, "zone") {
	case 0:
		return at.UTC()
	case 1:
		return at.In(time.FixedZone("there", rapid.IntRange(-100_000, 100_000).Draw(t, "east")))
	}
	return at
})

// bigs are nil and integers whose lengths in bytes are near the limits of the tiers.
var bigs = rapid.Custom(func(t *rapid.T) *big.Int {
	n := rapid.SampledFrom(sizes).Draw(t, "bytes")
	if n == 4096 {
		return nil
	}
	x := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "magnitude"))
	if rapid.Bool().Draw(t, "minus") {
		x.Neg(x)
	}
	return x
})

var kinds = []kindTest{
	kindOf(transport.TagBool, rapid.Bool()),
	kindOf(transport.TagInt, rapid.Int()),
	kindOf(transport.TagInt8, rapid.Int8()),
	kindOf(transport.TagInt16, rapid.Int16()),
	kindOf(transport.TagInt32, rapid.Int32()),
	kindOf(transport.TagInt64, rapid.Int64()),
	kindOf(transport.TagUint, rapid.Uint()),
	kindOf(transport.TagUint8, rapid.Uint8()),
	kindOf(transport.TagUint16, rapid.Uint16()),
	kindOf(transport.TagUint32, rapid.Uint32()),
	kindOf(transport.TagUint64, rapid.Uint64()),
	kindOf(transport.TagFloat32, float32s),
	kindOf(transport.TagFloat64, float64s),
	kindOf(transport.TagComplex64, rapid.Custom(func(t *rapid.T) complex64 {
		return complex(float32s.Draw(t, "re"), float32s.Draw(t, "im"))
	})),
	kindOf(transport.TagComplex128, rapid.Custom(func(t *rapid.T) complex128 {
		return complex(float64s.Draw(t, "re"), float64s.Draw(t, "im"))
	})),
	kindOf(transport.TagDuration, rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })),
	kindOf(transport.TagTime, times),
	kindOf(transport.TagBigInt, bigs),
	kindOf(transport.TagString, rapid.Map(slicesOf(rapid.Byte()), func(b []byte) string { return string(b) })),
	kindOf(transport.TagBytes, slicesOf(rapid.Byte())),
	kindOf(transport.TagInts, slicesOf(rapid.Int())),
	kindOf(transport.TagInt8s, slicesOf(rapid.Int8())),
	kindOf(transport.TagInt16s, slicesOf(rapid.Int16())),
	kindOf(transport.TagInt32s, slicesOf(rapid.Int32())),
	kindOf(transport.TagInt64s, slicesOf(rapid.Int64())),
	kindOf(transport.TagUints, slicesOf(rapid.Uint())),
	kindOf(transport.TagUint16s, slicesOf(rapid.Uint16())),
	kindOf(transport.TagUint32s, slicesOf(rapid.Uint32())),
	kindOf(transport.TagUint64s, slicesOf(rapid.Uint64())),
	kindOf(transport.TagFloat32s, slicesOf(rapid.Float32())),
	kindOf(transport.TagFloat64s, slicesOf(rapid.Float64())),
	kindOf(transport.TagComplex64s, slicesOf(rapid.Map(rapid.Float32(), func(f float32) complex64 { return complex(f, -f) }))),
	kindOf(transport.TagComplex128s, slicesOf(rapid.Map(rapid.Float64(), func(f float64) complex128 { return complex(f, -f) }))),
	kindOf(transport.TagBools, slicesOf(rapid.Bool())),
}

// TestKinds checks that a value of every type that needs no Type arrives unchanged and
// with the same Go type. Lengths are near the limits of the tiers. A Type makes the
// same bytes. K-016, K-052, K-059, K-060, C-005.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { rapid.Check(t, k.run) })
	}
	b, tag, err := transport.AppendAny(nil, nil, nil)
	if len(b) != 0 || tag != transport.TagNil || err != nil {
		t.Fatalf("AppendAny(nil) = %x, %v, %v", b, tag, err)
	}
	if n, ok := transport.SizeAny(nil); n != 0 || !ok {
		t.Fatalf("SizeAny(nil) = %d, %v", n, ok)
	}
	if v, err := transport.DecodeAny(tag, nil, nil); v != nil || err != nil {
		t.Fatalf("nil arrived as %v, %v", v, err)
	}
}

// TestNilKeepsItsType checks that nil and empty arrive as different values. K-016.
func TestNilKeepsItsType(t *testing.T) {
	for _, v := range []any{[]byte(nil), []byte{}, []int32(nil), []int32{}, []bool(nil), (*big.Int)(nil), new(big.Int)} {
		b, tag, err := transport.AppendAny(nil, v, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := transport.DecodeAny(tag, b, nil)
		if err != nil || !same(got, v) {
			t.Errorf("%#v arrived as %#v, %v", v, got, err)
		}
	}
	type ids []uint16
	if got, _, tag := cross(t, typeOf[ids](t), nil); got != nil || tag != transport.TagFixedSlice|transport.TagNilBit {
		t.Errorf("ids(nil) arrived as %#v, tag %v", got, tag)
	}
}

// TestTimes checks that the instant and the zone of a time cross. The reading of the
// monotonic clock does not cross. K-059.
func TestTimes(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.FixedZone("here", 2*60*60)
	typ := typeOf[time.Time](t)
	now := time.Now()
	for _, tc := range []struct {
		name string
		v    time.Time
		want time.Time
	}{
		{"zero", time.Time{}, time.Time{}},
		{"now", now, now.Round(0)},
		{"UTC", now.UTC(), now.UTC().Round(0)},
		{"local", time.Unix(1, 2), time.Unix(1, 2)},
	} {
		if got, _, _ := cross(t, typ, tc.v); got != tc.want {
			t.Errorf("%s: %#v arrived as %#v", tc.name, tc.v, got)
		}
	}
	got, _, _ := cross(t, typ, now.In(time.FixedZone("there", -3601)))
	if name, east := got.Zone(); name != "" || east != -3601 || !got.Equal(now) {
		t.Errorf("arrived as %v in %q, %d s east", got, name, east)
	}
	for _, east := range []int64{math.MinInt32, math.MaxInt32 + 1} {
		if east != int64(int(east)) {
			continue // this machine has no such zone
		}
		far := now.In(time.FixedZone("far", int(east)))
		if b, _, err := typ.Append([]byte("x"), &far); !errors.Is(err, transport.ErrUnsupportedPayload) || string(b) != "x" {
			t.Errorf("%d s east: %q, %v", east, b, err)
		}
	}
}

// The types of the tests of fixed types.
type (
	point struct{ x, y int32 }
	gaps  struct { // 24 bytes, of which 12 carry data
		A bool
		B int64
		_ uint8
		C uint16
		D bool
	}
	nested struct {
		N    uint8
		Gaps [3]gaps
		On   [5]bool
		None [0]int64
		Z    struct{}
		F    [2]complex64
	}
	word   uint16
	name   string
	points []point
)

// TestFixed checks that types without pointers cross as their memory. K-035.
func TestFixed(t *testing.T) {
	wantSame(t, point{1, -2}, transport.TagFixed)
	wantSame(t, word(7), transport.TagFixed)
	wantSame(t, [2]int{1, 2}, transport.TagFixed)
	wantSame(t, struct{}{}, transport.TagFixed)
	wantSame(t, [3]bool{true, false, true}, transport.TagFixed)
	g := gaps{A: true, B: -1, C: 0xabcd, D: true}
	wantSame(t, g, transport.TagFixed)
	wantSame(t, nested{1, [3]gaps{g, {}, g}, [5]bool{2: true}, [0]int64{}, struct{}{}, [2]complex64{1i, 2}}, transport.TagFixed)
	wantSame(t, points{{1, 2}, {3, 4}}, transport.TagFixedSlice)
	wantSame(t, []gaps{g, {}, g}, transport.TagFixedSlice)
	wantSame(t, []word{1, 2}, transport.TagFixedSlice)
	wantSame(t, name("n"), transport.TagString)
	wantSame(t, []struct{}{{}, {}}, transport.TagCoded)
	wantSame(t, time.Saturday, transport.TagFixed)
}

// wantSame fails unless v arrives unchanged and with the tag.
func wantSame[T any](t *testing.T, v T, tag transport.Tag) {
	t.Helper()
	typ := typeOf[T](t)
	got, _, sent := cross(t, typ, v)
	if !reflect.DeepEqual(got, v) || sent != tag || typ.Tag() != tag {
		t.Errorf("%#v arrived as %#v, tags %v and %v; want %v", v, got, typ.Tag(), sent, tag)
	}
}

// TestPaddingCrossesAsZeros checks that the bytes between the fields cross as zeros. A
// decoded value leaves the bytes there unchanged.
func TestPaddingCrossesAsZeros(t *testing.T) {
	var v [2]gaps
	fill := func(b byte) {
		m := transport.Memory(&v)
		for i := range m {
			m[i] = b
		}
	}
	set := func() {
		for i := range v {
			v[i].A, v[i].B, v[i].C, v[i].D = true, -1, 0xffff, true
		}
	}
	fill(0x5a)
	set()
	held := make([]byte, unsafe.Sizeof(v[0]))
	for off, n := range map[uintptr]uintptr{
		unsafe.Offsetof(v[0].A): 1, unsafe.Offsetof(v[0].B): 8, unsafe.Offsetof(v[0].C): 2, unsafe.Offsetof(v[0].D): 1,
	} {
		for i := range n {
			held[off+i] = 0xff
		}
	}
	held[unsafe.Offsetof(v[0].A)], held[unsafe.Offsetof(v[0].D)] = 1, 1
	typ := typeOf[[2]gaps](t)
	dirty := bytes.Repeat([]byte{0x77}, 100)
	b, tag, err := typ.Append(dirty[:1], &v)
	if want := bytes.Repeat(held, 2); err != nil || !bytes.Equal(b[1:], want) {
		t.Fatalf("Append = %x, %v; want %x", b[1:], err, want)
	}
	fill(0x5a)
	if err := typ.Decode(tag, bytes.Repeat([]byte{1}, len(b)-1), &v); err != nil {
		t.Fatal(err)
	}
	for i, m := range transport.Memory(&v) {
		if want := byte(0x5a); held[i%len(held)] == 0 && m != want {
			t.Fatalf("Decode wrote %#x to byte %d, which carries no data", m, i)
		}
	}
}
