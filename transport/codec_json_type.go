package transport

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// jsonChecker searches a type for parts that encoding/json would lose.
type jsonChecker struct {
	seen        map[jsonContext]bool // types may be recursive
	checkValues bool                 // as in jsonType
}

// jsonContext is a type, and whether its values are addressable in their context.
// encoding/json calls a method of a pointer only on an addressable value, and a value
// in a map or an interface is not addressable.
type jsonContext struct {
	typ         reflect.Type
	addressable bool
}

// check returns the part of t that cannot cross, or nil.
func (c *jsonChecker) check(t reflect.Type, addressable bool) *refusal {
	at := jsonContext{t, addressable}
	if c.seen[at] {
		return nil
	}
	c.seen[at] = true
	refuse := func(why string) *refusal { return &refusal{typ: t, why: why} }
	if why := local(t); why != "" {
		return refuse(why)
	}
	switch t.Kind() {
	case reflect.Pointer:
		c.checkValues = c.checkValues || t.Elem().Kind() == reflect.Slice || t.Elem().Kind() == reflect.Map
		return c.check(t.Elem(), true)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return refuse("the reader cannot know which type an interface with methods held")
		}
		c.checkValues = true
		return nil
	}
	c.checkValues = c.checkValues || isTime(t, jsonMarshaler) || t == numberType
	if form, why := marshalsItself(t, addressable); why != "" {
		return refuse(why)
	} else if form != jsonByFields {
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
		if why := jsonKey(t.Key()); why != "" {
			return refuse(why)
		}
		c.checkValues = c.checkValues || hasText(t.Key())
		return c.check(t.Elem(), false).at("[key]")
	case reflect.Struct:
		return c.fields(t, addressable, map[any]bool{})
	}
	return nil
}

// fields checks the fields of t. met holds the names that the JSON object has so far,
// and the structs whose fields are its own.
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
	if why := local(f.Type); why != "" {
		return refuse(why)
	}
	if f.Name == "_" || !f.IsExported() && !embedsStruct(f) && f.Type.Size() == 0 {
		return nil // no value is lost
	}
	base := f.Type
	if f.Anonymous && base.Kind() == reflect.Pointer {
		base, addressable = base.Elem(), true
	}
	switch {
	case !f.IsExported() && !embedsStruct(f):
		return refuse("JSON leaves out a field that is not exported")
	case !f.IsExported() && base != f.Type:
		return refuse("JSON cannot make an embedded struct that is not exported")
	case !f.IsExported() && !flattened(f): // encoding/json panics when it calls one
		return refuse("JSON cannot call the methods of an embedded struct that is not exported and has a name")
	}
	name, options := jsonTag(f)
	switch {
	case flattened(f) && met[base]:
		return refuse("JSON leaves out a struct that is embedded twice, or in itself")
	case flattened(f):
		return c.fields(base, addressable, met)
	case name == "":
		name = f.Name
	}
	if met[name] {
		return refuse("JSON leaves out a field whose name another one has")
	}
	met[name] = true
	if hasOption(options, "string") && marshalsInString(f.Type, addressable) {
		return refuse("the option string applies where JSON reads it and not where its method writes it")
	}
	return c.check(f.Type, addressable)
}

// jsonTag returns the name in the tag of f, or "" if there is none, and the options.
func jsonTag(f reflect.StructField) (name, options string) {
	name, options, _ = strings.Cut(f.Tag.Get("json"), ",")
	if !jsonName(name) {
		name = ""
	}
	return name, options
}

// embedsStruct reports whether f is an embedded struct or an embedded pointer to one.
func embedsStruct(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Anonymous && t.Kind() == reflect.Struct
}

// flattened reports whether the JSON object has the fields of f as its own. The methods
// of f do not matter. If the outer struct has them too, its own methods are called. If
// two fields have the same methods, the methods cancel each other out and none is
// called.
func flattened(f reflect.StructField) bool {
	name, _ := jsonTag(f)
	return name == "" && embedsStruct(f)
}

// hasOption reports whether option is one of the options of a tag.
func hasOption(options, option string) bool {
	return slices.Contains(strings.Split(options, ","), option)
}

// marshalsInString reports whether a method writes the values of t, although the option
// string makes encoding/json remove quotes when it decodes them. The method does not
// write these quotes.
func marshalsInString(t reflect.Type, addressable bool) bool {
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t, addressable = t.Elem(), true
	}
	switch k := t.Kind(); {
	case reflect.Bool <= k && k <= reflect.Float64, k == reflect.String:
		form, _ := marshalsItself(t, addressable)
		return form != jsonByFields
	}
	return false
}

// jsonName reports whether encoding/json accepts s as the name in a tag. A name that it
// does not accept counts as none.
func jsonName(s string) bool {
	for _, c := range s {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) {
			return false
		}
	}
	return s != ""
}

// jsonKey returns the reason why values of t cannot be keys, or "". A key of a kind
// that JSON has is encoded and decoded by different rules when it has methods for one
// direction only.
func jsonKey(t reflect.Type) string {
	out, in := t.Implements(textMarshaler), reflect.PointerTo(t).Implements(textUnmarshaler)
	switch k := t.Kind(); {
	case k == reflect.Uintptr:
		return "JSON has no such keys"
	case k == reflect.String && in:
		return "JSON writes such a key as it is, and reads it by UnmarshalText"
	case k == reflect.String || reflect.Int <= k && k <= reflect.Uint64 && out == in:
		return ""
	case reflect.Int <= k && k <= reflect.Uint64:
		return "a key has one of MarshalText and UnmarshalText"
	case !out || !in:
		return "JSON has no such keys"
	}
	_, why := promoted(t, textMarshaler)
	return why
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	zeroer          = reflect.TypeFor[interface{ IsZero() bool }]()
	timeType        = reflect.TypeFor[time.Time]()
	numberType      = reflect.TypeFor[json.Number]()
	rawType         = reflect.TypeFor[json.RawMessage]()
)

// hasText reports whether MarshalText writes the keys of type t. t is a valid key type.
func hasText(t reflect.Type) bool {
	return t.Kind() != reflect.String && t.Implements(textMarshaler)
}

// isTime reports whether the method m of time.Time writes the values of t: t is
// time.Time, or a struct that embeds one and nothing else.
func isTime(t, m reflect.Type) bool {
	if t == timeType || !t.Implements(m) {
		return t == timeType
	}
	owner, why := promoted(t, m)
	return owner == timeType && why == ""
}

// jsonForm is the code that makes the JSON of a value.
type jsonForm uint8

const (
	jsonByFields jsonForm = iota // encoding/json, from the contents of the value
	jsonByMethod                 // its MarshalJSON
	jsonByText                   // its MarshalText
)

// marshalsItself returns the methods of t that encoding/json calls in both directions.
// If the result of a method would be lost in one direction, it returns the reason.
func marshalsItself(t reflect.Type, addressable bool) (form jsonForm, why string) {
	p := reflect.PointerTo(t)
	for _, m := range []struct {
		form    jsonForm
		out, in reflect.Type
		name    string
	}{
		{jsonByMethod, jsonMarshaler, jsonUnmarshaler, "JSON"},
		{jsonByText, textMarshaler, textUnmarshaler, "Text"},
	} {
		out, in := t.Implements(m.out), p.Implements(m.in)
		switch byPointer := p.Implements(m.out); {
		case (out || byPointer && addressable) && in:
			_, why = promoted(t, m.out)
			return m.form, why
		case in && byPointer:
			return jsonByFields, "Marshal" + m.name + " is a method of the pointer, and here there is none"
		case out || byPointer:
			return jsonByFields, "it has Marshal" + m.name + " and no Unmarshal" + m.name
		case in:
			return jsonByFields, "it has Unmarshal" + m.name + " and no Marshal" + m.name
		}
	}
	return jsonByFields, ""
}
