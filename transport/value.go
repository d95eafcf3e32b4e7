package transport

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
)

// Type encodes the values of the Go type T as payloads and decodes them. [TypeOf] makes
// a Type and chooses the encoding from T alone:
//
//   - Bool, numbers, time.Duration, and arrays and structs of these cross as a copy of
//     their memory: [TagFixed], or the tag that the table at [TagInvalid] has for the type.
//   - Strings, and slices of such types, cross as a copy of their memory. time.Time and
//     *big.Int have encodings of their own.
//   - A type with AppendBinary or MarshalBinary, and with UnmarshalBinary, crosses as
//     [TagBinary].
//   - An interface crosses as the value that it holds, as by [AppendAny].
//   - The [Codec] encodes all other types: [TagCoded].
//
// [Type.Append] encodes a value, and [Type.Decode] decodes it on the other side, which
// must have the same definition of T. Types of the first two items allocate only the
// memory of decoded values. [TypeOf] describes the cases of structs. A Type does not
// change, and is safe for concurrent use.
type Type[T any] struct {
	plain   plain
	by      encodedBy
	appends bool // the method is AppendBinary and not MarshalBinary
	codec   Codec
}

// encodedBy is the code that encodes a value that is not plain.
type encodedBy uint8

const (
	byPlain     encodedBy = iota
	byInterface           // the encoding of the value that the interface holds
	byValue               // the methods of *T
	byPointer             // the methods of T, which is a pointer
	byCodec
)

// TypeOf returns the Type of T. c encodes the values that have no encoding of their
// own; nil stands for [JSON]. TypeOf returns [ErrUnsupportedPayload] if values of T
// cannot cross to another process: functions, channels, locks, addresses, and values
// that c would change or lose.
//
// A struct crosses as a copy of its memory also when it has fields that are not
// exported. Padding crosses as zeros. A number that has a meaning only in its own
// process crosses too, as in a maphash.Seed.
//
// A struct crosses as [TagBinary] with the methods of an embedded field only if that
// field is its only one and is not a pointer. A struct with more fields is encoded by
// c, because the methods do not cover the other fields. That includes a struct that
// declares the methods over those of an embedded field, because reflection cannot
// distinguish the two.
//
// AppendBinary is called if there is no MarshalBinary, or if AppendBinary cannot belong
// to an embedded field. Otherwise MarshalBinary is called. So a struct that declares
// UnmarshalBinary over that of an embedded field must also declare MarshalBinary. With
// AppendBinary alone, the field writes bytes that the UnmarshalBinary of the struct
// misreads.
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

// encodedByOf returns the code that encodes values of t. If that is a method, appends
// reports whether it is AppendBinary.
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

// marshalsBinary reports whether *t has methods that encode all of a t and decode it
// again. appends reports whether the encoding one is AppendBinary: the AppendBinary of
// an embedded field may write bytes that the UnmarshalBinary of t does not read.
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

// Tag returns the tag of values that are not nil. It is [TagInvalid] for an interface,
// where the tag depends on the value that it holds.
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

// Size returns the number of bytes that Append will append for *v. ok is false if only
// Append can determine it, because a codec or a method makes the bytes.
func (t *Type[T]) Size(v *T) (n int, ok bool) {
	switch t.by {
	case byPlain:
		return sizePlain(&t.plain, v), true
	case byInterface:
		return SizeAny(any(*v))
	}
	return 0, false
}

// Append appends the bytes of *v to dst. It returns the result and the tag that Decode
// needs. On an error it returns dst unchanged, and [ErrUnsupportedPayload] names the
// part that cannot cross. It keeps no reference to *v. A panic of the codec or of a
// method of the value reaches the caller.
func (t *Type[T]) Append(dst []byte, v *T) ([]byte, Tag, error) {
	switch t.by {
	case byPlain:
		return appendPlain(&t.plain, dst, v)
	case byInterface:
		return appendHeld[T](dst, any(*v), t.codec)
	}
	p := new(T) // a copy, so that v does not escape: calls of plain types rely on it
	*p = *v
	if t.by == byCodec {
		return encode(t.codec, dst, p)
	}
	return t.marshal(dst, p)
}

// appendHeld is AppendAny for an interface T. It refuses a value that would not come
// back as a T.
func appendHeld[T any](dst []byte, v any, c Codec) ([]byte, Tag, error) {
	b, tag, err := AppendAny(dst, v, c)
	if methods := reflect.TypeFor[T]().NumMethod(); err == nil && tag == TagCoded && methods > 0 {
		return dst, TagInvalid, fmt.Errorf("%w: %v: a %T comes back without its methods", ErrUnsupportedPayload, reflect.TypeFor[T](), v)
	}
	return b, tag, err
}

// marshal appends the bytes that a method of the value makes.
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

// Decode reads src, which came with tag, into *v. It trusts neither. It returns
// [ErrBadTag] for the tag of another type and [ErrBadPayload] for bytes that are no T.
// It never panics. After an error the content of *v is undefined. *v shares no memory
// with src, which another process may write to concurrently. The memory that Decode
// allocates is bounded by len(src), or by the amount that a codec or a method allocates
// for that many bytes.
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

// unmarshal decodes src with the codec or with a method of the type. src is a copy of
// the bytes that the peer wrote.
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

// Borrow is Decode without a copy. If T is a slice of bytes, *v becomes src itself, and
// Borrow returns true. The caller may then use *v only as long as it may use src, and a
// peer that can write to src may change it in that time. For another T, Borrow does the
// same as Decode.
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

// Share is Append without a copy, for a T that is a slice of bytes and not nil. It returns the bytes of *v, whose tag is
// TagBytes, and true. For another T or nil it returns false.
func (t *Type[T]) Share(v *T) (b []byte, ok bool) {
	if t.Tag() != TagBytes {
		return nil, false
	}
	b = *bytesOf(v)
	return b, b != nil
}
