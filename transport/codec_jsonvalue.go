package transport

import (
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"
)

// maxDepth bounds the walk of a value: encoding/json reads nothing deeper.
const maxDepth = 10_000

// refuseValue looks for what encoding/json would lose of v and its type does not
// tell: what interfaces hold, and, if exact, texts and numbers that JSON does not
// have.
func refuseValue(v any, exact bool) *refusal {
	return jsonWalk{exact}.value(reflect.ValueOf(v), 0)
}

type jsonWalk struct{ exact bool }

func (w jsonWalk) value(v reflect.Value, depth int) *refusal {
	refuse := func(why string) *refusal { return &refusal{typ: v.Type(), why: why} }
	if depth > maxDepth {
		return refuse("it is too deep, or refers to itself")
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return w.value(v.Elem(), depth+1)
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if r := jsonTypeOf(v.Elem().Type()).refusal; r != nil {
			return r
		}
		return w.value(v.Elem(), depth)
	}
	if itself, _ := marshalsItself(v.Type(), v.CanAddr()); itself {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
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

func (w jsonWalk) elements(v reflect.Value, depth int) *refusal {
	if v.Type().Elem().Kind() <= reflect.Uint64 { // bools and integers
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
	for it := v.MapRange(); it.Next(); {
		k := it.Key()
		r := w.value(it.Value(), depth)
		if w.exact && k.Kind() == reflect.String && !utf8.ValidString(k.String()) {
			r = &refusal{typ: k.Type(), why: "JSON changes a key that is not UTF-8"}
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

func (w jsonWalk) fields(v reflect.Value, depth int) *refusal {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
			continue
		}
		if r := w.value(v.Field(i), depth); r != nil {
			return r.at("." + f.Name)
		}
	}
	return nil
}
