package transport

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
)

// Type says how values of the Go type T become bytes and back. What decides is
// the type alone, once:
//
//   - bool, numbers, time.Duration, and arrays and structs of such, also with
//     fields that are not exported, cross as a copy of their memory: [TagFixed], or
//     the tag of the type if it has one. Padding crosses as zeros. A number that
//     means something in its own process only crosses too, as in a maphash.Seed.
//   - strings, and slices of such types, cross as a copy of their memory; time.Time
//     and *big.Int have forms of their own.
//   - A type with AppendBinary or MarshalBinary, and with UnmarshalBinary, crosses
//     as [TagBinary]. So does a struct that has these methods from the one field that
//     it has, an embedded one that is no pointer. If it has more fields, the methods
//     do not know of them, and the struct is the codec's; also if it declares them
//     anew over those of an embedded field, which cannot be told. AppendBinary is
//     called if there is no MarshalBinary, or if it cannot be that of an embedded
//     field; else MarshalBinary is. So a struct that declares UnmarshalBinary over
//     that of an embedded field must declare MarshalBinary too: with AppendBinary
//     alone, the field writes what the struct then reads as something else.
//   - An interface crosses as what it holds, as by [AppendAny].
//   - The [Codec] has the rest: [TagCoded].
//
// What the first two have names for is in the table of [Tag]. They allocate
// nothing but the memory of what they decode. The two sides must have the same
// definition of T.
//
// A Type does not change, and is safe for concurrent use.
type Type[T any] struct {
	plain   plain
	by      encodedBy
	appends bool // the method is AppendBinary, and not MarshalBinary
	codec   Codec
}

// by is who turns a value that is not plain into bytes.
type encodedBy uint8

const (
	byPlain     encodedBy = iota
	byInterface           // what the interface holds
	byValue               // the methods of *T
	byPointer             // the methods of T, which is a pointer
	byCodec
)

// TypeOf returns how T crosses, with c for what has no form of its own; nil
// stands for [JSON]. It returns [ErrUnsupportedPayload] if values of T cannot cross
// to another process: functions, channels, locks, addresses, and what c would
// change or lose.
func TypeOf[T any](c Codec) (*Type[T], error) {
	t := reflect.TypeFor[T]()
	if c == nil {
		c = JSON
	}
	if p := plainOf(t); p.form != formOther {
		if k := kindsByType[t]; k != nil {
			p.tag = k.tag
		}
		return &Type[T]{plain: p, codec: c}, nil
	}
	y, appends := encodedByOf(t)
	if y == byCodec {
		if err := checkType(c, t); err != nil {
			return nil, err
		}
	}
	return &Type[T]{by: y, appends: appends, codec: c}, nil
}

var (
	binaryAppender    = reflect.TypeFor[encoding.BinaryAppender]()
	binaryMarshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	binaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// byOf returns who turns values of t into bytes, and, if methods do, whether it is
// AppendBinary.
func encodedByOf(t reflect.Type) (y encodedBy, appends bool) {
	if t.Kind() == reflect.Interface {
		return byInterface, false
	}
	y = byValue
	if t.Kind() == reflect.Pointer {
		y, t = byPointer, t.Elem()
	}
	appends, ok := marshalsBinary(t)
	if !ok {
		return byCodec, false
	}
	return y, appends
}

// marshalsBinary reports whether *t has methods that make bytes of all that is in a t,
// and a t of the bytes, and whether it is AppendBinary that makes them: what AppendBinary
// of an embedded field makes may not be what UnmarshalBinary of t reads.
func marshalsBinary(t reflect.Type) (appends, ok bool) {
	p := reflect.PointerTo(t)
	if !p.Implements(binaryUnmarshaler) || local(t) != "" {
		return false, false
	}
	marshals := p.Implements(binaryMarshaler)
	if p.Implements(binaryAppender) {
		if owner, why := promoted(t, binaryAppender); owner == t && why == "" || !marshals {
			return true, why == ""
		}
	}
	if !marshals {
		return false, false
	}
	_, why := promoted(t, binaryMarshaler)
	return false, why == ""
}

// Tag returns the tag of values that are not nil. It is [TagInvalid] for an
// interface, whose tag is that of what it holds.
func (t *Type[T]) Tag() Tag {
	switch t.by {
	case byPlain:
		return t.plain.tag
	case byInterface:
		return TagInvalid
	case byCodec:
		return TagCoded
	}
	return TagBinary
}

// Size returns how many bytes Append will append for *v. It returns false if only
// Append can tell: where other code than this package makes the bytes.
func (t *Type[T]) Size(v *T) (n int, ok bool) {
	switch t.by {
	case byPlain:
		return sizePlain(&t.plain, v), true
	case byInterface:
		return SizeAny(any(*v))
	}
	return 0, false
}

// Append appends the bytes of *v to dst. It returns the result and the tag that
// Decode needs; on an error it returns dst as it was, and [ErrUnsupportedPayload]
// says what cannot cross. It keeps no reference to *v. A panic of the codec, or of a
// method of what *v holds, goes on to the caller.
func (t *Type[T]) Append(dst []byte, v *T) ([]byte, Tag, error) {
	switch t.by {
	case byPlain:
		return appendPlain(&t.plain, dst, v)
	case byInterface:
		return appendHeld[T](dst, any(*v), t.codec)
	}
	p := new(T) // v does not escape: what calls of plain types need
	*p = *v
	if t.by == byCodec {
		return encode(t.codec, dst, p)
	}
	return t.marshal(dst, p)
}

// appendHeld is AppendAny for an interface T. It refuses what would not come
// back as a T.
func appendHeld[T any](dst []byte, v any, c Codec) ([]byte, Tag, error) {
	b, tag, err := AppendAny(dst, v, c)
	if methods := reflect.TypeFor[T]().NumMethod(); err == nil && tag == TagCoded && methods > 0 {
		return dst, TagInvalid, fmt.Errorf("%w: %v: a %T comes back without its methods", ErrUnsupportedPayload, reflect.TypeFor[T](), v)
	}
	return b, tag, err
}

// marshal appends what the value makes of itself.
func (t *Type[T]) marshal(dst []byte, p *T) ([]byte, Tag, error) {
	v := any(p)
	if t.by == byPointer {
		if reflect.ValueOf(p).Elem().IsNil() {
			return dst, TagBinary | TagNilBit, nil
		}
		v = any(*p)
	}
	if t.appends {
		b, err := v.(encoding.BinaryAppender).AppendBinary(dst)
		if err != nil {
			return dst, TagInvalid, unsupported("AppendBinary", *p, err)
		}
		return b, TagBinary, nil
	}
	b, err := v.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return dst, TagInvalid, unsupported("MarshalBinary", *p, err)
	}
	return append(dst, b...), TagBinary, nil
}

// Decode reads src, which came with tag, into *v. It trusts nothing: it returns
// [ErrBadTag] for the tag of another type and [ErrBadPayload] for bytes that are no
// T, and never panics; of *v then nothing can be said. *v shares no memory with src,
// which another process may write to meanwhile. What Decode allocates is bounded by
// len(src); where a codec or a method decodes, by what it makes of as many bytes.
func (t *Type[T]) Decode(tag Tag, src []byte, v *T) error {
	switch t.by {
	case byPlain:
		return decodePlain(&t.plain, tag, src, v)
	case byInterface:
		return decodeHeld(tag, src, v, t.codec)
	}
	if tag != t.Tag() {
		if t.by == byPointer {
			return decodeNil(TagBinary, tag, src, v)
		}
		return wrongTag[T](tag, t.Tag())
	}
	p := new(T) // v does not escape
	if err := t.unmarshal(bytes.Clone(src), p); err != nil {
		return err
	}
	*v = *p
	return nil
}

// decodeHeld is DecodeAny for an interface T.
func decodeHeld[T any](tag Tag, src []byte, v *T, c Codec) error {
	x, err := DecodeAny(tag, src, c)
	if err != nil {
		return err
	}
	held, ok := x.(T)
	if !ok && x != nil {
		return fmt.Errorf("%w: a %T is no %v", ErrBadPayload, x, reflect.TypeFor[T]())
	}
	*v = held
	return nil
}

// unmarshal decodes src, a copy of what the peer wrote, by code of the codec or
// of the type.
func (t *Type[T]) unmarshal(src []byte, p *T) error {
	switch t.by {
	case byCodec:
		return contain(t.codec.Name(), func() error { return t.codec.Decode(src, p) })
	case byPointer:
		v := reflect.New(reflect.TypeFor[T]().Elem())
		*p = v.Interface().(T)
		return contain("UnmarshalBinary", func() error { return any(*p).(encoding.BinaryUnmarshaler).UnmarshalBinary(src) })
	}
	return contain("UnmarshalBinary", func() error { return any(p).(encoding.BinaryUnmarshaler).UnmarshalBinary(src) })
}

// Borrow is Decode without a copy: if T is a slice of bytes, *v is src itself and
// Borrow returns true. The memory is then the caller's only for as long as src is,
// and a peer that can write to it may change it meanwhile. For another T, Borrow
// does what Decode does.
func (t *Type[T]) Borrow(tag Tag, src []byte, v *T) (borrowed bool, err error) {
	if tag == TagBytes && t.Tag() == TagBytes {
		if src == nil {
			src = []byte{} // a nil slice has a tag of its own
		}
		*bytesOf(v) = src[:len(src):len(src)]
		return true, nil
	}
	return false, t.Decode(tag, src, v)
}
