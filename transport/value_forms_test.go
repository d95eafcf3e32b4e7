package transport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// twice marshals itself with AppendBinary: every byte is there twice.
type twice struct{ s string }

var twiceHook func()

func (w twice) AppendBinary(b []byte) ([]byte, error) {
	if w.s == "refuse" {
		return nil, errors.New("no")
	}
	for i := range len(w.s) {
		b = append(b, w.s[i], w.s[i])
	}
	return b, nil
}

func (w *twice) UnmarshalBinary(b []byte) error {
	if twiceHook != nil {
		twiceHook()
		b = []byte{b[0], b[0]}
	}
	if bytes.HasPrefix(b, []byte("panic")) {
		panic("twice")
	}
	if len(b)%2 != 0 {
		return errors.New("odd")
	}
	w.s = ""
	for i := 0; i < len(b); i += 2 {
		w.s += string(b[i : i+1])
	}
	return nil
}

// marshaled marshals itself with MarshalBinary of the pointer.
type marshaled struct{ s *string }

func (m *marshaled) MarshalBinary() ([]byte, error) {
	if m.s == nil {
		return nil, errors.New("no")
	}
	return []byte(*m.s), nil
}

func (m *marshaled) UnmarshalBinary(b []byte) error {
	s := string(b)
	m.s = &s
	return nil
}

// TestBinary checks that a type with marshaling methods crosses through them.
func TestBinary(t *testing.T) {
	text := "abc"
	wantSame(t, twice{"abc"}, transport.TagBinary)
	wantSame(t, &twice{"abc"}, transport.TagBinary)
	wantSame(t, marshaled{&text}, transport.TagBinary)
	wantSame(t, &marshaled{&text}, transport.TagBinary)
	wantSame(t, netip.MustParseAddr("1.2.3.4"), transport.TagBinary)
	wantSame(t, url.URL{Scheme: "http", Host: "h", Path: "/p"}, transport.TagBinary)

	if got, _, tag := cross(t, typeOf[*twice](t), nil); got != nil || tag != transport.TagBinary|transport.TagNilBit {
		t.Errorf("nil arrived as %v, tag %v", got, tag)
	}
	wantBad[twice](t, transport.TagBinary|transport.TagNilBit, nil, transport.ErrBadTag)
	wantBad[*twice](t, transport.TagBinary|transport.TagNilBit, []byte{1}, transport.ErrBadPayload)
	wantBad[twice](t, transport.TagBinary, []byte("odd"), transport.ErrBadPayload)
	wantBad[twice](t, transport.TagBinary, []byte("panic!"), transport.ErrBadPayload)
	wantBad[*twice](t, transport.TagBinary, []byte("panic!"), transport.ErrBadPayload)

	v, w := twice{"refuse"}, marshaled{}
	b, _, err := typeOf[twice](t).Append([]byte("x"), &v)
	if !errors.Is(err, transport.ErrUnsupportedPayload) || string(b) != "x" {
		t.Errorf("AppendBinary that fails: %q, %v", b, err)
	}
	b, _, err = typeOf[marshaled](t).Append([]byte("x"), &w)
	if !errors.Is(err, transport.ErrUnsupportedPayload) || string(b) != "x" {
		t.Errorf("MarshalBinary that fails: %q, %v", b, err)
	}
	if n, ok := typeOf[twice](t).Size(&v); ok {
		t.Errorf("Size = %d, though only AppendBinary knows it", n)
	}
}

// panicking is a struct whose methods panic.
type panicking struct{ S []string }

func (panicking) IsZero() bool                        { panic("IsZero") }
func (panicking) MarshalJSON() ([]byte, error)        { panic("MarshalJSON") }
func (*panicking) UnmarshalJSON([]byte) error         { panic("UnmarshalJSON") }
func (panicking) AppendBinary([]byte) ([]byte, error) { panic("AppendBinary") }
func (*panicking) UnmarshalBinary([]byte) error       { panic("UnmarshalBinary") }

// TestEncoderPanicReachesCaller checks that a panic of a codec or method reaches the
// goroutine that sends the value.
func TestEncoderPanicReachesCaller(t *testing.T) {
	for want, send := range map[string]func() error{
		"AppendBinary": func() error { return appendOf(panicking{}) },
		"MarshalJSON":  func() error { return appendOf([]panicking{{}}) },
		"IsZero": func() error {
			return appendOf(struct {
				F panicking `json:",omitzero"`
			}{})
		},
	} {
		func() {
			defer func() {
				if p := recover(); p != want {
					t.Errorf("panic %v, want %s", p, want)
				}
			}()
			t.Errorf("%s: %v", want, send())
		}()
	}
}

// appendOf returns the error of TypeOf or Append for v.
func appendOf[T any](v T) error {
	typ, err := transport.TypeOf[T](nil)
	if err == nil {
		_, _, err = typ.Append(nil, &v)
	}
	return err
}

// TestInterfaces checks that an interface crosses as the value that it holds.
func TestInterfaces(t *testing.T) {
	typ := typeOf[any](t)
	if typ.Tag() != transport.TagInvalid {
		t.Errorf("Tag = %v", typ.Tag())
	}
	for _, v := range []any{nil, 1, int8(1), "s", []byte("b"), []string{"a"}, map[string]int{"a": 1}, time.Second} {
		got, _, _ := cross(t, typ, v)
		want := v
		switch v.(type) {
		case []string:
			want = []any{"a"}
		case map[string]int:
			want = map[string]any{"a": 1.0}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%#v arrived as %#v, want %#v", v, got, want)
		}
	}
	texts := typeOf[fmt.Stringer](t)
	if got, _, _ := cross(t, texts, fmt.Stringer(time.Second)); got != time.Second {
		t.Errorf("got %v", got)
	}
	if got, _, _ := cross(t, texts, nil); got != nil {
		t.Errorf("nil arrived as %v", got)
	}
	v := fmt.Stringer(netip.MustParseAddr("::1"))
	if b, _, err := texts.Append([]byte("x"), &v); !errors.Is(err, transport.ErrUnsupportedPayload) || string(b) != "x" {
		t.Errorf("a type that loses its methods: %q, %v", b, err)
	}
	wantBad[fmt.Stringer](t, transport.TagInt8, []byte{1}, transport.ErrBadPayload)
	wantBad[fmt.Stringer](t, 999, nil, transport.ErrBadTag)
}

// TestBorrow checks that Borrow returns the bytes without a copy. An append to them
// does not write behind them.
func TestBorrow(t *testing.T) {
	src := []byte("here|next")
	var v []byte
	borrowed, err := typeOf[[]byte](t).Borrow(transport.TagBytes, src[:4], &v)
	if err != nil || !borrowed || &v[0] != &src[0] || len(v) != 4 {
		t.Fatalf("Borrow = %v, %v, %q", borrowed, err, v)
	}
	_ = append(v, '!')
	if string(src) != "here|next" {
		t.Errorf("append wrote %q", src)
	}
	type raw []byte
	var r raw
	if borrowed, err := typeOf[raw](t).Borrow(transport.TagBytes, src, &r); err != nil || !borrowed || &r[0] != &src[0] {
		t.Errorf("Borrow = %v, %v, %q", borrowed, err, r)
	}
	if borrowed, err := typeOf[[]byte](t).Borrow(transport.TagBytes|transport.TagNilBit, nil, &v); err != nil || borrowed || v != nil {
		t.Errorf("Borrow of nil = %v, %v, %q", borrowed, err, v)
	}
	if borrowed, err := typeOf[[]byte](t).Borrow(transport.TagBytes, nil, &v); err != nil || !borrowed || v == nil || len(v) != 0 {
		t.Errorf("Borrow of no bytes = %v, %v, %v; want an empty slice", borrowed, err, v)
	}
	var s string
	if borrowed, err := typeOf[string](t).Borrow(transport.TagString, src, &s); err != nil || borrowed || s != string(src) {
		t.Errorf("Borrow of a string = %v, %v, %q", borrowed, err, s)
	}
	if _, err := typeOf[string](t).Borrow(transport.TagBytes, src, &s); !errors.Is(err, transport.ErrBadTag) {
		t.Errorf("Borrow of bytes as a string: %v", err)
	}
}

// TestShare: the bytes of a slice of bytes are the encoding, without a copy. nil and other types have none.
func TestShare(t *testing.T) {
	v := []byte("here")
	if b, ok := typeOf[[]byte](t).Share(&v); !ok || &b[0] != &v[0] || len(b) != 4 {
		t.Errorf("Share = %q, %v", b, ok)
	}
	type raw []byte
	r, none, empty := raw(v), []byte(nil), []byte{}
	if b, ok := typeOf[raw](t).Share(&r); !ok || &b[0] != &v[0] {
		t.Errorf("Share = %q, %v", b, ok)
	}
	if b, ok := typeOf[[]byte](t).Share(&none); ok {
		t.Errorf("Share of nil = %q", b)
	}
	if b, ok := typeOf[[]byte](t).Share(&empty); !ok || len(b) != 0 {
		t.Errorf("Share of no bytes = %q, %v", b, ok)
	}
	s, held := "here", any(v)
	if b, ok := typeOf[string](t).Share(&s); ok {
		t.Errorf("Share of a string = %q", b)
	}
	if b, ok := typeOf[any](t).Share(&held); ok {
		t.Errorf("Share of an interface = %q", b)
	}
}

// crude is a codec that is no TypeChecker, as one of encoding/gob would be.
type crude struct{ err error }

func (crude) Name() string { return "crude" }

func (c crude) Append(dst []byte, v any) ([]byte, error) {
	if c.err != nil {
		return []byte("rubbish"), c.err
	}
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (crude) Decode(src []byte, v any) error {
	if len(src) == 0 {
		panic("empty")
	}
	return json.Unmarshal(src, v)
}

// TestCustomCodec checks that a codec can be replaced. Its refusals and panics become
// errors.
func TestCustomCodec(t *testing.T) {
	type hidden struct {
		S string
		t string
	}
	typ, err := transport.TypeOf[hidden](crude{})
	if err != nil {
		t.Fatalf("a type that only the codec can check: %v", err)
	}
	if got, _, tag := cross(t, typ, hidden{"a", "b"}); got != (hidden{S: "a"}) || tag != transport.TagCoded {
		t.Errorf("got %v, %v", got, tag)
	}
	var v hidden
	if err := typ.Decode(transport.TagCoded, nil, &v); !errors.Is(err, transport.ErrBadPayload) || !strings.Contains(err.Error(), `crude: "panic: empty"`) {
		t.Errorf("a codec that panics: %v", err)
	}
	if _, err := transport.DecodeAny(transport.TagCoded, nil, crude{}); !errors.Is(err, transport.ErrBadPayload) {
		t.Errorf("a codec that panics: %v", err)
	}
	cause := errors.New("cause")
	if b, _, err := transport.AppendAny([]byte("x"), v, crude{cause}); string(b) != "x" || !errors.Is(err, cause) || !errors.Is(err, transport.ErrUnsupportedPayload) {
		t.Errorf("a codec that fails: %q, %v", b, err)
	}
	if _, err := transport.TypeOf[chan int](crude{}); !errors.Is(err, transport.ErrUnsupportedPayload) {
		t.Errorf("a channel: %v", err)
	}
	if _, _, err := transport.AppendAny(nil, func() {}, crude{}); !errors.Is(err, transport.ErrUnsupportedPayload) {
		t.Errorf("a function: %v", err)
	}
}

// TestAllocs checks that plain types allocate only the memory of the result.
func TestAllocs(t *testing.T) {
	wantAllocs(t, 7, 0)
	wantAllocs(t, true, 0)
	wantAllocs(t, 1.5, 0)
	wantAllocs(t, time.Second, 0)
	wantAllocs(t, time.Unix(1, 2).UTC(), 0)
	wantAllocs(t, time.Unix(1, 2), 0)
	wantAllocs(t, [2]int{1, 2}, 0)
	wantAllocs(t, gaps{A: true, B: 1}, 0)
	wantAllocs(t, nested{N: 1}, 0)
	wantAllocs(t, "some text", 1)
	wantAllocs(t, []byte("some bytes"), 1)
	wantAllocs(t, []float64{1, 2, 3}, 1)
	wantAllocs(t, []gaps{{}, {}}, 1)
}

// wantAllocs encodes and decodes v and counts the allocations. v and the result are on
// the stack.
func wantAllocs[T any](t *testing.T, v T, want float64) {
	t.Helper()
	typ := typeOf[T](t)
	buf := make([]byte, 0, 512)
	n := testing.AllocsPerRun(100, func() {
		here := v
		b, tag, err := typ.Append(buf, &here)
		if err != nil {
			t.Fatal(err)
		}
		var there T
		if err := typ.Decode(tag, b, &there); err != nil {
			t.Fatal(err)
		}
	})
	if n != want {
		t.Errorf("%T: %v allocations, want %v", v, n, want)
	}
}
