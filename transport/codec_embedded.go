package transport

import "reflect"

// promoted returns whose method it is that the interface m names and t or *t has: that
// of t, or of what t embeds. Or it says why the method is not one to rely on: when it
// is that of an embedded field, it knows nothing of the other fields of t, and a field
// that is a pointer is nil when it is to be read.
//
// Reflection does not tell such a method from one that t declares over it. There is
// one exception: the field has the method by value, and t only by pointer. Were it the
// field's, t would have it by value.
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
		return t, "" // its own
	case fields+others > 1:
		return t, m.Method(0).Name + " may be that of the embedded " + field.Name + ", which leaves out the other fields"
	case kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Interface:
		return t, "what reads it may be a method of the embedded " + field.Name + ", which is nil then"
	}
	return promoted(kind, m) // which may have it from a field of its own
}
