package transport

import (
	"fmt"
	"math/big"
	"reflect"
	"time"
)

// plain is the encoding of a type without a codec or a method: a copy of its memory, or
// close to it. Its functions are generic over the type and call nothing indirectly, so
// that a value on the stack of the caller stays there.
type plain struct {
	form form
	tag  Tag
	plan *plan // of the value, or of the elements of a slice
}

// form is the case that the functions of plain distinguish.
type form uint8

const (
	formOther form = iota // not plain
	formFixed
	formSlice
	formString
	formTime
	formBigInt
)

// plainOf returns the plain encoding of t. The form is formOther if t has none.
func plainOf(t reflect.Type) plain {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return plain{form: formTime, tag: TagTime}
	case t == reflect.TypeFor[*big.Int]():
		return plain{form: formBigInt, tag: TagBigInt}
	case t.Kind() == reflect.String:
		return plain{form: formString, tag: TagString}
	case t.Kind() == reflect.Slice:
		each, ok := planOf(t.Elem())
		if !ok || each.size == 0 { // the number of elements would be lost
			return plain{}
		}
		if t.Elem().Kind() == reflect.Uint8 {
			return plain{formSlice, TagBytes, each}
		}
		return plain{formSlice, TagFixedSlice, each}
	}
	if p, ok := planOf(t); ok {
		return plain{formFixed, TagFixed, p}
	}
	return plain{}
}

// sizePlain returns the number of bytes that *v takes.
func sizePlain[T any](p *plain, v *T) int {
	switch p.form {
	case formFixed:
		return p.plan.size
	case formSlice:
		return len(*bytesOf(v)) * p.plan.size
	case formString:
		return len(*textOf(v))
	case formTime:
		return timeBytes
	}
	return bigBytes(*any(v).(**big.Int))
}

// appendPlain appends *v to dst.
func appendPlain[T any](p *plain, dst []byte, v *T) ([]byte, Tag, error) {
	switch p.form {
	case formFixed:
		return p.plan.append(dst, memory(v), 1), p.tag, nil
	case formSlice:
		s := *bytesOf(v)
		if s == nil {
			return dst, p.tag | TagNilBit, nil
		}
		return p.plan.append(dst, elements(v, p.plan.size), len(s)), p.tag, nil
	case formString:
		return append(dst, *textOf(v)...), p.tag, nil
	case formTime:
		return appendTime(dst, *any(v).(*time.Time))
	}
	return appendBig(dst, *any(v).(**big.Int))
}

// decodePlain reads src into *v. *v never refers to memory of src.
func decodePlain[T any](p *plain, tag Tag, src []byte, v *T) error {
	if tag != p.tag {
		return decodeNil(p.tag, tag, src, v)
	}
	switch p.form {
	case formFixed:
		if len(src) != p.plan.size || !p.plan.copy(memory(v), src, 1) {
			return badPayload[T](tag, src)
		}
		return nil
	case formSlice:
		return decodeSlice(p, tag, src, v)
	case formString:
		*textOf(v) = string(src)
		return nil
	case formTime:
		if !decodeTime(src, any(v).(*time.Time)) {
			return badPayload[T](tag, src)
		}
		return nil
	}
	if !decodeBig(src, any(v).(**big.Int)) {
		return badPayload[T](tag, src)
	}
	return nil
}

func decodeSlice[T any](p *plain, tag Tag, src []byte, v *T) error {
	size := p.plan.size
	if size == 1 && !p.plan.bools {
		*bytesOf(v) = append([]byte{}, src...)
		return nil
	}
	n := len(src) / size
	var s T // so that *v gets a valid slice or stays unchanged
	if len(src) != n*size || !p.plan.copy(makeElements(&s, n, size), src, n) {
		return badPayload[T](tag, src)
	}
	*v = s
	return nil
}

// decodeNil makes *v nil if tag is the nil tag of a type whose tag is want.
func decodeNil[T any](want, tag Tag, src []byte, v *T) error {
	if tag != want|TagNilBit || !want.nilable() {
		return wrongTag[T](tag, want)
	}
	if len(src) != 0 {
		return badPayload[T](tag, src)
	}
	var none T
	*v = none
	return nil
}

func wrongTag[T any](tag, want Tag) error {
	return fmt.Errorf("%w: %v, want %v for %v", ErrBadTag, tag, want, reflect.TypeFor[T]())
}

func badPayload[T any](tag Tag, src []byte) error {
	return fmt.Errorf("%w: %d bytes for %v, tag %v", ErrBadPayload, len(src), reflect.TypeFor[T](), tag)
}
