package transport

import "reflect"

// promoted finds the owner of the method that the interface m names and that t or *t
// has: t itself, or a field that t embeds. If the method cannot be relied on, it
// returns the reason. Two cases are refused when the method may belong to an embedded
// field: the method does not cover the other fields of t, and a field that is a pointer
// is nil when it is to be decoded.
//
// Reflection cannot distinguish the method of an embedded field from one that t
// declares with the same name. There is one exception: the field has the method by
// value, and t has it only by pointer. If the method were that of the field, t would
// have it by value.
func promoted(t, m reflect.Type) (owner reflect.Type, why string) {
	if t.Kind() != reflect.Struct {
		return t, ""
	}
	var field reflect.StructField
	fields, others := 0, 0
	for i := range t.NumField() {
		switch f := t.Field(i); {
		case f.Anonymous && (f.Type.Implements(m) || reflect.PointerTo(f.Type).Implements(m)):
			field = f
			fields++
		case f.Name != "_" && f.Type.Size() > 0:
			others++
		}
	}
	kind := field.Type
	switch {
	case fields == 0 || fields == 1 && kind.Implements(m) && !t.Implements(m):
		return t, "" // the method of t
	case fields+others > 1:
		return t, m.Method(0).Name + " may be that of the embedded " + field.Name + ", which leaves out the other fields"
	case kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Interface:
		return t, "it may be decoded by a method of the embedded " + field.Name + ", which is nil then"
	}
	return promoted(kind, m) // the field may have the method from a field of its own
}
