package transport

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"
)

// JSON is the [Codec] of encoding/json. It refuses values that encoding/json would
// drop, change, or fail to decode, and names the part at fault:
//
//   - fields that are not exported, and two fields of one name;
//   - interfaces with methods;
//   - types with only one of MarshalJSON and UnmarshalJSON;
//   - map keys that are encoded and decoded by different rules, and two keys with the
//     same text;
//   - the option string on types with methods of their own;
//   - texts that are not UTF-8, an empty json.Number, and times whose zone is no whole
//     minute from UTC;
//   - pointers to a nil slice, map or interface, or to a json.RawMessage that is null;
//   - values nested more than 10,000 deep;
//   - some embedded structs, as stated below.
//
// JSON refuses an embedded struct that is not exported if a tag gives it a name, since
// encoding/json panics when such a struct has methods. It refuses a struct that has the
// methods of an embedded field and also other fields, because the methods do not cover
// the other fields. It also refuses the struct when that field is a pointer, because
// the pointer is nil when the struct is decoded. A struct that declares such methods
// over those of an embedded field looks the same and is refused too: give the field a
// name, or declare MarshalJSON on the pointer. For the same reason a struct that embeds
// a time and nothing else is treated as that time.
//
// JSON cannot determine the owner of an UnmarshalJSON. It accepts a struct that
// declares MarshalJSON and has UnmarshalJSON only from an embedded field, though the
// other fields arrive as zero. The same is true of MarshalText and UnmarshalText.
//
// JSON follows the requests of the type. A field tagged "-" does not cross. A field
// that omitempty or omitzero omits arrives as zero: an empty slice as nil, and a zero
// time in UTC. An embedded pointer to a struct of which nothing is written arrives as
// nil.
//
// JSON trusts the results of methods and the content of a json.RawMessage. They arrive
// without spaces between their parts, and a nil RawMessage arrives as null. So a
// big.Float arrives with the precision that its UnmarshalText gives it, 64 bits. An
// invalid netip.Prefix is sent and then cannot be decoded.
//
// A value in an interface is decoded as JSON has it: numbers become float64. A nil
// pointer behind a pointer becomes one null.
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
	// encoding/json writes this escape in place of bytes that are not UTF-8. A valid
	// text may contain the same six bytes.
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

// appender is an io.Writer that appends to a slice.
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

// jsonType is the result of the check of a type.
type jsonType struct {
	refusal     *refusal // nil if the type itself does not rule out that its values cross
	checkValues bool     // each value must be checked too: its interfaces, pointers, times and numbers
}

var jsonTypes sync.Map // from each reflect.Type that was checked to its *jsonType

// jsonTypeOf returns the check of type t, for values that are passed to encoding/json
// unchanged.
func jsonTypeOf(t reflect.Type) *jsonType {
	if known, ok := jsonTypes.Load(t); ok {
		return known.(*jsonType)
	}
	c := jsonChecker{seen: map[jsonContext]bool{}}
	jt := &jsonType{refusal: c.check(t, false)}
	jt.checkValues = c.checkValues
	jsonTypes.Store(t, jt)
	return jt
}
