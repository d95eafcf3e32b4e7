package transport

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// jsonChecker looks for what encoding/json would lose of a type.
type jsonChecker struct {
	seen map[jsonPlace]bool // types may refer to themselves
	open bool
}

// jsonPlace is a type where it may or may not be addressable: a method of a
// pointer is called only where it is, which is not so in a map or an interface.
type jsonPlace struct {
	typ         reflect.Type
	addressable bool
}

// check returns what cannot cross of t, or nil.
func (c *jsonChecker) check(t reflect.Type, addressable bool) *refusal {
	place := jsonPlace{t, addressable}
	if c.seen[place] {
		return nil
	}
	c.seen[place] = true
	refuse := func(why string) *refusal { return &refusal{typ: t, why: why} }
	if why := local(t); why != "" {
		return refuse(why)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.check(t.Elem(), true)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return refuse("what an interface with methods held is not known to who reads it")
		}
		c.open = true
		return nil
	}
	if itself, why := marshalsItself(t, addressable); why != "" {
		return refuse(why)
	} else if itself {
		return nil
	}
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128:
		return refuse("JSON has no complex numbers")
	case reflect.Slice:
		return c.check(t.Elem(), true).at("[]")
	case reflect.Array:
		return c.check(t.Elem(), addressable).at("[]")
	case reflect.Map:
		if !jsonKey(t.Key()) {
			return refuse("JSON has no such keys")
		}
		return c.check(t.Elem(), false).at("[key]")
	case reflect.Struct:
		return c.fields(t, addressable, map[any]bool{})
	}
	return nil
}

// fields checks the fields of t. met holds the names that the JSON object has by
// now, and the structs whose fields it has as its own.
func (c *jsonChecker) fields(t reflect.Type, addressable bool, met map[any]bool) *refusal {
	met[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if r := c.field(f, addressable, met); r != nil {
			return r.at("." + f.Name)
		}
	}
	return nil
}

func (c *jsonChecker) field(f reflect.StructField, addressable bool, met map[any]bool) *refusal {
	refuse := func(why string) *refusal { return &refusal{typ: f.Type, why: why} }
	tag := f.Tag.Get("json")
	if tag == "-" {
		return nil
	}
	if f.Name == "_" || !f.IsExported() && f.Type.Size() == 0 { // nothing is lost
		if why := local(f.Type); why != "" {
			return refuse(why)
		}
		return nil
	}
	base := f.Type
	if f.Anonymous && base.Kind() == reflect.Pointer {
		base, addressable = base.Elem(), true
	}
	embedded := f.Anonymous && base.Kind() == reflect.Struct
	switch {
	case !f.IsExported() && !embedded:
		return refuse("JSON leaves out a field that is not exported")
	case !f.IsExported() && base != f.Type:
		return refuse("JSON cannot make an embedded struct that is not exported")
	}
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case embedded && name == "" && met[base]:
		return refuse("JSON leaves out a struct that is embedded twice, or in itself")
	case embedded && name == "":
		return c.fields(base, addressable, met)
	case name == "":
		name = f.Name
	}
	if met[name] {
		return refuse("JSON leaves out a field whose name another one has")
	}
	met[name] = true
	return c.check(f.Type, addressable)
}

// jsonKey reports whether values of t can be keys.
func jsonKey(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.Uintptr:
		return false
	case k == reflect.String, reflect.Int <= k && k <= reflect.Uint64:
		return true
	}
	return t.Implements(textMarshaler) && reflect.PointerTo(t).Implements(textUnmarshaler)
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// marshalsItself reports whether values of t have methods that encoding/json
// calls both ways; or it says why what one of the two does is lost.
func marshalsItself(t reflect.Type, addressable bool) (itself bool, why string) {
	p := reflect.PointerTo(t)
	for _, m := range []struct {
		out, in reflect.Type
		name    string
	}{
		{jsonMarshaler, jsonUnmarshaler, "JSON"},
		{textMarshaler, textUnmarshaler, "Text"},
	} {
		out, in := t.Implements(m.out), p.Implements(m.in)
		switch byPointer := p.Implements(m.out); {
		case (out || byPointer && addressable) && in:
			return true, ""
		case in && byPointer:
			return false, "Marshal" + m.name + " is a method of the pointer, and here there is none"
		case out || byPointer:
			return false, "it has Marshal" + m.name + " and no Unmarshal" + m.name
		case in:
			return false, "it has Unmarshal" + m.name + " and no Marshal" + m.name
		}
	}
	return false, ""
}
