package transport

import (
	"fmt"
	"reflect"
)

// A refusal says what cannot cross: the type, why, and the path to it. Those who
// pass it up put their part of the path in front.
type refusal struct {
	path string
	typ  reflect.Type
	why  string
}

// at returns r with one step more in front of its path; nil remains nil.
func (r *refusal) at(step string) *refusal {
	if r == nil {
		return nil
	}
	return &refusal{step + r.path, r.typ, r.why}
}

// of returns r as the error for values of type root; nil remains nil.
func (r *refusal) of(root reflect.Type) error {
	if r == nil {
		return nil
	}
	if r.path == "" {
		return fmt.Errorf("%w: %v: %s", ErrUnsupportedPayload, root, r.why)
	}
	return fmt.Errorf("%w: %v%s is of type %v: %s", ErrUnsupportedPayload, root, r.path, r.typ, r.why)
}

// locker has the methods by which go vet knows what must not be copied.
var locker = reflect.TypeFor[interface {
	Lock()
	Unlock()
}]()

// local returns why values of type t have no meaning in another process, or "".
// It does not look into t.
func local(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Chan:
		return "a channel belongs to its process"
	case reflect.Func:
		return "a function belongs to its process"
	case reflect.Uintptr, reflect.UnsafePointer:
		return "an address belongs to its process"
	}
	if reflect.PointerTo(t).Implements(locker) {
		return "a lock belongs to its process"
	}
	return ""
}
