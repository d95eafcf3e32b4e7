package transport

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"
)

// maxDepth bounds the depth of the walk over a value: encoding/json decodes nothing
// deeper.
const maxDepth = 10_000

const tooDeepText = "it is too deep, or refers to itself"

// tooDeep reports whether JSON is nested deeper than encoding/json decodes. If few
// brackets open, their count shows that it is not.
func tooDeep(b []byte) bool {
	if bytes.Count(b, []byte("{"))+bytes.Count(b, []byte("[")) <= maxDepth {
		return false
	}
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// refuseValue searches v for parts that encoding/json would lose and that its type does
// not reveal: the contents of interfaces, pointers to nil, times and numbers. If exact,
// it also searches for texts and numbers that JSON cannot represent. A pointer v stands
// for the value that it points at.
func refuseValue(v any, exact bool) *refusal {
	at := reflect.ValueOf(v)
	if at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	if !at.IsValid() {
		return nil
	}
	return jsonWalk{exact}.value(at, 0)
}

type jsonWalk struct{ exact bool }

// skips reports whether values of t need no check.
func (w jsonWalk) skips(t reflect.Type) bool {
	if w.exact {
		return false
	}
	jt := jsonTypeOf(t)
	return jt.refusal == nil && !jt.checkValues // a refused type has not been searched to its end
}

func (w jsonWalk) value(v reflect.Value, depth int) *refusal {
	refuse := func(why string) *refusal { return &refusal{typ: v.Type(), why: why} }
	if depth > maxDepth {
		return refuse(tooDeepText)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if pointsAtNil(v) {
			return refuse("JSON makes a nil pointer of one that points at nil")
		}
		if k := v.Elem().Kind(); k == reflect.Pointer || k == reflect.Interface {
			depth++ // JSON has no level for it, but the pointers may form a cycle
		}
		return w.value(v.Elem(), depth)
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if r := jsonTypeOf(v.Elem().Type()).refusal; r != nil {
			return r
		}
		return w.value(v.Elem(), depth)
	}
	if isTime(v.Type(), jsonMarshaler) {
		return refuseZone(v)
	}
	switch form, _ := marshalsItself(v.Type(), v.CanAddr()); {
	case form == jsonByText && w.exact:
		if text, ok := marshaledText(v); ok && !utf8.ValidString(text) {
			return refuse("JSON changes a text that is not UTF-8")
		}
		return nil
	case form != jsonByFields:
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == numberType && v.Len() == 0 {
			return refuse("JSON makes 0 of an empty number")
		}
		if w.exact && !utf8.ValidString(v.String()) {
			return refuse("JSON changes a string that is not UTF-8")
		}
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); w.exact && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return refuse(fmt.Sprintf("JSON has no %v", f))
		}
	case reflect.Slice, reflect.Array:
		return w.elements(v, depth+1)
	case reflect.Map:
		return w.entries(v, depth+1)
	case reflect.Struct:
		return w.fields(v, depth+1)
	}
	return nil
}

// pointsAtNil reports whether the pointer v points at a nil slice, map or interface, or
// at a json.RawMessage that is null. An interface that holds one of these counts as
// well. JSON has the same null for it as for a nil pointer.
func pointsAtNil(v reflect.Value) bool {
	to := v.Elem()
	if to.Kind() == reflect.Interface && !to.IsNil() {
		to = to.Elem()
	}
	switch to.Kind() {
	case reflect.Slice, reflect.Map:
		if to.Type() == rawType {
			return to.IsNil() || string(bytes.TrimSpace(to.Bytes())) == "null"
		}
		form, _ := marshalsItself(to.Type(), to.CanAddr()) // the result of a method is trusted
		return to.IsNil() && form == jsonByFields
	case reflect.Interface:
		return true
	}
	return false
}

// zoned is a time, or a struct that has the methods of the time in it.
type zoned interface {
	Zone() (name string, east int)
}

// refuseZone refuses a time in a zone that JSON cannot represent. RFC 3339 has no
// seconds in a zone. They would be lost, and the time would change.
func refuseZone(v reflect.Value) *refusal {
	if !v.CanInterface() {
		return nil
	}
	t, ok := v.Interface().(zoned)
	if !ok {
		return nil
	}
	if _, east := t.Zone(); east%60 != 0 {
		return &refusal{typ: v.Type(), why: fmt.Sprintf("JSON has no zone of %d s east of UTC", east)}
	}
	return nil
}

// marshaledText returns the result of MarshalText of v, and whether there is one.
func marshaledText(v reflect.Value) (text string, ok bool) {
	if v.CanAddr() {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return "", false
	}
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return "", false
	}
	b, err := m.MarshalText()
	return string(b), err == nil
}

func (w jsonWalk) elements(v reflect.Value, depth int) *refusal {
	if w.skips(v.Type().Elem()) {
		return nil
	}
	for i := range v.Len() {
		if r := w.value(v.Index(i), depth); r != nil {
			return r.at(fmt.Sprintf("[%d]", i))
		}
	}
	return nil
}

func (w jsonWalk) entries(v reflect.Value, depth int) *refusal {
	if w.skips(v.Type()) {
		return nil
	}
	texts := map[string]bool{}
	for it := v.MapRange(); it.Next(); {
		k := it.Key()
		r := w.value(it.Value(), depth)
		if why := w.key(k, texts); why != "" {
			r = &refusal{typ: k.Type(), why: why}
		}
		if r != nil && k.Kind() == reflect.String {
			return r.at(fmt.Sprintf("[%q]", k))
		}
		if r != nil {
			return r.at(fmt.Sprintf("[%v]", k))
		}
	}
	return nil
}

// key returns the reason why JSON would change a key, or "". It adds the text of the
// key to texts, which holds the texts of the earlier keys, if a method makes the text.
func (w jsonWalk) key(k reflect.Value, texts map[string]bool) string {
	if isTime(k.Type(), textMarshaler) {
		if r := refuseZone(k); r != nil {
			return r.why
		}
	}
	text, methodMade := k.String(), false
	if hasText(k.Type()) {
		text, methodMade = marshaledText(k)
	}
	switch {
	case methodMade && texts[text]:
		return "JSON has the same text for another key"
	case w.exact && !utf8.ValidString(text):
		return "JSON changes a key that is not UTF-8"
	case methodMade:
		texts[text] = true
	}
	return ""
}

func (w jsonWalk) fields(v reflect.Value, depth int) *refusal {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if r := w.field(f, v.Field(i), depth); r != nil {
			return r.at("." + f.Name)
		}
	}
	return nil
}

// field checks v, which is the field f of a struct.
func (w jsonWalk) field(f reflect.StructField, v reflect.Value, depth int) *refusal {
	switch {
	case flattened(f) && v.Kind() == reflect.Struct:
		return w.fields(v, depth)
	case flattened(f) && !v.IsNil():
		return w.fields(v.Elem(), depth)
	case flattened(f) || w.skips(f.Type) || omitted(f, v):
		return nil
	}
	return w.value(v, depth)
}

// omitted reports whether encoding/json writes nothing for v, which is the field f of a
// struct and not flattened.
func omitted(f reflect.StructField, v reflect.Value) bool {
	if !f.IsExported() || f.Tag.Get("json") == "-" {
		return true
	}
	_, options := jsonTag(f)
	return hasOption(options, "omitempty") && isEmpty(v) || hasOption(options, "omitzero") && isZero(v)
}

// isEmpty reports whether omitempty omits v.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero reports whether omitzero omits v. If v or a pointer to it has the method
// IsZero, that method decides. It is not called on a nil pointer.
func isZero(v reflect.Value) bool {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer && v.IsNil():
		return true
	case t.Implements(zeroer):
	case reflect.PointerTo(t).Implements(zeroer):
		if !v.CanAddr() {
			there := reflect.New(t).Elem()
			there.Set(v)
			v = there
		}
		v = v.Addr()
	default:
		return v.IsZero()
	}
	return v.Interface().(interface{ IsZero() bool }).IsZero()
}
