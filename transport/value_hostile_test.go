package transport_test

import (
	"bytes"
	"errors"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/lanewright/lanewright/transport"
)

// wantBad decodes src into a T and returns the T. The decoding must fail with want.
func wantBad[T any](t *testing.T, tag transport.Tag, src []byte, want error) T {
	t.Helper()
	var v T
	if err := typeOf[T](t).Decode(tag, src, &v); !errors.Is(err, want) {
		t.Errorf("%T from %v, %x: got %v, want %v", v, tag, src, err, want)
	}
	return v
}

const gapsBytes = int(unsafe.Sizeof(gaps{}))

// TestForgedBools checks that no byte that is neither true nor false gets into a bool.
// K-141.
func TestForgedBools(t *testing.T) {
	for _, bad := range []byte{2, 0x80, 0xff} {
		wantBad[bool](t, transport.TagBool, []byte{bad}, transport.ErrBadPayload)
		wantBad[[]bool](t, transport.TagBools, []byte{1, bad}, transport.ErrBadPayload)
		wantBad[[3]bool](t, transport.TagFixed, []byte{0, 0, bad}, transport.ErrBadPayload)
		src := make([]byte, 2*gapsBytes)
		src[gapsBytes+int(unsafe.Offsetof(gaps{}.D))] = bad
		v := wantBad[[2]gaps](t, transport.TagFixed, src, transport.ErrBadPayload)
		if b := transport.Memory(&v[1].D)[0]; b > 1 {
			t.Errorf("a bool holds %#x", b)
		}
		wantBad[[]gaps](t, transport.TagFixedSlice, src, transport.ErrBadPayload)
	}
}

// TestForgedLengths checks that too many or too few bytes are refused. K-141.
func TestForgedLengths(t *testing.T) {
	for n := range 40 {
		src := make([]byte, n)
		bad := func(is bool, check func()) {
			if is {
				check()
			}
		}
		bad(n != 1, func() { wantBad[bool](t, transport.TagBool, src, transport.ErrBadPayload) })
		bad(n != 8, func() { wantBad[int64](t, transport.TagInt64, src, transport.ErrBadPayload) })
		bad(n != 16, func() { wantBad[time.Time](t, transport.TagTime, src, transport.ErrBadPayload) })
		bad(n != gapsBytes, func() { wantBad[gaps](t, transport.TagFixed, src, transport.ErrBadPayload) })
		bad(n != 0, func() { wantBad[struct{}](t, transport.TagFixed, src, transport.ErrBadPayload) })
		bad(n%4 != 0, func() { wantBad[[]float32](t, transport.TagFloat32s, src, transport.ErrBadPayload) })
		bad(n%gapsBytes != 0, func() { wantBad[[]gaps](t, transport.TagFixedSlice, src, transport.ErrBadPayload) })
		bad(n != 0, func() { wantBad[[]byte](t, transport.TagBytes|transport.TagNilBit, src, transport.ErrBadPayload) })
		bad(n != 0, func() { wantBad[any](t, transport.TagNil, src, transport.ErrBadPayload) })
		bad(n != 1, func() { wantBad[*big.Int](t, transport.TagBigInt, src, transport.ErrBadPayload) })
	}
}

// TestForgedEncodings checks that bytes of the right length are refused if no Append
// makes them. K-141.
func TestForgedEncodings(t *testing.T) {
	for _, src := range []string{"", "\x02", "\x01", "\x02\x01", "\x00\x00", "\x00\x00\x01", "\x01\x00"} {
		wantBad[*big.Int](t, transport.TagBigInt, []byte(src), transport.ErrBadPayload)
	}
	at := time.Unix(1, 0).UTC()
	b, tag, err := typeOf[time.Time](t).Append(nil, &at)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8; i < 12; i++ {
		b[i] = 0xff // 10^9 nanoseconds or more
	}
	wantBad[time.Time](t, tag, b, transport.ErrBadPayload)
	for _, text := range []string{"", "{", "1 2", `"1"`, "[[", "\xff"} {
		wantBad[struct{ S []string }](t, transport.TagCoded, []byte(text), transport.ErrBadPayload)
	}
}

// TestForgedTags checks that a type accepts its own tag and no other. K-015, K-134.
func TestForgedTags(t *testing.T) {
	nilable := func(tag transport.Tag) bool { return tag&transport.TagNilBit != 0 }
	for tag := range transport.Tag(1 << 10) {
		if tag != transport.TagInt {
			wantBad[int](t, tag, make([]byte, 8), transport.ErrBadTag)
		}
		if tag != transport.TagFixed {
			wantBad[point](t, tag, make([]byte, 8), transport.ErrBadTag)
		}
		if tag != transport.TagTime {
			wantBad[time.Time](t, tag, make([]byte, 16), transport.ErrBadTag)
		}
		if tag&^transport.TagNilBit != transport.TagBytes {
			wantBad[[]byte](t, tag, nil, transport.ErrBadTag)
		}
		if tag != transport.TagString {
			wantBad[string](t, tag, nil, transport.ErrBadTag)
		}
		if tag != transport.TagCoded {
			wantBad[struct{ S []string }](t, tag, []byte("{}"), transport.ErrBadTag)
		}
		if tag != transport.TagBinary {
			wantBad[twice](t, tag, nil, transport.ErrBadTag)
		}
		_, err := transport.DecodeAny(tag, []byte{1}, nil)
		switch {
		case !tag.Valid(), tag == transport.TagFixed, tag == transport.TagError, tag&^transport.TagNilBit == transport.TagFixedSlice, tag&^transport.TagNilBit == transport.TagBinary:
			if !errors.Is(err, transport.ErrBadTag) {
				t.Errorf("DecodeAny(%v) = %v, want ErrBadTag", tag, err)
			}
		case nilable(tag):
			if !errors.Is(err, transport.ErrBadPayload) {
				t.Errorf("DecodeAny(%v) = %v, want ErrBadPayload", tag, err)
			}
		}
	}
}

// TestDecodedSharesNothing checks that a decoded value does not change with the bytes
// that it came from. Those bytes do not change with the value. K-141.
func TestDecodedSharesNothing(t *testing.T) {
	for _, v := range []any{"some text that is long enough", []byte("some bytes"), []byte{}, []int32{1, 2, 3}, []bool{true}, big.NewInt(1 << 40)} {
		b, tag, err := transport.AppendAny(make([]byte, 0, 100), v, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := transport.DecodeAny(tag, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := b[:cap(b)]
		for i := range all {
			all[i] = 0xff
		}
		if !same(got, v) {
			t.Errorf("%v became %v", v, got)
		}
		if s, ok := got.([]byte); ok {
			_ = append(s, "more"...)
			if all[0] != 0xff {
				t.Error("an append to a decoded slice writes to the bytes that it came from")
			}
		}
	}
}

// TestDecodeMemoryIsBounded checks for every tag that the memory that a decoder
// allocates is bounded by the number of bytes that it gets. No error repeats at length
// what a peer wrote. K-141.
func TestDecodeMemoryIsBounded(t *testing.T) {
	const n = 1 << 20
	zeros := make([]byte, n)
	digits := bytes.Repeat([]byte{'1'}, n)
	wantTaken := func(tag transport.Tag, src []byte) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := transport.DecodeAny(tag, src, nil)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 8*n {
			t.Errorf("%v: %d bytes were allocated for %d (%T)", tag, taken, n, v)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%v: the error has %d bytes", tag, len(err.Error()))
		}
	}
	for tag := range transport.Tag(1 << 9) {
		wantTaken(tag, zeros)
		wantTaken(tag, digits)
	}
}

// fickle is a codec whose peer changes the bytes while they are decoded.
type fickle struct {
	transport.Codec
	shared []byte
}

func (f *fickle) Decode(src []byte, v any) error {
	for i := range f.shared {
		f.shared[i] = '!'
	}
	return f.Codec.Decode(src, v)
}

// TestCodecReadsACopy checks that a codec that reads its bytes twice reads the same
// bytes twice. encoding/json panics if the second read differs. K-141.
func TestCodecReadsACopy(t *testing.T) {
	c := &fickle{Codec: transport.JSON, shared: []byte(`{"S":["a","b"]}`)}
	typ, err := transport.TypeOf[struct{ S []string }](c)
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ S []string }
	if err := typ.Decode(transport.TagCoded, c.shared, &v); err != nil || len(v.S) != 2 {
		t.Errorf("got %v, %v", v, err)
	}
	c.shared = []byte(`[1,2]`)
	if x, err := transport.DecodeAny(transport.TagCoded, c.shared, c); err != nil || len(x.([]any)) != 2 {
		t.Errorf("got %v, %v", x, err)
	}
	shared := []byte("\x01\x02")
	twiceHook = func() { shared[0], shared[1] = 9, 9 }
	defer func() { twiceHook = nil }()
	var w twice
	if err := typeOf[twice](t).Decode(transport.TagBinary, shared, &w); err != nil || w.s != "\x01" {
		t.Errorf("got %q, %v", w.s, err)
	}
}

// TestDecodeAfterBadPayload checks that the decoding of hostile bytes leaves no trace
// in the decoding of good ones. K-134.
func TestDecodeAfterBadPayload(t *testing.T) {
	r := newRand(t)(0)
	typ := typeOf[any](t)
	for range rounds(100_000) {
		var v any
		_ = typ.Decode(transport.Tag(r.Uint32N(600)), randomBytes(r), &v)
		if got, _, _ := cross(t, typ, any(7)); got != 7 {
			t.Fatalf("7 arrived as %v", got)
		}
	}
}

func randomBytes(r *rand.Rand) []byte {
	b := bytes.Repeat([]byte{'['}, r.IntN(40))
	for i := range b {
		if r.IntN(4) > 0 {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}
