package transport

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"
)

// JSON is the [Codec] of encoding/json. It refuses what encoding/json would drop,
// change, or not read back: fields that are not exported, two fields of one name,
// interfaces with methods, types with one of MarshalJSON and UnmarshalJSON, keys that
// are written by other rules than they are read, two keys of a map that have the same
// text, the option string on types with methods of their own, texts that are not UTF-8,
// an empty json.Number, times whose zone is no whole minute from UTC, pointers to a
// slice, map or interface that is nil or to a json.RawMessage that says null, and what is
// more than 10,000 deep. It refuses an embedded struct that is not exported if a tag
// gives it a name, since encoding/json panics when such a struct has methods.
//
// It also refuses a struct with the methods of an embedded field and with other
// fields, which those do not know of, or whose embedded field is a pointer, since there
// is none when it is read. A struct that declares such methods over those of an
// embedded field looks the same, and is refused too: give the field a name, or declare
// MarshalJSON on the pointer. For the same reason a struct that embeds a time and
// nothing else is looked at as that time.
//
// What cannot be told is whose UnmarshalJSON it is: a struct that declares MarshalJSON
// and has UnmarshalJSON from an embedded field only is taken, though the other fields
// arrive as zero. So it is with MarshalText and UnmarshalText.
//
// What the type itself asks for is done. A field that is tagged "-" stays behind. One
// with omitempty or omitzero arrives as zero: an empty slice as nil, a zero time in
// UTC. An embedded pointer to a struct of which nothing is written arrives as nil.
// What the methods of a type make, and what a json.RawMessage holds, is trusted, and
// arrives without spaces between its parts; a RawMessage that is nil arrives as null. So
// a big.Float arrives with the precision that its UnmarshalText gives it, 64 bits, and
// an invalid netip.Prefix is sent, and then cannot be read.
// What lies in an interface comes back as JSON has it, numbers as float64; of a nil
// pointer behind a pointer there is one null.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

// CheckType implements [TypeChecker].
func (jsonCodec) CheckType(t reflect.Type) error {
	return jsonTypeOf(reflect.PointerTo(t)).refusal.of(t)
}

func (jsonCodec) Append(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	t := jsonTypeOf(reflect.TypeOf(v))
	r := t.refusal
	if r == nil && t.checkValues {
		r = refuseValue(v, false)
	}
	if r != nil {
		return nil, r.of(named(v))
	}
	w := appender{dst}
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	// encoding/json puts this in place of bytes that are not UTF-8. A text may
	// hold the same six bytes.
	if err != nil || bytes.Contains(w.b[len(dst):], []byte(`\ufffd`)) {
		if r := refuseValue(v, true); r != nil {
			return nil, r.of(named(v))
		}
	}
	if err != nil {
		return nil, err
	}
	if tooDeep(w.b[len(dst):]) {
		return nil, (&refusal{typ: named(v), why: tooDeepText}).of(named(v))
	}
	return w.b[:len(w.b)-1], nil // without the newline
}

func (jsonCodec) Decode(src []byte, v any) error { return json.Unmarshal(src, v) }

// appender is the writer that appends.
type appender struct{ b []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}

// named returns the type that an error names: that of *v if v is a pointer.
func named(v any) reflect.Type {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// A jsonType is what is known of a type.
type jsonType struct {
	refusal     *refusal // nil if its values can cross, as far as the type tells
	checkValues bool     // the rest only a value tells: of what is in interfaces and behind pointers, times, numbers
}

var jsonTypes sync.Map // a *jsonType for each reflect.Type that was asked for

// jsonTypeOf returns what is known of values of type t that are given to
// encoding/json as they are.
func jsonTypeOf(t reflect.Type) *jsonType {
	if known, ok := jsonTypes.Load(t); ok {
		return known.(*jsonType)
	}
	c := jsonChecker{seen: map[jsonPlace]bool{}}
	jt := &jsonType{refusal: c.check(t, false)}
	jt.checkValues = c.checkValues
	jsonTypes.Store(t, jt)
	return jt
}
