package transport

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"time"
)

// kind is a Go type that a value keeps when it crosses without a [Type].
type kind struct {
	tag    Tag
	typ    reflect.Type
	size   func(v any) int
	append func(dst []byte, v any) ([]byte, Tag, error)
	decode func(tag Tag, src []byte) (any, error)
}

// kinds are all kinds, in the order of their tags.
var kinds = []*kind{
	kindOf[bool](TagBool),
	kindOf[int](TagInt), kindOf[int8](TagInt8), kindOf[int16](TagInt16), kindOf[int32](TagInt32), kindOf[int64](TagInt64),
	kindOf[uint](TagUint), kindOf[uint8](TagUint8), kindOf[uint16](TagUint16), kindOf[uint32](TagUint32), kindOf[uint64](TagUint64),
	kindOf[float32](TagFloat32), kindOf[float64](TagFloat64), kindOf[complex64](TagComplex64), kindOf[complex128](TagComplex128),
	kindOf[time.Duration](TagDuration), kindOf[time.Time](TagTime), kindOf[*big.Int](TagBigInt),
	kindOf[string](TagString), kindOf[[]byte](TagBytes),
	kindOf[[]int](TagInts), kindOf[[]int8](TagInt8s), kindOf[[]int16](TagInt16s), kindOf[[]int32](TagInt32s), kindOf[[]int64](TagInt64s),
	kindOf[[]uint](TagUints), kindOf[[]uint16](TagUint16s), kindOf[[]uint32](TagUint32s), kindOf[[]uint64](TagUint64s),
	kindOf[[]float32](TagFloat32s), kindOf[[]float64](TagFloat64s), kindOf[[]complex64](TagComplex64s), kindOf[[]complex128](TagComplex128s),
	kindOf[[]bool](TagBools),
}

var (
	kindsByType = map[reflect.Type]*kind{}
	kindsByTag  = [TagNilBit]*kind{}
)

func init() {
	for _, k := range kinds {
		kindsByType[k.typ], kindsByTag[k.tag] = k, k
	}
}

// kindOf returns the kind of the plain type T.
func kindOf[T any](tag Tag) *kind {
	t := reflect.TypeFor[T]()
	p := plainOf(t)
	p.tag = tag
	return &kind{
		tag: tag,
		typ: t,
		size: func(v any) int {
			x := v.(T)
			return sizePlain(&p, &x)
		},
		append: func(dst []byte, v any) ([]byte, Tag, error) {
			x := v.(T)
			return appendPlain(&p, dst, &x)
		},
		decode: func(tag Tag, src []byte) (any, error) {
			var x T
			if err := decodePlain(&p, tag, src, &x); err != nil {
				return nil, err
			}
			return x, nil
		},
	}
}

// SizeAny is [Type.Size] for a value whose static type is not known.
func SizeAny(v any) (n int, ok bool) {
	if v == nil {
		return 0, true
	}
	if k := kindsByType[reflect.TypeOf(v)]; k != nil {
		return k.size(v), true
	}
	return 0, false
}

// AppendAny is [Type.Append] for a value whose static type is not known. A type that
// the table at [TagInvalid] names comes back from [DecodeAny] unchanged, also as a nil
// slice. Any other value, also one of a named type, is encoded by c; nil stands for
// [JSON]. It comes back as the value that c decodes from the bytes alone. For [JSON]
// that is nil, bool, float64, string, []any or map[string]any.
func AppendAny(dst []byte, v any, c Codec) ([]byte, Tag, error) {
	if v == nil {
		return dst, TagNil, nil
	}
	t := reflect.TypeOf(v)
	if k := kindsByType[t]; k != nil {
		return k.append(dst, v)
	}
	if c == nil {
		c = JSON
	}
	if why := local(t); why != "" {
		return dst, TagInvalid, (&refusal{typ: t, why: why}).of(t)
	}
	return encode(c, dst, v)
}

// DecodeAny is [Type.Decode] for the results of [AppendAny]. It returns [ErrBadTag] for
// tags whose types only a [Type] knows.
func DecodeAny(tag Tag, src []byte, c Codec) (any, error) {
	if !tag.Valid() {
		return nil, fmt.Errorf("%w: %v", ErrBadTag, tag)
	}
	if k := kindsByTag[tag&^TagNilBit]; k != nil {
		return k.decode(tag, src)
	}
	switch {
	case tag == TagNil && len(src) == 0:
		return nil, nil
	case tag == TagNil:
		return nil, fmt.Errorf("%w: %d bytes for nil", ErrBadPayload, len(src))
	case tag != TagCoded:
		return nil, fmt.Errorf("%w: %v, whose type is not known here", ErrBadTag, tag)
	}
	if c == nil {
		c = JSON
	}
	var x any
	src = bytes.Clone(src) // the peer may write to src concurrently
	err := contain(c.Name(), func() error { return c.Decode(src, &x) })
	if err != nil {
		return nil, err // x may hold a part of the value
	}
	return x, nil
}
