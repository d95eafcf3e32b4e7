package transport

import (
	"fmt"
	"reflect"
)

// refusal describes a part of a value that cannot cross: its type, the reason, and the
// path to it. Each caller that returns a refusal puts its own step in front of the
// path.
type refusal struct {
	path string
	typ  reflect.Type
	why  string
}

// at returns r with step in front of its path; nil remains nil.
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

// locker has the methods by which go vet recognizes types that must not be copied.
var locker = reflect.TypeFor[interface {
	Lock()
	Unlock()
}]()

// local returns the reason why values of type t have no meaning in another process, or
// "". It does not look into t.
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
