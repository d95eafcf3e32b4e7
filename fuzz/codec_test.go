package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// A payloadReader decodes any bytes as one type.
type payloadReader struct {
	name string
	read func(t *testing.T, tag transport.Tag, src []byte)
}

// readerOfPayload returns the reader of T. A value that decodes without an error can be
// encoded and decoded again to the same bytes. These are the source bytes if exact is
// set, because each value then has one form.
func readerOfPayload[T any](exact bool) payloadReader {
	typ, err := transport.TypeOf[T](nil)
	if err != nil {
		panic(err)
	}
	var none T
	name := fmt.Sprintf("%T", none)
	return payloadReader{name, func(t *testing.T, tag transport.Tag, src []byte) {
		t.Helper()
		var v T
		if err := typ.Decode(tag, src, &v); err != nil {
			if !errors.Is(err, transport.ErrBadTag) && !errors.Is(err, transport.ErrBadPayload) || len(err.Error()) > 1000 {
				t.Fatalf("%s from %v, %x: %v", name, tag, src, err)
			}
			return
		}
		first, sent := encodePayload(t, typ, &v)
		if exact && (sent != tag || !bytes.Equal(first, src)) {
			t.Fatalf("%s from %v, %x is written as %v, %x", name, tag, src, sent, first)
		}
		var w T
		if err := typ.Decode(sent, first, &w); err != nil {
			t.Fatalf("%s from %v, %x: does not decode again: %v", name, sent, first, err)
		}
		if second, _ := encodePayload(t, typ, &w); !bytes.Equal(first, second) {
			t.Fatalf("%s from %v, %x: written as %x, and then as %x", name, tag, src, first, second)
		}
	}}
}

// encodePayload returns the bytes of *v and checks that Size predicts their number.
func encodePayload[T any](t *testing.T, typ *transport.Type[T], v *T) ([]byte, transport.Tag) {
	t.Helper()
	b, tag, err := typ.Append(nil, v)
	if err != nil {
		t.Fatalf("%T: %v", *v, err)
	}
	if n, ok := typ.Size(v); ok && n != len(b) {
		t.Fatalf("%T: Size = %d, and Append made %d bytes", *v, n, len(b))
	}
	return b, tag
}

// The types that the readers decode, in addition to types with tags of their own.
type (
	packed struct{ A, B uint32 }
	gapped struct {
		A bool
		B int64
		_ uint16
		C [3]struct {
			D uint16
			E bool
		}
	}
	payloadTree struct {
		Name string
		N    int64
		Any  any
		Tags []string
		Sub  map[string]*payloadTree
		At   time.Time
	}
)

// payloadReaders are the types that a process may expect when the other side sends
// bytes.
var payloadReaders = []payloadReader{
	readerOfPayload[bool](true), readerOfPayload[int](true), readerOfPayload[int8](true), readerOfPayload[uint16](true), readerOfPayload[float32](true),
	readerOfPayload[complex128](true), readerOfPayload[time.Duration](true), readerOfPayload[time.Time](true), readerOfPayload[*big.Int](true),
	readerOfPayload[string](true), readerOfPayload[[]byte](true), readerOfPayload[[]int32](true), readerOfPayload[[]complex64](true), readerOfPayload[[]bool](true),
	readerOfPayload[packed](true), readerOfPayload[[]packed](true), readerOfPayload[[3]bool](true),
	readerOfPayload[gapped](false), readerOfPayload[[]gapped](false), readerOfPayload[netip.Prefix](false),
	readerOfPayload[any](false), readerOfPayload[fmt.Stringer](false), readerOfPayload[payloadTree](false), readerOfPayload[[]any](false), readerOfPayload[map[string][]byte](false),
}

// FuzzCodecDecode passes any bytes with any tag to the decoder of every type. No
// decoder panics or accepts bytes that it would not have written. A tag outside the
// table fits no type. K-015, K-134, K-141.
func FuzzCodecDecode(f *testing.F) {
	f.Add(uint32(transport.TagBool), []byte{2})
	f.Add(uint32(transport.TagTime), []byte("\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\x7f\x00\x00\x00\x80"))
	f.Add(uint32(transport.TagBigInt), []byte{1, 0})
	f.Add(uint32(transport.TagBytes|transport.TagNilBit), []byte{})
	f.Add(uint32(transport.TagInt32s), []byte{1, 2, 3, 4, 5})
	f.Add(uint32(transport.TagFixed), make([]byte, 32))
	f.Add(uint32(transport.TagFixedSlice), make([]byte, 64))
	f.Add(uint32(transport.TagBinary), []byte{1, 2, 3, 4, 33})
	f.Add(uint32(transport.TagCoded), []byte(`{"Name":"\ud800","N":1e3,"Any":[1,{"a":null}],"Sub":{"":null},"At":"2026-01-01T00:00:00Z"}`))
	f.Add(uint32(transport.TagCoded), []byte(`[[[[1]]],"<\ufffd>"]`))
	f.Add(uint32(1<<31), []byte("x"))
	f.Fuzz(func(t *testing.T, number uint32, src []byte) {
		tag := transport.Tag(number)
		before := bytes.Clone(src)
		for _, r := range payloadReaders {
			r.read(t, tag, src)
		}
		if _, err := transport.DecodeAny(tag, src, nil); !tag.Valid() && !errors.Is(err, transport.ErrBadTag) {
			t.Fatalf("DecodeAny(%v, %x): got %v, want ErrBadTag", tag, src, err)
		}
		if !bytes.Equal(src, before) {
			t.Fatalf("%x became %x", before, src)
		}
	})
}

// FuzzCodecRoundTrip sends values made from the input. The received value is the sent
// one. K-059 to K-061, C-005.
func FuzzCodecRoundTrip(f *testing.F) {
	f.Add(int64(-1), 1.5, true, "text", []byte("bytes"), int64(1), uint32(2))
	f.Add(int64(1)<<62, math.Copysign(0, -1), false, "\xff\ufffd\\ufffd", []byte{}, int64(-62135596800), uint32(999_999_999))
	f.Fuzz(func(t *testing.T, n int64, x float64, ok bool, text string, b []byte, sec int64, nsec uint32) {
		at := time.Unix(sec, int64(nsec%1e9)).UTC()
		for _, v := range []any{n, int8(n), uint(n), x, complex(x, float64(n)), ok, text, b, at, time.Duration(n), new(big.Int).SetBytes(b), []bool{ok, !ok}, []int64{n, sec}} {
			payload, tag, err := transport.AppendAny(nil, v, nil)
			if err != nil {
				t.Fatalf("%#v: %v", v, err)
			}
			got, err := transport.DecodeAny(tag, payload, nil)
			if err != nil {
				t.Fatalf("%#v: %v", v, err)
			}
			want(t, "received value", fmt.Sprintf("%T %v", got, got), fmt.Sprintf("%T %v", v, v))
		}
		v := payloadTree{Name: text, N: n, Any: []any{x, text, ok}, Tags: []string{text}, Sub: map[string]*payloadTree{text: {N: sec}}}
		payload, tag, err := transport.AppendAny(nil, v, nil)
		if err != nil {
			if !errors.Is(err, transport.ErrUnsupportedPayload) {
				t.Fatalf("%+v: %v", v, err)
			}
			return // text is not UTF-8, or x is not a number
		}
		typ, err := transport.TypeOf[payloadTree](nil)
		if err != nil {
			t.Fatal(err)
		}
		var got payloadTree
		if err := typ.Decode(tag, payload, &got); err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		if got.Name != text || got.N != n || fmt.Sprint(got.Any) != fmt.Sprint(v.Any) || got.Tags[0] != text || got.Sub[text].N != sec {
			t.Fatalf("%+v arrived as %+v", v, got)
		}
	})
}
